/** {@link PgParallel}: the one class that applications use. It puts the parts together and has no logic of its own. */
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Transferable } from 'node:worker_threads'
import { driverOf, type PgParallelDriver } from './asDriver'
import { PgParallelPool } from './asPool'
import { callBatch, type BatchItem } from './batch'
import { copyPlace, CopyFrom, copyText, CopyTo, type CopyOptions } from './copy'
import { Core, type CallStats } from './core'
import { PgParallelError } from './errors'
import { Listener, type ListenOptions, type Notification, type Subscription } from './listen'
import type { PgParallelEvents } from './observe/events'
import { resolveSettings, type CallOptions, type PgParallelOptions } from './options'
import type { BreakerStats } from './policy/breaker'
import { Deadline, type DeadlineOptions } from './policy/deadline'
import type { PoolStats } from './pool/pool'
import { callQuery, type QueryArrayCallConfig, type QueryCallConfig } from './query'
import { Queryable } from './queryable'
import type { SchemaOutput, StandardSchema } from './rows'
import type { Sql } from './sql'
import { cursor, stream, type StreamOptions } from './stream'
import { cursorOnThread, queryOnThread, streamOnThread, threadReading, wantsThread } from './remote'
import { runTransaction, type Transaction, type TransactionOptions } from './transaction'
import type { QueryArrayResult, QueryResult } from './types'
import type { WorkerClient } from './workers/database'
import { inlineSource } from './workers/inline'
import type { RunOptions, WorkerPool, WorkerStats } from './workers/pool'
import type { Job } from './workers/protocol'

/** Options of `task` and `worker`. */
export interface TaskOptions extends Pick<CallOptions, 'signal' | 'timeoutMs'> {
  /** What of the arguments changes hands instead of being copied, as for `postMessage`: it is not to be used here afterwards. */
  transferList?: readonly Transferable[] | undefined
}

/** A function in a module: the thread loads the module, so nothing has to be said about its variables. */
export interface FileTask<A extends readonly unknown[] = readonly unknown[]> extends TaskOptions {
  /** Path or `file:` URL of a `.js`, `.mjs`, `.cjs` module, or `.ts` where Node can load it. */
  taskPath: string
  /** The export. Default: `default`. */
  taskName?: string | undefined
  /** Arguments; they are copied as by `structuredClone`. */
  args?: A | undefined
}

/** What `warmup` is to bring up. */
export interface WarmupOptions extends DeadlineOptions {
  /** Connections, those of threads included. */
  connections?: number | undefined
  /** Threads, each with its database code loaded and, as far as `connections` reach, a connection of its own. */
  threads?: number | undefined
}

/** What `warmup` brought up. */
export interface WarmupReport {
  /** Open connections, those of threads included. */
  connections: number
  /** Running threads. */
  threads: number
  /** What could not be brought up; it will be tried again when it is needed. */
  errors: PgParallelError[]
}

/** The state of everything. */
export interface PgParallelStats {
  calls: CallStats
  pool: PoolStats
  workers: WorkerStats
  /** Undefined where the breaker is switched off. */
  breaker: BreakerStats | undefined
}

/** A cancel request on its way, or a socket that is being closed, may take that much longer than `shutdown`'s limit. */
const LAST_MOMENT_MS = 100

/** Waits for a promise; true when it took longer than `ms`. */
async function overTime(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => {
      resolve(true)
    }, ms)
  })
  try {
    return await Promise.race([promise.then(() => false), late])
  } finally {
    clearTimeout(timer)
  }
}

const NO_WORKERS = (max: number): WorkerStats => ({
  max,
  threads: 0,
  connected: 0,
  running: 0,
  waiting: 0,
  completed: 0,
  crashed: 0,
})

/** A pool of connections and of threads to one database; the README says what its calls do. */
export class PgParallel extends Queryable<QueryCallConfig, CallOptions> {
  readonly #options: PgParallelOptions
  readonly #core: Core
  #workers: WorkerPool | undefined
  #shutdown: Promise<void> | undefined
  #asPool: PgParallelPool | undefined
  #listener: Listener | undefined

