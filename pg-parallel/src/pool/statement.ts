/**
 * The few inner parts of `pg` that this package touches, in one place: their types, and a statement that knows whether
 * it was put on the wire.
 */
import type { Duplex } from 'node:stream'
import pg from 'pg'
import type { ClientConfig, QueryConfig, QueryResult } from 'pg'
import { PgParallelError } from '../errors'

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
  bind(config: {
    portal: string
    values: readonly unknown[]
    binary: boolean
    valueMapper: (value: unknown) => unknown
  }): void
  describe(what: { type: 'P' | 'S'; name: string }): void
  execute(config: { portal: string; rows: number }): void
  close(what: { type: 'P' | 'S'; name: string }): void
  flush(): void
  sync(): void
  sendCopyFail(message: string): void
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
  requiresPreparation(): boolean
  submit(connection: WireConnection): Error | null
  handleCopyInResponse(connection: WireConnection): void
  handleCopyData(message: unknown, connection: WireConnection): void
  handleError(error: Error, connection: WireConnection): void
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

/** COPY needs a stream of data on this side, which neither a query nor a portal has. Nothing was written by it. */
export function copyRefusal(direction: 'FROM STDIN' | 'TO STDOUT', cause?: unknown): PgParallelError {
  return new PgParallelError(
    `COPY ${direction} is not supported: there is nowhere for its data to come from or go to`,
    {
      category: 'statement',
      // The server's own word for it is "canceled by the user", which would count as a time limit.
      transient: false,
      infrastructure: false,
      connectionDead: false,
      cause,
    },
  )
}

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
  #copying = false

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

  override submit(connection: WireConnection): Error | null {
    const refusal = super.submit(connection)
    this.sent = !refusal
    return refusal
  }

  override handleCopyInResponse(connection: WireConnection): void {
    this.#copying = true
    super.handleCopyInResponse(connection)
    // The Sync of the extended protocol went out before, and the server has ignored it as part of the data.
    if (this.requiresPreparation()) connection.sync()
  }

  /** pg drops the data, and the caller would take an empty result for the answer. */
  override handleCopyData(): void {
    this._canceledDueToError ||= copyRefusal('TO STDOUT')
  }

  override handleError(error: Error, connection: WireConnection): void {
    if (this._canceledDueToError) this.answered = true
    super.handleError(this.#copying ? copyRefusal('FROM STDIN', error) : error, connection)
  }
}
