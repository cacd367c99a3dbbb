/**
 * `transaction(fn)`: BEGIN, the function, COMMIT, on one connection.
 *
 * When the connection is lost before COMMIT was sent, the server has certainly rolled back, so the function is run
 * again on another connection (`retry: false` switches that off). Once COMMIT is on its way only the server's answer
 * tells what happened; where none arrives the caller gets `mayHaveExecuted`.
 */
import type { QueryConfig, QueryResult, QueryResultRow } from 'pg'
import type { Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import type { CallOptions } from './options'
import { Deadline, type DeadlineOptions } from './policy/deadline'
import { RetryUtils } from './policy/retry'
import type { Connection } from './pool/connection'
import { refusedBy, runOn } from './query'
import { portalFor, readBatch, type StreamOptions } from './stream'

/** Isolation levels of SQL. */
export type IsolationLevel = 'read uncommitted' | 'read committed' | 'repeatable read' | 'serializable'

/** How a transaction runs. */
export interface TransactionOptions extends CallOptions {
  isolation?: IsolationLevel | undefined
  readOnly?: boolean | undefined
  /** With `serializable` and `readOnly`: wait for a snapshot that cannot fail. */
  deferrable?: boolean | undefined
  /** Run the function again after a serialization failure (40001) or deadlock (40P01). Default: false. */
  retrySerializable?: boolean | undefined
}

const LEVELS: readonly string[] = ['read uncommitted', 'read committed', 'repeatable read', 'serializable']

/** The statement that starts it. */
function beginText(options: TransactionOptions | undefined): string {
  const { isolation, readOnly, deferrable } = options ?? {}
  const words = ['BEGIN']
  if (isolation !== undefined) {
    const level = String(isolation).toLowerCase()
    if (!LEVELS.includes(level)) {
      throw new PgParallelError(`isolation must be one of ${LEVELS.join(', ')}, not ${level}`, {
        category: 'configuration',
      })
    }
    words.push(`ISOLATION LEVEL ${level.toUpperCase()}`)
  }
  if (readOnly !== undefined) words.push(readOnly ? 'READ ONLY' : 'READ WRITE')
  if (deferrable !== undefined) words.push(deferrable ? 'DEFERRABLE' : 'NOT DEFERRABLE')
  return words.join(' ')
}

const over = (): PgParallelError =>
  new PgParallelError('the transaction is over: a statement came after its function had ended', { category: 'closed' })

/** What the function given to `transaction` works with. It is dead once the function has ended. */
export class Transaction {
  readonly #connection: Connection
  readonly #deadline: Deadline | undefined
  readonly #cancelTimeoutMs: number
  /** Ends with the last statement, and never rejects. */
  #tail: Promise<unknown> = Promise.resolve()
  #over = false
  /** Savepoints and portals so far. */
  #names = 0
  #lastError: PgParallelError | undefined

  /** @internal */
  constructor(connection: Connection, deadline: Deadline | undefined, cancelTimeoutMs: number) {
    this.#connection = connection
    this.#deadline = deadline
    this.#cancelTimeoutMs = cancelTimeoutMs
  }

  /**
   * Runs a statement in the transaction.
   *
   * @param options - a time limit or signal of its own. A statement that it ends has failed, and the transaction with it,
   * unless a savepoint is around it
   */
  query<R extends QueryResultRow = Record<string, unknown>>(
    text: string | (QueryConfig<unknown[]> & DeadlineOptions),
    values?: readonly unknown[],
    options?: DeadlineOptions,
  ): Promise<QueryResult<R>> {
    if (this.#over) return Promise.reject(over())
    const config = typeof text === 'string' ? { text } : text
    return this.run(config, values, options ?? config) as Promise<QueryResult<QueryResultRow>> as Promise<
      QueryResult<R>
    >
  }

  /**
   * Rows of a query, `batchSize` at a time. Other statements of the transaction may run inside the loop.
   *
   * @param options - a time limit or signal ends the loop as it ends a statement of {@link Transaction.query}
   */
  async *stream<R extends QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    options?: Pick<StreamOptions, 'batchSize' | keyof DeadlineOptions>,
  ): AsyncGenerator<R, void, undefined> {
    const portal = portalFor(text, values, options?.batchSize, `pg_parallel_${++this.#names}`)
    const own = Deadline.from(options)
    const run = { deadlines: [this.#deadline, own], cancelTimeoutMs: this.#cancelTimeoutMs }
    try {
      for (;;) {
        if (this.#over) throw over()
        const rows = await this.#inTurn(() => readBatch(portal, this.#connection, run))
        if (!rows) return
        for (const row of rows) {
          yield row as R
          own?.check()
        }
      }
    } finally {
      own?.dispose()
      // Afterwards the connection is somebody else's, and the portal went with the transaction.
      if (!this.#over && this.#connection.usable) {
        await this.#inTurn(
          () =>
            new Promise<void>((resolve) => {
              portal.end(this.#connection)
              this.#connection.settled(resolve)
            }),
        )
      }
    }
  }

  /** Runs `fn` in a savepoint: what it did is undone when it throws, and the transaction goes on. */
  async savepoint<T>(fn: (tx: Transaction) => Promise<T>): Promise<T> {
    const name = `pg_parallel_${++this.#names}`
    await this.query(`SAVEPOINT ${name}`)
    try {
      const result = await fn(this)
      await this.query(`RELEASE SAVEPOINT ${name}`)
      return result
    } catch (error) {
      if (this.#connection.usable && !this.#over) {
        await this.query(`ROLLBACK TO SAVEPOINT ${name}`)
        this.#lastError = undefined
      }
      throw error
    }
  }

  /** @internal */
  async run(
    config: QueryConfig,
    values?: readonly unknown[],
    options?: DeadlineOptions,
  ): Promise<QueryResult<Record<string, unknown>>> {
    const own = Deadline.from(options)
    try {
      return await this.#inTurn(() =>
        runOn(this.#connection, config, values, {
          deadlines: [this.#deadline, own],
          cancelTimeoutMs: this.#cancelTimeoutMs,
        }),
      )
    } finally {
      own?.dispose()
    }
  }

  /** Statements run one after the other, also when they were not awaited. */
  #inTurn<T>(what: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(async () => {
      // A statement that ran out of time may still be running, and its cancel request must not hit the next one.
      if (this.#connection.cancelled) await this.#connection.quiesce(this.#cancelTimeoutMs)
      return what()
    })
    this.#tail = result.catch((error: unknown) => {
      this.#lastError = error as PgParallelError
    })
    return result
  }

  /** @internal Lets nothing more in and waits for what runs. */
  async end(): Promise<void> {
    this.#over = true
    await this.#tail
  }

  /** @internal */
  get lastError(): PgParallelError | undefined {
    return this.#lastError
  }
}

