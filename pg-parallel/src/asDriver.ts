/**
 * The module `pg` as libraries know it that make their connections themselves, such as Knex, Sequelize and MikroORM: a
 * `Client` whose connection comes from the instance's pool, and counts there, until `end` closes it.
 */
import { EventEmitter } from 'node:events'
import types from 'pg-types'
import { leaseClient, type PgParallelPool, type PooledClient } from './asPool'
import type { Core } from './core'
import { PgParallelError } from './errors'
import { orCallBack, type QueryCallback, type Submitting } from './pool/held'
import { isSubmittable } from './wire/submitted'
import type { CustomTypes, QueryArrayConfig, QueryArrayResult, QueryConfig, QueryResult } from './types'

/** What of a library's settings for its connections counts: where to connect is the instance's business. */
export interface DriverClientConfig {
  types?: CustomTypes | undefined
}

/** A connection as `pg.Client` shows itself: `connect`, `query`, `end`. Events: `error`, `end`, `notice`, `notification`, `drain`. */
export interface DriverClient extends EventEmitter {
  /** The server's process, once it is connected. */
  readonly processID: number | undefined
  /** Emits `parameterStatus` while it connects. */
  readonly connection: EventEmitter
  connect(): Promise<DriverClient>
  connect(callback: (error?: Error) => void): void
  query<R extends object = Record<string, unknown>>(
    text: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<R>>
  query<R extends unknown[] = unknown[]>(
    config: QueryArrayConfig,
    values?: readonly unknown[],
  ): Promise<QueryArrayResult<R>>
  query(text: string | QueryConfig, values: readonly unknown[] | undefined, callback: QueryCallback): void
  query(text: string | QueryConfig, callback: QueryCallback): void
  query<S extends Submitting>(statement: S, values?: unknown, callback?: unknown): S
  /** Closes the connection: what was set on it is nobody else's. */
  end(): Promise<void>
  end(callback: (error?: Error) => void): void
}

/** What libraries take for the module `pg`. */
export interface PgParallelDriver {
  Client: new (config?: DriverClientConfig) => DriverClient
  /** The instance's own pool, however often one is made. */
  Pool: new () => PgParallelPool
  /** `pg-types`, as `pg.types`. */
  types: typeof types
  /** `pg`'s defaults, of which nothing here depends. */
  defaults: Record<string, unknown>
}

const EVENTS = ['error', 'end', 'notice', 'notification', 'drain'] as const

/** Makes the module's face of an instance. */
export function driverOf(core: Core, pool: () => PgParallelPool): PgParallelDriver {
  class Client extends EventEmitter {
    readonly connection = new EventEmitter()
    readonly #config: DriverClientConfig
    #client: PooledClient | undefined
    #connecting: Promise<PooledClient> | undefined
    /** Sequelize asks for that. */
    _ending = false

    constructor(config?: DriverClientConfig) {
      super()
      this.#config = typeof config === 'object' ? config : {}
    }

    get processID(): number | undefined {
      return this.#client?.processID
    }

    connect(callback?: (error?: Error) => void): Promise<unknown> | undefined {
      const connected = this.#connect().then(() => this)
      if (!callback) return connected
      connected.then(
        () => {
          process.nextTick(callback)
        },
        (error: unknown) => {
          process.nextTick(callback, error)
        },
      )
      return undefined
    }

    async #connect(): Promise<PooledClient> {
      if (this.#connecting) throw misuse('the client was connected already')
      this.#connecting = leaseClient(core, this.#config.types)
      const client = await this.#connecting
      for (const event of EVENTS) {
        client.on(event, (...details: unknown[]) => {
          if (event !== 'error' || this.listenerCount('error') > 0) this.emit(event, ...details)
        })
      }
      for (const [parameterName, parameterValue] of client.parameters) {
        this.connection.emit('parameterStatus', { parameterName, parameterValue })
      }
      this.#client = client
      return client
    }

    query(text: unknown, values?: unknown, callback?: unknown): unknown {
      const client = this.#client as { query(...given: unknown[]): unknown } | undefined
      if (client) return client.query(text, values, callback)
      if (this.#connecting && !this._ending) return this.#queryLater(this.#connecting, text, values, callback)
      const error = misuse(this._ending ? 'the client was ended' : 'the client is not connected: await connect() first')
      if (isSubmittable(text)) {
        process.nextTick(() => {
          text.handleError(error, undefined as never)
        })
        return text
      }
      const back = [values, callback].find((one) => typeof one === 'function') as QueryCallback | undefined
      if (!back) return Promise.reject(error)
      process.nextTick(back, error)
      return undefined
    }

    /** As in pg, what is asked while the client connects is sent when it has. */
    #queryLater(connecting: Promise<PooledClient>, text: unknown, values: unknown, callback: unknown): unknown {
      if (isSubmittable(text)) {
        connecting.then(
          (client) => client.query(text, values, callback),
          (error: unknown) => {
            text.handleError(error as Error, undefined as never)
          },
        )
        return text
      }
      const back = [values, callback].find((one) => typeof one === 'function') as QueryCallback | undefined
      const given = typeof values === 'function' ? undefined : (values as readonly unknown[] | undefined)
      return orCallBack(
        connecting.then((client) => client.query(text as QueryConfig, given)),
        back,
      )
    }

    end(callback?: (error?: Error) => void): Promise<void> | undefined {
      const over = this.#end()
      if (!callback) return over
      void over.then(() => {
        process.nextTick(callback)
      })
      return undefined
    }

    async #end(): Promise<void> {
      if (this._ending) return
      this._ending = true
      // One that is still being opened is closed as soon as it is there.
      const client = await this.#connecting?.catch(() => undefined)
      this.#client = undefined
      if (!client) return
      // As in pg, a statement that speaks for itself and has not ended, ends with the connection.
      client.release(new PgParallelError('the connection is closed', { category: 'closed' }))
      this.emit('end')
    }
  }
  const Pool = function Pool(): PgParallelPool {
    return pool()
  } as unknown as PgParallelDriver['Pool']
  return { Client: Client as unknown as PgParallelDriver['Client'], Pool, types, defaults: {} }
}

const misuse = (message: string): PgParallelError => new PgParallelError(message, { category: 'configuration' })
