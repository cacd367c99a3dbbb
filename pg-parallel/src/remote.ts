/**
 * `decode: 'thread'`: a worker thread runs the statement and keeps its rows as they came; their bytes change hands, and
 * the main thread makes a row, by its own parsers, when it is looked at.
 */
import type { Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import type { CallOptions } from './options'
import { refusedAlone } from './policy/control'
import type { Deadline } from './policy/deadline'
import { natureOf } from './policy/replay'
import {
  argumentsOfSql,
  checkedConfig,
  checkSendable,
  refuse,
  type QueryArrayCallConfig,
  type QueryCallConfig,
} from './query'
import { checkedRow, checkedRows, checkSchema } from './rows'
import { Sql } from './sql'
import { portalFor, readingOf, type Reading, type StreamOptions } from './stream'
import type { QueryResult } from './types'
import { compactOids } from './wire/shape'
import { toWire } from './wire/values'
import type { WorkerPool } from './workers/pool'
import type { RemoteStatement } from './workers/protocol'

type Threads = () => Promise<WorkerPool>

const refusal = (message: string): PgParallelError => new PgParallelError(message, { category: 'configuration' })

/** Is the statement to run on a thread? */
export const wantsThread = (query: unknown): query is QueryCallConfig =>
  typeof query === 'object' && query !== null && checkedChoice((query as QueryCallConfig).decode) === 'thread'

function checkedChoice(decode: unknown): unknown {
  if (decode === undefined || decode === 'main' || decode === 'thread') return decode
  throw refusal(`decode must be main or thread, not ${String(decode)}`)
}

/** What is to be read on a thread; undefined where that was not asked for. */
export function threadReading(
  query: string | Sql<object>,
  values: readonly unknown[] | StreamOptions | undefined,
  options: StreamOptions | undefined,
): Reading | undefined {
  const given = query instanceof Sql ? (options ?? (values as StreamOptions | undefined)) : options
  if (checkedChoice(given?.decode) !== 'thread') return undefined
  const { decode: _, ...rest } = given as StreamOptions
  return query instanceof Sql ? readingOf(query, rest, undefined) : readingOf(query, values, rest)
}

/** Values are made texts and bytes here, by this thread's time zone and by their own `toPostgres`. */
const sent = (values: readonly unknown[] | undefined): unknown[] | undefined => values?.map((value) => toWire(value))

function checkThreads(core: Core): void {
  if (core.settings.maxWorkers === 0) throw refusal('decode: "thread" needs worker threads, and maxWorkers is 0')
  if (core.settings.session.binary)
    throw refusal('decode: "thread" is about results in text format, which binary switches off')
}

/** `query`, on a thread. */
export async function queryOnThread(
  core: Core,
  threads: Threads,
  query: QueryCallConfig | QueryArrayCallConfig,
  given: readonly unknown[] | CallOptions | undefined,
  givenOptions: CallOptions | undefined,
): Promise<QueryResult> {
  let values = given as readonly unknown[] | undefined
  let options = givenOptions
  if (query instanceof Sql) ({ values, options } = argumentsOfSql(given, givenOptions))
  const config = checkedConfig(query)
  const { text, name, schema, types, rowMode, queryMode, prepare } = config as QueryCallConfig & { rowMode?: string }
  values ??= config.values
  options ??= config
  if (schema !== undefined) checkSchema(schema)
  if (config.binary === true)
    throw refusal('decode: "thread" is about results in text format, which binary switches off')
  checkSendable(text, name, values)
  refuse(refusedAlone(text))
  checkThreads(core)
  const source = types ?? core.settings.session.types
  const statement: RemoteStatement = {
    text,
    values: sent(values),
    name,
    rowMode,
    queryMode,
    prepare,
    compact: compactOids(source),
    idempotent: options.idempotent,
    retry: options.retry,
  }
  core.begin()
  const followed = core.observer.begin('query', text, name)
  let deadline: Deadline | undefined
  try {
    deadline = core.deadlineOf(options)
    const pool = await threads()
    const work = { kind: 'query', args: [statement], readOnly: natureOf(text).readOnly } as const
    const result = (await pool.run(work, { deadline, read: pool.readerOf(source) })) as QueryResult
    core.finish(true)
    followed?.end(1)
    return schema === undefined ? result : await checkedRows(result, schema, text)
  } catch (error) {
    const failure = ErrorUtils.wrap(error)
    core.finish(false)
    followed?.fail(failure, failure.attempts)
    throw failure
  } finally {
    deadline?.dispose()
  }
}

/** `cursor`, on a thread, which reads some batches ahead. */
export async function* cursorOnThread<R extends object>(
  core: Core,
  threads: Threads,
  reading: Reading,
): AsyncGenerator<R[], void, undefined> {
  const { text, values, options, schema } = reading
  // Refuses what makes no sense; the portal itself is made on the thread.
  portalFor(text, values, options?.batchSize)
  checkThreads(core)
  const statement: RemoteStatement = {
    text,
    values: sent(values),
    compact: [],
    batchSize: options?.batchSize,
    idempotent: options?.idempotent,
    retry: options?.retry,
  }
  core.begin()
  const followed = core.observer.begin('stream', text)
  let deadline: Deadline | undefined
  let failure: PgParallelError | undefined
  let handed = 0
  try {
    deadline = core.deadlineOf(options)
    const pool = await threads()
    const work = { kind: 'stream', args: [statement], readOnly: natureOf(text).readOnly } as const
    const read = pool.readerOf(core.settings.session.types)
    for await (const batch of pool.iterate(work, { deadline, read })) {
      const rows = batch as R[]
      if (schema) {
        for (const [at, row] of rows.entries()) rows[at] = (await checkedRow(schema, row, handed + at, text)) as R
      }
      yield rows
      handed += rows.length
      deadline?.check()
    }
  } catch (error) {
    throw (failure = ErrorUtils.wrap(error))
  } finally {
    deadline?.dispose()
    if (failure) followed?.fail(failure, failure.attempts)
    else followed?.end(1)
    core.finish(failure === undefined)
  }
}

/** `stream`, on a thread. */
export async function* streamOnThread<R extends object>(
  core: Core,
  threads: Threads,
  reading: Reading,
): AsyncGenerator<R, void, undefined> {
  for await (const rows of cursorOnThread<R>(core, threads, reading)) yield* rows
}
