/**
 * One call of `query`, from the queue to its answer.
 *
 * The call is the waiter in the pool's queue and the receiver of the answer in one object, so that a query that goes
 * well costs one promise. Everything else (pauses, a second attempt, a sign of life from a connection that was long
 * idle, the end of its time) happens on the side.
 */
import type { QueryArrayConfig, QueryConfig, QueryResult } from 'pg'
import { RefusedByPool, type Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import type { Followed } from './observe/observer'
import type { CallOptions } from './options'
import type { BreakerPass } from './policy/breaker'
import type { Deadline } from './policy/deadline'
import { natureOf } from './policy/replay'
import { RetryUtils, type RetryOptions } from './policy/retry'
import { judge, verdictError } from './policy/verdict'
import type { Connection } from './pool/connection'
import type { Waiter } from './pool/queue'
import type { Statement } from './pool/statement'

/** Answer to a sign-of-life request: not longer than a human notices, and long enough for another continent. */
const PING_TIMEOUT_MS = 1_000

/** A query and how to call it: what `pg` takes, and what every call takes here. */
export interface QueryCallConfig extends QueryConfig<unknown[]>, CallOptions {}

/** The same, for rows as arrays. */
export interface QueryArrayCallConfig extends QueryArrayConfig<unknown[]>, CallOptions {}

type Result = QueryResult<Record<string, unknown>>

/** `query` of an instance and of a worker's client. */
export function callQuery(
  core: Core,
  text: string | QueryCallConfig | QueryArrayCallConfig,
  values: readonly unknown[] | undefined,
  options: CallOptions | undefined,
): Promise<Result> {
  return new Promise<Result>((resolve, reject) => {
    if (typeof values === 'function' || typeof options === 'function')
      throw refusal('callbacks are not taken: use the promise')
    if (typeof text === 'string') {
      new QueryCall(core, { text }, values, options, resolve, reject)
    } else {
      const config = checkedConfig(text)
      new QueryCall(core, config, values ?? config.values, options ?? config, resolve, reject)
    }
  }).catch((error: unknown) => {
    // The error was made where the answer came in; its reader wants to know where the question was asked.
    if (error instanceof PgParallelError) Error.captureStackTrace(error)
    throw error
  })
}

const refusal = (message: string): PgParallelError => new PgParallelError(message, { category: 'configuration' })

/** What callers from JavaScript may get wrong. */
function checkedConfig(config: unknown): QueryCallConfig {
  if (typeof config !== 'object' || config === null) {
    throw refusal(`query takes a text or a query object, not ${String(config)}`)
  }
  if ('submit' in config) throw refusal('cursors and query streams are not taken: use stream()')
  if ('callback' in config) throw refusal('callbacks are not taken: use the promise')
  const { query_timeout: timeoutMs, ...rest } = config as QueryCallConfig & { query_timeout?: number }
  // pg's name for a query's own time limit.
  return timeoutMs === undefined ? (config as QueryCallConfig) : { timeoutMs, ...rest }
}

/** See the top of the file. */
export class QueryCall implements Waiter {
  readonly kind: 'shared' | 'exclusive'
  patience: number
  next: Waiter | undefined
  previous: Waiter | undefined
  queued = false
  readonly #core: Core
  readonly #config: QueryConfig
  readonly #values: readonly unknown[] | undefined
  readonly #options: CallOptions | undefined
  readonly #retry: RetryOptions
  readonly #deadline: Deadline | undefined
  readonly #resolve: (result: Result) => void
  readonly #reject: (error: unknown) => void
  readonly #followed: Followed | undefined
  #attempts = 0
  #pass: BreakerPass | undefined
  #connection: Connection | undefined
  #statement: Statement | undefined
  #backoff: { next(): number } | undefined
  #endPause: (() => void) | undefined
  #freshPlan = false
  /** Connections opened before that moment must show a sign of life. */
  #distrust = Infinity
  /** An earlier attempt may have taken effect. */
  #mayHaveExecuted = false
  #lastError: unknown
  #over = false

  constructor(
    core: Core,
    config: QueryConfig,
    values: readonly unknown[] | undefined,
    options: CallOptions | undefined,
    resolve: (result: Result) => void,
    reject: (error: unknown) => void,
  ) {
    this.#core = core
    this.#config = config
    this.#values = values
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
    this.#retry = core.retryOf(options)
    this.#deadline = core.deadlineOf(options)
    // A statement that may be cancelled shares its connection with nobody: the server cancels whatever runs there.
    this.kind = this.#deadline ? 'exclusive' : 'shared'
    this.patience = this.#retry.maxAttempts
    core.begin()
    this.#followed = core.observer.begin('query', config.text, config.name)
    this.#deadline?.onEnd((reason) => {
      this.#expire(reason)
    })
    if (!this.#deadline?.reason) this.#attempt()
  }

  #attempt(): void {
    this.#attempts++
    try {
      this.#pass = this.#core.enter()
    } catch (error) {
      const { retryAfterMs } = error as PgParallelError
      this.#again(error as PgParallelError, retryAfterMs)
      return
    }
    this.patience = this.#retry.maxAttempts - this.#attempts + 1
    this.#core.pool.acquire(this)
  }

  /** The pool has a connection. */
  serve(connection: Connection | undefined): void {
    if (!connection) return
    this.#connection = connection
    const { validateAfterIdleMs } = this.#core.settings
    if (
      performance.now() - connection.lastUsedAt > validateAfterIdleMs &&
      connection.openedAt < this.#distrust &&
      connection.inFlight === 1 &&
      !this.#repeatable()
    ) {
      void connection.ping(PING_TIMEOUT_MS).then((alive) => {
        if (this.#over) {
          this.#connection = undefined
          this.#core.pool.release(connection)
        } else if (alive && connection.usable) {
          this.#send(connection)
        } else {
          this.#connection = undefined
          this.#core.pool.discard(connection, new Error('no sign of life from an idle connection'))
          // One opened from now on is as good as any: a server that lets nothing live must not be asked for ever.
          this.#distrust = performance.now()
          this.#core.pool.acquire(this)
        }
      })
      return
    }
    this.#send(connection)
  }

  #repeatable(): boolean {
    return this.#options?.idempotent === true || natureOf(this.#config.text).readOnly
  }

  #send(connection: Connection): void {
    this.#statement = undefined
    this.#statement = connection.submit(this.#config, this.#values, this.#done)
  }

  readonly #done = (error: Error | null, result?: Result): void => {
    const connection = this.#connection as Connection
    if (error) {
      if (this.#statement?.sent) {
        this.#failed(connection, error)
      } else {
        // pg reports what it does not send before it has made itself ready for the next statement.
        queueMicrotask(() => {
          this.#failed(connection, error)
        })
      }
      return
    }
    this.#connection = undefined
    this.#core.pool.release(connection)
    if (this.#over) return
    this.#pass?.success()
    this.#succeed(result as Result)
  }

  #failed(connection: Connection, error: Error): void {
    const { pool, settings } = this.#core
    const statement = this.#statement
    this.#connection = undefined
    const verdict = judge(error, {
      text: this.#config.text,
      idempotent: this.#options?.idempotent,
      sent: statement?.sent ?? false,
      answered: statement?.answered ?? false,
      wantsWritable: settings.hosts.target === 'read-write' || settings.hosts.target === 'primary',
    })
    const giveBack = (then: () => void): void => {
      if (verdict.class.connectionDead) connection.fail(error)
      connection.settled(() => {
        const { name } = this.#config
        if (verdict.stalePlan && name !== undefined && connection.usable && connection.transactionStatus === 'I') {
          connection.forgetStatement(name).then(
            () => {
              pool.release(connection)
              then()
            },
            (trouble: unknown) => {
              pool.discard(connection, ErrorUtils.wrap(trouble))
              then()
            },
          )
          return
        }
        pool.release(connection)
        then()
      })
    }
    if (this.#over) {
      giveBack(() => {})
      return
    }
    this.#pass?.failure(error)
    this.#pass = undefined
    this.#mayHaveExecuted ||= verdict.mayHaveExecuted
    this.#lastError = error
    if (verdict.stalePlan && !this.#freshPlan && this.#config.name !== undefined) {
      // The statement did not run; a fresh plan is no second attempt.
      this.#freshPlan = true
      giveBack(() => {
        this.#attempts--
        if (!this.#over) this.#attempt()
      })
      return
    }
    giveBack(() => {})
    const failure = verdictError(error, { ...verdict, mayHaveExecuted: this.#mayHaveExecuted }, this.#attempts)
    if (verdict.repeat && !verdict.stalePlan) this.#again(failure, 0)
    else this.#fail(failure)
  }

  /** The pool has no connection, and will not have one in time. */
  refuse(error: PgParallelError): void {
    this.#pass?.release()
    this.#pass = undefined
    this.#fail(
      ErrorUtils.wrap(error, {
        mayHaveExecuted: this.#mayHaveExecuted,
        attempts: Math.max(
          this.#attempts,
          error.category === 'overload' || error.category === 'closed' ? 1 : this.#retry.maxAttempts,
        ),
      }),
    )
  }

  /** Pauses and tries again, or gives up. */
  #again(error: PgParallelError, atLeastMs = 0): void {
    if (this.#attempts >= this.#retry.maxAttempts || this.#core.stopped) {
      this.#fail(error)
      return
    }
    this.#backoff ??= RetryUtils.backoff(this.#retry)
    const delay = Math.max(this.#backoff.next(), atLeastMs)
    this.#lastError = error
    this.#core.retrying('query', error, this.#attempts, delay)
    this.#endPause = this.#core.after(delay, () => {
      this.#attempt()
    })
  }

  /** Time is up, or the caller's signal was aborted. */
  #expire(reason: PgParallelError): void {
    if (this.#over) return
    const { pool, settings } = this.#core
    this.#endPause?.()
    let mayHaveExecuted = this.#mayHaveExecuted
    if (this.#connection) {
      const sent = this.#statement?.sent ?? false
      mayHaveExecuted ||= sent && !natureOf(this.#config.text).readOnly
      // The answer, when it comes, gives the connection back.
      this.#connection.cancel(settings.cancelTimeoutMs)
      this.#pass?.failure(reason)
    } else {
      pool.withdraw(this)
      this.#pass?.failure(reason)
    }
    this.#fail(
      ErrorUtils.wrap(reason, {
        mayHaveExecuted,
        retryable: false,
        attempts: Math.max(1, this.#attempts),
        cause: reason.cause ?? this.#lastError,
      }),
    )
  }

  #succeed(result: Result): void {
    this.#over = true
    this.#deadline?.dispose()
    this.#core.finish(true)
    this.#followed?.end(this.#attempts)
    this.#resolve(result)
  }

  #fail(error: PgParallelError): void {
    this.#over = true
    this.#deadline?.dispose()
    this.#core.finish(false)
    this.#followed?.fail(error, this.#attempts)
    this.#reject(error)
  }
}

