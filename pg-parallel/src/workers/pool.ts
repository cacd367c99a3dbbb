/**
 * The main thread's side of the worker threads: starts, feeds, ends and replaces them.
 *
 * A job waits here until a thread is free; a thread has one job at a time, so that one that dies takes nobody else's
 * job with it. A job that is aborted or out of time cannot be stopped in any other way than by ending its thread; what
 * it was doing on the server is cancelled first. Threads ask for a slot of the connection pool before they connect, and
 * are asked to give it back when others wait.
 *
 * Each thread has two ports: orders go to it directly, what it says comes back through the {@link Relay} if it stands
 * back behind the event loop.
 */
import { join } from 'node:path'
import { MessageChannel, Worker, type MessagePort, type Transferable } from 'node:worker_threads'
import type { Core } from '../core'
import { ErrorUtils, PgParallelError } from '../errors'
import type { PgParallelOptions } from '../options'
import type { Followed } from '../observe/observer'
import type { Deadline } from '../policy/deadline'
import { sendCancel, type CancelKey } from '../pool/connection'
import type { Waiter } from '../pool/queue'
import { chosenTypes } from '../wire/choices'
import { lazyRows, type PackedRows } from '../wire/packed'
import { ORIGINAL_TYPES, Shape, type TypeSource } from '../wire/shape'
import { open, type Parcel } from './parcels'
import {
  fromPlain,
  taskError,
  toPlain,
  type CallNews,
  type Job,
  type JobResult,
  type MainMessage,
  type ThreadData,
  type ThreadMessage,
} from './protocol'
import { hearDirectly, Relay, type Hearing } from './relay'

/** How long `shutdown` waits for threads to close their connections. */
const GOODBYE_MS = 500

/** The worker threads' figures. */
export interface WorkerStats {
  /** Most threads. */
  max: number
  threads: number
  /** Threads with a connection open. */
  connected: number
  running: number
  waiting: number
  completed: number
  /** Jobs whose thread ended under them. */
  crashed: number
}

/** Makes an array of packed rows. */
export type RowReader = (rows: PackedRows) => unknown[]

/** What a job needs beside its work. */
export interface RunOptions {
  readonly deadline?: Deadline | undefined
  readonly followed?: Followed | undefined
  readonly read?: RowReader | undefined
  readonly transferList?: readonly Transferable[] | undefined
}

/** A job on its way. */
interface Entry {
  readonly job: Job
  readonly deadline: Deadline | undefined
  readonly followed: Followed | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: PgParallelError) => void
  /** Makes rows of what comes packed; undefined for those that any thread of the instance makes. */
  readonly read: RowReader | undefined
  readonly onItem: ((value: unknown) => void) | undefined
  /** Arguments that change hands instead of being copied. */
  readonly transferList: readonly Transferable[] | undefined
  /** Where it was sent. */
  thread: Thread | undefined
  /** It was sent to a thread that ended without taking it up. */
  sentInVain: boolean
  over: boolean
}

/** What is known about a thread. */
interface Thread {
  readonly worker: Worker
  readonly id: number
  readonly orders: MessagePort
  /** See {@link ThreadData}. */
  readonly job: Int32Array
  /** It has said so itself. */
  ready: boolean
  entry: Entry | undefined
  /** It gets no further job. */
  ending: boolean
  /** Why it ended. */
  failure: unknown
  exited: boolean
  /** Everything that it said was heard. */
  heard: boolean
  idleTimer: NodeJS.Timeout | undefined
  /** Slots of the connection pool that it holds: 0 or 1. */
  slots: number
  /** Its request for a slot that is still in the queue. */
  waiter: Waiter | undefined
  key: CancelKey | undefined
  reclaiming: boolean
  /** Its calls that are followed here. */
  readonly calls: Map<number, Followed>
}

