/** {@link PgParallel}: the one class that applications use. It puts the parts together and has no logic of its own. */
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { QueryArrayResult, QueryResult, QueryResultRow } from 'pg'
import { Core, type CallStats } from './core'
import { PgParallelError } from './errors'
import type { PgParallelEvents } from './observe/events'
import { resolveSettings, type CallOptions, type PgParallelOptions } from './options'
import type { BreakerStats } from './policy/breaker'
import { Deadline, type DeadlineOptions } from './policy/deadline'
import type { PoolStats } from './pool/pool'
import { callQuery, type QueryArrayCallConfig, type QueryCallConfig } from './query'
import { stream, type StreamOptions } from './stream'
import { runTransaction, type Transaction, type TransactionOptions } from './transaction'
import type { WorkerClient } from './workers/database'
import { inlineSource } from './workers/inline'
import type { WorkerPool, WorkerStats } from './workers/pool'

/** Options of `task` and `worker`. */
export type TaskOptions = Pick<CallOptions, 'signal' | 'timeoutMs'>

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
  connections?: number | undefined
  threads?: number | undefined
}

/** What `warmup` brought up. */
export interface WarmupReport {
  /** Open connections. */
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

const NO_WORKERS = (max: number): WorkerStats => ({
  max,
  threads: 0,
  connected: 0,
  running: 0,
  waiting: 0,
  completed: 0,
  crashed: 0,
})

/** See the package's README. */
export class PgParallel {
  readonly #options: PgParallelOptions
  readonly #core: Core
  #workers: WorkerPool | undefined
  #shutdown: Promise<void> | undefined

  constructor(options: PgParallelOptions = {}) {
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
   * @param text - SQL text, or `pg`'s query object, which may carry the options too
   * @param values - for `$1`, `$2`, …
   * @returns `pg`'s result
   * @throws PgParallelError
   */
  query<R extends QueryResultRow = Record<string, unknown>>(
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
    values?: readonly unknown[],
    options?: CallOptions,
  ): Promise<QueryResult<QueryResultRow> | QueryArrayResult> {
    return callQuery(this.#core, text, values, options)
  }

  /**
   * Runs `fn` between BEGIN and COMMIT; what it throws rolls back. After a lost connection `fn` is run again, because
   * nothing of its first run was kept.
   */
  async transaction<T>(fn: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return runTransaction(this.#core, fn, options)
  }

  /** Rows of a query, fetched in batches. Leaving the loop ends the query. */
  stream<R extends QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    options?: StreamOptions,
  ): AsyncGenerator<R, void, undefined> {
    return stream<R>(this.#core, text, values, options)
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

  async #run(
    kind: 'task' | 'worker',
    work: InlineOrFile,
    args: readonly unknown[] | undefined,
    options: TaskOptions | undefined,
    base: string,
  ): Promise<unknown> {
    const core = this.#core
    const file = typeof work === 'function' ? undefined : checkedFile(work)
    core.begin()
    const name = file ? `${file.taskPath}#${file.taskName ?? 'default'}` : (work as () => unknown).name || '(anonymous)'
    const followed = core.observer.begin(kind, name)
    let deadline: Deadline | undefined
    try {
      deadline = core.deadlineOf(options ?? file)
      if (core.settings.maxWorkers === 0) {
        throw new PgParallelError(`${kind}() needs worker threads, and maxWorkers is 0`, { category: 'configuration' })
      }
      if (args !== undefined && !Array.isArray(args)) {
        throw new PgParallelError('args must be an array', { category: 'configuration' })
      }
      const job = file
        ? { module: moduleUrl(file.taskPath), name: file.taskName ?? 'default', args: args ?? file.args ?? [] }
        : { source: inlineSource(work as (...args: never[]) => unknown), base, args: args ?? [] }
      const workers = await this.#threads()
      const result = await workers.run({ kind, ...job }, deadline)
      core.finish(true)
      followed?.end(1)
      return result
    } catch (error) {
      core.finish(false)
      followed?.fail(error, 1)
      throw error
    } finally {
      deadline?.dispose()
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
      const threads = wanted.threads ?? maxWorkers
      const open = core.pool.warmup(wanted.connections ?? max)
      let start: Promise<PgParallelError[]> = Promise.resolve([])
      if (threads > 0 && maxWorkers > 0) {
        start = (await this.#threads()).warmup(threads)
      }
      const errors = await new Promise<PgParallelError[]>((resolve, reject) => {
        deadline?.onEnd((reason) => {
          resolve([reason])
        })
        Promise.all([open, start]).then((both) => {
          resolve(both.flat())
        }, reject)
      })
      for (const error of errors) logger.warn(`warm-up: ${error.message}`)
      return { connections: core.pool.stats.total, threads: this.#workers?.stats.threads ?? 0, errors }
    } finally {
      deadline?.dispose()
      core.finish(true)
    }
  }

  /**
   * Lets no new call in, waits for those that run, and closes everything. After `timeoutMs` (default 30 s) what still
   * runs is cancelled on the server and rejected. Calling it again returns the same promise.
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
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => {
        resolve('late')
      }, timeoutMs)
    })
    const drained = await Promise.race([core.idle(), late])
    clearTimeout(timer)
    if (drained === 'late') {
      core.settings.logger.warn(`shutdown: calls still ran after ${timeoutMs} ms and are stopped`)
    }
    const closed = core.pool.close(reason)
    if (drained === 'late') {
      core.pool.abort(reason)
      core.stop()
    }
    await this.#workers?.destroy(reason)
    await closed
    core.events.emit('closed')
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
