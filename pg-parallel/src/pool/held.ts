/** A connection in the hands of one caller, as `pg.Client` shows itself. */
import { EventEmitter } from 'node:events'
import { ErrorUtils, PgParallelError } from '../errors'
import { checkSendable, runOn } from '../query'
import { isSubmittable, Submitted, type Submittable } from '../wire/submitted'
import type { CustomTypes, QueryArrayConfig, QueryArrayResult, QueryConfig, QueryResult } from '../types'
import type { Connection } from './connection'

/** What `pg` calls back with. */
export type QueryCallback = (error: Error | null, result?: QueryResult) => void

/** What speaks the protocol by itself, as `pg` takes it: its other methods are called with the server's answers. */
export interface Submitting {
  submit: (connection: never) => unknown
}

/** Returns the answer, or, with a callback, nothing: the callback gets it. What the callback throws is nobody's rejection. */
export function orCallBack(
  answer: Promise<QueryResult>,
  callback: QueryCallback | undefined,
): Promise<QueryResult> | undefined {
  if (!callback) return answer
  answer.then(
    (result) => {
      process.nextTick(callback, null, result)
    },
    (error: unknown) => {
      process.nextTick(callback, error)
    },
  )
  return undefined
}

const released = (): PgParallelError => new PgParallelError('the client was released', { category: 'closed' })

/** A connection as `pg.Client` shows itself. Events: `error`, `end`, `notice`, `notification`, `drain`. */
export class HeldClient extends EventEmitter {
  readonly #connection: Connection
  readonly #before: Connection['onNotice']
  #held = true
  readonly #cancelTimeoutMs: number
  readonly #types: CustomTypes | undefined
  readonly #deadBefore: Connection['onDead']

  /** @internal */
  constructor(connection: Connection, cancelTimeoutMs: number, types?: CustomTypes) {
    super()
    this.#connection = connection
    this.#cancelTimeoutMs = cancelTimeoutMs
    this.#types = types
    this.#before = connection.onNotice
    this.#deadBefore = connection.onDead
    connection.onDead = (error) => {
      this.#deadBefore?.(error)
      if (!this.#held) return
      // Whoever does not listen hears of it by the next statement.
      if (this.listenerCount('error') > 0) this.emit('error', error)
      this.emit('end')
    }
    connection.onNotice = (notice) => {
      this.#before?.(notice)
      this.emit('notice', notice)
    }
    connection.onNotification = (channel, payload, processId) =>
      this.emit('notification', { channel, payload, processId, name: 'notification', length: 0 })
  }

  /** The server's process. */
  get processID(): number | undefined {
    return this.#connection.processID
  }

  /** What the server says of its settings. */
  get parameters(): ReadonlyMap<string, string> {
    return this.#connection.session.parameters
  }

  /** Runs a statement on this connection; statements run in the order in which they are asked for. */
  query<R extends object = Record<string, unknown>>(
    text: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<R>>
  query<R extends unknown[] = unknown[]>(
    config: QueryArrayConfig,
    values?: readonly unknown[],
  ): Promise<QueryArrayResult<R>>
  query(text: string | QueryConfig, values: readonly unknown[] | undefined, callback: QueryCallback): void
  query(text: string | QueryConfig, callback: QueryCallback): void
  /** Takes what speaks the protocol by itself, as `pg-cursor` and `pg-query-stream` do, and returns it. */
  query<S extends Submitting>(statement: S, values?: unknown, callback?: unknown): S
  query(text: string | QueryConfig | Submitting, values?: unknown, callback?: unknown): unknown {
    if (isSubmittable(text)) return this.#submit(text, typeof values === 'function' ? values : callback)
    return this.#query(
      text as string | QueryConfig,
      values as readonly unknown[] | QueryCallback | undefined,
      callback as QueryCallback | undefined,
    )
  }

  #query(
    text: string | QueryConfig,
    values: readonly unknown[] | QueryCallback | undefined,
    callback: QueryCallback | undefined,
  ): Promise<unknown> | undefined {
    const config = typeof text === 'string' ? { text } : text
    const back = typeof values === 'function' ? values : (callback ?? (config as { callback?: QueryCallback }).callback)
    const given = typeof values === 'function' ? undefined : values
    const answer = orCallBack(this.#counted(this.#run(config, given)), back)
    return answer
  }

  async #run(config: QueryConfig, values: readonly unknown[] | undefined): Promise<QueryResult> {
    checkSendable(config.text, config.name, values ?? config.values)
    const typed = this.#types && !config.types ? { ...config, types: this.#types } : config
    return this.#inTurn(async () => {
      if (!this.#held) throw released()
      return runOn(this.#connection, typed, values, { deadlines: [], cancelTimeoutMs: this.#cancelTimeoutMs })
    }, false)
  }

  /**
   * Begins at once, or behind what came before and speaks for itself: between the messages of such a statement there is
   * no place for another. `alone`: it is one itself.
   */
  #inTurn<T>(what: () => Promise<T>, alone: boolean): Promise<T> {
    const before = this.#busy
    const answer = before ? before.then(what) : what()
    if (!before && !alone) return answer
    const busy: Promise<void> = answer.then(
      () => {
        if (this.#busy === busy) this.#busy = undefined
      },
      () => {
        if (this.#busy === busy) this.#busy = undefined
      },
    )
    this.#busy = busy
    return answer
  }

  /** Emits `drain`, as pg does, when nothing is left to do. */
  #counted<T>(answer: Promise<T>): Promise<T> {
    this.#pending++
    const over = (): void => {
      process.nextTick(() => {
        if (--this.#pending === 0 && this.#held) this.emit('drain')
      })
    }
    answer.then(over, over)
    return answer
  }

  #submit<S extends Submitting>(given: S, callback: unknown): S {
    const statement = given as S & Submittable & { callback?: unknown; _result?: { _types?: unknown } }
    if (typeof callback === 'function') statement.callback ??= callback
    // As pg does: such a statement makes its rows itself, by the client's parsers.
    const types = this.#types ?? this.#connection.session.options.types
    if (types && statement._result) statement._result._types ??= types
    const speak = (): Promise<void> =>
      new Promise((resolve) => {
        if (!this.#held) {
          statement.handleError(released(), undefined as never)
          resolve()
          return
        }
        const submitted = new Submitted(statement, (error) => {
          if (error && ErrorUtils.isConnectionDead(error)) this.#connection.fail(error)
          resolve()
        })
        this.#connection.send(submitted)
      })
    void this.#counted(this.#inTurn(speak, true))
    return given
  }

  /** Ends with the last statement that speaks for itself. */
  #busy: Promise<void> | undefined
  /** Statements that have not ended. */
  #pending = 0

  /** @internal Ends with the statements that speak for themselves, and never rejects. */
  async quiet(): Promise<void> {
    while (this.#busy) await this.#busy
  }

  /** @internal Nobody holds it any more. */
  letGo(): void {
    this.#held = false
    this.#connection.onNotice = this.#before
    this.#connection.onDead = this.#deadBefore
    this.#connection.onNotification = undefined
  }
}
