declare module 'pg-types/lib/textParsers' {
  /** Registers the package's own parsers of values in text format. */
  export function init(register: (oid: number | string, parser: (value: string) => unknown) => void): void
}
declare module 'pgpass' {
  const lookUp: (
    place: { host: string; port: number; database: string; user: string },
    then: (password: string | undefined) => void,
  ) => void
  export default lookUp
}
