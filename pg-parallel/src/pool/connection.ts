/** One connection to one server: a `pg.Client`, what it is doing, and whether it can still be used. */
import type { ClientConfig, QueryConfig, Submittable } from 'pg'
import { ErrorUtils, PgParallelError } from '../errors'
import type { HostAddress, ServerRole } from './hosts'
import { PgClient, PgConnection, Statement, type StatementEnd, type WireConnection } from './statement'

/** Enough to ask a server to cancel what a connection is doing, from anywhere. */
export interface CancelKey {
  readonly processID: number
  readonly secretKey: number
  readonly host: string
  readonly port: number
}

/**
 * Sends a cancel request on a connection of its own. Resolves when the server has closed that connection, and so has
 * passed the request on; rejects when it could not be delivered in time.
 */
export function sendCancel(key: CancelKey, config: ClientConfig, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // A client that never connects: it knows from options and environment whether TLS is wanted, and how.
    const { ssl, sslNegotiation } = new PgClient(config)
    const wire: WireConnection = new PgConnection({ stream: config.stream, ssl, sslNegotiation })
    let failure: Error | undefined
    const timer = setTimeout(() => {
      failure = new Error(`cancel request was not answered within ${timeoutMs} ms`)
      wire.stream.destroy()
    }, timeoutMs)
    const send = (): void => {
      wire.cancel(key.processID, key.secretKey)
    }
    wire.once('connect', () => {
      if (!ssl) send()
      else if (sslNegotiation !== 'direct') wire.requestSsl()
    })
    wire.once('sslconnect', send)
    const remember = (error?: Error): void => {
      failure ??= error
      wire.once('error', remember) // a socket may report more than one error; none may go unheard
    }
    wire.once('error', remember)
    wire.once('end', () => {
      clearTimeout(timer)
      if (failure) reject(failure)
      else resolve()
    })
    if (key.host.startsWith('/')) wire.connect(`${key.host}/.s.PGSQL.${key.port}`)
    else wire.connect(key.port, key.host)
  })
}

/** See the top of the file. */
export class Connection {
  readonly client: InstanceType<typeof PgClient>
  readonly address: HostAddress
  readonly #config: ClientConfig
  readonly openedAt = performance.now()
  lastUsedAt = this.openedAt
  uses = 0
  /** Statements sent and not yet answered. */
  inFlight = 0
  /** Held by one caller for several statements. */
  exclusive = false
  /** The pool has said goodbye to it, and waits for the server to close the socket. */
  retiring = false
  /** Called once when the socket is gone. */
  onGone: (() => void) | undefined
  /** Called when the connection turns unusable. */
  onDead: ((error: Error) => void) | undefined
  #failure: Error | undefined
  #cancelling: Promise<void> | undefined
  #cancelTimer: NodeJS.Timeout | undefined
  #gone = false
  #released = false
  readonly #parameters = new Map<string, string>()