/** What one attempt came to. */
type Outcome<T> = { result: T } | { error: unknown; failure: PgParallelError | undefined; committing: boolean }

/** Is `failure` what was thrown, or the cause of it? */
function comesFrom(error: unknown, failure: PgParallelError | undefined): boolean {
  if (!failure) return false
  for (let depth = 0, at: unknown = error; depth < 8 && at !== undefined && at !== null; depth++) {
    if (at === failure) return true
    at = (at as { cause?: unknown }).cause
  }
  return false
}

/** One attempt on one connection. The pool rolls back what is still open when it takes the connection back. */
async function attempt<T>(
  core: Core,
  connection: Connection,
  fn: (tx: Transaction) => Promise<T>,
  begin: string,
  deadline: Deadline | undefined,
): Promise<Outcome<T>> {
  const { cancelTimeoutMs } = core.settings
  const tx = new Transaction(connection, deadline, cancelTimeoutMs)
  let committing = false
  try {
    await tx.run({ text: begin })
    const result = await orDeadline(fn(tx), deadline)
    await tx.end()
    deadline?.check()
    committing = true
    const { command } = await tx.run({ text: 'COMMIT' })
    if (command !== 'COMMIT') {
      // The server's answer to COMMIT after an error that the function swallowed.
      committing = false
      throw new PgParallelError('the transaction was rolled back: a statement in it had failed', {
        category: 'statement',
        code: '25P02',
        cause: tx.lastError,
      })
    }
    return { result }
  } catch (error) {
    await tx.end()
    const failure = tx.lastError ?? (error instanceof PgParallelError ? error : undefined)
    if (failure?.category === 'plan') connection.stale = true
    return { error, failure, committing }
  } finally {
    core.pool.release(connection)
  }
}