/** See the top of the file. */
export class WorkerPool {
  readonly #core: Core
  readonly #options: PgParallelOptions
  /** What threads connect with, and what of it cannot be sent. */
  readonly #sendable: ThreadOptions
  readonly #read: RowReader
  readonly #threads = new Set<Thread>()
  #waiting = new Set<Entry>()
  readonly #running = new Set<Entry>()
  #relay: Relay | undefined
  #onEnded: (() => void) | undefined
  #onSlot: (() => void) | undefined
  /** A thread does not keep the process alive, but its job must. */
  #keepAlive: NodeJS.Timeout | undefined
  #lastId = 0
  #completed = 0
  #crashed = 0

  constructor(core: Core, options: PgParallelOptions) {
    this.#core = core
    this.#options = options
    this.#sendable = threadOptions(options)
    const { int8, dates } = options
    this.#read = readerBy(chosenTypes({ int8, dates }, ORIGINAL_TYPES) ?? ORIGINAL_TYPES, core.settings.session.rename)
  }

  get stats(): WorkerStats {
    let connected = 0
    let threads = 0
    for (const thread of this.#threads) {
      connected += thread.slots
      if (thread.ready) threads++
    }
    return {
      max: this.#core.settings.maxWorkers,
      threads,
      connected,
      running: this.#running.size,
      waiting: this.#waiting.size,
      completed: this.#completed,
      crashed: this.#crashed,
    }
  }

