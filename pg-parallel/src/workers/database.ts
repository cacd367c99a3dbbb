/** The database as a worker thread sees it: one connection, with the same retry, breaker and deadlines as elsewhere. */
import type { QueryArrayResult, QueryResult, QueryResultRow } from 'pg'
import { Core } from '../core'
import { PgParallelError } from '../errors'
import { resolveSettings, type CallOptions, type PgParallelOptions } from '../options'
import type { CancelKey } from '../pool/connection'
import { callQuery, type QueryArrayCallConfig, type QueryCallConfig } from '../query'
import { stream, type StreamOptions } from '../stream'
import { runTransaction, type Transaction, type TransactionOptions } from '../transaction'

/** First argument of a function given to `worker`. */
export interface WorkerClient {
  query<R extends QueryResultRow = Record<string, unknown>>(
    text: string | QueryCallConfig,
    values?: readonly unknown[],
    options?: CallOptions,
  ): Promise<QueryResult<R>>
  query<R extends unknown[] = unknown[]>(
    config: QueryArrayCallConfig,
    values?: readonly unknown[],
    options?: CallOptions,
  ): Promise<QueryArrayResult<R>>
  transaction<T>(fn: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>
  stream<R extends QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    options?: StreamOptions,
  ): AsyncGenerator<R, void, undefined>
}

/** How the thread reaches the main thread. */
export interface ThreadHooks {
  reserve(): Promise<void>
  unreserve(): void
  /** What the main thread was told to use; it came with the slot. */
  password(): string | undefined
  opened(key: CancelKey | undefined): void
  log(level: 'info' | 'warn' | 'error', message: string): void
}

/** See the top of the file. */
export class ThreadDatabase {
  readonly #core: Core

  constructor(options: PgParallelOptions, hooks: ThreadHooks) {
    const logger = {
      info: (message: string): void => {
        hooks.log('info', message)
      },
      warn: (message: string): void => {
        hooks.log('warn', message)
      },
      error: (message: string): void => {
        hooks.log('error', message)
      },
    }
    // Asked for anew with each connection: passwords may be tokens that expire.
    const password = options.password === undefined ? {} : { password: () => hooks.password() ?? '' }
    this.#core = new Core(resolveSettings({ ...options, ...password, max: 1, min: 0, maxWorkers: 0, logger }), {
      reserve: () => hooks.reserve(),
      unreserve: () => {
        hooks.unreserve()
      },
      connected: (connection) => {
        hooks.opened(connection.cancelKey)
      },
    })
  }

  /** Closes the connection if nobody uses it. */
  giveUpIdle(): void {
    this.#core.pool.giveUpIdle()
  }

  /** Runs `fn` with a client that is good for as long as `fn` runs. */
  async use<T>(fn: (client: WorkerClient) => Promise<T>): Promise<T> {
    const core = this.#core
    let over = false
    const check = (): void => {
      if (over) throw new PgParallelError('the worker function is over', { category: 'closed' })
    }
    const client: WorkerClient = {
      query: async (
        text: string | QueryCallConfig | QueryArrayCallConfig,
        values?: readonly unknown[],
        options?: CallOptions,
      ): Promise<never> => {
        check()
        return callQuery(core, text, values, options) as Promise<unknown> as Promise<never>
      },
      transaction: async (run, options) => {
        check()
        return runTransaction(core, run, options)
      },
      stream: (text, values, options) => {
        check()
        return stream(core, text, values, options)
      },
    }
    try {
      return await fn(client)
    } finally {
      over = true
      // What the function did not await still belongs to it.
      await core.idle()
    }
  }
}
