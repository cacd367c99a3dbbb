/**
 * Circuit breaker: after several infrastructure failures in a row, calls wait or fail here instead of hitting a
 * server that is down.
 *
 * A number of trial calls and of successes (`halfOpenMaxCalls`, `halfOpenSuccessesToClose`) decides when it closes
 * again. Statements that end together with their connection count as one failure.
 */
import { ErrorUtils, PgParallelError } from '../errors'

/** When the breaker opens and closes. */
export interface CircuitBreakerOptions {
  /** Infrastructure failures in a row that open it. */
  failureThreshold: number
  /** How long it stays open before trial calls are let through. */
  cooldownMs: number
  /** Trial calls under way at once. */
  halfOpenMaxCalls: number
  /** Trial calls that must succeed before it closes. */
  halfOpenSuccessesToClose: number
}

/** closed: all calls pass; open: none; half-open: a few on trial. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** The breaker's figures. */
export interface BreakerStats {
  state: BreakerState
  /** Infrastructure failures since the last success. */
  consecutiveFailures: number
  /** How often it has opened. */
  opened: number
  /** Calls refused while open. */
  rejected: number
}

export const DEFAULT_BREAKER: Readonly<CircuitBreakerOptions> = {
  failureThreshold: 10,
  cooldownMs: 1_000,
  halfOpenMaxCalls: 3,
  halfOpenSuccessesToClose: 1,
}

/** Gate of one pass through the breaker: tell it how the call ended, exactly once. */
export interface BreakerPass {
  success(): void
  failure(error: unknown): void
  /** The call never reached the server, or its failure was counted already. */
  release(): void
}

function resolve(options: Partial<CircuitBreakerOptions> | undefined): CircuitBreakerOptions {
  const merged: CircuitBreakerOptions = { ...DEFAULT_BREAKER }
  for (const [key, value] of Object.entries(options ?? {}) as [string, unknown][]) {
    if (value !== undefined) Object.assign(merged, { [key]: value })
  }
  for (const key of ['failureThreshold', 'halfOpenMaxCalls', 'halfOpenSuccessesToClose'] as const) {
    if (!(Number.isInteger(merged[key]) && merged[key] >= 1)) {
      throw new PgParallelError(`circuitBreaker.${key} must be 1 or more, not ${merged[key]}`, {
        category: 'configuration',
      })
    }
  }
  if (!(merged.cooldownMs >= 0)) {
    throw new PgParallelError(`circuitBreaker.cooldownMs must not be negative: ${merged.cooldownMs}`, {
      category: 'configuration',
    })
  }
  return merged
}

/** Lets calls through, or refuses them while a server is in trouble; `enter` asks it, and the pass is told the outcome. */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions
  readonly #now: () => number
  readonly #onChange: (state: BreakerState, before: BreakerState) => void
  #state: BreakerState = 'closed'
  #failures = 0
  #openedAt = 0
  #trials = 0
  #successes = 0
  #opened = 0
  #rejected = 0
  /** Trial results that arrive after the breaker changed its state belong to an older generation and do not count. */
  #generation = 0
  /** The failure that was counted last: all statements on a lost connection end with the same one. */
  #counted: unknown

  constructor(
    options?: Partial<CircuitBreakerOptions>,
    onChange: (state: BreakerState, before: BreakerState) => void = () => {},
    now: () => number = () => performance.now(),
  ) {
    this.#options = resolve(options)
    this.#onChange = onChange
    this.#now = now
  }

  get state(): BreakerState {
    return this.#state
  }

  get stats(): BreakerStats {
    return {
      state: this.#state,
      consecutiveFailures: this.#failures,
      opened: this.#opened,
      rejected: this.#rejected,
    }
  }

  /** The way in. Throws category `circuit-open` when the call must not go through. */
  enter(): BreakerPass {
    if (this.#state === 'closed') return this.#closedPass
    if (this.#state === 'open') {
      const left = this.#openedAt + this.#options.cooldownMs - this.#now()
      // A timer may fire up to a millisecond early: whoever waited as long as it was told is let in.
      if (left > 1) throw this.#refusal(Math.ceil(left))
      this.#change('half-open')
    }
    if (this.#trials >= this.#options.halfOpenMaxCalls) throw this.#refusal(undefined)
    this.#trials++
    return this.#trialPass(this.#generation)
  }

  /** The pass of a closed breaker has no state of its own, so all calls share it. */
  readonly #closedPass: BreakerPass = {
    success: () => {
      if (this.#state === 'closed') this.#failures = 0
    },
    failure: (error) => {
      if (this.#state !== 'closed') return
      if (!ErrorUtils.isInfrastructure(error)) {
        // The server answered: it is there.
        if (ErrorUtils.sqlState(error) !== undefined) this.#failures = 0
        return
      }
      const origin = error instanceof PgParallelError ? (error.cause ?? error) : error
      if (origin === this.#counted) return
      this.#counted = origin
      if (++this.#failures >= this.#options.failureThreshold) this.#open()
    },
    release: () => {},
  }

  /** A failure that belongs to no single call: a connection that could not be made. */
  recordFailure(error: unknown): void {
    if (this.#state === 'closed') this.#closedPass.failure(error)
    else if (this.#state === 'half-open' && ErrorUtils.isInfrastructure(error)) this.#open()
  }

  #trialPass(generation: number): BreakerPass {
    let told = false
    const once = (then: () => void): void => {
      if (told || generation !== this.#generation) return
      told = true
      this.#trials--
      then()
    }
    const passed = (): void => {
      if (++this.#successes >= this.#options.halfOpenSuccessesToClose) {
        this.#failures = 0
        this.#change('closed')
      }
    }
    return {
      success: () => {
        once(passed)
      },
      failure: (error) => {
        once(() => {
          if (ErrorUtils.isInfrastructure(error)) this.#open()
          else if (ErrorUtils.sqlState(error) !== undefined) passed()
        })
      },
      release: () => {
        once(() => {})
      },
    }
  }

  #refusal(retryAfterMs: number | undefined): PgParallelError {
    this.#rejected++
    return new PgParallelError(
      retryAfterMs === undefined
        ? 'circuit breaker is half-open and its trial calls are under way'
        : `circuit breaker is open for another ${Math.ceil(retryAfterMs)} ms`,
      {
        category: 'circuit-open',
        transient: true,
        infrastructure: false,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      },
    )
  }

  #open(): void {
    this.#openedAt = this.#now()
    this.#opened++
    this.#change('open')
  }

  #change(state: BreakerState): void {
    const before = this.#state
    this.#state = state
    this.#trials = 0
    this.#successes = 0
    this.#generation++
    this.#onChange(state, before)
  }
}

/** The breaker as a tool of its own. */
export const CircuitBreakerUtils = {
  /** The values used where the options say nothing. */
  defaults: DEFAULT_BREAKER,
  resolve,
  /** Only these failures count. */
  counts: (error: unknown): boolean => ErrorUtils.isInfrastructure(error),
  create: (
    options?: Partial<CircuitBreakerOptions>,
    onChange?: (state: BreakerState, before: BreakerState) => void,
  ): CircuitBreaker => new CircuitBreaker(options, onChange),
} as const
