/**
 * The worker threads' jobs on the main thread: they wait, get a thread, and end.
 *
 * A job waits here until a thread is free; a thread has one job at a time, so that one that dies takes nobody else's
 * job with it. A job that is aborted or out of time cannot be stopped in any other way than by ending its thread; what
 * it was doing on the server is cancelled first. The thread itself is a {@link ThreadHandle}, its connection's place in
 * the pool is {@link ThreadSlots}' matter.
 */
import type { Transferable } from 'node:worker_threads'
import type { Core } from '../core'
import { ErrorUtils, PgParallelError } from '../errors'
import type { PgParallelOptions } from '../options'
import type { Followed } from '../observe/observer'
import type { Deadline } from '../policy/deadline'
import { sendCancel } from '../pool/connection'
import { chosenTypes } from '../wire/choices'
import { ORIGINAL_TYPES, type TypeSource } from '../wire/shape'
import { ThreadHandle, type Entry } from './handle'
import { open, readerBy, type Parcel, type RowReader } from './parcels'
import { taskError, type Job, type JobResult, type ThreadMessage } from './protocol'
import { Relay } from './relay'
import { threadOptions, type ThreadOptions } from './sendable'
import { ThreadSlots } from './slots'

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

/** What a job needs beside its work. */
export interface RunOptions {
  readonly deadline?: Deadline | undefined
  readonly followed?: Followed | undefined
  readonly read?: RowReader | undefined
  readonly transferList?: readonly Transferable[] | undefined
}

/** See the top of the file. */
export class WorkerPool {
  readonly #core: Core
  readonly #slots: ThreadSlots
  /** What threads connect with, and what of it cannot be sent. */
  readonly #sendable: ThreadOptions
  readonly #read: RowReader
  readonly #threads = new Set<ThreadHandle>()
  #waiting = new Set<Entry>()
  readonly #running = new Set<Entry>()
  #relay: Relay | undefined
  #onEnded: (() => void) | undefined
  /** A thread does not keep the process alive, but its job must. */
  #keepAlive: NodeJS.Timeout | undefined
  #lastId = 0
  #completed = 0
  #crashed = 0

  constructor(core: Core, options: PgParallelOptions) {
    this.#core = core
    this.#slots = new ThreadSlots(core, options.password)
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
          if (!entry?.over) entry?.thread?.tell({ type: 'more', id: entry.job.id })
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
    thread.tell({ type: 'abort', id: job.id })
    setTimeout(() => {
      if (thread.entry === entry) thread.end()
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
    return thread?.hasBegun(job) === true
  }

  #pump(): void {
    for (const entry of this.#waiting) {
      let thread: ThreadHandle | undefined
      try {
        thread = this.#free(entry.job.kind) ?? this.#open()
      } catch (error) {
        this.#waiting.delete(entry)
        if (error instanceof PgParallelError) this.#refuse(entry, error)
        else this.#crash(entry, error)
        continue
      }
      if (!thread) return
      this.#waiting.delete(entry)
      this.#give(thread, entry)
    }
  }

  /** A free thread: one with a connection for work that needs one, one without for work that does not. */
  #free(kind: Job['kind']): ThreadHandle | undefined {
    let other: ThreadHandle | undefined
    for (const thread of this.#threads) {
      if (thread.entry || thread.ending) continue
      if (thread.slots > 0 === (kind !== 'task' && kind !== 'warm')) return thread
      other = thread
    }
    return other
  }

  /** Starts a thread, if there may be another. */
  #open(): ThreadHandle | undefined {
    const { settings } = this.#core
    if (this.#threads.size >= settings.maxWorkers) return undefined
    const thread = new ThreadHandle(settings, this.#sendable, () => this.#listen(), {
      message: (from, message) => {
        this.#hear(from, message)
      },
      gone: (which) => {
        this.#gone(which)
      },
    })
    this.#threads.add(thread)
    return thread
  }

  #listen(): Relay {
    if (!this.#relay || this.#relay.over) {
      this.#relay = new Relay((error) => {
        this.#core.settings.logger.error('the thread that passes answers on failed', error)
      }, this.#core.settings.threadPath)
    }
    return this.#relay
  }

  #give(thread: ThreadHandle, entry: Entry): void {
    try {
      thread.give(entry)
    } catch (error) {
      entry.over = true
      entry.reject(
        new PgParallelError(`arguments cannot be sent to a thread: ${(error as Error).message}`, {
          category: 'task',
          cause: error,
        }),
      )
      thread.rest()
      return
    }
    this.#running.add(entry)
    this.#keepAlive ??= setInterval(() => {}, 0x7fffffff)
  }

  #finished(thread: ThreadHandle, id: number, result: JobResult): void {
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
    if (!thread.entry) thread.rest()
    // Its connection is idle now: perhaps somebody waits for the slot.
    this.#core.pool.nudge()
  }

  #unpack(entry: Entry, parcel: Parcel): unknown {
    return open(parcel, entry.read ?? this.#read)
  }

  #leave(thread: ThreadHandle, entry: Entry): void {
    thread.entry = undefined
    this.#running.delete(entry)
    if (this.#running.size > 0) return
    clearInterval(this.#keepAlive)
    this.#keepAlive = undefined
  }

  /** No thread can be started as things are set up. */
  #refuse(entry: Entry, error: PgParallelError): void {
    entry.over = true
    entry.reject(error)
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
    const withdrawn = !thread || thread.takeBack(entry.job)
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
      thread.end()
      return
    }
    // The server does not notice that a client is gone before it has an answer for it.
    const { client, cancelTimeoutMs, logger } = this.#core.settings
    sendCancel(thread.key, client, cancelTimeoutMs)
      .catch((error: unknown) => {
        logger.warn('a statement of a worker could not be cancelled', error)
      })
      .finally(() => {
        thread.end()
      })
  }

  #hear(thread: ThreadHandle, message: ThreadMessage): void {
    const { settings, observer } = this.#core
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
      case 'need':
        this.#slots.request(thread)
        return
      case 'opened':
        thread.key = message.key
        return
      case 'closed':
        this.#slots.giveBack(thread)
        return
      case 'call':
        thread.observe(message, observer)
        return
      case 'log':
        settings.logger[message.level](`worker ${thread.id}: ${message.message}`)
    }
  }

  /** The thread has ended, its socket is closed with it, and everything that it said was heard. */
  #gone(thread: ThreadHandle): void {
    if (!this.#threads.delete(thread)) return
    const { entry, failure, ready } = thread
    this.#slots.release(thread)
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

  /** Somebody waits for a connection, and a thread may have one that is idle. */
  reclaim(): void {
    this.#slots.reclaim(this.#threads)
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

  /** Rejects what waits and ends every thread, within `limitMs` as far as threads can be ended. */
  async destroy(reason: PgParallelError, limitMs = Infinity): Promise<void> {
    const keepAlive = setInterval(() => {}, 0x7fffffff)
    for (const entry of [...this.#waiting, ...this.#running]) this.#expire(entry, reason)
    await this.#slots.goodbye(this.#threads, Math.min(GOODBYE_MS, limitMs / 2))
    await new Promise<void>((resolve) => {
      this.#onEnded = (): void => {
        if (this.#threads.size === 0) resolve()
      }
      for (const thread of this.#threads) thread.end()
      this.#onEnded()
    })
    await this.#relay?.close()
    clearInterval(keepAlive)
  }
}
