/**
 * The pool: at most `max` connections, shared fairly among everybody who asks.
 *
 * A waiter comes in by `acquire`, is served in its turn, and hands the connection back by `release`. The pool itself
 * opens connections, as many at once as there are waiters and never more than {@link MAX_OPENING}; when that fails it
 * pauses and tries again, so that a server restart looks to the waiters like a slow answer. A server without room
 * (53300) lowers the pool's ceiling for a while: what does not fit waits for a connection to come free.
 *
 * Worker threads open their own connections, but only after they took a slot of this pool, through the same queue.
 */
import { ErrorUtils, PgParallelError } from '../errors'
import type { Settings } from '../options'
import { RetryUtils } from '../policy/retry'
import type { Opening } from '../wire/connect'
import type { Connection } from './connection'
import { openAny } from './opening'
import { WaiterQueue, type Waiter } from './queue'

/** Connections being opened at the same time. */
export const MAX_OPENING = 10
/** A pipelining pool spreads single statements over this many connections before it fills their pipelines. */
const MAX_LANES = 8
/** As many carry short statements: each write to a connection costs more than a further statement in it. */
const MIN_LANES = 4
/** For so many statements a second, if they take as long as those before, there are lanes at least. */
const LANES_CARRY = 40_000
/** What a pool expects of a statement that it knows nothing of, in ms; and how fast it learns. */
const EXPECTED_MS = 1
const LEARNING = 1 / 64
/** How much sooner a lane that speaks in this tick is taken, in statements under way. */
const SPEAKING = 4
/** A connection that has answered nothing for so long gets no further statements before it does. */
const STUCK_MS = 20
/** How long a full server (53300) is not asked for another connection. */
const CEILING_MS = 500

/** Whom the pool tells what happens. */
export interface PoolHooks {
  /** Before connecting: a thread asks the main thread for a slot here. */
  reserve?(): Promise<void>
  /** The slot is free again. */
  unreserve?(): void
  connected(connection: Connection): void
  disconnected(connection: Connection, error: Error | undefined): void
  connectFailed(error: PgParallelError, attempt: number, delayMs: number | undefined): void
  /** The server has no room for another connection; those that are there serve the waiters. */
  full(error: PgParallelError, delayMs: number): void
  /** Somebody waits, and slots are lent out: perhaps one of them is idle. */
  starved(): void
}

/** The pool's figures. */
export interface PoolStats {
  /** Most connections, threads included. */
  max: number
  /** Open connections of this thread. */
  total: number
  idle: number
  busy: number
  /** Being opened. */
  connecting: number
  /** Lent to worker threads. */
  lent: number
  /** Callers in the queue. */
  waiting: number
  /** What the server was last seen to allow; undefined while it did not refuse. */
  ceiling: number | undefined
}

/** See the top of the file. */
export class Pool {
  readonly #settings: Settings
  readonly #hooks: PoolHooks
  readonly #queue = new WaiterQueue()
  readonly #all = new Set<Connection>()
  /** The last one used is on top, so that the others may grow old. */
  readonly #idle: Connection[] = []
  /** Pipelining: connections with single statements under way. */
  readonly #lanes: Connection[] = []
  /** What a lane takes for a statement on average: the time between two answers. */
  #pace = EXPECTED_MS
  #opening = 0
  readonly #connecting = new Set<Opening>()
  #lent = 0
  /** Connections that are being closed: each is room for another soon. */
  #retiring = 0
  #ceiling = Infinity
  #ceilingTimer: NodeJS.Timeout | undefined
  /** Failed rounds of connecting since the last success. */
  #failures = 0
  #round = 0
  #backoff: { next(): number }
  #backoffTimer: NodeJS.Timeout | undefined
  #sweeper: NodeJS.Timeout | undefined
  #closed: PgParallelError | undefined
  #onQuiet: (() => void) | undefined

  constructor(settings: Settings, hooks: PoolHooks) {
    this.#settings = settings
    this.#hooks = hooks
    this.#backoff = RetryUtils.backoff(settings.retry)
  }

