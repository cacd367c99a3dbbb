/** The database as a worker thread sees it: one connection, with the same retry, breaker and deadlines as elsewhere. */
import { Core } from '../core'
import { PgParallelError } from '../errors'
import { resolveSettings, type CallOptions, type PgParallelOptions } from '../options'
import type { CancelKey } from '../pool/connection'
import { callQuery, type QueryArrayCallConfig, type QueryCallConfig } from '../query'
import { callBatch, type BatchItem } from '../batch'
import { Queryable } from '../queryable'
import type { Sql } from '../sql'
import { cursor, stream, type StreamOptions } from '../stream'
import type { QueryArrayResult, QueryResult } from '../types'
import { ThreadObserver } from './observer'
import type { CallNews, RemoteStatement } from './protocol'
import { compactOids } from '../wire/shape'
import type { Packing } from '../wire/statement'
import { runTransaction, type Transaction, type TransactionOptions } from '../transaction'

/** First argument of a function given to `worker`. */
export interface WorkerClient extends Pick<Queryable<QueryCallConfig, CallOptions>, 'one' | 'maybeOne' | 'many'> {
  query<R extends object>(query: Sql<R>, options?: CallOptions): Promise<QueryResult<R>>
  query<R extends object = Record<string, unknown>>(
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
  stream<R extends object = Record<string, unknown>>(
    query: string | Sql<R>,
    values?: readonly unknown[] | StreamOptions,
    options?: StreamOptions,
  ): AsyncGenerator<R, void, undefined>
  cursor<R extends object = Record<string, unknown>>(
    query: string | Sql<R>,
    values?: readonly unknown[] | StreamOptions,
    options?: StreamOptions,
  ): AsyncGenerator<R[], void, undefined>
  batch(items: readonly BatchItem[], options?: CallOptions): Promise<QueryResult[]>
}

/** The client of one job; dead once the job's function has ended. */
class JobClient extends Queryable<QueryCallConfig, CallOptions> implements WorkerClient {
  readonly #core: Core
  #over = false

  constructor(core: Core) {
    super()
    this.#core = core
  }

  end(): void {
    this.#over = true
  }

  #check(): void {
    if (this.#over) throw new PgParallelError('the worker function is over', { category: 'closed' })
  }

  async query(
    text: string | QueryCallConfig | QueryArrayCallConfig,
    values?: readonly unknown[] | CallOptions,
    options?: CallOptions,
  ): Promise<never> {
    this.#check()
    const packing: Packing = { oids: new Set(compactOids(this.#core.settings.session.types)), always: false }
    return callQuery(this.#core, text, values, options, packing) as Promise<unknown> as Promise<never>
  }

  protected run(
    query: string | QueryCallConfig,
    values: readonly unknown[] | CallOptions | undefined,
    options: CallOptions | undefined,
  ): Promise<QueryResult> {
    return this.query(query, values, options)
  }

  async transaction<T>(fn: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T> {
    this.#check()
    return runTransaction(this.#core, fn, options)
  }

  stream<R extends object>(
    query: string | Sql<R>,
    values?: readonly unknown[] | StreamOptions,
    options?: StreamOptions,
  ): AsyncGenerator<R, void, undefined> {
    this.#check()
    return stream(this.#core, query, values, options)
  }

  cursor<R extends object>(
    query: string | Sql<R>,
    values?: readonly unknown[] | StreamOptions,
    options?: StreamOptions,
  ): AsyncGenerator<R[], void, undefined> {
    this.#check()
    return cursor(this.#core, query, values, options)
  }

  async batch(items: readonly BatchItem[], options?: CallOptions): Promise<QueryResult[]> {
    this.#check()
    return callBatch(this.#core, items, options)
  }
}

/** How the thread reaches the main thread. */
export interface ThreadHooks {
  reserve(): Promise<void>
  unreserve(): void
  /** What the main thread was told to use; it came with the slot. */
  password(): string | undefined
  opened(key: CancelKey | undefined): void
  log(level: 'info' | 'warn' | 'error', message: string): void
  tell(news: CallNews): void
}

/** See the top of the file. */
export class ThreadDatabase {
  readonly #core: Core
  readonly observer: ThreadObserver

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
    this.observer = new ThreadObserver(hooks.tell)
    // Asked for anew with each connection: passwords may be tokens that expire.
    const password = options.password === undefined ? {} : { password: () => hooks.password() ?? '' }
    this.#core = new Core(
      resolveSettings({ ...options, ...password, max: 1, min: 0, maxWorkers: 0, logger }),
      {
        reserve: () => hooks.reserve(),
        unreserve: () => {
          hooks.unreserve()
        },
        connected: (connection) => {
          hooks.opened(connection.cancelKey)
        },
      },
      this.observer,
    )
  }

  /** Opens the connection ahead of the job that needs it. Where waiting may cure it, the job's statements try again. */
  async connect(): Promise<void> {
    if (this.#core.pool.stats.total > 0) return
    const [error] = await this.#core.pool.warmup(1)
    if (error && !error.class.transient) throw error
  }

  /** Closes the connection if nobody uses it. */
  giveUpIdle(): void {
    this.#core.pool.giveUpIdle()
  }

  /** Runs a statement whose rows are read on the main thread. */
  query(statement: RemoteStatement, signal: AbortSignal): Promise<unknown> {
    const { compact, idempotent, retry, batchSize: _, ...config } = statement
    const options = { signal, idempotent, retry }
    return callQuery(this.#core, config as QueryCallConfig, undefined, options, {
      oids: new Set(compact),
      always: true,
    })
  }

  /** The same for a stream, in batches. */
  batches(statement: RemoteStatement, signal: AbortSignal): AsyncGenerator<object[], void, undefined> {
    const { text, values, idempotent, retry, batchSize } = statement
    return cursor(this.#core, text, values, { signal, idempotent, retry, batchSize }, true)
  }

  /** Runs `fn` with a client that is good for as long as `fn` runs. */
  async use<T>(fn: (client: WorkerClient) => Promise<T>): Promise<T> {
    const client = new JobClient(this.#core)
    try {
      return await fn(client)
    } finally {
      client.end()
      // What the function did not await still belongs to it.
      await this.#core.idle()
    }
  }
}
