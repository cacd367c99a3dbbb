/** One connection to one server: a session, what it is doing, and whether it can still be used. */
import type { Duplex } from 'node:stream'
import { ErrorUtils, PgParallelError } from '../errors'
import { openSession, sendCancelRequest, type CancelKey, type Opening } from '../wire/connect'
import { resolveLogin, type LoginOptions } from '../wire/login'
import type { Notice } from '../wire/notice'
import type { Result } from '../wire/result'
import type { Exchange, Session, SessionOptions } from '../wire/session'
import { Statement, type StatementConfig, type StatementEnd } from '../wire/statement'
import type { HostAddress, ServerRole } from './hosts'

export type { CancelKey } from '../wire/connect'

/** What a connection is opened with. */
export interface ConnectionConfig extends LoginOptions {
  readonly connectionTimeoutMillis: number
  readonly session: SessionOptions
}

/** Sends a cancel request on a connection of its own: see {@link sendCancelRequest}. */
export const sendCancel = async (key: CancelKey, config: LoginOptions, timeoutMs: number): Promise<void> =>
  sendCancelRequest(key, resolveLogin(config, { host: key.host, port: key.port }), timeoutMs)

/** Sockets that keep the process alive, or do not. */
type Referable = Duplex & { ref?(): void; unref?(): void }

/** See the top of the file. */
export class Connection {
  readonly address: HostAddress
  readonly #config: ConnectionConfig
  readonly #host: string
  readonly #port: number
  #session!: Session
  #socket!: Referable
  readonly openedAt = performance.now()
  lastUsedAt = this.openedAt
  uses = 0
  /** Statements sent and not yet answered. */
  inFlight = 0
  /** Held by one caller for several statements. */
  exclusive = false
  /** The pool has said goodbye to it, and waits for the server to close the socket. */
  retiring = false
  /** When it last answered, or began with something. */
  progressAt = 0
  /** Called once when the socket is gone. */
  onGone: (() => void) | undefined
  /** Called when the connection turns unusable. */
  onDead: ((error: Error) => void) | undefined
  /** Called with what the server remarks. */
  onNotice: ((notice: Notice) => void) | undefined
  /** Called with notifications of channels that this connection listens to. */
  onNotification: ((channel: string, payload: string, processID: number) => void) | undefined
  #processID: number | undefined
  #secretKey: Uint8Array | undefined
  #failure: Error | undefined
  #cancelling: Promise<void> | undefined
  #cancelTimer: NodeJS.Timeout | undefined
  #gone = false

  private constructor(config: ConnectionConfig, address: HostAddress, host: string, port: number) {
    this.#config = config
    this.address = address
    this.#host = host
    this.#port = port
  }

  /** Connects and authenticates; whoever holds `opening` can stop that by destroying what is in it. */
  static async open(config: ConnectionConfig, address: HostAddress, opening: Set<Opening>): Promise<Connection> {
    const login = resolveLogin(config, address)
    const connection = new Connection(config, address, login.host, login.port)
    let under: Opening | undefined
    try {
      const { session, socket, processID, secretKey } = await openSession(
        login,
        config.session,
        {
          failed: (error) => {
            connection.fail(error)
          },
          gone: () => {
            connection.#closed()
          },
          notice: (notice) => connection.onNotice?.(notice),
          notification: (channel, payload, pid) => connection.onNotification?.(channel, payload, pid),
        },
        config.connectionTimeoutMillis,
        (line) => {
          under = line
          opening.add(line)
        },
      )
      connection.#session = session
      connection.#socket = socket
      connection.#processID = processID
      connection.#secretKey = secretKey
      return connection
    } finally {
      if (under) opening.delete(under)
    }
  }

  #closed(): void {
    this.#gone = true
    clearTimeout(this.#cancelTimer)
    this.fail(new Error('Connection terminated'))
    this.onGone?.()
  }

  /** The protocol's side. */
  get session(): Session {
    return this.#session
  }

  /** Nothing speaks against sending the next statement here. */
  get usable(): boolean {
    return this.#failure === undefined && this.#session.usable
  }

  /** What made it unusable. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** The socket is closed. */
  get gone(): boolean {
    return this.#gone
  }

  get processID(): number | undefined {
    return this.#processID
  }

  /** Transaction status as of the last answer. */
  get transactionStatus(): 'I' | 'T' | 'E' {
    return this.#session.status
  }

