/** Retry: how often and after which pauses. *Whether* a statement may be sent again is `errors.ts` and `replay.ts`. */
import { PgParallelError } from '../errors'
import { pause, type Deadline } from './deadline'

/** How failures that may pass are met. */
export interface RetryOptions {
  /** Tries in all, the first included. 1 switches retrying off. */
  maxAttempts: number
  /** Pause before the second try. */
  initialDelayMs: number
  /** No pause is longer. */
  maxDelayMs: number
  /** Each pause is this many times the one before. */
  backoffFactor: number
  /** Spread pauses at random between zero and their length, so that clients do not come back all at once. */
  jitter: boolean
}

/** Enough for a server restart of several seconds. */
export const DEFAULT_RETRY: Readonly<RetryOptions> = {
  maxAttempts: 10,
  initialDelayMs: 50,
  maxDelayMs: 2_000,
  backoffFactor: 2,
  jitter: true,
}

/** Fills in defaults and refuses what makes no sense. */
function resolve(options: Partial<RetryOptions> | false | undefined, base = DEFAULT_RETRY): RetryOptions {
  if (options === false) return { ...base, maxAttempts: 1 }
  const merged: RetryOptions = { ...base }
  for (const [key, value] of Object.entries(options ?? {}) as [string, unknown][]) {
    if (value !== undefined) Object.assign(merged, { [key]: value })
  }
  const { maxAttempts, initialDelayMs, maxDelayMs, backoffFactor } = merged
  const refuse = (what: string): never => {
    throw new PgParallelError(`retry.${what}`, { category: 'configuration' })
  }
  if (!(Number.isInteger(maxAttempts) && maxAttempts >= 1)) refuse(`maxAttempts must be 1 or more, not ${maxAttempts}`)
  if (!(initialDelayMs >= 0)) refuse(`initialDelayMs must not be negative: ${initialDelayMs}`)
  if (!(maxDelayMs >= initialDelayMs)) refuse(`maxDelayMs must not be below initialDelayMs: ${maxDelayMs}`)
  if (!(backoffFactor >= 1)) refuse(`backoffFactor must be 1 or more, not ${backoffFactor}`)
  return merged
}

/** The pauses, one after the other. */
class Backoff {
  readonly #options: RetryOptions
  #longest: number

  constructor(options: RetryOptions) {
    this.#options = options
    this.#longest = options.initialDelayMs
  }

  /** Length of the next pause in milliseconds. */
  next(): number {
    const longest = this.#longest
    const { maxDelayMs, backoffFactor, jitter } = this.#options
    this.#longest = Math.min(maxDelayMs, longest * backoffFactor)
    return jitter ? Math.floor(Math.random() * longest) : longest
  }
}

/**
 * Runs `attempt` until it succeeds, `mayRepeat` says no, attempts are used up or the deadline passes.
 * The error of the last try is what the caller gets.
 */
async function run<T>(
  attempt: (number: number) => Promise<T>,
  options: Partial<RetryOptions> & {
    mayRepeat: (error: unknown) => boolean
    deadline?: Deadline
    onRetry?: (error: unknown, attempt: number, delayMs: number) => void
  },
): Promise<T> {
  const { mayRepeat, deadline, onRetry, ...rest } = options
  const settings = resolve(rest)
  const backoff = new Backoff(settings)
  for (let number = 1; ; number++) {
    deadline?.check()
    try {
      return await attempt(number)
    } catch (error) {
      if (number >= settings.maxAttempts || !mayRepeat(error)) throw error
      const delay = backoff.next()
      onRetry?.(error, number, delay)
      await pause(delay, deadline)
    }
  }
}

/** Retrying as a tool of its own. */
export const RetryUtils = {
  /** The values used where the options say nothing. */
  defaults: DEFAULT_RETRY,
  resolve,
  /** A fresh sequence of pauses. */
  backoff: (options?: Partial<RetryOptions>): { next(): number } => new Backoff(resolve(options)),
  run,
} as const
