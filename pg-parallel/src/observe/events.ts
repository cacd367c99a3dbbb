/** Every change of state is an event with a type of its own. */
import { EventEmitter } from 'node:events'
import type { PgParallelError } from '../errors'
import type { BreakerState } from '../policy/breaker'
import type { HostAddress } from '../pool/hosts'
import type { Notice } from '../wire/notice'

/** What a call was: the part of the API that it came in by. */
export type CallKind = 'query' | 'transaction' | 'stream' | 'copy' | 'task' | 'worker'

/** Events of {@link PgParallel} and what comes with each. */
export interface PgParallelEvents {
  /** A connection is open. */
  connect: [info: { address: HostAddress; processID: number | undefined }]
  /** A connection is closed; `error` where it was not closed on purpose. */
  disconnect: [info: { address: HostAddress; processID: number | undefined; error: Error | undefined }]
  /** Connecting failed; the next attempt comes after `delayMs`, or with the next call where it is undefined. */
  connectFailed: [info: { error: PgParallelError; attempt: number; delayMs: number | undefined }]
  /** A call is tried again after `delayMs`. */
  retry: [info: { kind: CallKind; error: PgParallelError; attempt: number; delayMs: number }]
  /** The circuit breaker opened, closed, or lets trial calls through. */
  breaker: [info: { state: BreakerState; before: BreakerState }]
  /** The server remarks on something, on any connection: what `RAISE NOTICE` says, for one. */
  notice: [info: { notice: Notice; address: HostAddress; processID: number | undefined }]
  /** A worker thread started. */
  workerStarted: [info: { threadId: number }]
  /** A worker thread ended: crashed, stopped with its task, or no longer needed. */
  workerEnded: [info: { threadId: number }]
  /** `shutdown` was called. */
  shutdown: [info: { timeoutMs: number }]
  /** Everything is closed. */
  closed: []
}

/** An emitter whose listeners cannot break the package: what they throw is reported and goes no further. */
export class Events {
  readonly #emitter = new EventEmitter()
  readonly #onListenerError: (error: unknown) => void

  constructor(onListenerError: (error: unknown) => void) {
    this.#onListenerError = onListenerError
  }

  on<K extends keyof PgParallelEvents>(name: K, listener: (...args: PgParallelEvents[K]) => void): void {
    this.#emitter.on(name, listener as (...args: unknown[]) => void)
  }

  once<K extends keyof PgParallelEvents>(name: K, listener: (...args: PgParallelEvents[K]) => void): void {
    this.#emitter.once(name, listener as (...args: unknown[]) => void)
  }

  off<K extends keyof PgParallelEvents>(name: K, listener: (...args: PgParallelEvents[K]) => void): void {
    this.#emitter.off(name, listener as (...args: unknown[]) => void)
  }

  emit<K extends keyof PgParallelEvents>(name: K, ...args: PgParallelEvents[K]): void {
    for (const listener of this.#emitter.rawListeners(name)) {
      try {
        Reflect.apply(listener, this, args)
      } catch (error) {
        this.#onListenerError(error)
      }
    }
  }
}