  get cancelKey(): CancelKey | undefined {
    const processID = this.#processID
    const secretKey = this.#secretKey
    if (processID === undefined || secretKey === undefined) return undefined
    return { processID, secretKey, host: this.#host, port: this.#port }
  }

  /** Marks it unusable; the socket is closed when nobody waits for an answer on it any more. */
  fail(error: Error): void {
    if (this.#failure) return
    this.#failure = error
    this.onDead?.(error)
  }

  /** Sends a statement; `done` is called exactly once. `mayBeginAnew`: see {@link Statement}. */
  submit(
    config: StatementConfig,
    values: readonly unknown[] | undefined,
    done: StatementEnd,
    mayBeginAnew = false,
  ): Statement {
    const statement = new Statement(config, values, done, false, mayBeginAnew)
    this.send(statement)
    return statement
  }

  /** Sends anything that is an exchange with the server. */
  send(exchange: Exchange): void {
    this.uses++
    this.#session.submit(exchange)
  }

  /** As {@link submit}, for a caller that has the connection to itself. */
  query(text: string): Promise<Result & { rows: Record<string, unknown>[] }> {
    return new Promise((resolve, reject) => {
      this.submit({ text }, undefined, (error, result) => {
        if (error) reject(error)
        else resolve(result as Result & { rows: Record<string, unknown>[] })
      })
    })
  }

  /**
   * Calls back when every round trip is over and the next statement may be sent, or the socket is gone. A server that
   * does not end its round trips in time loses the connection: its place is wanted by others.
   */
  settled(then: () => void, timeoutMs: number): void {
    if (this.#session.settled || this.#gone) {
      then()
      return
    }
    const timer = this.#giveUpAfter(timeoutMs, 'the last statement did not end in time')
    this.#session.whenSettled(() => {
      clearTimeout(timer)
      then()
    })
  }

  /** A round trip that does nothing. False when no answer came in time. */
  ping(timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.fail(new Error(`no sign of life within ${timeoutMs} ms`))
        this.destroy()
        resolve(false)
      }, timeoutMs)
      this.submit({ text: '' }, undefined, (error) => {
        clearTimeout(timer)
        resolve(error === null)
      })
    })
  }

  /** Tells which kind of server this is; asks it where it does not report so by itself (before PostgreSQL 14). */
  async role(): Promise<ServerRole> {
    const { parameters } = this.#session
    const hot = parameters.get('in_hot_standby')
    const byDefault = parameters.get('default_transaction_read_only')
    if (hot !== undefined && byDefault !== undefined) return { standby: hot === 'on', readOnly: byDefault === 'on' }
    const { rows } = await this.query('SELECT pg_catalog.pg_is_in_recovery() AS standby')
    const { rows: mode } = await this.query('SHOW transaction_read_only')
    return { standby: rows[0]?.['standby'] === true, readOnly: mode[0]?.['transaction_read_only'] === 'on' }
  }

  /**
   * Asks the server to stop the running statement. The connection must not get a new statement before
   * {@link quiesce} resolves, or the request might hit that one. When the statement does not end within `timeoutMs`,
   * the connection is given up.
   */
  cancel(timeoutMs: number): void {
    const key = this.cancelKey
    if (this.#cancelling || this.#gone) return
    this.#cancelTimer ??= this.#giveUpAfter(timeoutMs, 'the cancelled statement did not end in time')
    if (!key) return
    this.#cancelling = sendCancel(key, this.#config, timeoutMs).catch((error: unknown) => {
      // Perhaps it arrives later, and stops a statement that nobody wants stopped.
      this.fail(ErrorUtils.wrap(error))
    })
  }

  /** Resolves when no cancel request is on its way any more. */
  get cancelled(): Promise<void> | undefined {
    return this.#cancelling
  }

  /** Nothing is on its way in either direction. */
  get quiet(): boolean {
    return this.#session.settled && !this.#cancelling
  }

  /** Waits until the connection is {@link quiet}, or gives it up after `timeoutMs`. */
  async quiesce(timeoutMs: number): Promise<void> {
    this.#cancelTimer ??= this.#giveUpAfter(timeoutMs, 'the last statement did not end in time')
    await this.#cancelling
    await new Promise<void>((resolve) => {
      this.settled(resolve, timeoutMs)
    })
    clearTimeout(this.#cancelTimer)
    this.#cancelTimer = undefined
    this.#cancelling = undefined
  }

  #giveUpAfter(timeoutMs: number, why: string): NodeJS.Timeout {
    return setTimeout(() => {
      this.fail(new Error(`${why} (${timeoutMs} ms)`))
      this.destroy()
    }, timeoutMs)
  }

  /** Forget prepared statements before the next user gets the connection. */
  stale = false

  /** Makes the next use of any prepared statement parse it again. */
  forgetStatements(): void {
    this.#session.prepared.clear()
    this.stale = false
  }

  ref(): void {
    this.#socket.ref?.()
  }

  unref(): void {
    this.#socket.unref?.()
  }

  /** Says goodbye and waits until the server has closed the socket. */
  close(timeoutMs: number): Promise<void> {
    if (this.#gone) return Promise.resolve()
    this.#failure ??= new PgParallelError('the connection is closed', { category: 'closed' })
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.destroy()
      }, timeoutMs)
      this.#socket.once('close', () => {
        clearTimeout(timer)
        resolve()
      })
      this.#session.end()
    })
  }

  /** Closes the socket at once. */
  destroy(): void {
    this.#failure ??= new PgParallelError('the connection was given up', { category: 'connection' })
    clearTimeout(this.#cancelTimer)
    this.#session.destroy(this.#failure)
  }
}
