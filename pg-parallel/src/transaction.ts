/**
 * `transaction(fn)`: BEGIN, the function, COMMIT, on one connection.
 *
 * When the connection is lost before COMMIT was sent, the server has certainly rolled back, so the function is run
 * again on another connection (`retry: false` switches that off). Once COMMIT is on its way only the server can say
 * what happened; where no answer arrives it is asked on another connection (see `fate.ts`), and where it cannot say the
 * caller gets `mayHaveExecuted`.
 */
import { CopyFrom, CopyTo, copyText, type CopyPlace } from './copy'
import type { Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import { fateOf, type FateTellers, type TransactionIdentity } from './fate'
import type { CallOptions } from './options'
import type { CallObserver, Followed } from './observe/observer'
import { refusedInTransaction } from './policy/control'
import { natureOf } from './policy/replay'
import { Deadline, orDeadline, type DeadlineOptions } from './policy/deadline'
import { RetryUtils } from './policy/retry'
import type { Connection } from './pool/connection'
import { argumentsOfSql, checkedConfig, checkSendable, MOST_FRESH_PLANS, refuse, refusedBy, runOn } from './query'
import type { QueryConfig, QueryResult } from './types'
import { Queryable } from './queryable'
import { checkedRows, checkSchema, type StandardSchema } from './rows'
import { Sql } from './sql'
import { checkedBatch, portalFor, readBatch, readingOf, type Reading, type StreamOptions } from './stream'
import type { Row } from './wire/portal'

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

/** How a stream of a transaction is read. */
export type TransactionStreamOptions = Pick<StreamOptions, 'batchSize' | 'schema' | keyof DeadlineOptions>

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

/** A statement of a transaction, and its time limit. */
export interface TransactionQuery extends QueryConfig, DeadlineOptions {
  /** Checks each row, and says what the caller gets for it. */
  schema?: StandardSchema | undefined
}

/** What the function given to `transaction` works with. It is dead once the function has ended. */
export class Transaction extends Queryable<TransactionQuery, DeadlineOptions> {
  readonly #connection: Connection
  readonly #deadline: Deadline | undefined
  readonly #cancelTimeoutMs: number
  readonly #observer: CallObserver | undefined
  readonly #followed: Followed | undefined
  /** Ends with the last statement, and never rejects. */
  #tail: Promise<unknown> = Promise.resolve()
  #over = false
  readonly #copies = new Set<CopyFrom | CopyTo>()
  /** Savepoints and portals so far. */
  #names = 0
  #lastError: PgParallelError | undefined
  /** The server can tell what became of it. */
  readonly #fates: FateTellers | undefined
  #identity: TransactionIdentity | undefined
  #identified: Promise<void> | undefined
  #mayHaveWritten = false

  /** @internal */
  constructor(
    connection: Connection,
    deadline: Deadline | undefined,
    cancelTimeoutMs: number,
    observer?: CallObserver,
    followed?: Followed,
    fates?: FateTellers,
  ) {
    super()
    this.#fates = fates
    this.#connection = connection
    this.#deadline = deadline
    this.#cancelTimeoutMs = cancelTimeoutMs
    this.#observer = observer
    this.#followed = followed
  }

  /**
   * Runs a statement in the transaction.
   *
   * @param options - a time limit or signal of its own. A statement that it ends has failed, and the transaction with it,
   * unless a savepoint is around it
   */
  query<R extends object>(query: Sql<R>, options?: DeadlineOptions): Promise<QueryResult<R>>
  query<R extends object = Record<string, unknown>>(
    text: string | TransactionQuery,
    values?: readonly unknown[],
    options?: DeadlineOptions,
  ): Promise<QueryResult<R>>
  query(
    text: string | TransactionQuery,
    given?: readonly unknown[] | DeadlineOptions,
    givenOptions?: DeadlineOptions,
  ): Promise<QueryResult> {
    return this.run(text, given, givenOptions)
  }

  /** @internal */
  protected run(
    text: string | TransactionQuery,
    given: readonly unknown[] | DeadlineOptions | undefined,
    givenOptions: DeadlineOptions | undefined,
  ): Promise<QueryResult> {
    if (this.#over) return Promise.reject(over())
    let config: TransactionQuery
    let values = given as readonly unknown[] | undefined
    let options = givenOptions
    try {
      config = typeof text === 'string' ? { text } : checkedConfig(text)
      if (text instanceof Sql) ({ values, options } = argumentsOfSql(given, givenOptions))
      checkSendable(config.text, config.name, values ?? config.values)
      refuse(refusedInTransaction(config.text))
      if (config.schema !== undefined) checkSchema(config.schema)
    } catch (error) {
      return Promise.reject(ErrorUtils.wrap(error))
    }
    const followed = this.#observer?.begin('query', config.text, config.name, this.#followed)
    const answer = this.send(config, values, options ?? config)
    if (followed) {
      answer.then(
        () => {
          followed.end(1)
        },
        (error: unknown) => {
          followed.fail(error, 1)
        },
      )
    }
    const { schema } = config
    return schema === undefined ? answer : answer.then((result) => checkedRows(result, schema, config.text))
  }

  /**
   * Rows of a query, `batchSize` at a time. Other statements of the transaction may run inside the loop.
   *
   * @param options - a time limit or signal ends the loop as it ends a statement of {@link Transaction.query}
   */
  async *stream<R extends object = Record<string, unknown>>(
    query: string | Sql<R>,
    values?: readonly unknown[] | TransactionStreamOptions,
    options?: TransactionStreamOptions,
  ): AsyncGenerator<R, void, undefined> {
    for await (const { rows, own } of this.#batches(readingOf(query, values, options))) {
      for (const row of rows) {
        yield row as R
        own?.check()
      }
    }
  }

  /** The same rows in batches of `batchSize`. */
  async *cursor<R extends object = Record<string, unknown>>(
    query: string | Sql<R>,
    values?: readonly unknown[] | TransactionStreamOptions,
    options?: TransactionStreamOptions,
  ): AsyncGenerator<R[], void, undefined> {
    for await (const { rows } of this.#batches(readingOf(query, values, options))) yield rows as R[]
  }

  async *#batches({
    text,
    values,
    options,
    schema,
  }: Reading): AsyncGenerator<{ rows: Row[]; own: Deadline | undefined }, void, undefined> {
    const portal = portalFor(text, values, options?.batchSize, `pg_parallel_${++this.#names}`)
    this.#mayHaveWritten ||= !natureOf(text).readOnly
    const own = Deadline.from(options)
    const followed = this.#observer?.begin('stream', text, undefined, this.#followed)
    let failure: unknown
    let handed = 0
    const run = { deadlines: [this.#deadline, own], cancelTimeoutMs: this.#cancelTimeoutMs }
    try {
      for (;;) {
        if (this.#over) throw over()
        const rows = await this.#inTurn(() => readBatch(portal, this.#connection, run))
        if (!rows) return
        yield { rows: schema ? await checkedBatch(rows, schema, handed, text) : rows, own }
        handed += rows.length
        own?.check()
      }
    } catch (error) {
      failure = error
      throw error
    } finally {
      own?.dispose()
      if (failure === undefined) followed?.end(1)
      else followed?.fail(failure, 1)
      // Afterwards the connection is somebody else's, and the portal went with the transaction.
      if (!this.#over && this.#connection.usable) {
        await this.#inTurn(
          () =>
            new Promise<void>((resolve) => {
              portal.end(this.#connection.session)
              this.#connection.settled(resolve, this.#cancelTimeoutMs)
            }),
        )
      }
    }
  }

  /** As {@link PgParallel.copyFrom}, in the transaction. Its other statements wait until the stream has ended. */
  copyFrom(text: string | Sql, options?: DeadlineOptions): CopyFrom {
    return this.#copying(new CopyFrom(this.#copyPlace(copyText(text), options)))
  }

  /** As {@link PgParallel.copyTo}, in the transaction. Its other statements wait until the stream has ended. */
  copyTo(text: string | Sql, options?: DeadlineOptions): CopyTo {
    return this.#copying(new CopyTo(this.#copyPlace(copyText(text), options)))
  }

  #copying<T extends CopyFrom | CopyTo>(stream: T): T {
    this.#copies.add(stream)
    stream.once('close', () => {
      this.#copies.delete(stream)
    })
    return stream
  }

  #copyPlace(text: string, options: DeadlineOptions | undefined): CopyPlace {
    this.#mayHaveWritten = true
    const own = Deadline.from(options)
    const followed = this.#observer?.begin('copy', text, undefined, this.#followed)
    let turnOver: ((error: PgParallelError | undefined) => void) | undefined
    return {
      text,
      cancelTimeoutMs: this.#cancelTimeoutMs,
      begin: () => {
        if (this.#over) throw over()
        return [this.#deadline, own]
      },
      lease: () =>
        new Promise((resolve, reject) => {
          const turn = this.#inTurn(
            () =>
              new Promise<void>((done, fail) => {
                if (!this.#connection.usable) {
                  fail(ErrorUtils.wrap(this.#connection.failure ?? new Error('Connection terminated')))
                  return
                }
                turnOver = (error) => {
                  if (error) fail(error)
                  else done()
                }
                resolve(this.#connection)
              }),
          )
          turn.catch(reject)
        }),
      release: (_connection, error) => turnOver?.(error),
      // Only the transaction as a whole can be tried again.
      again: (error) => Promise.reject(error),
      finish: (error) => {
        own?.dispose()
        if (error) followed?.fail(error, 1)
        else followed?.end(1)
      },
    }
  }

  /** Runs `fn` in a savepoint: what it did is undone when it throws, and the transaction goes on. */
  async savepoint<T>(fn: (tx: Transaction) => Promise<T>): Promise<T> {
    const name = `pg_parallel_${++this.#names}`
    await this.send({ text: `SAVEPOINT ${name}` }, undefined, undefined, false)
    try {
      const result = await fn(this)
      await this.send({ text: `RELEASE SAVEPOINT ${name}` }, undefined, undefined, false)
      return result
    } catch (error) {
      if (this.#connection.usable && !this.#over) {
        await this.send({ text: `ROLLBACK TO SAVEPOINT ${name}` }, undefined, undefined, false)
        this.#lastError = undefined
      }
      throw error
    }
  }

  /** @internal */
  async send(
    config: QueryConfig,
    values?: readonly unknown[],
    options?: DeadlineOptions,
    mayWrite = !natureOf(config.text).readOnly,
  ): Promise<QueryResult> {
    const own = Deadline.from(options)
    this.#mayHaveWritten ||= mayWrite
    try {
      return await this.#inTurn(() => {
        const answer = runOn(this.#connection, config, values, {
          deadlines: [this.#deadline, own],
          cancelTimeoutMs: this.#cancelTimeoutMs,
        })
        if (mayWrite) this.#identify()
        return answer
      })
    } finally {
      own?.dispose()
    }
  }

  /**
   * @internal COMMIT. It is sent when it is known who the transaction is, which comes with the answer to its first write, and not
   * after the deadline.
   */
  async commit(): Promise<QueryResult> {
    return this.#inTurn(async () => {
      if (this.#identified) await orDeadline(this.#identified, this.#deadline)
      // It was written to by a stream, or not at all.
      if (this.#mayHaveWritten && this.#fates && !this.#identity && this.#connection.usable) {
        this.#identity = await orDeadline(this.#fates.identity(this.#connection), this.#deadline)
      }
      return runOn(this.#connection, { text: 'COMMIT' }, undefined, {
        deadlines: [this.#deadline],
        cancelTimeoutMs: this.#cancelTimeoutMs,
      })
    })
  }

  /** Asks who this transaction is, behind the statement that was just sent, until it has written something. */
  #identify(): void {
    if (!this.#fates || this.#identity || !this.#connection.usable) return
    const before = this.#identified
    const answer = this.#fates.identity(this.#connection)
    this.#identified = answer.then(async (identity) => {
      await before
      // That nothing was written so far says nothing of what comes.
      if (identity && identity.id !== null) this.#identity = identity
    })
  }

  /** @internal What the server knows it by, as far as it was heard. */
  get identity(): TransactionIdentity | undefined {
    return this.#identity
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
    // Nobody waited for these: what they were to bring, or to take, is not complete.
    for (const stream of this.#copies) stream.destroy(over())
    await this.#tail
  }

  /** @internal */
  get lastError(): PgParallelError | undefined {
    return this.#lastError
  }
}

/** What one attempt came to. */
type Outcome<T> =
  | { result: T }
  | {
      error: unknown
      failure: PgParallelError | undefined
      /** COMMIT was sent: what the function returned, and who the transaction was. */
      committing: { result: T; identity: TransactionIdentity | undefined } | undefined
    }

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
  followed: Followed | undefined,
): Promise<Outcome<T>> {
  const { cancelTimeoutMs } = core.settings
  core.fates.ask(connection)
  let tx = new Transaction(connection, deadline, cancelTimeoutMs, core.observer, followed)
  let committing: { result: T } | undefined
  try {
    await tx.send({ text: begin })
    const fates = core.fates.can(connection) ? core.fates : undefined
    tx = new Transaction(connection, deadline, cancelTimeoutMs, core.observer, followed, fates)
    // A function that never ends does not hold the call beyond its deadline.
    const result = await orDeadline(fn(tx), deadline)
    await tx.end()
    committing = { result }
    const { command } = await tx.commit()
    if (command !== 'COMMIT') {
      // The server's answer to COMMIT after an error that the function swallowed.
      committing = undefined
      throw new PgParallelError('the transaction was rolled back: a statement in it had failed', {
        category: 'statement',
        code: '25P02',
        cause: tx.lastError,
      })
    }
    fates?.committed(tx.identity)
    return { result }
  } catch (error) {
    await tx.end()
    const failure = tx.lastError ?? (error instanceof PgParallelError ? error : undefined)
    if (failure?.category === 'plan') connection.stale = true
    return { error, failure, committing: committing && { ...committing, identity: tx.identity } }
  } finally {
    core.pool.release(connection)
  }
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
  let freshPlans = 0
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
          throw refusedBy(error, attempts - 1) ?? error
        }
        const outcome = await attempt(core, connection, fn, begin, deadline, followed)
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
        // COMMIT without an answer: done or not, the server may know.
        let unknown = committing !== undefined && failure.mayHaveExecuted && options?.readOnly !== true
        if (unknown && committing?.identity) {
          const fate = await fateOf(core, committing.identity, deadline)
          if (fate === 'committed') {
            core.finish(true)
            followed?.end(attempts)
            return committing.result
          }
          unknown = fate === 'unknown'
        }
        const settled = ErrorUtils.wrap(failure, { mayHaveExecuted: unknown, attempts, retryable: false })
        const { category } = failure.class
        const stale = category === 'plan' && freshPlans++ < (failure.class.transient ? MOST_FRESH_PLANS : 1)
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
