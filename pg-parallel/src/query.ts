/**
 * One call of `query`, from the queue to its answer.
 *
 * The call is the waiter in the pool's queue and the receiver of the answer in one object, so that a query that goes
 * well costs one promise. Everything else (pauses, a second attempt, a sign of life from a connection that was long
 * idle, the end of its time) happens on the side.
 */
import { RefusedByPool, type Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import type { Followed } from './observe/observer'
import type { CallOptions } from './options'
import type { BreakerPass } from './policy/breaker'
import type { Deadline } from './policy/deadline'
import { refusedAlone } from './policy/control'
import { natureOf, type StatementNature } from './policy/replay'
import { RetryUtils, type RetryOptions } from './policy/retry'
import { judge, verdictError } from './policy/verdict'
import { checkedRows, checkSchema, type StandardSchema } from './rows'
import { Sql } from './sql'
import type { Connection } from './pool/connection'
import type { Waiter } from './pool/queue'
import type { QueryArrayConfig, QueryConfig, QueryResult } from './types'
import type { Packing, StatementConfig, StatementEnd } from './wire/statement'

/** Answer to a sign-of-life request: not longer than a human notices, and long enough for another continent. */
const PING_TIMEOUT_MS = 1_000

const MOST_PARAMETERS = 65_535
/** A pooler may put the server session that lacks the statement behind ours as often as it is sent. */
export const MOST_FRESH_PLANS = 100

/** A query and how to call it: what `pg` takes, and what every call takes here. */
export interface QueryCallConfig extends QueryConfig, CallOptions {
  /** Checks each row, and says what the caller gets for it: Zod's, Valibot's or any other Standard Schema. */
  schema?: StandardSchema | undefined
  /**
   * `thread`: a worker thread runs the statement, and the main thread makes a row when it is looked at. For large
   * results: the event loop is free meanwhile.
   */
  decode?: 'main' | 'thread' | undefined
}

/** The same, for rows as arrays. */
export interface QueryArrayCallConfig extends QueryArrayConfig, CallOptions {
  decode?: 'main' | 'thread' | undefined
}

type Result = QueryResult

/** `query` of an instance and of a worker's client. */
export function callQuery(
  core: Core,
  text: string | QueryCallConfig | QueryArrayCallConfig,
  given: readonly unknown[] | CallOptions | undefined,
  givenOptions: CallOptions | undefined,
  packed?: Packing,
): Promise<Result> {
  const schema = typeof text === 'string' ? undefined : (text as QueryCallConfig | null)?.schema
  const answer = new Promise<Result>((resolve, reject) => {
    let values = given as readonly unknown[] | undefined
    let options = givenOptions
    if (text instanceof Sql) ({ values, options } = argumentsOfSql(given, givenOptions))
    if (schema !== undefined) checkSchema(schema)
    if (typeof values === 'function' || typeof options === 'function')
      throw refusal('callbacks are not taken: use the promise')
    if (typeof text === 'string') {
      checkSendable(text, undefined, values)
      refuse(refusedAlone(text))
      new QueryCall(core, packed ? { text, packed } : { text }, values, options, resolve, reject)
    } else {
      const config = checkedConfig(text)
      checkSendable(config.text, config.name, values ?? config.values)
      refuse(refusedAlone(config.text))
      if (config.decode === 'thread') throw refusal('decode: "thread" is for query and stream of the instance itself')
      new QueryCall(
        core,
        packed ? { ...config, packed } : config,
        values ?? config.values,
        options ?? config,
        resolve,
        reject,
      )
    }
  }).then(undefined, failedHere)
  if (schema === undefined) return answer
  return answer.then((result) => checkedRows(result, schema, (text as QueryCallConfig).text))
}

/** The error was made where the answer came in; its reader wants to know where the question was asked. */
function failedHere(error: unknown): never {
  if (error instanceof PgParallelError) Error.captureStackTrace(error)
  throw error
}

interface Arguments {
  readonly values: readonly unknown[] | undefined
  readonly options: CallOptions | undefined
}

/** What may follow a statement made by `sql`, which has its values in it: the options. */
export function argumentsOfSql(given: unknown, options: CallOptions | undefined): Arguments {
  if (Array.isArray(given)) throw refusal('a statement made by sql has its values in it already')
  return { values: undefined, options: options ?? (given as CallOptions | undefined) }
}

const refusal = (message: string): PgParallelError => new PgParallelError(message, { category: 'configuration' })

/** Throws what there is to throw. */
export const refuse = (error: PgParallelError | undefined): void => {
  if (error) throw error
}

/** The protocol counts parameters in two bytes and ends texts with a NUL: what it cannot express is refused here. */
export function checkSendable(text: unknown, name: string | undefined, values: readonly unknown[] | undefined): void {
  if ((typeof text === 'string' && text.includes('\0')) || name?.includes('\0')) {
    throw refusal('a statement’s text and name cannot have a NUL character in them')
  }
  const count = Array.isArray(values) ? values.length : 0
  if (count > MOST_PARAMETERS) {
    throw refusal(
      `a statement takes at most ${MOST_PARAMETERS} parameters, not ${count}: send an array, as in "= ANY($1)"`,
    )
  }
}

/** What callers from JavaScript may get wrong. */
export function checkedConfig(config: unknown): QueryCallConfig {
  if (typeof config !== 'object' || config === null) {
    throw refusal(`query takes a text or a query object, not ${String(config)}`)
  }
  if ('submit' in config) throw refusal('cursors and query streams are not taken: use stream()')
  if ('callback' in config) throw refusal('callbacks are not taken: use the promise')
  const { query_timeout: timeoutMs, ...rest } = config as QueryCallConfig & { query_timeout?: number }
  // pg's name for a query's own time limit.
  return timeoutMs === undefined ? (config as QueryCallConfig) : { timeoutMs, ...rest }
}

/** What was put on the wire, and how far it got. */
export interface Sent {
  /** False as long as nothing that could take effect was sent. */
  readonly sent: boolean
  /** The server did its part, and reading the answer failed on this side. */
  readonly answered: boolean
  /** The server does not have a prepared statement that was used, or no plan for it: nothing has run. */
  readonly lostStatement: boolean
}

/** What is to be put on the wire in place of one statement. */
export interface Work {
  readonly nature: StatementNature
  submit(connection: Connection, done: StatementEnd): Sent
}

/** See the top of the file. */
export class QueryCall implements Waiter {
  readonly kind: 'shared' | 'exclusive'
  patience: number
  tried = 0
  next: Waiter | undefined
  previous: Waiter | undefined
  queued = false
  readonly #core: Core
  readonly #config: StatementConfig & { text: string }
  readonly #work: Work | undefined
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
  #statement: Sent | undefined
  #backoff: { next(): number } | undefined
  #endPause: (() => void) | undefined
  #freshPlans = 0
  /** Connections opened before that moment must show a sign of life. */
  #distrust = Infinity
  /** An earlier attempt may have taken effect. */
  #mayHaveExecuted = false
  /** It calls functions of which the database knows whether they only read. */
  readonly #asksFunctions: boolean
  #lastError: unknown
  #over = false

  constructor(
    core: Core,
    config: StatementConfig & { text: string },
    values: readonly unknown[] | undefined,
    options: CallOptions | undefined,
    resolve: (result: Result) => void,
    reject: (error: unknown) => void,
    work?: Work,
  ) {
    this.#core = core
    this.#config = config
    this.#work = work
    this.#values = values
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
    this.#retry = core.retryOf(options)
    this.#deadline = core.deadlineOf(options)
    // A statement that may be cancelled shares its connection with nobody: the server cancels whatever runs there.
    // A write that shares it would be one of several that may have run when the connection is lost.
    const nature = core.functions.judge(this.#plainNature)
    this.#asksFunctions = nature.calls !== undefined
    const alone = this.#deadline !== undefined || !(core.settings.pipelineWrites || nature.readOnly)
    this.kind = alone ? 'exclusive' : 'shared'
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
    this.tried = 0
    this.#core.pool.acquire(this)
  }

  /** The pool has a connection. */
  serve(connection: Connection | undefined): void {
    if (!connection) return
    this.#connection = connection
    const { validateAfterIdleMs } = this.#core.settings
    if (
      connection.inFlight === 1 &&
      connection.openedAt < this.#distrust &&
      !this.#repeatable() &&
      performance.now() - connection.lastUsedAt > validateAfterIdleMs
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
    return this.#options?.idempotent === true || this.#nature.readOnly
  }

  /** What running it does, as far as its text tells. */
  get #nature(): StatementNature {
    return this.#core.judge(this.#plainNature)
  }

  get #plainNature(): StatementNature {
    return this.#work ? this.#work.nature : natureOf(this.#config.text)
  }

  #send(connection: Connection): void {
    this.#statement = undefined
    this.#statement = this.#work
      ? this.#work.submit(connection, this.#done)
      : connection.submit(this.#config, this.#values, this.#done, true)
  }

  readonly #done: StatementEnd = (error, result) => {
    const connection = this.#connection as Connection
    if (error) {
      this.#failed(connection, error)
      return
    }
    this.#connection = undefined
    this.#core.pool.release(connection)
    if (this.#asksFunctions) void this.#core.functions.learn(this.#core)
    if (this.#over) return
    this.#pass?.success()
    this.#succeed(result as Result)
  }

  #failed(connection: Connection, error: Error): void {
    const { pool, settings } = this.#core
    const statement = this.#statement
    this.#connection = undefined
    const verdict = judge(error, {
      nature: this.#nature,
      idempotent: this.#options?.idempotent,
      sent: statement?.sent ?? false,
      answered: statement?.answered ?? false,
      lostStatement: statement?.lostStatement ?? false,
      wantsWritable: settings.hosts.target === 'read-write' || settings.hosts.target === 'primary',
    })
    if (verdict.class.connectionDead) connection.fail(error)
    pool.release(connection)
    if (this.#over) return
    this.#pass?.failure(error)
    this.#pass = undefined
    this.#mayHaveExecuted ||= verdict.mayHaveExecuted
    this.#lastError = error
    // The statement did not run, and a fresh plan is no second attempt. Behind a pooler it may have to be asked for again.
    if (verdict.stalePlan && this.#freshPlans++ < MOST_FRESH_PLANS) {
      this.#attempts--
      this.#attempt()
      return
    }
    const failure = verdictError(error, { ...verdict, mayHaveExecuted: this.#mayHaveExecuted }, this.#attempts)
    if (verdict.repeat && verdict.class.category !== 'plan') this.#again(failure, 0)
    else this.#fail(failure)
  }

  /** The pool has no connection, and will not have one in time. */
  refuse(error: PgParallelError): void {
    this.#pass?.release()
    this.#pass = undefined
    this.#fail(
      ErrorUtils.wrap(error, {
        mayHaveExecuted: this.#mayHaveExecuted,
        attempts: this.#attempts - 1 + Math.max(1, this.tried),
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
      mayHaveExecuted ||= sent && !this.#nature.readOnly
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
      const verdict = judge(error, {
        nature: natureOf(config.text),
        idempotent: options.idempotent,
        sent: statement.sent,
        answered: statement.answered,
        lostStatement: statement.lostStatement,
        wantsWritable: false,
      })
      if (verdict.class.connectionDead) connection.fail(error)
      reject(verdictError(error, verdict, 1))
    })
  })
}

/** What the pool refused, after `before` attempts, is final; everything else is judged by the caller. */
export const refusedBy = (error: unknown, before: number): PgParallelError | undefined =>
  error instanceof RefusedByPool ? ErrorUtils.wrap(error.error, { attempts: before + error.tried }) : undefined
