/**
 * `pg.Pool`'s face, for libraries that want one: query builders and ORMs take a connection by `connect`, begin and end
 * their transactions on it themselves, and `release` it. Connections come from the instance's own pool.
 */
import { EventEmitter } from 'node:events'
import type { Core } from './core'
import { ErrorUtils } from './errors'
import type { PgParallelOptions } from './options'
import type { Connection } from './pool/connection'
import { HeldClient, orCallBack, type QueryCallback, type Submitting } from './pool/held'
import { callQuery, refusedBy, type QueryArrayCallConfig } from './query'
import type { CustomTypes, QueryArrayResult, QueryConfig, QueryResult } from './types'
import { isSubmittable } from './wire/submitted'

/** A connection of the pool in the hands of its user, until it is released. */
export class PooledClient extends HeldClient {
  readonly #giveBack: (error: Error | undefined) => void
  #released = false

  /** @internal */
  constructor(
    connection: Connection,
    cancelTimeoutMs: number,
    giveBack: (error: Error | undefined) => void,
    types?: CustomTypes,
  ) {
    super(connection, cancelTimeoutMs, types)
    this.#giveBack = giveBack
  }

  /** Gives the connection back; with an error, or `true`, it is closed. An open transaction is rolled back. */
  release(error?: Error | boolean): void {
    if (this.#released) throw new Error('Release called on client which has already been released to the pool.')
    this.#released = true
    this.letGo()
    const broken = error === true ? new Error('the client was released as broken') : error
    this.#giveBack(broken === false ? undefined : broken)
  }

  /** `using client = await pool.connect()`: released at the end of the block, unless it was before. */
  [Symbol.dispose](): void {
    if (!this.#released) this.release()
  }
}

/** What `pg.Pool.connect` calls back with. */
export type ConnectCallback = (
  error: Error | undefined,
  client?: PooledClient,
  release?: PooledClient['release'],
) => void

/** An instance as `pg.Pool` shows itself. Events: `connect`, `acquire`, `release` and `remove`, with what `pg.Pool` gives. */
export class PgParallelPool extends EventEmitter {
  readonly options: PgParallelOptions
  readonly #core: Core
  readonly #shutdown: () => Promise<void>
  #ending = false
  #ended = false

  /** @internal */
  constructor(core: Core, options: PgParallelOptions, shutdown: () => Promise<void>) {
    super()
    this.#core = core
    this.options = options
    this.#shutdown = shutdown
    core.events.on('connect', (info) => this.emit('connect', info))
    core.events.on('disconnect', (info) => this.emit('remove', info))
  }

  /** Open connections. */
  get totalCount(): number {
    return this.#core.pool.stats.total
  }

  /** Connections nobody uses. */
  get idleCount(): number {
    return this.#core.pool.stats.idle
  }

  /** Calls in the queue. */
  get waitingCount(): number {
    return this.#core.pool.stats.waiting
  }

  /** `end` was called. */
  get ending(): boolean {
    return this.#ending
  }

  /** Everything is closed. */
  get ended(): boolean {
    return this.#ended
  }

  /** Runs a statement on any connection. */
  query<R extends object = Record<string, unknown>>(
    text: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<R>>
  query<R extends unknown[] = unknown[]>(
    config: QueryArrayCallConfig,
    values?: readonly unknown[],
  ): Promise<QueryArrayResult<R>>
  query(text: string | QueryConfig, values: readonly unknown[] | undefined, callback: QueryCallback): void
  query(text: string | QueryConfig, callback: QueryCallback): void
  /** Gives what speaks the protocol by itself, such as a cursor, a connection until it has ended, and returns it. */
  query<S extends Submitting>(statement: S): S
  query(
    text: string | QueryConfig | Submitting,
    values?: readonly unknown[] | QueryCallback,
    callback?: QueryCallback,
  ): unknown {
    if (isSubmittable(text)) return this.#submit(text)
    return this.#query(text as string | QueryConfig, values, callback)
  }

  #query(
    text: string | QueryConfig,
    values: readonly unknown[] | QueryCallback | undefined,
    callback: QueryCallback | undefined,
  ): Promise<unknown> | undefined {
    const back = typeof values === 'function' ? values : callback
    const given = typeof values === 'function' ? undefined : values
    const answer = callQuery(this.#core, text, given, undefined)
    return orCallBack(answer, back)
  }

  /** A connection for several statements; it must be released. */
  connect(): Promise<PooledClient>
  connect(callback: ConnectCallback): void
  connect(callback?: ConnectCallback): Promise<PooledClient> | undefined {
    const client = this.#lease()
    if (!callback) return client
    client.then(
      (found) => {
        process.nextTick(callback, undefined, found, found.release.bind(found))
      },
      (error: unknown) => {
        process.nextTick(callback, error, undefined, () => {})
      },
    )
    return undefined
  }

  #submit<S extends Submitting>(statement: S): S {
    this.#lease().then(
      async (client) => {
        client.query(statement)
        await client.quiet()
        client.release()
      },
      (error: unknown) => {
        const { handleError } = statement as { handleError?: (error: unknown) => void }
        handleError?.call(statement, error)
      },
    )
    return statement
  }

  #lease(): Promise<PooledClient> {
    return leaseClient(this.#core, undefined, {
      acquired: (client) => this.emit('acquire', client),
      released: (client, error) => this.emit('release', error, client),
    })
  }

  /** Closes everything, the instance too. */
  end(): Promise<void>
  end(callback: (error?: Error) => void): void
  end(callback?: (error?: Error) => void): Promise<void> | undefined {
    this.#ending = true
    const over = this.#shutdown().then(() => {
      this.#ended = true
    })
    if (!callback) return over
    over.then(() => {
      callback()
    }, callback)
    return undefined
  }
}

/** Who wants to hear of a client. */
interface LeaseHooks {
  acquired?(client: PooledClient): void
  released?(client: PooledClient, error: Error | undefined): void
}

/** Takes a connection out of the instance's pool for a holder that begins and ends its transactions itself. */
export async function leaseClient(
  core: Core,
  types: CustomTypes | undefined,
  hooks: LeaseHooks = {},
): Promise<PooledClient> {
  core.begin()
  try {
    const pass = core.enter()
    let connection: Connection
    try {
      connection = await core.lease(undefined, core.settings.retry.maxAttempts)
    } catch (error) {
      throw refusedBy(error, 0) ?? ErrorUtils.wrap(error)
    } finally {
      pass.release()
    }
    const client = new PooledClient(
      connection,
      core.settings.cancelTimeoutMs,
      (error) => {
        if (error) core.pool.discard(connection, error)
        else core.pool.release(connection)
        core.finish(error === undefined || ErrorUtils.category(error) === 'closed')
        hooks.released?.(client, error)
      },
      types,
    )
    hooks.acquired?.(client)
    return client
  } catch (error) {
    core.finish(false)
    throw error
  }
}
