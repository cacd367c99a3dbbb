/**
 * One moment at which a call gives up: its `timeoutMs`, its `signal`, or both. It covers the whole call: waiting in
 * the queue, every attempt and the pauses between them.
 */
import { PgParallelError } from '../errors'

/** What every call accepts. */
export interface DeadlineOptions {
  /** Aborting it cancels the running statement on the server and rejects the call. */
  signal?: AbortSignal | undefined
  /** The whole call, waiting and retries included, takes no longer than this. */
  timeoutMs?: number | undefined
}

/** A deadline that is running. `dispose` it when the call is over, or its timer stays. */
export class Deadline {
  #reason: PgParallelError | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #signal: AbortSignal | undefined
  readonly #listeners = new Set<(reason: PgParallelError) => void>()
  readonly #expires: number

  private constructor(options: DeadlineOptions) {
    const { signal, timeoutMs } = options
    this.#signal = signal
    this.#expires = timeoutMs === undefined ? Infinity : performance.now() + timeoutMs
    if (signal?.aborted) {
      this.#end(abortError(signal))
      return
    }
    if (signal) follow(signal, this.#onAbort)
    if (timeoutMs !== undefined) {
      const expire = (): void => {
        this.#end(
          new PgParallelError(`timed out after ${timeoutMs} ms`, {
            category: 'timeout',
            infrastructure: true,
            retryable: false,
          }),
        )
      }
      this.#timer = setTimeout(expire, timeoutMs)
    }
  }

  /** No options, no deadline: the hot path carries `undefined`. */
  static from(options: DeadlineOptions | undefined): Deadline | undefined {
    if (options === undefined) return undefined
    const { signal, timeoutMs } = options
    if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= 2_147_483_647)) {
      throw new PgParallelError(`timeoutMs must be between 1 and 2147483647, not ${timeoutMs}`, {
        category: 'configuration',
      })
    }
    return signal === undefined && timeoutMs === undefined ? undefined : new Deadline(options)
  }

  readonly #onAbort = (): void => {
    if (this.#signal) this.#end(abortError(this.#signal))
  }

  #end(reason: PgParallelError): void {
    if (this.#reason) return
    this.#reason = reason
    for (const listener of [...this.#listeners]) listener(reason)
    this.dispose()
  }

  /** Why the call is over, once it is. */
  get reason(): PgParallelError | undefined {
    return this.#reason
  }

  /** Milliseconds left; Infinity with a signal only. */
  get remaining(): number {
    return this.#reason ? 0 : Math.max(0, this.#expires - performance.now())
  }

  /** Throws when the deadline has passed. */
  check(): void {
    if (this.#reason) throw this.#reason
  }

  /** Calls back once when the deadline passes; the returned function takes it back. */
  onEnd(listener: (reason: PgParallelError) => void): () => void {
    if (this.#reason) {
      const reason = this.#reason
      queueMicrotask(() => {
        listener(reason)
      })
      return () => {}
    }
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** Releases the timer and the signal. */
  dispose(): void {
    clearTimeout(this.#timer)
    if (this.#signal) unfollow(this.#signal, this.#onAbort)
    this.#listeners.clear()
  }
}

/**
 * Who follows a signal. A service hands its one shutdown signal to all its calls, and Node warns of a leak where a
 * signal has more than ten listeners; so each signal gets one listener, which calls them all.
 */
const followers = new WeakMap<AbortSignal, { calls: Set<() => void>; listener: () => void }>()

function follow(signal: AbortSignal, call: () => void): void {
  const known = followers.get(signal)
  if (known) {
    known.calls.add(call)
    return
  }
  const calls = new Set([call])
  const listener = (): void => {
    followers.delete(signal)
    for (const one of [...calls]) one()
  }
  followers.set(signal, { calls, listener })
  signal.addEventListener('abort', listener, { once: true })
}

function unfollow(signal: AbortSignal, call: () => void): void {
  const known = followers.get(signal)
  if (!known?.calls.delete(call) || known.calls.size > 0) return
  followers.delete(signal)
  signal.removeEventListener('abort', known.listener)
}

function abortError(signal: AbortSignal): PgParallelError {
  return new PgParallelError('the call was aborted', {
    category: 'aborted',
    code: 'ABORT_ERR',
    cause: signal.reason,
    transient: false,
    infrastructure: false,
    connectionDead: false,
    retryable: false,
  })
}

/** Waits, or rejects as soon as the deadline passes. */
export function pause(ms: number, deadline?: Deadline): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      forget?.()
      resolve()
    }, ms)
    const forget = deadline?.onEnd((reason) => {
      clearTimeout(timer)
      reject(reason)
    })
  })
}

/** What comes first: the promise's outcome, or the end of the deadline. */
export function orDeadline<T>(promise: Promise<T>, deadline: Deadline | undefined): Promise<T> {
  if (!deadline) return promise
  return new Promise((resolve, reject) => {
    const forget = deadline.onEnd(reject)
    promise.then(resolve, reject).finally(forget)
  })
}