/** What `runOn` needs to know beside the statement. */
export interface RunOptions {
  /** The first to pass cancels the statement. */
  readonly deadlines: readonly (Deadline | undefined)[]
  readonly cancelTimeoutMs: number
  readonly idempotent?: boolean | undefined
}

/** One statement on a connection that the caller holds, without any retry. */
export function runOn(
  connection: Connection,
  config: QueryConfig,
  values: readonly unknown[] | undefined,
  options: RunOptions,
): Promise<Result> {
  const { deadlines, cancelTimeoutMs } = options
  return new Promise((resolve, reject) => {
    for (const deadline of deadlines) deadline?.check()
    if (!connection.usable) {
      reject(ErrorUtils.wrap(connection.failure ?? new Error('Connection terminated')))
      return
    }
    const stops = deadlines.map((deadline) =>
      deadline?.onEnd((reason) => {
        connection.cancel(cancelTimeoutMs)
        reject(ErrorUtils.wrap(reason, { mayHaveExecuted: !natureOf(config.text).readOnly, retryable: false }))
      }),
    )
    const statement = connection.submit(config, values, (error, result) => {
      for (const forget of stops) forget?.()
      if (!error) {
        resolve(result as Result)
        return
      }
      queueMicrotask(() => {
        const verdict = judge(error, {
          text: config.text,
          idempotent: options.idempotent,
          sent: statement.sent,
          answered: statement.answered,
          wantsWritable: false,
        })
        if (verdict.class.connectionDead) connection.fail(error)
        connection.settled(() => {
          reject(verdictError(error, verdict, 1))
        })
      })
    })
  })
}

/** What the pool refused is final; everything else is judged by the caller. */
export const refusedBy = (error: unknown): PgParallelError | undefined =>
  error instanceof RefusedByPool ? error.error : undefined