  /** What makes rows of packed ones by these parsers, with the instance's names of columns. */
  readerOf(source: TypeSource | undefined): RowReader {
    return readerBy(source, this.#core.settings.session.rename)
  }

  /** Runs a job; rejects with what its function threw, or with what happened to its thread. */
  run(work: Omit<Job, 'id'>, options: RunOptions = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#enter(work, options, resolve, reject, undefined)
    })
  }

  /** Runs a job and hands out what its function yields. Leaving the loop ends the job. */
  async *iterate(work: Omit<Job, 'id'>, options: RunOptions = {}): AsyncGenerator<unknown, void, undefined> {
    const items: unknown[] = []
    let wake: (() => void) | undefined
    let over: { error?: unknown } | undefined
    const end = (how: { error?: unknown }): void => {
      over = how
      wake?.()
    }
    let entry: Entry | undefined
    new Promise<unknown>((resolve, reject) => {
      entry = this.#enter({ ...work, yields: true }, options, resolve, reject, (value) => {
        items.push(value)
        wake?.()
      })
    }).then(
      () => {
        end({})
      },
      (error: unknown) => {
        end({ error })
      },
    )
    try {
      for (;;) {
        // What came before an error is still good; but whose time is over wants nothing more.
        if (items.length > 0 && !options.deadline?.reason) {
          const item = items.shift()
          if (entry?.thread && !entry.over) this.#tell(entry.thread, { type: 'more', id: entry.job.id })
          yield item
        } else if (over) {
          if ('error' in over) throw over.error
          return
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
      }
    } finally {
      if (entry && !entry.over) this.#abandon(entry)
    }
  }

  /** Nobody wants a job's outcome any more; a thread that goes on with it all the same is ended. */
  #abandon(entry: Entry): void {
    entry.over = true
    this.#waiting.delete(entry)
    const { thread, job } = entry
    entry.resolve(undefined)
    if (!thread) return
    this.#tell(thread, { type: 'abort', id: job.id })
    setTimeout(() => {
      if (thread.entry === entry) this.#end(thread)
    }, this.#core.settings.cancelTimeoutMs).unref()
  }

  #enter(
    work: Omit<Job, 'id'>,
    options: RunOptions,
    resolve: (value: unknown) => void,
    reject: (error: PgParallelError) => void,
    onItem: ((value: unknown) => void) | undefined,
  ): Entry {
    const { deadline, followed, read, transferList } = options
    deadline?.check()
    const usesDatabase = work.kind !== 'task' && work.kind !== 'warm'
    if (usesDatabase) this.#checkSendable(read !== undefined)
    const { maxQueue, maxWorkers } = this.#core.settings
    if (this.#waiting.size >= maxQueue && this.#running.size >= maxWorkers) {
      throw new PgParallelError(`${this.#waiting.size} tasks are waiting for a thread already (maxQueue)`, {
        category: 'overload',
        transient: true,
        infrastructure: false,
      })
    }
    const observed = this.#core.observer.listening && work.kind === 'worker'
    const entry: Entry = {
      job: { id: this.#newId(), ...work, ...(observed ? { observed: true } : {}) },
      deadline,
      followed,
      resolve,
      reject,
      read,
      onItem,
      transferList,
      thread: undefined,
      sentInVain: false,
      over: false,
    }
    deadline?.onEnd((reason) => {
      this.#expire(entry, reason)
    })
    this.#waiting.add(entry)
    this.#pump()
    return entry
  }

  /** Throws where a thread cannot connect as the main thread does; where rows are read here, parsers are not needed there. */
  #checkSendable(readHere: boolean): void {
    const { missing } = this.#sendable
    if (this.#core.settings.setup !== undefined) return
    const first = missing.find(({ name }) => !(readHere && name === 'types'))
    if (!first) return
    throw new PgParallelError(
      `worker() cannot be used with option ${first.name}: it cannot be sent to a thread, but a setup module can export it`,
      { category: 'configuration', cause: first.cause },
    )
  }

  /** Fits in a word, and 0 is for "none yet". */
  #newId(): number {
    this.#lastId = (this.#lastId % 0x7fffffff) + 1
    return this.#lastId
  }

  /** Its thread has taken it up. */
  #started({ job, thread }: Entry): boolean {
    return thread !== undefined && Atomics.load(thread.job, 0) === job.id
  }

  #pump(): void {
    for (const entry of this.#waiting) {
      let thread: Thread | undefined
      try {
        thread = this.#free(entry.job.kind) ?? this.#open()
      } catch (error) {
        this.#waiting.delete(entry)
        this.#crash(entry, error)
        continue
      }
      if (!thread) return
      this.#waiting.delete(entry)
      this.#give(thread, entry)
    }
  }

  /** A free thread: one with a connection for work that needs one, one without for work that does not. */
  #free(kind: Job['kind']): Thread | undefined {
    let other: Thread | undefined
    for (const thread of this.#threads) {
      if (thread.entry || thread.ending) continue
      if (thread.slots > 0 === (kind !== 'task' && kind !== 'warm')) return thread
      other = thread
    }
    return other
  }

  /** Starts a thread, if there may be another. */
  #open(): Thread | undefined {
    const { maxWorkers, workerNice, workerResourceLimits } = this.#core.settings
    if (this.#threads.size >= maxWorkers) return undefined
    const orders = new MessageChannel()
    const answers = new MessageChannel()
    const job = new Int32Array(new SharedArrayBuffer(4))
    const data: ThreadData = {
      nice: workerNice,
      options: this.#sendable.kept,
      setup: this.#core.settings.setup,
      missing: this.#sendable.missing.map(({ name }) => name),
      orders: orders.port2,
      answers: answers.port2,
      job,
    }
    const worker = new Worker(join(__dirname, 'thread.js'), {
      name: 'pg-parallel',
      workerData: data,
      transferList: [data.orders, data.answers],
      ...(workerResourceLimits === undefined ? {} : { resourceLimits: workerResourceLimits }),
    })
    worker.unref()
    orders.port1.unref()
    const thread: Thread = {
      worker,
      id: worker.threadId,
      orders: orders.port1,
      job,
      ready: false,
      entry: undefined,
      ending: false,
      failure: undefined,
      exited: false,
      heard: false,
      idleTimer: undefined,
      slots: 0,
      waiter: undefined,
      key: undefined,
      reclaiming: false,
      calls: new Map(),
    }
    this.#threads.add(thread)
    worker.on('error', (error: unknown) => {
      thread.failure = error
    })
    worker.on('exit', (code) => {
      thread.failure ??= new Error(`exit code ${code}`)
      thread.exited = true
      this.#gone(thread)
    })
    const hearing: Hearing = {
      message: (message) => {
        this.#hear(thread, message)
      },
      closed: () => {
        thread.heard = true
        // Whatever the reason: nobody would hear it any more.
        if (!thread.exited) this.#end(thread)
        this.#gone(thread)
      },
    }
    if (process.platform === 'linux' && workerNice > 0) this.#listen().hear(answers.port1, hearing)
    else hearDirectly(answers.port1, hearing)
    return thread
  }

  #listen(): Relay {
    if (!this.#relay || this.#relay.over) {
      this.#relay = new Relay((error) => {
        this.#core.settings.logger.error('the thread that passes answers on failed', error)
      })
    }
    return this.#relay
  }

  #give(thread: Thread, entry: Entry): void {
    clearTimeout(thread.idleTimer)
    Atomics.store(thread.job, 0, -entry.job.id)
    try {
      this.#tell(thread, { type: 'job', job: entry.job }, entry.transferList)
    } catch (error) {
      entry.over = true
      entry.reject(
        new PgParallelError(`arguments cannot be sent to a thread: ${(error as Error).message}`, {
          category: 'task',
          cause: error,
        }),
      )
      this.#rest(thread)
      return
    }
    entry.thread = thread
    thread.entry = entry
    this.#running.add(entry)
    this.#keepAlive ??= setInterval(() => {}, 0x7fffffff)
  }

  /** The thread has nothing to do. */
  #rest(thread: Thread): void {
    const { idleWorkerTimeoutMs } = this.#core.settings
    clearTimeout(thread.idleTimer)
    if (thread.ending || idleWorkerTimeoutMs === Infinity) return
    thread.idleTimer = setTimeout(() => {
      this.#end(thread)
    }, idleWorkerTimeoutMs).unref()
  }

  #end(thread: Thread): void {
    thread.ending = true
    clearTimeout(thread.idleTimer)
    void thread.worker.terminate()
  }

  #finished(thread: Thread, id: number, result: JobResult): void {
    const { entry } = thread
    if (entry?.job.id !== id) return
    this.#completed++
    this.#leave(thread, entry)
    // It may have been too busy to hear the last request.
    thread.reclaiming = false
    if (!entry.over) {
      entry.over = true
      if (!result.ok) entry.reject(taskError(result.error))
      else entry.resolve(this.#unpack(entry, result))
    }
    this.#pump()
    if (!thread.entry) this.#rest(thread)
    // Its connection is idle now: perhaps somebody waits for the slot.
    this.#core.pool.nudge()
  }

  #unpack(entry: Entry, parcel: Parcel): unknown {
    return open(parcel, entry.read ?? this.#read)
  }

  #leave(thread: Thread, entry: Entry): void {
    thread.entry = undefined
    this.#running.delete(entry)
    if (this.#running.size > 0) return
    clearInterval(this.#keepAlive)
    this.#keepAlive = undefined
  }

  /** The job's thread is gone. */
  #crash(entry: Entry, error: unknown): void {
    if (entry.over) return
    entry.over = true
    this.#crashed++
    this.#core.settings.logger.error('a worker thread ended under its task', error)
    entry.reject(
      new PgParallelError(`the worker thread ended before its task: ${ErrorUtils.wrap(error).message}`, {
        category: 'worker',
        cause: error,
        mayHaveExecuted: this.#started(entry),
        transient: true,
        infrastructure: false,
      }),
    )
  }

  #expire(entry: Entry, reason: PgParallelError): void {
    if (entry.over) return
    entry.over = true
    const { thread } = entry
    const withdrawn = !thread || Atomics.compareExchange(thread.job, 0, -entry.job.id, 0) === -entry.job.id
    const mayHaveExecuted = !withdrawn && entry.job.readOnly !== true
    entry.reject(ErrorUtils.wrap(reason, { mayHaveExecuted, retryable: false, infrastructure: false }))
    this.#waiting.delete(entry)
    // A thread that still starts, or connects, has nothing of this job to lose: it goes on for the next one.
    if (withdrawn) return
    if (entry.job.kind === 'query' || entry.job.kind === 'stream') {
      // None of the application's code runs there: the thread cancels the statement itself.
      this.#abandon(entry)
      return
    }
    thread.ending = true
    if (!thread.key || entry.job.kind !== 'worker') {
      this.#end(thread)
      return
    }
    // The server does not notice that a client is gone before it has an answer for it.
    const { client, cancelTimeoutMs, logger } = this.#core.settings
    sendCancel(thread.key, client, cancelTimeoutMs)
      .catch((error: unknown) => {
        logger.warn('a statement of a worker could not be cancelled', error)
      })
      .finally(() => {
        this.#end(thread)
      })
  }

  #hear(thread: Thread, message: ThreadMessage): void {
    const { pool, settings } = this.#core
    switch (message.type) {
      case 'ready':
        thread.ready = true
        this.#core.events.emit('workerStarted', { threadId: thread.id })
        return
      case 'result':
        this.#finished(thread, message.id, message.result)
        return
      case 'item': {
        const { entry } = thread
        if (entry?.job.id === message.id && !entry.over) entry.onItem?.(this.#unpack(entry, message.parcel))
        return
      }
      case 'need': {
        const waiter: Waiter = {
          kind: 'slot',
          patience: settings.retry.maxAttempts,
          serve: () => {
            thread.waiter = undefined
            thread.slots++
            thread.reclaiming = false
            void this.#grant(thread)
          },
          refuse: (error) => {
            thread.waiter = undefined
            this.#tell(thread, { type: 'denied', error: toPlain(error) })
          },
        }
        thread.waiter = waiter
        pool.acquire(waiter)
        return
      }
      case 'opened':
        thread.key = message.key
        return
      case 'closed':
        this.#returnSlots(thread)
        return
      case 'call':
        this.#observe(thread, message)
        return
      case 'log':
        settings.logger[message.level](`worker ${thread.id}: ${message.message}`)
    }
  }

  /** A call on the thread has begun or ended. */
  #observe(thread: Thread, { id, within, begun, ended }: CallNews): void {
    const { observer } = this.#core
    if (begun) {
      const outer = within === undefined ? thread.entry?.followed : thread.calls.get(within)
      const followed = observer.begin(begun.kind, begun.text, begun.name, outer)
      if (followed) thread.calls.set(id, followed)
      return
    }
    const followed = thread.calls.get(id)
    thread.calls.delete(id)
    if (!ended) return
    if (ended.error) followed?.fail(fromPlain(ended.error), ended.attempts, ended.durationMs)
    else followed?.end(ended.attempts, ended.durationMs)
  }

  /** The thread may connect. A password that is asked for each time is asked for here: a function cannot be sent. */
  async #grant(thread: Thread): Promise<void> {
    try {
      const { password } = this.#options
      this.#tell(thread, { type: 'granted', password: typeof password === 'function' ? await password() : password })
    } catch (error) {
      this.#returnSlots(thread)
      this.#tell(thread, { type: 'denied', error: toPlain(ErrorUtils.wrap(error, { category: 'authentication' })) })
    }
  }

  #tell(thread: Thread, message: MainMessage, transferList?: readonly Transferable[]): void {
    thread.orders.postMessage(message, transferList)
  }

  #returnSlots(thread: Thread): void {
    thread.key = undefined
    thread.reclaiming = false
    for (; thread.slots > 0; thread.slots--) this.#core.pool.returnSlot()
    this.#onSlot?.()
  }

  /** The thread has ended, its socket is closed with it, and everything that it said was heard. */
  #gone(thread: Thread): void {
    if (!thread.exited || !thread.heard || !this.#threads.delete(thread)) return
    const { entry, failure, ready } = thread
    clearTimeout(thread.idleTimer)
    thread.orders.close()
    if (thread.waiter) this.#core.pool.withdraw(thread.waiter)
    this.#returnSlots(thread)
    if (entry) {
      this.#leave(thread, entry)
      if (
        ready &&
        !entry.over &&
        !entry.sentInVain &&
        !entry.transferList?.length &&
        !this.#started(entry) &&
        !this.#core.stopped
      ) {
        // What ended the thread was there before it: another one may do it.
        entry.sentInVain = true
        this.#waiting = new Set([entry, ...this.#waiting])
      } else {
        this.#crash(entry, failure)
      }
    } else if (!thread.ending) {
      this.#core.settings.logger.error('a worker thread failed', failure)
    }
    if (ready) this.#core.events.emit('workerEnded', { threadId: thread.id })
    this.#pump()
    this.#onEnded?.()
  }

  /** Somebody waits for a connection: a thread whose connection is idle is asked for it. */
  reclaim(): void {
    for (const thread of this.#threads) {
      if (
        thread.slots === 0 ||
        thread.reclaiming ||
        (thread.entry && thread.entry.job.kind !== 'task' && thread.entry.job.kind !== 'warm')
      )
        continue
      thread.reclaiming = true
      this.#tell(thread, { type: 'reclaim' })
      return
    }
  }

  /** Starts `count` threads, `connections` of them with a connection, and waits for them; returns what went wrong. */
  async warmup(count: number, connections: number): Promise<PgParallelError[]> {
    const wanted = Math.min(count, this.#core.settings.maxWorkers)
    const unsendable = this.#sendable.missing.length > 0 && this.#core.settings.setup === undefined
    // Handed out in one go: threads that are there and free take one each, and for each of the others one is started.
    const results = await Promise.allSettled(
      Array.from({ length: wanted }, (_, index) =>
        this.run({ kind: index < connections && !unsendable ? 'warm-database' : 'warm', args: [] }),
      ),
    )
    return results.flatMap((result) => (result.status === 'rejected' ? [ErrorUtils.wrap(result.reason)] : []))
  }

  /** Idle threads close their connections, so that the server need not find out that they are gone. */
  async #goodbye(limitMs: number): Promise<void> {
    const connected = (): boolean => [...this.#threads].some((thread) => thread.slots > 0)
    if (!connected()) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs)
      this.#onSlot = (): void => {
        if (connected()) return
        clearTimeout(timer)
        resolve()
      }
      for (const thread of this.#threads) this.#tell(thread, { type: 'reclaim' })
    })
    this.#onSlot = undefined
  }

  /** Rejects what waits and ends every thread, within `limitMs` as far as threads can be ended. */
  async destroy(reason: PgParallelError, limitMs = Infinity): Promise<void> {
    const keepAlive = setInterval(() => {}, 0x7fffffff)
    for (const entry of [...this.#waiting, ...this.#running]) this.#expire(entry, reason)
    await this.#goodbye(Math.min(GOODBYE_MS, limitMs / 2))
    await new Promise<void>((resolve) => {
      this.#onEnded = (): void => {
        if (this.#threads.size === 0) resolve()
      }
      for (const thread of this.#threads) this.#end(thread)
      this.#onEnded()
    })
    await this.#relay?.close()
    clearInterval(keepAlive)
  }
}

/** Makes rows by these parsers, when they are looked at. */
export const readerBy =
  (source: TypeSource | undefined, rename: ((name: string) => string) | undefined): RowReader =>
  (packed) =>
    lazyRows(packed, Shape.of(packed.fields, source, packed.asArray, rename).withFormats(packed.formats))

/** Options for a thread. */
export interface ThreadOptions {
  /** What it is told to connect with: everything that can be cloned. */
  readonly kept: PgParallelOptions
  /** What cannot be sent. */
  readonly missing: readonly { readonly name: string; readonly cause: unknown }[]
}

/** Takes options apart. */
export function threadOptions(options: PgParallelOptions): ThreadOptions {
  // The password comes with the permission to connect.
  const { log: _log, logger: _logger, Promise: _promise, password, ...rest } = options
  const kept: Record<string, unknown> = password === undefined ? {} : { password: '' }
  const missing: { name: string; cause: unknown }[] = []
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined) continue
    try {
      kept[name] = structuredClone(value)
    } catch (cause) {
      missing.push({ name, cause })
    }
  }
  return { kept, missing }
}
