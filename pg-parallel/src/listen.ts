/**
 * LISTEN and NOTIFY. All channels of an instance share one connection, taken from the pool for as long as anybody
 * listens. When it is lost, another one takes its place and listens to the same channels; what was notified in between
 * is lost, as the server keeps nothing for those who are not there, and so `onListen` is called each time.
 */
import type { Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import { RetryUtils } from './policy/retry'
import type { Connection } from './pool/connection'
import { quotedName } from './sql'

/** What `NOTIFY` sends. */
export interface Notification {
  readonly channel: string
  readonly payload: string
  /** The server's process that has sent it. */
  readonly processID: number
}

/** How a channel is listened to. */
export interface ListenOptions {
  /**
   * Called whenever the server has begun to send: first before `listen` returns, then after each loss of the connection,
   * with `again` true. What was notified meanwhile is lost, so this is the place to look at what may have been missed.
   */
  onListen?: ((info: { readonly again: boolean }) => void) | undefined
}

/** A channel that is listened to. */
export interface Subscription {
  readonly channel: string
  /** Ends it: when this resolves, the server sends nothing more for it. */
  unlisten(): Promise<void>
  /** As {@link Subscription.unlisten}. */
  [Symbol.asyncDispose](): Promise<void>
}

interface Handler {
  readonly onNotification: (notification: Notification) => void
  readonly onListen: ListenOptions['onListen']
  /** The first LISTEN for it was confirmed. */
  listening: boolean
}

/** A connection that has nothing to say is asked for a sign of life so often: a dead one says nothing either. */
const PING_EVERY_MS = 30_000
const PING_TIMEOUT_MS = 10_000

/** See the top of the file. */
export class Listener {
  readonly #core: Core
  readonly #channels = new Map<string, Set<Handler>>()
  #connection: Connection | undefined
  #connecting: Promise<Connection> | undefined
  #restore: () => void = () => {}
  #pinger: NodeJS.Timeout | undefined
  #closed: PgParallelError | undefined
  /** LISTEN and UNLISTEN go one after the other, so that the last word is the last. */
  #tail: Promise<unknown> = Promise.resolve()

  constructor(core: Core) {
    this.#core = core
  }

  /** Begins to listen; rejects where the first LISTEN fails. */
  async listen(
    channel: string,
    onNotification: (notification: Notification) => void,
    options: ListenOptions = {},
  ): Promise<Subscription> {
    check(channel, onNotification)
    if (this.#core.closed) throw this.#core.closed
    if (this.#core.settings.max < 2) {
      throw new PgParallelError('listen() needs a connection for itself, and max is 1', { category: 'configuration' })
    }
    const handler: Handler = { onNotification, onListen: options.onListen, listening: false }
    const handlers = this.#channels.get(channel) ?? new Set()
    handlers.add(handler)
    this.#channels.set(channel, handlers)
    const unlisten = (): Promise<void> => this.#remove(channel, handler)
    try {
      await this.#inTurn(async () => {
        const connection = await this.#open()
        // A new connection listens to all channels from its beginning.
        if (!handler.listening) await connection.query(`LISTEN ${quotedName(channel)}`)
        this.#tell(handler)
      })
    } catch (error) {
      await unlisten()
      throw ErrorUtils.wrap(error)
    }
    return { channel, unlisten, [Symbol.asyncDispose]: unlisten }
  }

  async #remove(channel: string, handler: Handler): Promise<void> {
    const handlers = this.#channels.get(channel)
    if (!handlers?.delete(handler) || handlers.size > 0) return
    this.#channels.delete(channel)
    await this.#inTurn(async () => {
      const connection = this.#connection
      if (!connection?.usable || this.#channels.has(channel)) return
      if (this.#channels.size > 0) {
        await connection.query(`UNLISTEN ${quotedName(channel)}`)
        return
      }
      await this.#giveBack(connection)
    }).catch(() => {
      // The connection is lost, and with it what it listened to.
    })
  }

  #inTurn<T>(what: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(what)
    this.#tail = result.catch(() => {})
    return result
  }

  /** The connection, opened where there is none. */
  #open(): Promise<Connection> {
    if (this.#connection?.usable) return Promise.resolve(this.#connection)
    this.#connecting ??= this.#take().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #take(): Promise<Connection> {
    const { pool, settings } = this.#core
    let connection: Connection
    try {
      connection = await this.#core.lease(undefined, settings.retry.maxAttempts)
    } catch (error) {
      // What the pool refuses with is in it.
      throw (error as { error?: unknown }).error ?? error
    }
    try {
      connection.onNotification = (channel, payload, processID) => {
        this.#notify({ channel, payload, processID })
      }
      for (const channel of this.#channels.keys()) await connection.query(`LISTEN ${quotedName(channel)}`)
    } catch (error) {
      connection.onNotification = undefined
      pool.discard(connection, error as Error)
      throw error
    }
    if (this.#closed) {
      connection.onNotification = undefined
      pool.discard(connection, this.#closed)
      throw this.#closed
    }
    this.#connection = connection
    const { onDead } = connection
    this.#restore = () => {
      connection.onDead = onDead
    }
    connection.onDead = (error) => {
      onDead?.(error)
      this.#lost(connection, error)
    }
    this.#pinger = setInterval(() => void connection.ping(PING_TIMEOUT_MS), PING_EVERY_MS)
    this.#pinger.unref()
    for (const handler of [...this.#channels.values()].flatMap((handlers) => [...handlers])) this.#tell(handler)
    return connection
  }

  #tell(handler: Handler): void {
    if (this.#told.has(handler) && this.#told.get(handler) === this.#connection) return
    const again = handler.listening
    handler.listening = true
    if (this.#connection) this.#told.set(handler, this.#connection)
    this.#guard(() => handler.onListen?.({ again }))
  }

  /** On which connection a handler was last told that it listens. */
  readonly #told = new WeakMap<Handler, Connection>()

  #notify(notification: Notification): void {
    for (const handler of [...(this.#channels.get(notification.channel) ?? [])]) {
      this.#guard(() => {
        handler.onNotification(notification)
      })
    }
  }

  /** What a listener throws is logged and goes no further. */
  #guard(what: () => unknown): void {
    try {
      what()
    } catch (error) {
      this.#core.settings.logger.error('a listener threw', error)
    }
  }

  #lost(connection: Connection, error: Error): void {
    if (this.#connection !== connection) return
    this.#forget(connection)
    this.#core.pool.discard(connection, error)
    if (this.#closed === undefined && this.#channels.size > 0) void this.#again()
  }

  #forget(connection: Connection): void {
    clearInterval(this.#pinger)
    connection.onNotification = undefined
    this.#restore()
    this.#connection = undefined
  }

  /** Opens another connection, however long it takes. */
  async #again(): Promise<void> {
    const { retry, logger } = this.#core.settings
    const backoff = RetryUtils.backoff(retry)
    while (this.#closed === undefined && this.#channels.size > 0) {
      try {
        await this.#inTurn(() => this.#open())
        return
      } catch (error) {
        const known = ErrorUtils.wrap(error)
        logger.error(`nobody listens: ${known.message}`)
        await this.#core.pause(backoff.next(), undefined)
      }
    }
  }

  async #giveBack(connection: Connection): Promise<void> {
    this.#forget(connection)
    try {
      await connection.query('UNLISTEN *')
      this.#core.pool.release(connection)
    } catch (error) {
      this.#core.pool.discard(connection, error as Error)
    }
  }

  /** The instance is shut down: nobody listens any more. */
  close(reason: PgParallelError): void {
    this.#closed = reason
    this.#channels.clear()
    const connection = this.#connection
    if (connection?.usable) void this.#giveBack(connection)
  }
}

function check(channel: unknown, onNotification: unknown): void {
  const refusal = (message: string): PgParallelError => new PgParallelError(message, { category: 'configuration' })
  if (typeof channel !== 'string' || channel === '' || channel.includes('\0')) {
    throw refusal(`${JSON.stringify(channel)} cannot be the name of a channel`)
  }
  // A longer identifier would be cut, and its notifications arrive under another name.
  if (Buffer.byteLength(channel) > 63) throw refusal('the name of a channel has at most 63 bytes')
  if (typeof onNotification !== 'function') throw refusal('listen() needs a function to call with notifications')
}