  constructor(options: PgParallelOptions = {}) {
    super()
    this.#options = options
    this.#core = new Core(resolveSettings(options), {
      starved: () => {
        this.#workers?.reclaim()
      },
    })
  }

  /**
   * Runs a statement on a pooled connection.
   *
   * It takes what `sql` makes, or a text with values for `$1`, `$2`, …, or `pg`'s query object, which may carry the
   * options too.
   *
   * @returns `pg`'s result
   * @throws PgParallelError
   */
  query<R extends object>(query: Sql<R>, options?: CallOptions): Promise<QueryResult<R>>
  query<S extends StandardSchema>(
    config: QueryCallConfig & { schema: S },
    values?: readonly unknown[],
    options?: CallOptions,
  ): Promise<QueryResult<SchemaOutput<S> & object>>
  query<R extends object = Record<string, unknown>>(
    text: string | QueryCallConfig,
    values?: readonly unknown[],
    options?: CallOptions,
  ): Promise<QueryResult<R>>
  query<R extends unknown[] = unknown[]>(
    config: QueryArrayCallConfig,
    values?: readonly unknown[],
    options?: CallOptions,
  ): Promise<QueryArrayResult<R>>
  query(
    text: string | QueryCallConfig | QueryArrayCallConfig,
    values?: readonly unknown[] | CallOptions,
    options?: CallOptions,
  ): Promise<QueryResult | QueryArrayResult> {
    if (wantsThread(text)) return queryOnThread(this.#core, () => this.#threads(), text, values, options)
    return callQuery(this.#core, text, values, options)
  }

  /** @internal */
  protected run(
    query: string | QueryCallConfig,
    values: readonly unknown[] | CallOptions | undefined,
    options: CallOptions | undefined,
  ): Promise<QueryResult> {
    if (wantsThread(query)) return queryOnThread(this.#core, () => this.#threads(), query, values, options)
    return callQuery(this.#core, query, values, options)
  }

  /**
   * Runs several statements in one round trip and one transaction: all of them take effect, or none. An error's
   * `batchIndex` tells which statement failed.
   *
   * @param items - texts, query objects, or what `sql` makes
   * @returns the results, in the order of the statements
   */
  batch(items: readonly BatchItem[], options?: CallOptions): Promise<QueryResult[]> {
    return callBatch(this.#core, items, options)
  }

  /**
   * Runs `fn` between BEGIN and COMMIT; what it throws rolls back. After a lost connection `fn` is run again, because
   * nothing of its first run was kept.
   */
  async transaction<T>(fn: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return runTransaction(this.#core, fn, options)
  }

  /** Rows of a query, fetched in batches. Leaving the loop ends the query. */
  stream<R extends object = Record<string, unknown>>(
    query: string | Sql<R>,
    values?: readonly unknown[] | StreamOptions,
    options?: StreamOptions,
  ): AsyncGenerator<R, void, undefined> {
    const reading = threadReading(query, values, options)
    if (reading) return streamOnThread<R>(this.#core, () => this.#threads(), reading)
    return stream<R>(this.#core, query, values, options)
  }

  /** The same rows as {@link PgParallel.stream}, a batch of them at a time. */
  cursor<R extends object = Record<string, unknown>>(
    query: string | Sql<R>,
    values?: readonly unknown[] | StreamOptions,
    options?: StreamOptions,
  ): AsyncGenerator<R[], void, undefined> {
    const reading = threadReading(query, values, options)
    if (reading) return cursorOnThread<R>(this.#core, () => this.#threads(), reading)
    return cursor<R>(this.#core, query, values, options)
  }

  /**
   * Sends data into a `COPY … FROM STDIN`: a stream to write to, or to end a `pipeline` with. It has done its part when
   * it has finished; `rowCount` then has the number of rows.
   */
  copyFrom(text: string | Sql, options?: CopyOptions): CopyFrom {
    return new CopyFrom(copyPlace(this.#core, copyText(text), options))
  }

  /** The data of a `COPY … TO STDOUT`: a stream to read from. Destroying it ends the statement. */
  copyTo(text: string | Sql, options?: CopyOptions): CopyTo {
    return new CopyTo(copyPlace(this.#core, copyText(text), options))
  }

  /**
   * Listens to a channel. All channels share one connection of the pool, which is replaced when it is lost.
   *
   * @param onNotification - called with each notification
   * @returns when the server has confirmed; what it returns ends the listening
   */
  listen(
    channel: string,
    onNotification: (notification: Notification) => void,
    options?: ListenOptions,
  ): Promise<Subscription> {
    this.#listener ??= new Listener(this.#core)
    return this.#listener.listen(channel, onNotification, options)
  }

  /** Sends a notification to a channel. */
  async notify(channel: string, payload = '', options?: CallOptions): Promise<void> {
    await callQuery(this.#core, 'SELECT pg_catalog.pg_notify($1, $2)', [channel, payload], options)
  }

  /**
   * Runs a function on a worker thread.
   *
   * @param work - a function that uses nothing from outside, or where to find one in a module
   * @param args - its arguments, copied as by `structuredClone`
   */
  task<A extends readonly unknown[], T>(
    work: ((...args: A) => T | Promise<T>) | FileTask<A>,
    args?: A,
    options?: TaskOptions,
  ): Promise<Awaited<T>> {
    return this.#run('task', work, args, options, callerFolder(PgParallel.prototype.task)) as Promise<Awaited<T>>
  }

  /**
   * Runs a function on a worker thread with a connection of the thread's own.
   *
   * @param work - a function that uses nothing from outside, called with a client and then `args`; or where to find one
   */
  worker<A extends readonly unknown[], T>(
    work: ((client: WorkerClient, ...args: A) => T | Promise<T>) | FileTask<A>,
    args?: A,
    options?: TaskOptions,
  ): Promise<Awaited<T>> {
    return this.#run('worker', work, args, options, callerFolder(PgParallel.prototype.worker)) as Promise<Awaited<T>>
  }

  /**
   * Runs a generator function on a worker thread and hands out what it yields, as it comes; it runs a few values ahead.
   * Leaving the loop ends it.
   */
  taskStream<A extends readonly unknown[], T>(
    work: ((...args: A) => AsyncIterable<T> | Iterable<T> | Promise<AsyncIterable<T> | Iterable<T>>) | FileTask<A>,
    args?: A,
    options?: TaskOptions,
  ): AsyncGenerator<T, void, undefined> {
    return this.#iterate('task', work, args, options, callerFolder(PgParallel.prototype.taskStream)) as AsyncGenerator<
      T,
      void,
      undefined
    >
  }

  /** As {@link PgParallel.taskStream}, with a connection of the thread's own. */
  workerStream<A extends readonly unknown[], T>(
    work:
      | ((client: WorkerClient, ...args: A) => AsyncIterable<T> | Iterable<T> | Promise<AsyncIterable<T> | Iterable<T>>)
      | FileTask<A>,
    args?: A,
    options?: TaskOptions,
  ): AsyncGenerator<T, void, undefined> {
    const base = callerFolder(PgParallel.prototype.workerStream)
    return this.#iterate('worker', work, args, options, base) as AsyncGenerator<T, void, undefined>
  }

  async #run(
    kind: 'task' | 'worker',
    work: InlineOrFile,
    args: readonly unknown[] | undefined,
    options: TaskOptions | undefined,
    base: string,
  ): Promise<unknown> {
    const call = taskCall(this.#core, kind, work, options)
    try {
      const job = jobOf(work, args, base)
      const workers = await this.#threads()
      const result = await workers.run({ kind, ...job }, call.options())
      call.end()
      return result
    } catch (error) {
      call.fail(error)
      throw error
    } finally {
      call.dispose()
    }
  }

  async *#iterate(
    kind: 'task' | 'worker',
    work: InlineOrFile,
    args: readonly unknown[] | undefined,
    options: TaskOptions | undefined,
    base: string,
  ): AsyncGenerator<unknown, void, undefined> {
    const call = taskCall(this.#core, kind, work, options)
    let failure: { error: unknown } | undefined
    try {
      const job = jobOf(work, args, base)
      const workers = await this.#threads()
      yield* workers.iterate({ kind, ...job }, call.options())
    } catch (error) {
      failure = { error }
      throw error
    } finally {
      if (failure) call.fail(failure.error)
      else call.end()
      call.dispose()
    }
  }

  /** The threads' side is loaded with the first task. */
  async #threads(): Promise<WorkerPool> {
    const { WorkerPool: Workers } = await import('./workers/pool.js')
    return (this.#workers ??= new Workers(this.#core, this.#options))
  }

  /**
   * Opens connections and starts threads, at most ten at a time. What fails is reported, and tried again when needed.
   *
   * @param wanted - default: `max` connections and `maxWorkers` threads. When its time is over, the report tells what
   * is there by then
   */
  async warmup(wanted: WarmupOptions = {}): Promise<WarmupReport> {
    const core = this.#core
    const { max, maxWorkers, logger } = core.settings
    const deadline = Deadline.from(wanted)
    core.begin()
    try {
      const threads = Math.min(wanted.threads ?? maxWorkers, maxWorkers)
      const connections = Math.min(wanted.connections ?? max, max)
      const everything = async (): Promise<PgParallelError[]> => {
        // Threads go first: what they need is part of the number, and need not be taken away from the pool again.
        const start = threads > 0 ? (await this.#threads()).warmup(threads, Math.min(threads, connections - 1)) : []
        const open = core.pool.warmup(Math.max(0, connections - threads))
        const failures = (await Promise.all([start, open])).flat()
        return failures.length > 0 ? failures : core.pool.warmup(connections)
      }
      const errors = await new Promise<PgParallelError[]>((resolve, reject) => {
        deadline?.onEnd((reason) => {
          resolve([reason])
        })
        everything().then(resolve, reject)
      })
      for (const error of errors) logger.warn(`warm-up: ${error.message}`)
      const { total, lent } = core.pool.stats
      return { connections: total + lent, threads: this.#workers?.stats.threads ?? 0, errors }
    } finally {
      deadline?.dispose()
      core.finish(true)
    }
  }

  /**
   * Lets no new call in, waits for those that run, and closes everything, within `timeoutMs` (default 30 s). What still
   * runs shortly before that (a quarter of the time, and `cancelTimeoutMs` at most) is cancelled on the server and
   * rejected. Calling it again returns the same promise.
   */
  shutdown(options: { timeoutMs?: number } = {}): Promise<void> {
    const timeoutMs = options.timeoutMs ?? 30_000
    this.#shutdown ??= this.#close(timeoutMs)
    return this.#shutdown
  }

  async #close(timeoutMs: number): Promise<void> {
    const core = this.#core
    core.events.emit('shutdown', { timeoutMs })
    const reason = new PgParallelError('the instance is shut down', { category: 'closed' })
    core.closed = reason
    const end = performance.now() + timeoutMs
    const left = (): number => Math.max(0, end - performance.now())
    this.#listener?.close(reason)
    // What is cancelled needs a moment to hear of it, and that moment is part of the time.
    const patience = timeoutMs - Math.min(core.settings.cancelTimeoutMs, timeoutMs / 4)
    const late = await overTime(core.idle(), patience)
    if (late) {
      core.settings.logger.warn(`shutdown: calls still ran after ${Math.round(patience)} ms and are stopped`)
    }
    const closed = core.pool.close(reason)
    if (late) {
      core.pool.abort(reason)
      core.stop()
    }
    const everything = Promise.all([this.#workers?.destroy(reason, left()), closed])
    if (await overTime(everything, left() + LAST_MOMENT_MS)) {
      core.settings.logger.warn(`shutdown: connections were not closed after ${timeoutMs} ms and are given up`)
      core.pool.destroy()
      await overTime(everything, LAST_MOMENT_MS)
    }
    core.events.emit('closed')
  }

  /** `pg.Pool`'s face of this instance, for libraries that want one: see {@link PgParallelPool}. */
  asPool(): PgParallelPool {
    this.#asPool ??= new PgParallelPool(this.#core, this.#options, () => this.shutdown())
    return this.#asPool
  }

  /** The module `pg`'s face of this instance, for libraries that make their connections themselves. */
  asDriver(): PgParallelDriver {
    return driverOf(this.#core, () => this.asPool())
  }

  /** `await using db = new PgParallel(…)`: {@link PgParallel.shutdown} at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown()
  }

  /** Figures of this moment. */
  get stats(): PgParallelStats {
    const { calls, pool, breaker, settings } = this.#core
    return {
      calls: { ...calls },
      pool: pool.stats,
      workers: this.#workers?.stats ?? NO_WORKERS(settings.maxWorkers),
      breaker: breaker?.stats,
    }
  }

  /** As `pg.Pool`: open connections of this thread. */
  get totalCount(): number {
    return this.#core.pool.stats.total
  }

  /** As `pg.Pool`: connections nobody uses. */
  get idleCount(): number {
    return this.#core.pool.stats.idle
  }

  /** As `pg.Pool`: calls in the queue. */
  get waitingCount(): number {
    return this.#core.pool.stats.waiting
  }

  /** Listens to an event. What a listener throws is logged and goes no further. */
  on<K extends keyof PgParallelEvents>(name: K, listener: (...args: PgParallelEvents[K]) => void): this {
    this.#core.events.on(name, listener)
    return this
  }

  /** Listens to the next event of a kind. */
  once<K extends keyof PgParallelEvents>(name: K, listener: (...args: PgParallelEvents[K]) => void): this {
    this.#core.events.once(name, listener)
    return this
  }

  /** Stops listening. */
  off<K extends keyof PgParallelEvents>(name: K, listener: (...args: PgParallelEvents[K]) => void): this {
    this.#core.events.off(name, listener)
    return this
  }
}

/** A call of `task` or `worker`, counted in. */
interface TaskCall {
  /** Throws where the call makes no sense. */
  options(): RunOptions
  end(): void
  fail(error: unknown): void
  dispose(): void
}

function taskCall(core: Core, kind: 'task' | 'worker', work: InlineOrFile, given: TaskOptions | undefined): TaskCall {
  const file = typeof work === 'function' ? undefined : checkedFile(work)
  core.begin()
  const name = file ? `${file.taskPath}#${file.taskName ?? 'default'}` : (work as () => unknown).name || '(anonymous)'
  const followed = core.observer.begin(kind, name)
  const options = given ?? file
  let deadline: Deadline | undefined
  return {
    options: () => {
      deadline = core.deadlineOf(options)
      if (core.settings.maxWorkers === 0) {
        throw new PgParallelError(`${kind}() needs worker threads, and maxWorkers is 0`, { category: 'configuration' })
      }
      return { deadline, followed, transferList: checkedTransfers(options?.transferList) }
    },
    end: () => {
      core.finish(true)
      followed?.end(1)
    },
    fail: (error) => {
      core.finish(false)
      followed?.fail(error, 1)
    },
    dispose: () => {
      deadline?.dispose()
    },
  }
}

/** A buffer that has changed hands before is not there to do so again; Node would lose the message without a word. */
function checkedTransfers(list: readonly Transferable[] | undefined): readonly Transferable[] | undefined {
  if (list === undefined) return undefined
  if (!Array.isArray(list as unknown))
    throw new PgParallelError('transferList must be an array', { category: 'configuration' })
  for (const [at, one] of list.entries()) {
    if (!(one instanceof ArrayBuffer)) continue
    try {
      new Uint8Array(one)
    } catch (cause) {
      throw new PgParallelError(`arguments cannot be sent to a thread: transferList[${at}] has changed hands before`, {
        category: 'task',
        cause,
      })
    }
  }
  return list
}

/** What a thread is told to do. */
function jobOf(
  work: InlineOrFile,
  args: readonly unknown[] | undefined,
  base: string,
): Pick<Job, 'module' | 'name' | 'source' | 'base' | 'args'> {
  if (args !== undefined && !Array.isArray(args)) {
    throw new PgParallelError('args must be an array', { category: 'configuration' })
  }
  if (typeof work === 'function') {
    return { source: inlineSource(work), base, args: args ?? [] }
  }
  const file = checkedFile(work)
  return { module: moduleUrl(file.taskPath), name: file.taskName ?? 'default', args: args ?? file.args ?? [] }
}

type InlineOrFile = ((...args: never[]) => unknown) | FileTask

/** What callers from JavaScript may get wrong. */
function checkedFile(file: unknown): FileTask {
  const { taskPath } = (file ?? {}) as { taskPath?: unknown }
  if (typeof taskPath !== 'string' || taskPath === '') {
    throw new PgParallelError('a task is a function, or an object with taskPath', { category: 'configuration' })
  }
  return file as FileTask
}

/** The URL of a task's module; a relative path starts from the working directory. */
const moduleUrl = (path: string): string => (path.startsWith('file:') ? path : pathToFileURL(path).href)

/** The folder of the file that called `method`: where `import()` and `require` of an inline function start from. */
function callerFolder(method: (...args: never[]) => unknown): string {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 1
  const holder: { stack?: string } = {}
  Error.captureStackTrace(holder, method)
  Error.stackTraceLimit = stackTraceLimit
  const place = /(?:\(|at (?:async )?)((?:file:\/\/)?\/.*?):\d+:\d+\)?$/m.exec(holder.stack ?? '')?.[1]
  if (place === undefined) return process.cwd()
  return dirname(place.startsWith('file:') ? fileURLToPath(place) : place)
}
