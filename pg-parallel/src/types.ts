/** Statements and results, in the shape that `pg`'s users know. */
/** A column of a result. */
export interface FieldDef {
  name: string
  /** The table that it comes from, and its number there; 0 where it is computed. */
  tableID: number
  columnID: number
  dataTypeID: number
  dataTypeSize: number
  dataTypeModifier: number
  format: 'text' | 'binary'
}

/** Where parsers of values come from, in place of `pg-types`. */
export interface CustomTypes {
  getTypeParser(oid: number, format: 'text' | 'binary'): (value: never) => unknown
}

/** What a statement comes to. */
export interface QueryResult<R extends object = Record<string, unknown>> {
  /** The command's name: SELECT, INSERT, … */
  command: string
  rowCount: number | null
  oid: number | null
  fields: FieldDef[]
  rows: R[]
}

/** The same with rows as arrays. */
export interface QueryArrayResult<R extends unknown[] = unknown[]> extends Omit<QueryResult, 'rows'> {
  rows: R[]
}

/** A statement. */
export interface QueryConfig<V extends readonly unknown[] = unknown[]> {
  text: string
  values?: V | undefined
  /** Name of a prepared statement; statements that come again are prepared without one too. */
  name?: string | undefined
  types?: CustomTypes | undefined
  /** The extended protocol also without values. */
  queryMode?: string | undefined
  /** Results in binary format, read by `types`' binary parsers. */
  binary?: boolean | undefined
  /** False: never prepare this statement unless it has a name. */
  prepare?: boolean | undefined
}

/** A statement whose rows are wanted as arrays. */
export interface QueryArrayConfig<V extends readonly unknown[] = unknown[]> extends QueryConfig<V> {
  rowMode: 'array'
}
