/**
 * The way from threads that stand back to the event loop.
 *
 * Whoever posts to a port holds the port's lock while it wakes the receiver. A woken event loop takes the processor
 * from a thread that stands back behind it at once, then finds the lock taken, and waits, until some processor has
 * nothing better to do than to let that thread go on: milliseconds, on a busy machine, for every answer of a task. So
 * what such threads say is heard by a thread that does not stand back and passes it on; if anybody waits for a lock
 * that a thread holds that gets no processor, it is the relay.
 */
import { Worker, type MessagePort } from 'node:worker_threads'
import { RELAY_DATA, threadFile } from './files'
import type { ThreadMessage } from './protocol'

/** Listen to this port. */
export interface RelayOrder {
  readonly id: number
  readonly port: MessagePort
}

/** What was heard; without a message: the port's other end is closed, after everything that was sent. */
export interface RelayNews {
  readonly id: number
  readonly message?: ThreadMessage
}

/** Who wants to hear a thread. */
export interface Hearing {
  message(message: ThreadMessage): void
  /** There will be no more; called once. */
  closed(): void
}

/** Hears threads on this thread's event loop: right where they do not stand back. */
export function hearDirectly(port: MessagePort, hearing: Hearing): void {
  port.on('message', (message: ThreadMessage) => {
    hearing.message(message)
  })
  port.on('close', () => {
    hearing.closed()
  })
  port.unref()
}

/** See the top of the file. */
export class Relay {
  readonly #worker: Worker
  readonly #hearings = new Map<number, Hearing>()
  #lastId = 0
  #over = false

  /** `failed` hears of an end that nobody asked for; all hearings are closed then. */
  constructor(failed: (error: unknown) => void, threadPath?: string) {
    // None of the application's code runs there, so none of its preloads need to.
    const options = { execArgv: [], env: {}, name: 'pg-parallel relay', workerData: RELAY_DATA }
    this.#worker = new Worker(threadFile('relayThread.js', threadPath), options)
    this.#worker.unref()
    this.#worker.on('message', ({ id, message }: RelayNews) => {
      const hearing = this.#hearings.get(id)
      if (message) {
        hearing?.message(message)
        return
      }
      this.#hearings.delete(id)
      hearing?.closed()
    })
    this.#worker.on('error', failed)
    this.#worker.on('exit', () => {
      this.#over = true
      const left = [...this.#hearings.values()]
      this.#hearings.clear()
      for (const hearing of left) hearing.closed()
    })
  }

  /** It passes nothing on any more. */
  get over(): boolean {
    return this.#over
  }

  /** Hears the thread at the other end of the port, which is given away. */
  hear(port: MessagePort, hearing: Hearing): void {
    const id = ++this.#lastId
    this.#hearings.set(id, hearing)
    this.#worker.postMessage({ id, port } satisfies RelayOrder, [port])
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}
