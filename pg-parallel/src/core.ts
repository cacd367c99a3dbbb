/** What every kind of call works with: settings, pool, breaker, and who is told. One per {@link PgParallel}. */
import { ErrorUtils, PgParallelError } from './errors'
import { FateTellers } from './fate'
import { ReadFunctions } from './functions'
import { Events, type CallKind } from './observe/events'
import { Observer, type CallObserver } from './observe/observer'
import type { CallOptions, Settings } from './options'
import { CircuitBreaker, type BreakerPass } from './policy/breaker'
import { Deadline } from './policy/deadline'
import { writing, type StatementNature } from './policy/replay'
import { RetryUtils, type RetryOptions } from './policy/retry'
import type { Connection } from './pool/connection'
import { Pool, type PoolHooks } from './pool/pool'
import type { Waiter } from './pool/queue'

/** How many calls there were, of all kinds. */
export interface CallStats {
  started: number
  succeeded: number
  failed: number
  /** Further attempts beyond the first of each call. */
  retried: number
}

const OPEN_PASS: BreakerPass = { success: () => {}, failure: () => {}, release: () => {} }

/** See the top of the file. */
export class Core {
  readonly settings: Settings
  readonly pool: Pool
  readonly breaker: CircuitBreaker | undefined
  readonly events: Events
  readonly observer: CallObserver
  readonly fates = new FateTellers()
  readonly functions = new ReadFunctions()
  readonly calls: CallStats = { started: 0, succeeded: 0, failed: 0, retried: 0 }
  /** Set by `shutdown`: no new call gets in. */
  closed: PgParallelError | undefined
  /** Set when `shutdown` has waited long enough: nothing is tried again. */
  stopped = false
  readonly #pauses = new Set<() => void>()
  #running = 0
  #onIdle: (() => void) | undefined

  constructor(settings: Settings, hooks: Partial<PoolHooks>, observer?: CallObserver) {
    this.settings = settings
    const { logger, circuitBreaker } = settings
    this.events = new Events((error) => {
      logger.error('a listener threw', error)
    })
    const { addresses } = settings.hosts
    const only = addresses.length === 1 ? addresses[0] : undefined
    this.observer =
      observer ??
      new Observer(settings.tracing, { database: settings.client.database, host: only?.host, port: only?.port })
    this.breaker =
      circuitBreaker === false
        ? undefined
        : new CircuitBreaker(circuitBreaker, (state, before) => {
            if (state === 'open') logger.error('circuit breaker is open')
            else logger.info(`circuit breaker is ${state}`)
            this.events.emit('breaker', { state, before })
          })
    this.pool = new Pool(settings, {
      connected: (connection) => {
        const { address, processID } = connection
        connection.onNotice = (notice) => {
          this.events.emit('notice', { notice, address, processID })
        }
        hooks.connected?.(connection)
        this.events.emit('connect', { address, processID })
      },
      disconnected: (connection, failure) => {
        const { address, processID } = connection
        hooks.disconnected?.(connection, failure)
        const error = ErrorUtils.category(failure) === 'closed' ? undefined : failure
        if (error) logger.warn(`connection lost: ${error.message}`)
        this.events.emit('disconnect', { address, processID, error })
      },
      connectFailed: (error, attempt, delayMs) => {
        this.breaker?.recordFailure(error)
        logger.warn(`could not connect: ${error.message}`)
        this.events.emit('connectFailed', { error, attempt, delayMs })
      },
      // A server that is full is in order: this is no failure of the kind that the breaker is for.
      full: (error, delayMs) => {
        this.events.emit('connectFailed', { error, attempt: 1, delayMs })
      },
      starved: () => hooks.starved?.(),
      ...(hooks.reserve ? { reserve: hooks.reserve } : {}),
      ...(hooks.unreserve ? { unreserve: hooks.unreserve } : {}),
    })
  }

  /** Asks the breaker; throws category `circuit-open`. */
  enter(): BreakerPass {
    return this.breaker ? this.breaker.enter() : OPEN_PASS
  }

  /** What a statement does, as far as its text, the database and the application say so: it decides about sending it again. */
  judge(nature: StatementNature): StatementNature {
    if (this.settings.replay === 'marked') return writing(nature)
    return this.functions.judge(nature)
  }

  retryOf(options: CallOptions | undefined): RetryOptions {
    const retry = options?.retry
    if (retry === undefined) return this.settings.retry
    return retry === false ? RetryUtils.resolve(false) : RetryUtils.resolve({ ...this.settings.retry, ...retry })
  }

  deadlineOf(options: CallOptions | undefined): Deadline | undefined {
    const { timeoutMs } = this.settings
    if (timeoutMs === undefined || options?.timeoutMs !== undefined) return Deadline.from(options)
    return Deadline.from({ ...options, timeoutMs })
  }

  /** Counts a call in; throws when the instance is shut down. */
  begin(): void {
    if (this.closed) throw this.closed
    this.calls.started++
    this.#running++
  }

  finish(succeeded: boolean): void {
    if (succeeded) this.calls.succeeded++
    else this.calls.failed++
    if (--this.#running === 0) this.#onIdle?.()
  }

  /** Resolves when no call runs. */
  idle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onIdle = resolve
    })
  }

  /** Calls back after `ms`, or at once when the instance is stopped; the returned function takes it back. */
  after(ms: number, then: () => void): () => void {
    const wake = (): void => {
      cancel()
      then()
    }
    const timer = setTimeout(wake, this.stopped ? 0 : ms)
    const cancel = (): void => {
      clearTimeout(timer)
      this.#pauses.delete(wake)
    }
    this.#pauses.add(wake)
    return cancel
  }

  /** Waits, or rejects as soon as the deadline passes. */
  pause(ms: number, deadline: Deadline | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.after(ms, () => {
        forget?.()
        resolve()
      })
      const forget = deadline?.onEnd((reason) => {
        cancel()
        reject(reason)
      })
    })
  }

  /** Ends all pauses: what was to be tried again is refused by the pool, which is closed by now. */
  stop(): void {
    this.stopped = true
    for (const wake of [...this.#pauses]) wake()
  }

  retrying(kind: CallKind, error: PgParallelError, attempt: number, delayMs: number): void {
    this.calls.retried++
    this.events.emit('retry', { kind, error, attempt, delayMs })
  }

  /** A connection of its own for a caller that needs several statements on it. Give it back with `pool.release`. */
  lease(deadline: Deadline | undefined, patience: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        kind: 'exclusive',
        patience,
        serve: (connection) => {
          forget?.()
          resolve(connection as Connection)
        },
        refuse: (error) => {
          forget?.()
          reject(new RefusedByPool(error, Math.max(1, waiter.tried ?? 0)))
        },
      }
      const forget = deadline?.onEnd((reason) => {
        if (this.pool.withdraw(waiter)) reject(reason)
      })
      this.pool.acquire(waiter)
    })
  }
}

/** The pool used up the call's patience: its failures are counted already, and there is no further attempt. */
export class RefusedByPool extends Error {
  readonly error: PgParallelError
  /** How often the pool has tried to connect for this call. */
  readonly tried: number

  constructor(error: PgParallelError, tried: number) {
    super(error.message)
    this.error = error
    this.tried = tried
  }
}
