/**
 * The few inner parts of `pg` that this package touches, in one place: their types, and a statement that knows whether
 * it was put on the wire.
 */
import type { Duplex } from 'node:stream'
import pg from 'pg'
import type { ClientConfig, QueryConfig, QueryResult } from 'pg'

/** What `pg.Client` has inside and its type declarations leave out. */
export interface ClientInternals {
  processID: number | null
  secretKey: number | null
  host: string
  port: number
  pipeline: boolean
  ssl: boolean | object
  sslNegotiation: string
  readyForQuery: boolean
  _queryable: boolean
  _ending: boolean
  _ended: boolean
  connection: WireConnection
  getTransactionStatus(): 'I' | 'T' | 'E' | null
}

/** The protocol side of a client: `pg.Connection`. */
export interface WireConnection {
  stream: Duplex & { ref?(): void; unref?(): void }
  parsedStatements: Record<string, string | undefined>
  submittedNamedStatements: Record<string, string | undefined>
  on(event: string, listener: (message: { parameterName: string; parameterValue: string }) => void): void
  once(event: string, listener: (error?: Error) => void): void
  removeListener(event: string, listener: (error?: Error) => void): void
  connect(port: number | string, host?: string): void
  requestSsl(): void
  cancel(processID: number, secretKey: number): void
  parse(query: { text: string; name?: string; types?: unknown }): void
  bind(config: { portal: string; values: readonly unknown[]; valueMapper: (value: unknown) => unknown }): void
  describe(what: { type: 'P' | 'S'; name: string }): void
  execute(config: { portal: string; rows: number }): void
  close(what: { type: 'P' | 'S'; name: string }): void
  flush(): void
  sync(): void
}

/** Rows and fields as `pg` collects them. */
export interface ResultBuilder extends QueryResult<Record<string, unknown>> {
  addFields(fields: unknown): void
  parseRow(fields: unknown): Record<string, unknown>
  addCommandComplete(message: unknown): void
  _types?: unknown
}

/** Called once with how a statement ended. */
export type StatementEnd = (error: Error | null, result?: QueryResult<Record<string, unknown>>) => void

interface QueryInternals {
  _canceledDueToError: unknown
  submit(connection: unknown): Error | null
  handleError(error: Error, connection: unknown): void
}

interface PgInternals {
  Query: new (config: object | string, values: unknown, callback: StatementEnd) => QueryInternals
  Result: new (rowMode?: string, types?: unknown) => ResultBuilder
  Connection: new (config: object) => WireConnection
  utils: { prepareValue(value: unknown): unknown }
}

export const {
  Query: PgQuery,
  Result: PgResult,
  Connection: PgConnection,
  utils: pgUtils,
} = pg as unknown as PgInternals

/** The same `pg` for everybody in this process. */
export const PgClient = pg.Client as unknown as new (config: ClientConfig) => pg.Client & ClientInternals

/** Nothing but a text. */
function isText(config: object): config is { text: string } {
  for (const key in config) if (key !== 'text') return false
  return true
}

/** A statement that remembers whether it left this process. */
export class Statement extends PgQuery {
  /** False as long as nothing that could take effect was sent. */
  sent = false
  /** The answer arrived, and reading it failed on this side. */
  answered = false

  constructor(config: QueryConfig, values: readonly unknown[] | undefined, done: StatementEnd) {
    // pg reports twice when a value cannot be converted: the error, and then the end of the round trip.
    let over = false
    // pg copies a config object, and takes a text as it is.
    super(isText(config) ? config.text : config, values, (error, result) => {
      if (over) return
      over = true
      done(error, result)
    })
  }

  override submit(connection: unknown): Error | null {
    const refusal = super.submit(connection)
    this.sent = !refusal
    return refusal
  }

  override handleError(error: Error, connection: unknown): void {
    if (this._canceledDueToError) this.answered = true
    super.handleError(error, connection)
  }
}
