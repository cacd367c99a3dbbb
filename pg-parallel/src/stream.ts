/**
 * `stream`: rows of a query in batches, so that a result of any size takes the memory of one batch. The server keeps
 * the portal open between batches; leaving the loop closes it.
 */
import type { QueryResultRow } from 'pg'
import type { Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import type { CallOptions } from './options'
import type { Deadline } from './policy/deadline'
import { RetryUtils } from './policy/retry'
import { judge, verdictError } from './policy/verdict'
import type { Connection } from './pool/connection'
import { PgResult, pgUtils, type ResultBuilder, type WireConnection } from './pool/statement'
import { refusedBy } from './query'

/** How a stream is read. */
export interface StreamOptions extends CallOptions {
  /** Rows fetched in one round trip. Default: 1000. */
  batchSize?: number | undefined
}

type Row = Record<string, unknown>

/** A statement whose rows are asked for batch by batch: what `pg.Client` calls a submittable. */
class Portal {
  readonly #text: string
  readonly #values: readonly unknown[]
  readonly #batchSize: number
  readonly #result: ResultBuilder = new PgResult()
  #wire: WireConnection | undefined
  #rows: Row[] = []
  #waiting: { resolve: (rows: Row[] | undefined) => void; reject: (error: unknown) => void } | undefined
  #state: 'new' | 'running' | 'suspended' | 'ending' | 'over' = 'new'
  #error: unknown
  #synced = false
  sent = false
  /** Rows that cannot be read on this side. */
  answered = false

  constructor(text: string, values: readonly unknown[], batchSize: number) {
    this.#text = text
    this.#values = values
    this.#batchSize = batchSize
  }

  // --- called by pg.Client

  submit(wire: WireConnection): Error | null {
    this.#wire = wire
    this.#state = 'running'
    wire.stream.cork()
    try {
      wire.parse({ text: this.#text })
      wire.bind({ portal: '', values: this.#values, valueMapper: pgUtils.prepareValue })
      wire.describe({ type: 'P', name: '' })
      wire.execute({ portal: '', rows: this.#batchSize })
      wire.flush()
      this.sent = true
      return null
    } catch (error) {
      // A value that cannot be converted: the round trip ends here, and with it the call.
      this.handleError(error, wire)
      return null
    } finally {
      wire.stream.uncork()
    }
  }

  handleRowDescription(message: { fields: unknown }): void {
    this.#result.addFields(message.fields)
  }

  handleDataRow(message: { fields: unknown }): void {
    if (this.#error !== undefined) return
    try {
      this.#rows.push(this.#result.parseRow(message.fields))
    } catch (error) {
      this.answered = true
      this.#error = error
    }
  }

  handlePortalSuspended(wire: WireConnection): void {
    if (this.#error !== undefined || this.#state === 'ending') {
      wire.close({ type: 'P', name: '' })
      this.#sync(wire)
      return
    }
    this.#state = 'suspended'
    this.#deliver()
  }

  handleCommandComplete(_message: unknown, wire: WireConnection): void {
    this.#sync(wire)
  }

  handleEmptyQuery(wire: WireConnection): void {
    this.#sync(wire)
  }

  handleError(error: unknown, wire: WireConnection): void {
    this.#error ??= error
    if (this.#state !== 'over') this.#sync(wire)
    // pg tells nobody about the end of a round trip that failed.
    this.handleReadyForQuery()
  }

  handleReadyForQuery(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#deliver()
  }

  // --- called by the reader

  /** The next batch; undefined after the last. */
  read(): Promise<Row[] | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      if (this.#state === 'suspended' && this.#rows.length === 0) {
        this.#state = 'running'
        this.#wire?.execute({ portal: '', rows: this.#batchSize })
        this.#wire?.flush()
        return
      }
      this.#deliver()
    })
  }

  /** Stops reading: the server is told to close the portal, now or at the end of the running batch. */
  end(): void {
    if (this.#state === 'over' || this.#state === 'new') return
    const suspended = this.#state === 'suspended'
    this.#state = 'ending'
    if (suspended && this.#wire) {
      this.#wire.close({ type: 'P', name: '' })
      this.#sync(this.#wire)
    }
  }

  /** Ends the round trip: the server answers with ReadyForQuery. */
  #sync(wire: WireConnection): void {
    if (this.#synced) return
    this.#synced = true
    if (this.#state === 'suspended' || this.#state === 'running') this.#state = 'ending'
    wire.sync()
  }

  #deliver(): void {
    const waiting = this.#waiting
    if (!waiting || this.#state === 'running' || this.#state === 'new') return
    // What arrived before an error is still good, but a caller must not take it for everything.
    if (this.#error !== undefined) {
      if (this.#state !== 'over') return
      this.#waiting = undefined
      waiting.reject(this.#error)
      return
    }
    if (this.#rows.length > 0) {
      this.#waiting = undefined
      const rows = this.#rows
      this.#rows = []
      waiting.resolve(rows)
    } else if (this.#state === 'over') {
      this.#waiting = undefined
      waiting.resolve(undefined)
    }
  }
}

/** What {@link streamOn} needs to know beside the statement. */
export interface StreamRun {
  readonly batchSize: number | undefined
  readonly deadline: Deadline | undefined
  readonly cancelTimeoutMs: number
  readonly idempotent?: boolean | undefined
}

/** Rows from a connection that the caller holds. */
export async function* streamOn<R extends QueryResultRow>(
  connection: Connection,
  text: string,
  values: readonly unknown[] | undefined,
  options: StreamRun,
): AsyncGenerator<R, void, undefined> {
  const { batchSize = 1_000, deadline, cancelTimeoutMs } = options
  if (!(Number.isInteger(batchSize) && batchSize >= 1)) {
    throw new PgParallelError(`batchSize must be 1 or more, not ${batchSize}`, { category: 'configuration' })
  }
  deadline?.check()
  if (!connection.usable) throw ErrorUtils.wrap(connection.failure ?? new Error('Connection terminated'))
  const portal = new Portal(text, values ?? [], batchSize)
  let expired: ((reason: PgParallelError) => void) | undefined
  const expiry = new Promise<never>((_resolve, reject) => {
    expired = reject
  })
  expiry.catch(() => {})
  const forget = deadline?.onEnd((reason) => {
    connection.cancel(cancelTimeoutMs)
    expired?.(ErrorUtils.wrap(reason, { retryable: false }))
  })
  connection.send(portal)
  try {
    for (;;) {
      let rows: Row[] | undefined
      try {
        rows = await Promise.race([portal.read(), expiry])
      } catch (error) {
        if (error instanceof PgParallelError) throw error
        const verdict = judge(error, {
          text,
          idempotent: options.idempotent,
          sent: portal.sent,
          answered: portal.answered,
          wantsWritable: false,
        })
        if (verdict.class.connectionDead) connection.fail(error as Error)
        throw verdictError(error, verdict, 1)
      }
      if (!rows) return
      for (const row of rows) {
        yield row as R
        deadline?.check()
      }
    }
  } finally {
    forget?.()
    portal.end()
  }
}

/** `db.stream`: as {@link streamOn}, on a connection of the pool; tried again as long as no row was handed out. */
export async function* stream<R extends QueryResultRow>(
  core: Core,
  text: string,
  values: readonly unknown[] | undefined,
  options: StreamOptions | undefined,
): AsyncGenerator<R, void, undefined> {
  const retry = core.retryOf(options)
  const backoff = RetryUtils.backoff(retry)
  core.begin()
  const followed = core.observer.begin('stream', text)
  const { pool, settings } = core
  let deadline: Deadline | undefined
  let attempts = 0
  let handedOut = false
  let succeeded = false
  let failure: unknown
  try {
    deadline = core.deadlineOf(options)
    for (;;) {
      attempts++
      let atLeastMs: number | undefined
      try {
        const pass = core.enter()
        let connection: Connection
        try {
          connection = await core.lease(deadline, retry.maxAttempts - attempts + 1)
        } catch (error) {
          pass.release()
          const refused = refusedBy(error)
          // The pool has tried as often as the call may.
          throw refused ? ErrorUtils.wrap(refused, { attempts: retry.maxAttempts }) : error
        }
        let told = false
        try {
          const rows = streamOn<R>(connection, text, values, {
            batchSize: options?.batchSize,
            deadline,
            cancelTimeoutMs: settings.cancelTimeoutMs,
            idempotent: options?.idempotent,
          })
          for await (const row of rows) {
            handedOut = true
            yield row
          }
          told = true
          pass.success()
        } catch (error) {
          told = true
          pass.failure(error)
          throw error
        } finally {
          if (!told) pass.success() // the reader had enough
          pool.release(connection)
        }
        succeeded = true
        return
      } catch (error) {
        const known = ErrorUtils.wrap(error)
        if (handedOut || !known.retryable || Math.max(attempts, known.attempts) >= retry.maxAttempts) throw known
        atLeastMs = known.retryAfterMs
        const delay = Math.max(backoff.next(), atLeastMs ?? 0)
        core.retrying('stream', known, attempts, delay)
        if (core.stopped) throw known
        await core.pause(delay, deadline)
      }
    }
  } catch (error) {
    failure = error
    throw error
  } finally {
    deadline?.dispose()
    if (failure === undefined) followed?.end(attempts)
    else followed?.fail(failure, attempts)
    core.finish(succeeded || failure === undefined)
  }
}