  private constructor(config: ClientConfig, address: HostAddress) {
    this.#config = config
    this.address = address
    const Client = (config as { Client?: typeof PgClient }).Client ?? PgClient
    this.client = new Client(config)
    // Without a listener, a connection lost while idle would end the process.
    this.client.on('error', (error: Error) => {
      this.fail(error)
    })
    this.client.on('end', () => {
      this.#gone = true
      clearTimeout(this.#cancelTimer)
      this.fail(new Error('Connection terminated'))
      this.onGone?.()
    })
    this.client.connection.on(
      'parameterStatus',
      ({ parameterName, parameterValue }: { parameterName: string; parameterValue: string }) => {
        this.#parameters.set(parameterName, parameterValue)
      },
    )
  }

  /** Connects and authenticates; whoever holds `opening` can stop that by destroying what is in it. */
  static async open(config: ClientConfig, address: HostAddress, opening: Set<Connection>): Promise<Connection> {
    const connection = new Connection({ ...config, ...address }, address)
    opening.add(connection)
    try {
      await connection.client.connect()
    } catch (error) {
      connection.destroy()
      throw error
    } finally {
      opening.delete(connection)
    }
    return connection
  }

  /** Nothing speaks against sending the next statement here. */
  get usable(): boolean {
    const { client } = this
    return this.#failure === undefined && client._queryable && !client._ending && client.connection.stream.writable
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
    return this.client.processID ?? undefined
  }

  /** Transaction status as of the last answer. */
  get transactionStatus(): 'I' | 'T' | 'E' | null {
    return this.client.getTransactionStatus()
  }

  get cancelKey(): CancelKey | undefined {
    const { processID, secretKey, host, port } = this.client
    return processID === null || secretKey === null ? undefined : { processID, secretKey, host, port }
  }

  /** Marks it unusable; the socket is closed when nobody waits for an answer on it any more. */
  fail(error: Error): void {
    if (this.#failure) return
    this.#failure = error
    this.onDead?.(error)
  }

  /** Sends a statement; `done` is called exactly once. */
  submit(config: QueryConfig, values: readonly unknown[] | undefined, done: StatementEnd): Statement {
    const statement = new Statement(config, values, done)
    this.send(statement)
    return statement
  }

  /** Sends anything that speaks `pg`'s submittable interface. */
  send(statement: object): void {
    this.uses++
    this.client.query(statement as Submittable)
  }

  /** As {@link submit}, for a caller that has the connection to itself. */
  query(text: string): Promise<{ command: string; rows: Record<string, unknown>[] }> {
    return new Promise((resolve, reject) => {
      this.submit({ text }, undefined, (error, result) => {
        if (error) reject(error)
        else resolve(result as { command: string; rows: Record<string, unknown>[] })
      })
    })
  }

  /** Calls back after the round trip that failed is over and the next statement may be sent, or the socket is gone. */
  settled(then: () => void): void {
    const { client } = this
    if (client.readyForQuery || this.#gone || !this.usable) {
      then()
      return
    }
    const { connection } = client
    const finish = (): void => {
      connection.removeListener('readyForQuery', finish)
      connection.removeListener('end', finish)
      then()
    }
    connection.once('readyForQuery', finish)
    connection.once('end', finish)
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
    const hot = this.#parameters.get('in_hot_standby')
    const byDefault = this.#parameters.get('default_transaction_read_only')
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
    this.#cancelling = sendCancel(key, this.#config, timeoutMs).then(
      () => {},
      (error: unknown) => {
        // Perhaps it arrives later, and stops a statement that nobody wants stopped.
        this.fail(ErrorUtils.wrap(error))
      },
    )
  }

  /** Resolves when no cancel request is on its way any more. */
  get cancelled(): Promise<void> | undefined {
    return this.#cancelling
  }

  /** Nothing is on its way in either direction. */
  get quiet(): boolean {
    return this.client.readyForQuery && !this.#cancelling
  }

  /** Waits until the connection is {@link quiet}, or gives it up after `timeoutMs`. */
  async quiesce(timeoutMs: number): Promise<void> {
    this.#cancelTimer ??= this.#giveUpAfter(timeoutMs, 'the last statement did not end in time')
    await this.#cancelling
    await new Promise<void>((resolve) => {
      this.settled(resolve)
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

  /** Makes the next use of a named statement parse it again. */
  async forgetStatement(name: string): Promise<void> {
    const { connection } = this.client
    connection.parsedStatements[name] = undefined
    delete connection.parsedStatements[name]
    delete connection.submittedNamedStatements[name]
    try {
      await this.query(`DEALLOCATE "${name.replaceAll('"', '""')}"`)
    } catch (error) {
      // It was not there: that is what is wanted.
      if (ErrorUtils.sqlState(error) !== '26000') throw error
    }
  }

  /** Forget named statements before the next user gets the connection. */
  stale = false

  /** Makes the next use of any named statement parse it again. */
  async forgetStatements(): Promise<void> {
    const { connection } = this.client
    connection.parsedStatements = {}
    connection.submittedNamedStatements = {}
    this.stale = false
    await this.query('DEALLOCATE ALL')
  }

  ref(): void {
    this.client.connection.stream.ref?.()
  }

  unref(): void {
    this.client.connection.stream.unref?.()
  }

  /** Says goodbye and waits until the server has closed the socket. */
  close(timeoutMs: number): Promise<void> {
    if (this.#gone) return Promise.resolve()
    this.#failure ??= new PgParallelError('the connection is closed', { category: 'closed' })
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.destroy()
      }, timeoutMs)
      this.client.once('end', () => {
        clearTimeout(timer)
        resolve()
      })
      if (!this.#released) {
        this.#released = true
        this.client.end().catch(() => {
          this.destroy()
        })
      }
    })
  }

  /** Closes the socket at once. */
  destroy(): void {
    this.#failure ??= new PgParallelError('the connection was given up', { category: 'connection' })
    clearTimeout(this.#cancelTimer)
    this.client.connection.stream.destroy()
  }
}