/** A function that never ends must not hold the call beyond its deadline. */
function orDeadline<T>(promise: Promise<T>, deadline: Deadline | undefined): Promise<T> {
  if (!deadline) return promise
  return new Promise((resolve, reject) => {
    const forget = deadline.onEnd(reject)
    promise.then(resolve, reject).finally(forget)
  })
}

/** See the top of the file. */
export async function runTransaction<T>(
  core: Core,
  fn: (tx: Transaction) => Promise<T>,
  options: TransactionOptions | undefined,
): Promise<T> {
  const begin = beginText(options)
  const retry = core.retryOf(options)
  const backoff = RetryUtils.backoff(retry)
  const writable = core.settings.hosts.target === 'read-write' || core.settings.hosts.target === 'primary'
  core.begin()
  const followed = core.observer.begin('transaction', begin)
  let deadline: Deadline | undefined
  let attempts = 0
  let freshPlan = false
  try {
    deadline = core.deadlineOf(options)
    for (;;) {
      attempts++
      let again: PgParallelError
      let delay: number | undefined
      try {
        deadline?.check()
        const pass = core.enter()
        let connection: Connection
        try {
          connection = await core.lease(deadline, retry.maxAttempts - attempts + 1)
        } catch (error) {
          pass.release()
          throw refusedBy(error) ?? error
        }
        const outcome = await attempt(core, connection, fn, begin, deadline)
        if ('result' in outcome) {
          pass.success()
          core.finish(true)
          followed?.end(attempts)
          return outcome.result
        }
        const { error, failure, committing } = outcome
        if (failure && comesFrom(error, failure)) pass.failure(failure)
        else pass.release()
        if (!failure || !comesFrom(error, failure) || deadline?.reason) throw error
        // COMMIT without an answer: done or not, nobody knows.
        const unknown = committing && failure.mayHaveExecuted && options?.readOnly !== true
        const settled = ErrorUtils.wrap(failure, { mayHaveExecuted: unknown, attempts, retryable: false })
        const { category } = failure.class
        const stale = category === 'plan' && !freshPlan
        const worth =
          stale ||
          (category === 'serialization' ? options?.retrySerializable === true : failure.class.transient) ||
          (category === 'read-only' && writable)
        const safe = !unknown || options?.idempotent === true
        if (category === 'plan' && !stale) throw settled
        if (!worth || !safe || attempts >= retry.maxAttempts) {
          if (error !== failure) throw error
          throw ErrorUtils.wrap(settled, { retryable: safe && failure.class.transient })
        }
        if (category === 'read-only') connection.fail(failure)
        if (stale) {
          freshPlan = true
          attempts--
          continue
        }
        again = settled
      } catch (error) {
        if (ErrorUtils.category(error) !== 'circuit-open' || attempts >= retry.maxAttempts) throw error
        again = error as PgParallelError
        delay = again.retryAfterMs
      }
      delay = Math.max(backoff.next(), delay ?? 0)
      core.retrying('transaction', again, attempts, delay)
      if (core.stopped) throw again
      await core.pause(delay, deadline)
    }
  } catch (error) {
    core.finish(false)
    followed?.fail(error, attempts)
    throw error
  } finally {
    deadline?.dispose()
  }
}