  get stats(): PoolStats {
    return {
      max: this.#settings.max,
      total: this.#all.size,
      idle: this.#idle.length,
      busy: this.#all.size - this.#idle.length,
      connecting: this.#opening,
      lent: this.#lent,
      waiting: this.#queue.size,
      ceiling: this.#ceiling === Infinity ? undefined : this.#ceiling,
    }
  }

  /** Connections open or about to be, threads included. */
  get #used(): number {
    return this.#all.size + this.#opening + this.#lent
  }

  /** Asks for a connection or a slot: `serve` or `refuse` is called once, perhaps before this returns. */
  acquire(waiter: Waiter): void {
    if (this.#closed) {
      waiter.refuse(this.#closed)
      return
    }
    if (this.#queue.size === 0 && waiter.kind !== 'slot') {
      const connection = this.#take(waiter.kind === 'exclusive')
      if (connection) {
        waiter.serve(connection)
        return
      }
    }
    // Those for whom there is room to open a connection do not count as waiting.
    const room = Math.max(0, this.#settings.max - this.#used) + this.#opening
    if (this.#queue.size >= this.#settings.maxQueue + room) {
      waiter.refuse(
        new PgParallelError(`${this.#queue.size} calls are waiting for a connection already (maxQueue)`, {
          category: 'overload',
          transient: true,
          infrastructure: false,
        }),
      )
      return
    }
    this.#queue.push(waiter)
    this.#pump()
  }

  /** A waiter that gives up. False when it was served or refused before. */
  withdraw(waiter: Waiter): boolean {
    return this.#queue.remove(waiter)
  }

  /** Takes a connection back after a statement or a lease. */
  release(connection: Connection): void {
    connection.inFlight--
    const now = performance.now()
    // A statement that takes very long is as much a reason for further lanes as one that is taken for stuck.
    if (!connection.exclusive) this.#pace += (Math.min(now - connection.progressAt, STUCK_MS) - this.#pace) * LEARNING
    connection.progressAt = now
    if (connection.inFlight > 0) {
      if (this.#queue.size > 0) this.#pump()
      return
    }
    if (connection.quiet || !connection.usable) {
      this.#settle(connection, now)
      return
    }
    // An answer or a cancel request is still on its way: nothing may be sent until it has arrived.
    void connection.quiesce(this.#settings.cancelTimeoutMs).then(() => {
      this.#settle(connection)
    })
  }

  /** The connection is not to be used again. */
  discard(connection: Connection, error: Error): void {
    connection.fail(error)
    this.release(connection)
  }

  #settle(connection: Connection, now = performance.now()): void {
    connection.exclusive = false
    this.#leaveLanes(connection)
    if (!connection.usable) {
      connection.destroy()
      this.#quiet()
      return
    }
    const status = connection.transactionStatus
    if (status !== 'I') {
      // A transaction that failed, or BEGIN sent as a plain query: the next user must not find itself in it.
      this.#restore(connection, () => connection.query('ROLLBACK'))
      return
    }
    if (connection.stale) connection.forgetStatements()
    if (
      this.#closed ||
      connection.uses >= this.#settings.maxUses ||
      now - connection.openedAt > this.#settings.maxLifetimeMs
    ) {
      this.#retire(connection)
      return
    }
    connection.lastUsedAt = now
    const first = this.#first()
    if (first && first.kind !== 'slot' && this.#settings.pipelineDepth === 1) {
      this.#queue.remove(first)
      this.#hand(connection, first)
      return
    }
    this.#idle.push(connection)
    if (this.#settings.allowExitOnIdle) connection.unref()
    this.#quiet()
    if (first) this.#pump()
  }

  /** Sends what makes the connection fit for the next user, and comes back to {@link Pool.#settle}. */
  #restore(connection: Connection, how: () => Promise<unknown>): void {
    connection.inFlight++
    const done = how()
    void connection.quiesce(this.#settings.cancelTimeoutMs)
    done.then(
      () => {
        this.release(connection)
      },
      (error: unknown) => {
        this.discard(connection, error as Error)
      },
    )
  }

  #hand(connection: Connection, waiter: Waiter): void {
    connection.inFlight++
    connection.progressAt = performance.now()
    connection.exclusive = waiter.kind === 'exclusive'
    waiter.serve(connection)
  }

  #leaveLanes(connection: Connection): void {
    const lane = this.#lanes.indexOf(connection)
    if (lane >= 0) this.#lanes.splice(lane, 1)
  }

  /** A connection for the next waiter, if one is free. */
  #take(exclusive: boolean): Connection | undefined {
    if (!exclusive && this.#settings.pipelineDepth > 1) return this.#takeLane()
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (!connection.usable) continue
      if (this.#settings.allowExitOnIdle) connection.ref()
      connection.exclusive = exclusive
      connection.progressAt = performance.now()
      connection.inFlight++
      return connection
    }
    return undefined
  }

  #takeLane(): Connection | undefined {
    const stuck = performance.now() - STUCK_MS
    const { pipelineDepth } = this.#settings
    let best: Connection | undefined
    let least = Infinity
    let lively = 0
    const most = Math.max(MIN_LANES, Math.min(MAX_LANES, Math.ceil((this.#pace * LANES_CARRY) / 1_000)))
    for (const lane of this.#lanes) {
      // Lanes beyond those that are needed come free.
      if (best && lively >= most) break
      // One more statement on a lane that speaks in this tick costs no write of its own.
      let load = lane.session.speaking ? lane.inFlight - SPEAKING : lane.inFlight
      if (lane.inFlight >= pipelineDepth) load = Infinity
      // Behind a statement that takes long the next one would take as long.
      if (lane.progressAt < stuck || lane.cancelled || !lane.usable) continue
      lively++
      if (load < least) {
        best = lane
        least = load
      }
    }
    if (this.#idle.length > 0 && lively < (best ? most : MAX_LANES)) {
      const fresh = this.#take(true)
      if (fresh) {
        fresh.exclusive = false
        this.#lanes.push(fresh)
        return fresh
      }
    }
    if (!best) return undefined
    best.inFlight++
    return best
  }

  /**
   * Whose turn it is. Those who wait for a slot that a closing connection leaves behind are passed over: the close may
   * take long, and the others need not wait for it.
   */
  #first(): Waiter | undefined {
    let waiter = this.#queue.head
    let rooms = this.#used < this.#settings.max ? 0 : this.#retiring
    while (waiter?.kind === 'slot' && rooms-- > 0) waiter = waiter.next
    return waiter
  }

  /** Serves who can be served, and opens connections for the others. */
  #pump(): void {
    for (let first = this.#first(); first; first = this.#first()) {
      if (first.kind === 'slot') {
        if (!this.#lend(first)) break
        continue
      }
      const connection = this.#take(first.kind === 'exclusive')
      if (!connection) break
      this.#queue.remove(first)
      first.serve(connection)
    }
    this.#grow()
  }

  /** Lends a slot, or makes room for it. False when neither is possible now. */
  #lend(waiter: Waiter): boolean {
    if (this.#used < this.#settings.max) {
      this.#queue.remove(waiter)
      this.#lent++
      waiter.serve(undefined)
      return true
    }
    return this.giveUpIdle()
  }

  /** Something changed outside that those who wait may profit from. */
  nudge(): void {
    this.#grow()
  }

  /** A slot comes back from a thread. */
  returnSlot(): void {
    this.#lent--
    this.#pump()
    this.#quiet()
  }

  #grow(): void {
    const { max } = this.#settings
    if (this.#closed || this.#queue.size === 0) return
    if (this.#used >= max && this.#lent > 0) this.#hooks.starved()
    if (this.#backoffTimer) return
    // After a failure one attempt probes the server; all come back when it succeeded.
    const most = this.#failures > 0 ? 1 : MAX_OPENING
    let wanted = this.#queue.size - this.#opening
    if (this.#settings.pipelineDepth > 1) wanted = Math.min(wanted, MAX_LANES)
    while (wanted-- > 0 && this.#opening < most && this.#used < Math.min(max, this.#ceiling)) this.#open()
  }

  #open(): void {
    this.#opening++
    const round = this.#round
    this.#connect().then(
      (connection) => {
        this.#opening--
        this.#failures = 0
        this.#backoff = RetryUtils.backoff(this.#settings.retry)
        // Where there was room for one, there may be for another.
        if (this.#ceiling !== Infinity) this.#ceiling = this.#used + 2
        this.#add(connection)
        this.#settle(connection)
        // Others may have waited for this one to show that the server is back.
        if (this.#queue.size > 0) this.#pump()
      },
      (error: unknown) => {
        this.#opening--
        this.#openFailed(ErrorUtils.wrap(error), round)
      },
    )
  }

  #add(connection: Connection): void {
    this.#all.add(connection)
    connection.onDead = (): void => {
      const place = this.#idle.indexOf(connection)
      if (place >= 0) {
        this.#idle.splice(place, 1)
        connection.destroy()
      }
    }
    connection.onGone = (): void => {
      this.#all.delete(connection)
      if (connection.retiring) this.#retiring--
      this.#hooks.unreserve?.()
      this.#hooks.disconnected(connection, connection.failure)
      this.#quiet()
      this.#pump()
    }
    this.#hooks.connected(connection)
    this.#sweep()
  }

  async #connect(): Promise<Connection> {
    await this.#hooks.reserve?.()
    try {
      if (this.#closed) throw this.#closed
      return await openAny(this.#settings, this.#connecting)
    } catch (error) {
      this.#hooks.unreserve?.()
      throw error
    }
  }

  /** The server is there, and has no room for another connection. */
  #isFull(error: PgParallelError): boolean {
    // What is still being opened may have got the last place there.
    return error.sqlState === '53300' && this.#used > 0
  }

  /** Makes do with what there is, and asks again in a while. */
  #full(error: PgParallelError): void {
    this.#ceiling = Math.max(1, this.#all.size + this.#opening + this.#lent)
    this.#hooks.full(error, CEILING_MS)
    clearTimeout(this.#ceilingTimer)
    this.#ceilingTimer = setTimeout(() => {
      // One attempt shows whether there is room again.
      this.#ceiling++
      this.#pump()
    }, CEILING_MS).unref()
  }

  #openFailed(error: PgParallelError, round: number): void {
    if (this.#isFull(error)) {
      this.#full(error)
      this.#quiet()
      return
    }
    const alive = this.#all.size + this.#lent
    // Attempts that were under way together fail together: that is one failure.
    if (round !== this.#round) {
      this.#grow()
      this.#quiet()
      return
    }
    this.#round++
    this.#failures++
    if (alive === 0) {
      for (const waiter of this.#queue) {
        waiter.patience--
        waiter.tried = (waiter.tried ?? 0) + 1
      }
      this.#refuseAll((waiter) => waiter.patience <= 0 || !error.class.transient, error)
    }
    if (this.#queue.size === 0) {
      // Nobody waits: the next one who comes tries at once.
      this.#failures = 0
      this.#backoff = RetryUtils.backoff(this.#settings.retry)
      this.#hooks.connectFailed(error, 1, undefined)
      this.#quiet()
      return
    }
    const delay = this.#backoff.next()
    this.#hooks.connectFailed(error, this.#failures, delay)
    clearTimeout(this.#backoffTimer)
    this.#backoffTimer = setTimeout(() => {
      this.#backoffTimer = undefined
      this.#pump()
    }, delay)
  }

  #refuseAll(which: (waiter: Waiter) => boolean, error: PgParallelError): void {
    for (const waiter of [...this.#queue]) {
      if (which(waiter) && this.#queue.remove(waiter)) waiter.refuse(error)
    }
  }

  /** Opens up to `count` connections, at most {@link MAX_OPENING} at a time; returns what went wrong. */
  async warmup(count: number): Promise<PgParallelError[]> {
    const errors: PgParallelError[] = []
    const one = async (): Promise<void> => {
      const room = (): number => Math.min(count, this.#settings.max, this.#ceiling) - this.#used
      while (!this.#closed && errors.length < MAX_OPENING && room() > 0) {
        const round = this.#round
        this.#opening++
        try {
          const connection = await this.#connect()
          this.#opening--
          this.#add(connection)
          this.#settle(connection)
        } catch (error) {
          this.#opening--
          const failure = ErrorUtils.wrap(error)
          errors.push(failure)
          if (this.#isFull(failure)) {
            this.#full(failure)
          } else if (round === this.#round) {
            // Attempts that were under way together fail together: that is one failure.
            this.#round++
            this.#hooks.connectFailed(failure, 1, undefined)
          }
          return // the others go on with what is left
        }
      }
    }
    await Promise.all(Array.from({ length: MAX_OPENING }, one))
    this.#quiet()
    this.#pump()
    return errors
  }

  /** Gives an idle connection's slot back where it is wanted more. Returns whether there was one. */
  giveUpIdle(): boolean {
    const oldest = this.#idle.shift()
    if (oldest) this.#retire(oldest)
    return oldest !== undefined
  }

  /** Closes connections that were idle or lived for too long. One timer for all, so that a query starts none. */
  #sweep(): void {
    const { idleTimeoutMs, maxLifetimeMs, min } = this.#settings
    const limit = Math.min(idleTimeoutMs, maxLifetimeMs)
    if (this.#sweeper || limit === Infinity) return
    this.#sweeper = setInterval(
      () => {
        const now = performance.now()
        for (const connection of [...this.#idle]) {
          const old = now - connection.openedAt > maxLifetimeMs
          const unused = now - connection.lastUsedAt > idleTimeoutMs && this.#all.size > min
          if (!old && !unused) continue
          this.#idle.splice(this.#idle.indexOf(connection), 1)
          this.#retire(connection)
        }
        if (this.#all.size === 0) {
          clearInterval(this.#sweeper)
          this.#sweeper = undefined
        }
      },
      Math.max(10, Math.min(limit / 2, 1_000)),
    )
    this.#sweeper.unref()
  }

  #retire(connection: Connection): void {
    connection.retiring = true
    this.#retiring++
    void connection.close(this.#settings.connectTimeoutMs)
  }

  #quiet(): void {
    if (this.#onQuiet && this.#queue.size === 0 && this.#all.size === 0 && this.#opening === 0) this.#onQuiet()
  }

  /** Lets nobody in any more; those inside may finish. Resolves when every connection is closed. */
  close(reason: PgParallelError): Promise<void> {
    this.#closed = reason
    clearInterval(this.#sweeper)
    clearTimeout(this.#ceilingTimer)
    clearTimeout(this.#backoffTimer)
    for (const connection of this.#idle.splice(0)) this.#retire(connection)
    // Whoever these were for is gone by now.
    for (const connection of this.#connecting) connection.destroy()
    return new Promise((resolve) => {
      this.#onQuiet = resolve
      this.#quiet()
    })
  }

  /** Ends what still runs: refuses the waiters, cancels statements on the server, closes every socket. */
  abort(reason: PgParallelError): void {
    this.#refuseAll(() => true, reason)
    for (const connection of this.#connecting) connection.destroy()
    for (const connection of this.#all) {
      if (connection.inFlight > 0) {
        connection.cancel(this.#settings.cancelTimeoutMs)
        void (connection.cancelled ?? Promise.resolve()).then(() => {
          connection.fail(reason)
          connection.destroy()
        })
      } else {
        connection.destroy()
      }
    }
    // With nobody left who waits, there may be nothing left to close either.
    this.#quiet()
  }

  /** Closes every socket at once, also those that are being opened or said goodbye to. */
  destroy(): void {
    for (const connection of this.#connecting) connection.destroy()
    for (const connection of this.#all) connection.destroy()
    this.#quiet()
  }
}
