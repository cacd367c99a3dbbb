/**
 * `stream`: rows of a query in batches, so that a result of any size takes the memory of one batch. The server keeps
 * the portal open between batches; leaving the loop closes it.
 *
 * Outside a transaction the portal lives within one round trip (Flush between batches), which nothing else can share.
 * In a transaction it has a name and each batch is a round trip of its own, so that other statements may run in between.
 */
import type { QueryResultRow } from 'pg'
import type { Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import type { CallOptions } from './options'
import type { Deadline } from './policy/deadline'
import { RetryUtils } from './policy/retry'
import { judge, verdictError } from './policy/verdict'
import type { Connection } from './pool/connection'
import { Portal, type Row } from './pool/portal'
import { refusedBy } from './query'

/** How a stream is read. */
export interface StreamOptions extends CallOptions {
  /** Rows fetched in one round trip. Default: 1000. */
  batchSize?: number | undefined
}

/** What reading a portal needs to know beside the statement. */
export interface PortalRun {
  /** The first to pass cancels the batch that is being read. */
  readonly deadlines: readonly (Deadline | undefined)[]
  readonly cancelTimeoutMs: number
  readonly idempotent?: boolean | undefined
}

/** A portal for a statement; `name` is empty outside a transaction. */
export function portalFor(
  text: string,
  values: readonly unknown[] | undefined,
  batchSize: number | undefined,
  name = '',
): Portal {
  const size = batchSize ?? 1_000
  if (!(Number.isInteger(size) && size >= 1)) {
    throw new PgParallelError(`batchSize must be 1 or more, not ${String(batchSize)}`, { category: 'configuration' })
  }
  return new Portal(text, values ?? [], size, name)
}

/** The next batch, undefined after the last. A deadline cancels it on the server. */
export async function readBatch(portal: Portal, connection: Connection, run: PortalRun): Promise<Row[] | undefined> {
  const { deadlines, cancelTimeoutMs, idempotent } = run
  for (const deadline of deadlines) deadline?.check()
  if (!connection.usable) throw ErrorUtils.wrap(connection.failure ?? new Error('Connection terminated'))
  const stops = deadlines.map((deadline) =>
    deadline?.onEnd((reason) => {
      connection.cancel(cancelTimeoutMs)
      portal.giveUp(ErrorUtils.wrap(reason, { retryable: false }))
    }),
  )
  try {
    return await portal.read(connection)
  } catch (error) {
    if (error instanceof PgParallelError) throw error
    const { text, sent, answered } = portal
    const verdict = judge(error, { text, idempotent, sent, answered, wantsWritable: false })
    if (verdict.class.connectionDead) connection.fail(error as Error)
    throw verdictError(error, verdict, 1)
  } finally {
    for (const forget of stops) forget?.()
  }
}

/** `db.stream`: rows on a connection of the pool; tried again as long as no row was handed out. */
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
  let failure: unknown
  try {
    deadline = core.deadlineOf(options)
    const run = { deadlines: [deadline], cancelTimeoutMs: settings.cancelTimeoutMs, idempotent: options?.idempotent }
    for (;;) {
      attempts++
      try {
        const portal = portalFor(text, values, options?.batchSize)
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
        let lost: unknown
        try {
          for (;;) {
            const rows = await readBatch(portal, connection, run)
            if (!rows) return
            handedOut = true
            for (const row of rows) {
              yield row as R
              deadline?.check()
            }
          }
        } catch (error) {
          lost = error
          throw error
        } finally {
          // Without an error the server did well, also where the reader had enough.
          if (lost === undefined) pass.success()
          else pass.failure(lost)
          portal.end(connection)
          pool.release(connection)
        }
      } catch (error) {
        const known = ErrorUtils.wrap(error)
        if (handedOut || !known.retryable || Math.max(attempts, known.attempts) >= retry.maxAttempts) throw known
        const delay = Math.max(backoff.next(), known.retryAfterMs ?? 0)
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
    core.finish(failure === undefined)
  }
}
