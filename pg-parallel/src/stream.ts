/**
 * `stream`: rows of a query in batches, so that a result of any size takes the memory of one batch. The server keeps
 * the portal open between batches; leaving the loop closes it.
 *
 * Outside a transaction the portal lives within one round trip (Flush between batches), which nothing else can share.
 * In a transaction it has a name and each batch is a round trip of its own, so that other statements may run in between.
 */
import type { Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import type { CallOptions } from './options'
import { refusedAlone, refusedInTransaction } from './policy/control'
import type { Deadline } from './policy/deadline'
import { natureOf, type StatementNature } from './policy/replay'
import { RetryUtils } from './policy/retry'
import { judge, verdictError } from './policy/verdict'
import type { Connection } from './pool/connection'
import { Portal, type Row } from './wire/portal'
import { argumentsOfSql, checkSendable, refuse, refusedBy } from './query'
import { checkedRow, checkSchema, type StandardSchema } from './rows'
import { Sql } from './sql'

/** How a stream is read. */
export interface StreamOptions extends CallOptions {
  /** Rows fetched in one round trip. Default: 1000. */
  batchSize?: number | undefined
  /** Checks each row, and says what the reader gets for it. */
  schema?: StandardSchema | undefined
  /** `thread`: a worker thread reads the stream, ahead of its reader, and the main thread makes a row when it is looked at. */
  decode?: 'main' | 'thread' | undefined
}

/** What reading a portal needs to know beside the statement. */
export interface PortalRun {
  /** The first to pass cancels the batch that is being read. */
  readonly deadlines: readonly (Deadline | undefined)[]
  readonly cancelTimeoutMs: number
  readonly idempotent?: boolean | undefined
  /** What is known of the statement beside its text. */
  readonly judge?: ((nature: StatementNature) => StatementNature) | undefined
}

/** A portal for a statement; `name` is empty outside a transaction. */
export function portalFor(
  text: string,
  values: readonly unknown[] | undefined,
  batchSize: number | undefined,
  name = '',
  packed = false,
): Portal {
  const size = batchSize ?? 1_000
  if (!(Number.isInteger(size) && size >= 1)) {
    throw new PgParallelError(`batchSize must be 1 or more, not ${String(batchSize)}`, { category: 'configuration' })
  }
  checkSendable(text, undefined, values)
  refuse(name === '' ? refusedAlone(text) : refusedInTransaction(text))
  return new Portal(text, values ?? [], size, name, packed)
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
    connection.uses++
    return await portal.read(connection.session)
  } catch (error) {
    if (error instanceof PgParallelError) throw error
    const { text, sent, answered } = portal
    const nature = run.judge ? run.judge(natureOf(text)) : natureOf(text)
    const verdict = judge(error, { nature, idempotent, sent, answered, wantsWritable: false })
    if (verdict.class.connectionDead) connection.fail(error as Error)
    throw verdictError(error, verdict, 1)
  } finally {
    for (const forget of stops) forget?.()
  }
}

/** A statement to be read by batches, with what it is read by. */
export interface Reading {
  readonly text: string
  readonly values: readonly unknown[] | undefined
  readonly options: StreamOptions | undefined
  readonly schema: StandardSchema | undefined
}

/** What `stream` and `cursor` were given: a text and values, or a statement made by `sql`, and options. */
export function readingOf(
  query: string | Sql<object>,
  values: readonly unknown[] | StreamOptions | undefined,
  options: StreamOptions | undefined,
): Reading {
  const reading =
    query instanceof Sql
      ? { text: query.text, values: query.values, options: argumentsOfSql(values, options).options as StreamOptions }
      : { text: query, values: values as readonly unknown[] | undefined, options }
  if (reading.options?.decode === 'thread') {
    throw new PgParallelError('decode: "thread" is for query and stream of the instance itself', {
      category: 'configuration',
    })
  }
  const schema = reading.options?.schema ?? (query instanceof Sql ? query.schema : undefined)
  if (schema !== undefined) checkSchema(schema)
  return { ...reading, schema }
}

/** The rows of a batch as the schema gives them; `before`: how many came before these. */
export async function checkedBatch(rows: Row[], schema: StandardSchema, before: number, text: string): Promise<Row[]> {
  const checked: Row[] = []
  for (const [index, row] of rows.entries()) checked.push((await checkedRow(schema, row, before + index, text)) as Row)
  return checked
}

/** `db.stream`: the rows of {@link cursor}, one by one. */
export async function* stream<R extends object>(
  core: Core,
  query: string | Sql<object>,
  values: readonly unknown[] | StreamOptions | undefined,
  options: StreamOptions | undefined,
): AsyncGenerator<R, void, undefined> {
  for await (const { rows, deadline } of batches(core, readingOf(query, values, options))) {
    for (const row of rows) {
      yield row as R
      deadline?.check()
    }
  }
}

/** `db.cursor`: rows in batches. */
export async function* cursor<R extends object>(
  core: Core,
  query: string | Sql<object>,
  values: readonly unknown[] | StreamOptions | undefined,
  options: StreamOptions | undefined,
  packed = false,
): AsyncGenerator<R[], void, undefined> {
  for await (const { rows } of batches(core, readingOf(query, values, options), packed)) yield rows as R[]
}

/** Batches of rows on a connection of the pool; tried again as long as no row was handed out. */
async function* batches(
  core: Core,
  { text, values, options, schema }: Reading,
  packed = false,
): AsyncGenerator<{ rows: Row[]; deadline: Deadline | undefined }, void, undefined> {
  const retry = core.retryOf(options)
  const backoff = RetryUtils.backoff(retry)
  core.begin()
  const followed = core.observer.begin('stream', text)
  const { pool, settings } = core
  let deadline: Deadline | undefined
  let attempts = 0
  let handedOut = false
  let handed = 0
  let refused: PgParallelError | undefined
  let failure: unknown
  try {
    deadline = core.deadlineOf(options)
    const run: PortalRun = {
      deadlines: [deadline],
      cancelTimeoutMs: settings.cancelTimeoutMs,
      idempotent: options?.idempotent,
      judge: (nature) => core.judge(nature),
    }
    for (;;) {
      attempts++
      try {
        const portal = portalFor(text, values, options?.batchSize, '', packed)
        const pass = core.enter()
        let connection: Connection
        try {
          connection = await core.lease(deadline, retry.maxAttempts - attempts + 1)
        } catch (error) {
          pass.release()
          refused = refusedBy(error, attempts - 1)
          throw refused ?? error
        }
        let lost: unknown
        try {
          for (;;) {
            const rows = await readBatch(portal, connection, run)
            if (!rows) return
            handedOut = true
            yield { rows: schema ? await checkedBatch(rows, schema, handed, text) : rows, deadline }
            handed += rows.length
            deadline?.check()
          }
        } catch (error) {
          lost = error
          throw error
        } finally {
          if (lost === undefined && natureOf(text).calls) void core.functions.learn(core)
          // Without an error the server did well, also where the reader had enough.
          if (lost === undefined) pass.success()
          else pass.failure(lost)
          portal.end(connection.session)
          pool.release(connection)
        }
      } catch (error) {
        const known = ErrorUtils.wrap(error)
        // The pool has tried as often as the call may.
        if (refused || handedOut || !known.retryable || attempts >= retry.maxAttempts) throw known
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
