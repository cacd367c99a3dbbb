/**
 * The main thread's hold on one worker thread: its start, its end, and its two ports. Orders go to it directly; what it
 * says comes back through the {@link Relay} if it stands back behind the event loop.
 */
import { MessageChannel, Worker, type MessagePort, type Transferable } from 'node:worker_threads'
import type { PgParallelError } from '../errors'
import type { CallObserver, Followed } from '../observe/observer'
import type { Deadline } from '../policy/deadline'
import type { CancelKey } from '../pool/connection'
import type { Waiter } from '../pool/queue'
import type { Settings } from '../options'
import { threadFile } from './files'
import type { RowReader } from './parcels'
import { fromPlain, type CallNews, type Job, type MainMessage, type ThreadData, type ThreadMessage } from './protocol'
import { hearDirectly, type Hearing, type Relay } from './relay'
import type { ThreadOptions } from './sendable'

/** A job on its way. */
export interface Entry {
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
  thread: ThreadHandle | undefined
  /** It was sent to a thread that ended without taking it up. */
  sentInVain: boolean
  over: boolean
}

/** Who hears of a thread. */
export interface ThreadEvents {
  message(thread: ThreadHandle, message: ThreadMessage): void
  /** It has ended, its socket is closed with it, and everything that it said was heard. */
  gone(thread: ThreadHandle): void
}

/** See the top of the file. */
export class ThreadHandle {
  readonly #worker: Worker
  readonly #orders: MessagePort
  readonly #events: ThreadEvents
  readonly #idleMs: number
  readonly id: number
  /** See {@link ThreadData}. */
  readonly #job = new Int32Array(new SharedArrayBuffer(4))
  /** Its calls that are followed here. */
  readonly #calls = new Map<number, Followed>()
  #exited = false
  #heard = false
  #idleTimer: NodeJS.Timeout | undefined
  #failure: unknown
  /** It has said so itself. */
  ready = false
  entry: Entry | undefined
  /** It gets no further job. */
  ending = false
  /** Slots of the connection pool that it holds: 0 or 1. */
  slots = 0
  /** Its request for a slot that is still in the queue. */
  waiter: Waiter | undefined
  key: CancelKey | undefined
  reclaiming = false

  /** Starts it. `relay`: what passes on what it says, where it stands back. */
  constructor(settings: Settings, options: ThreadOptions, relay: () => Relay, events: ThreadEvents) {
    const { workerNice, workerResourceLimits, setup, threadPath, idleWorkerTimeoutMs } = settings
    const file = threadFile('thread.js', threadPath)
    const orders = new MessageChannel()
    const answers = new MessageChannel()
    const data: ThreadData = {
      nice: workerNice,
      options: options.kept,
      setup,
      missing: options.missing.map(({ name }) => name),
      orders: orders.port2,
      answers: answers.port2,
      job: this.#job,
    }
    this.#worker = new Worker(file, {
      name: 'pg-parallel',
      workerData: data,
      transferList: [data.orders, data.answers],
      ...(workerResourceLimits === undefined ? {} : { resourceLimits: workerResourceLimits }),
    })
    this.id = this.#worker.threadId
    this.#orders = orders.port1
    this.#events = events
    this.#idleMs = idleWorkerTimeoutMs
    this.#worker.unref()
    this.#orders.unref()
    this.#worker.on('error', (error: unknown) => {
      this.#failure = error
    })
    this.#worker.on('exit', (code) => {
      this.#failure ??= new Error(`exit code ${code}`)
      this.#exited = true
      this.#gone()
    })
    const hearing: Hearing = {
      message: (message) => {
        events.message(this, message)
      },
      closed: () => {
        this.#heard = true
        // Whatever the reason: nobody would hear it any more.
        if (!this.#exited) this.end()
        this.#gone()
      },
    }
    if (process.platform === 'linux' && workerNice > 0) relay().hear(answers.port1, hearing)
    else hearDirectly(answers.port1, hearing)
  }

  /** Why it ended. */
  get failure(): unknown {
    return this.#failure
  }

  #gone(): void {
    if (!this.#exited || !this.#heard) return
    clearTimeout(this.#idleTimer)
    this.#orders.close()
    this.#events.gone(this)
  }

  tell(message: MainMessage, transferList?: readonly Transferable[]): void {
    this.#orders.postMessage(message, transferList)
  }

  /** Sends it a job. Throws what cannot be cloned. */
  give(entry: Entry): void {
    clearTimeout(this.#idleTimer)
    Atomics.store(this.#job, 0, -entry.job.id)
    this.tell({ type: 'job', job: entry.job }, entry.transferList)
    entry.thread = this
    this.entry = entry
  }

  /** It has taken the job up. */
  hasBegun({ id }: Job): boolean {
    return Atomics.load(this.#job, 0) === id
  }

  /** Takes a job back that it has not taken up; false where it has. */
  takeBack({ id }: Job): boolean {
    return Atomics.compareExchange(this.#job, 0, -id, 0) === -id
  }

  /** It has nothing to do, and ends when that lasts. */
  rest(): void {
    clearTimeout(this.#idleTimer)
    if (this.ending || this.#idleMs === Infinity) return
    this.#idleTimer = setTimeout(() => {
      this.end()
    }, this.#idleMs).unref()
  }

  end(): void {
    this.ending = true
    clearTimeout(this.#idleTimer)
    void this.#worker.terminate()
  }

  /** A call on the thread has begun or ended. */
  observe({ id, within, begun, ended }: CallNews, observer: CallObserver): void {
    if (begun) {
      const outer = within === undefined ? this.entry?.followed : this.#calls.get(within)
      const followed = observer.begin(begun.kind, begun.text, begun.name, outer)
      if (followed) this.#calls.set(id, followed)
      return
    }
    const followed = this.#calls.get(id)
    this.#calls.delete(id)
    if (!ended) return
    if (ended.error) followed?.fail(fromPlain(ended.error), ended.attempts, ended.durationMs)
    else followed?.end(ended.attempts, ended.durationMs)
  }
}
