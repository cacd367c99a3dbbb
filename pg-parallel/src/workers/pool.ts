/**
 * The main thread's side of the worker threads, which piscina starts, feeds and replaces.
 *
 * A job waits here until a thread is free (piscina gets no more than it has threads, so that a thread that dies takes
 * nobody else's job with it). A job that is aborted or out of time cannot be stopped in any other way than by ending
 * its thread; what it was doing on the server is cancelled first. Threads ask for a slot of the connection pool before
 * they connect, and are asked to give it back when others wait.
 */
import { join } from 'node:path'
import { deserialize } from 'node:v8'
import type { MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import type { Core } from '../core'
import { ErrorUtils, PgParallelError } from '../errors'
import type { PgParallelOptions } from '../options'
import type { Deadline } from '../policy/deadline'
import { sendCancel, type CancelKey } from '../pool/connection'
import type { Waiter } from '../pool/queue'
import {
  taskError,
  toPlain,
  type Hello,
  type Job,
  type JobResult,
  type MainMessage,
  type ThreadData,
  type ThreadMessage,
} from './protocol'

/** How long `shutdown` waits for threads to close their connections. */
const GOODBYE_MS = 500

/** How long `warmup` waits for threads. */
const START_MS = 10_000

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

/** A job on its way. */
interface Entry {
  readonly job: Job
  readonly deadline: Deadline | undefined
  readonly stop: AbortController
  readonly resolve: (value: unknown) => void
  readonly reject: (error: PgParallelError) => void
  /** A thread took it up, and is gone since. */
  died: boolean
  over: boolean
}

/** What is known about a thread. */
interface Thread {
  readonly id: number
  readonly port: MessagePort
  /** Slots of the connection pool that it holds: 0 or 1. */
  slots: number
  /** Its request for a slot that is still in the queue. */
  waiter: Waiter | undefined
  key: CancelKey | undefined
  /** The job it took up last: see {@link Hello}. */
  readonly job: Int32Array
  reclaiming: boolean
}

/** piscina's view of a thread, as its load balancer gets it. */
interface BalancedWorker {
  readonly id: number
  readonly currentUsage: number
}

/** See the top of the file. */
export class WorkerPool {
  readonly #core: Core
  readonly #options: PgParallelOptions
  readonly #piscina: Piscina
  /** Why threads cannot connect. */
  readonly #unsendable: PgParallelError | undefined
  readonly #threads = new Map<number, Thread>()
  readonly #waiting = new Set<Entry>()
  readonly #running = new Map<number, Entry>()
  #onThread: (() => void) | undefined
  #onSlot: (() => void) | undefined
  /** A thread that is starting does not keep the process alive, but the job that it starts for must. */
  #keepAlive: NodeJS.Timeout | undefined
  #lastId = 0
  #completed = 0
  #crashed = 0

  constructor(core: Core, options: PgParallelOptions) {
    this.#core = core
    this.#options = options
    const sendable = threadOptions(options)
    this.#unsendable = sendable instanceof PgParallelError ? sendable : undefined
    const { maxWorkers, idleWorkerTimeoutMs, workerResourceLimits, workerNice } = core.settings
    this.#piscina = new Piscina({
      filename: join(__dirname, 'thread.js'),
      minThreads: 0,
      maxThreads: maxWorkers,
      idleTimeout: idleWorkerTimeoutMs,
      // piscina's own way of waiting freezes the thread's event loop between jobs, and with it the thread's sockets.
      atomics: 'disabled',
      recordTiming: false,
      workerData: {
        nice: workerNice,
        options: sendable instanceof PgParallelError ? undefined : sendable,
      } satisfies ThreadData,
      ...(workerResourceLimits === undefined ? {} : { resourceLimits: workerResourceLimits }),
      maxQueue: maxWorkers,
      loadBalancer: (task, workers) => this.#choose(task.name, workers) as never,
    })
    this.#piscina.on('message', (message: Partial<Hello>) => {
      const { pgParallelThread: id, port, job } = message
      if (id !== undefined && port && job) this.#hello(id, port, job)
    })
    this.#piscina.on('error', (error: unknown) => {
      core.settings.logger.error('a worker thread failed', error)
    })
  }

  get stats(): WorkerStats {
    let connected = 0
    for (const thread of this.#threads.values()) connected += thread.slots
    return {
      max: this.#core.settings.maxWorkers,
      threads: this.#threads.size,
      connected,
      running: this.#running.size,
      waiting: this.#waiting.size,
      completed: this.#completed,
      crashed: this.#crashed,
    }
  }

  /** Runs a job; rejects with what its function threw, or with what happened to its thread. */
  run(work: Omit<Job, 'id'>, deadline: Deadline | undefined): Promise<unknown> {
    return new Promise((resolve, reject) => {
      deadline?.check()
      if (work.kind === 'worker' && this.#unsendable) throw this.#unsendable
      const { maxQueue } = this.#core.settings
      if (this.#waiting.size >= maxQueue && this.#full) {
        reject(
          new PgParallelError(`${this.#waiting.size} tasks are waiting for a thread already (maxQueue)`, {
            category: 'overload',
            transient: true,
            infrastructure: false,
          }),
        )
        return
      }
      const entry: Entry = {
        job: { id: this.#newId(), ...work },
        deadline,
        stop: new AbortController(),
        resolve,
        reject,
        died: false,
        over: false,
      }
      deadline?.onEnd((reason) => {
        this.#expire(entry, reason)
      })
      this.#waiting.add(entry)
      this.#pump()
    })
  }

  /** Fits in a word, and 0 is for "none yet". */
  #newId(): number {
    this.#lastId = (this.#lastId % 0x7fffffff) + 1
    return this.#lastId
  }

  /** The thread that has taken the job up. */
  #threadOf(entry: Entry): Thread | undefined {
    for (const thread of this.#threads.values()) if (Atomics.load(thread.job, 0) === entry.job.id) return thread
    return undefined
  }

  #started(entry: Entry): boolean {
    return entry.died || this.#threadOf(entry) !== undefined
  }

  get #full(): boolean {
    return this.#running.size >= this.#core.settings.maxWorkers
  }

  #pump(): void {
    for (const entry of this.#waiting) {
      if (this.#full) return
      this.#waiting.delete(entry)
      this.#start(entry)
    }
  }

  #start(entry: Entry): void {
    const { job, stop } = entry
    this.#running.set(job.id, entry)
    this.#keepAlive ??= setInterval(() => {}, 0x7fffffff)
    void (this.#piscina.run(job, { name: job.kind, signal: stop.signal }) as Promise<JobResult>)
      .then(
        (result) => {
          this.#completed++
          if (entry.over) return
          entry.over = true
          if (!result.ok) entry.reject(taskError(result.error))
          else entry.resolve('data' in result ? deserialize(result.data) : result.value)
        },
        (error: unknown) => {
          if (entry.over) return
          entry.over = true
          const { name } = error as Error
          if (name === 'DataCloneError' && !this.#started(entry)) {
            entry.reject(
              new PgParallelError(`arguments cannot be sent to a thread: ${(error as Error).message}`, {
                category: 'task',
                cause: error,
              }),
            )
            return
          }
          this.#crashed++
          this.#core.settings.logger.error('a worker thread ended under its task', error)
          entry.reject(
            new PgParallelError(`the worker thread ended before its task: ${(error as Error).message}`, {
              category: 'worker',
              cause: error,
              mayHaveExecuted: this.#started(entry),
              transient: true,
              infrastructure: false,
            }),
          )
        },
      )
      .finally(() => {
        this.#running.delete(job.id)
        if (this.#running.size === 0) {
          clearInterval(this.#keepAlive)
          this.#keepAlive = undefined
        }
        const thread = this.#threadOf(entry)
        // It may have been too busy to hear the last request.
        if (thread) thread.reclaiming = false
        this.#pump()
        // Its connection is idle now: perhaps somebody waits for the slot.
        this.#core.pool.nudge()
      })
  }

  #expire(entry: Entry, reason: PgParallelError): void {
    if (entry.over) return
    entry.over = true
    const mayHaveExecuted = this.#started(entry)
    entry.reject(ErrorUtils.wrap(reason, { mayHaveExecuted, retryable: false, infrastructure: false }))
    if (this.#waiting.delete(entry)) return
    const { client, cancelTimeoutMs } = this.#core.settings
    const key = this.#threadOf(entry)?.key
    const end = (): void => {
      entry.stop.abort(reason)
    }
    if (!key || entry.job.kind !== 'worker') {
      end()
      return
    }
    // The server does not notice that a client is gone before it has an answer for it.
    sendCancel(key, client, cancelTimeoutMs).then(end, (error: unknown) => {
      this.#core.settings.logger.warn('a statement of a worker could not be cancelled', error)
      end()
    })
  }

  /** A free thread: one with a connection for work that needs one, one without for work that does not. */
  #choose(kind: string, workers: readonly BalancedWorker[]): BalancedWorker | null {
    let other: BalancedWorker | null = null
    for (const worker of workers) {
      if (worker.currentUsage !== 0) continue
      const connected = (this.#threads.get(worker.id)?.slots ?? 0) > 0
      if (connected === (kind === 'worker')) return worker
      other = worker
    }
    return other
  }

  #hello(id: number, port: MessagePort, job: Int32Array): void {
    const thread: Thread = {
      id,
      port,
      slots: 0,
      waiter: undefined,
      key: undefined,
      job,
      reclaiming: false,
    }
    this.#threads.set(id, thread)
    port.on('message', (message: ThreadMessage) => {
      this.#hear(thread, message)
    })
    port.on('close', () => {
      this.#gone(thread)
    })
    port.unref()
    this.#core.events.emit('workerStarted', { threadId: id })
    this.#onThread?.()
  }

  #hear(thread: Thread, message: ThreadMessage): void {
    const { pool, settings } = this.#core
    switch (message.type) {
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
      case 'log':
        settings.logger[message.level](`worker ${thread.id}: ${message.message}`)
    }
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

  #tell(thread: Thread, message: MainMessage): void {
    thread.port.postMessage(message)
  }

  #returnSlots(thread: Thread): void {
    thread.key = undefined
    thread.reclaiming = false
    for (; thread.slots > 0; thread.slots--) this.#core.pool.returnSlot()
    this.#onSlot?.()
  }

  /** The thread has ended: its socket is closed with it. */
  #gone(thread: Thread): void {
    if (!this.#threads.delete(thread.id)) return
    const entry = this.#running.get(Atomics.load(thread.job, 0))
    if (entry) entry.died = true
    if (thread.waiter) this.#core.pool.withdraw(thread.waiter)
    this.#returnSlots(thread)
    this.#core.events.emit('workerEnded', { threadId: thread.id })
  }

  /** Somebody waits for a connection: a thread whose connection is idle is asked for it. */
  reclaim(): void {
    for (const thread of this.#threads.values()) {
      if (thread.slots === 0 || thread.reclaiming) continue
      if (this.#running.get(Atomics.load(thread.job, 0))?.job.kind === 'worker') continue
      thread.reclaiming = true
      this.#tell(thread, { type: 'reclaim' })
      return
    }
  }

  /** Starts `count` threads and waits for them; returns what went wrong. */
  async warmup(count: number): Promise<PgParallelError[]> {
    const wanted = Math.min(count, this.#core.settings.maxWorkers)
    if (wanted === 0) return []
    const all = new Promise<PgParallelError[]>((resolve) => {
      // A thread that is starting does not keep the process alive; this timer does.
      const timer = setTimeout(() => {
        resolve([
          new PgParallelError(`${this.#threads.size} of ${wanted} threads started within ${START_MS} ms`, {
            category: 'worker',
          }),
        ])
      }, START_MS)
      this.#onThread = (): void => {
        if (this.#threads.size < wanted) return
        clearTimeout(timer)
        resolve([])
      }
      this.#onThread()
    })
    // Handed out in one go: threads that are there and free take one each, and for each of the others one is started.
    const results = await Promise.allSettled(
      Array.from({ length: wanted }, () => this.run({ kind: 'warm', args: [] }, undefined)),
    )
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [ErrorUtils.wrap(result.reason)] : []))
    if (errors.length === 0) errors.push(...(await all))
    this.#onThread = undefined
    return errors
  }

  /** Idle threads close their connections, so that the server need not find out that they are gone. */
  async #goodbye(): Promise<void> {
    const connected = (): boolean => [...this.#threads.values()].some((thread) => thread.slots > 0)
    if (!connected()) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GOODBYE_MS)
      this.#onSlot = (): void => {
        if (connected()) return
        clearTimeout(timer)
        resolve()
      }
      for (const thread of this.#threads.values()) this.#tell(thread, { type: 'reclaim' })
    })
    this.#onSlot = undefined
  }

  /** Rejects what waits and ends every thread. */
  async destroy(reason: PgParallelError): Promise<void> {
    for (const entry of [...this.#waiting, ...this.#running.values()]) this.#expire(entry, reason)
    await this.#goodbye()
    await this.#piscina.destroy()
    for (const thread of [...this.#threads.values()]) {
      thread.port.close()
      this.#gone(thread)
    }
  }
}

/** What a thread is told to connect with: everything that can be cloned, or an error that names what cannot. */
export function threadOptions(options: PgParallelOptions): PgParallelOptions | PgParallelError {
  // The password comes with the permission to connect.
  const { log: _log, logger: _logger, Promise: _promise, password, ...rest } = options
  const kept: Record<string, unknown> = password === undefined ? {} : { password: '' }
  for (const [key, value] of Object.entries(rest)) {
    if (value === undefined) continue
    try {
      kept[key] = structuredClone(value)
    } catch (cause) {
      return new PgParallelError(`worker() cannot be used with option ${key}: it cannot be sent to a thread`, {
        category: 'configuration',
        cause,
      })
    }
  }
  return kept
}
