/** What the main thread and a worker thread say to each other. Everything here survives the structured clone. */
import type { MessagePort } from 'node:worker_threads'
import type { ErrorClass, PgParallelErrorInit } from '../errors'
import { ErrorUtils, PgParallelError } from '../errors'
import type { CallKind } from '../observe/events'
import type { CallOptions, PgParallelOptions } from '../options'
import type { CancelKey } from '../pool/connection'
import { movedWith, type Parcel } from './parcels'

/** Work for a thread. `query` and `stream` are statements, whose rows are read on the main thread. */
export interface Job {
  readonly id: number
  /** `warm` only proves that the thread is there; `warm-database` has its database code loaded and connects. */
  readonly kind: 'task' | 'worker' | 'query' | 'stream' | 'warm' | 'warm-database'
  /** Text of a function given inline, checked for free variables. */
  readonly source?: string
  /** Folder that `import()` and `require` inside an inline function start from. */
  readonly base?: string
  /** URL of the module of a file task. */
  readonly module?: string
  /** Its export. */
  readonly name?: string
  readonly args: readonly unknown[]
  /** The function's values are wanted one by one as it yields them. */
  readonly yields?: boolean
  /** Nothing of it takes effect. */
  readonly readOnly?: boolean
  /** Somebody wants to hear of its statements. */
  readonly observed?: boolean
}

/** A call on the thread has begun or ended; times in milliseconds. */
export interface CallNews {
  readonly type: 'call'
  /** Counts the thread's calls. */
  readonly id: number
  /** The call that it is a part of. */
  readonly within: number | undefined
  readonly begun?: { readonly kind: CallKind; readonly text: string | undefined; readonly name: string | undefined }
  readonly ended?: { readonly attempts: number; readonly durationMs: number; readonly error?: PlainError }
}

/** What a thread is told when it starts. */
export interface ThreadData {
  /** By how much it stands back. */
  readonly nice: number
  /** How to connect; undefined where that cannot be sent to a thread. */
  readonly options: PgParallelOptions | undefined
  /** {@link MainMessage}s come in here. */
  readonly orders: MessagePort
  /** {@link ThreadMessage}s go out here. */
  readonly answers: MessagePort
  /**
   * One word of shared memory: the id of the job that the thread took up last, or its negative while the job is offered
   * and not yet taken up. Both sides change it by compare-and-exchange: the thread takes the job up, or the main thread
   * withdraws it (0), never both. The main thread wants to know it only when something goes wrong, and then the thread
   * may be too busy, or too dead, to tell.
   */
  readonly job: Int32Array
  /** URL of the module to load before anything else. */
  readonly setup: string | undefined
  /** Options that cannot be sent, which that module must export. */
  readonly missing: readonly string[]
}

/** A statement on its way to a thread. */
export interface RemoteStatement {
  readonly text: string
  readonly values: readonly unknown[] | undefined
  readonly name?: string | undefined
  readonly rowMode?: string | undefined
  readonly queryMode?: string | undefined
  readonly prepare?: boolean | undefined
  /** The types that the main thread reads in binary format. */
  readonly compact: readonly number[]
  readonly batchSize?: number | undefined
  readonly idempotent?: boolean | undefined
  readonly retry?: CallOptions['retry']
}

/** What a job came to. */
export type JobResult = ({ readonly ok: true } & Parcel) | { readonly ok: false; readonly error: PlainError }

/** From the thread. */
export type ThreadMessage =
  /** It has started. */
  | { readonly type: 'ready' }
  | { readonly type: 'result'; readonly id: number; readonly result: JobResult }
  /** One of the values that its function yields. */
  | { readonly type: 'item'; readonly id: number; readonly parcel: Parcel }
  /** It wants to open a connection. */
  | { readonly type: 'need' }
  | { readonly type: 'opened'; readonly key: CancelKey | undefined }
  /** The slot is free again. */
  | { readonly type: 'closed' }
  | CallNews
  | { readonly type: 'log'; readonly level: 'info' | 'warn' | 'error'; readonly message: string }

/** What of a message changes hands instead of being copied. */
export function moved(message: ThreadMessage): ArrayBuffer[] {
  if (message.type === 'item') return movedWith(message.parcel)
  return message.type === 'result' && message.result.ok ? movedWith(message.result) : []
}

/** To the thread. */
export type MainMessage =
  | { readonly type: 'job'; readonly job: Job }
  | { readonly type: 'granted'; readonly password: string | undefined }
  | { readonly type: 'denied'; readonly error: PlainError }
  /** There is room for another of the values that the job's function yields. */
  | { readonly type: 'more'; readonly id: number }
  /** Nobody wants the job's outcome any more. */
  | { readonly type: 'abort'; readonly id: number }
  /** The slot is wanted elsewhere: close the connection if it is idle. */
  | { readonly type: 'reclaim' }

/** Values that a function may yield ahead of their reader. */
export const READ_AHEAD = 8

/** An error taken apart. */
export interface PlainError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  /** Own properties that can be cloned: node-postgres and Node put codes and details there. */
  readonly fields: Readonly<Record<string, string | number | boolean>>
  readonly cause?: PlainError
  /** Set when something else than an error was thrown. */
  readonly thrown?: unknown
  /** Set for this package's own errors. */
  readonly verdict?: { readonly init: PgParallelErrorInit; readonly class: ErrorClass }
}

/** Takes an error apart. */
export function toPlain(error: unknown, depth = 0): PlainError {
  if (!(error instanceof Error)) {
    const simple = typeof error !== 'object' && typeof error !== 'function' && typeof error !== 'symbol'
    let text: string
    try {
      text = typeof error === 'object' ? JSON.stringify(error) : String(error)
    } catch {
      text = Object.prototype.toString.call(error)
    }
    return { name: 'Error', message: text, stack: undefined, fields: {}, thrown: simple ? error : text }
  }
  const fields: Record<string, string | number | boolean> = {}
  for (const [key, value] of Object.entries(error)) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') fields[key] = value
  }
  const { cause } = error
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    fields,
    ...(cause === undefined || depth > 5 ? {} : { cause: toPlain(cause, depth + 1) }),
    ...(error instanceof PgParallelError
      ? {
          verdict: {
            init: {
              category: error.category,
              retryable: error.retryable,
              mayHaveExecuted: error.mayHaveExecuted,
              attempts: error.attempts,
              ...(error.code === undefined ? {} : { code: error.code }),
            },
            class: error.class,
          },
        }
      : {}),
  }
}

/** Puts an error together again. */
export function fromPlain(plain: PlainError): unknown {
  if ('thrown' in plain) return plain.thrown
  const cause = plain.cause === undefined ? undefined : fromPlain(plain.cause)
  if (plain.verdict) {
    const { init, class: known } = plain.verdict
    const { transient, infrastructure, connectionDead } = known
    return Object.assign(
      new PgParallelError(plain.message, { ...init, transient, infrastructure, connectionDead, cause }),
      plain.stack === undefined ? {} : { stack: plain.stack },
    )
  }
  const error = new Error(plain.message, cause === undefined ? undefined : { cause })
  error.name = plain.name
  if (plain.stack !== undefined) error.stack = plain.stack
  const { name: _name, message: _message, stack: _stack, ...fields } = plain.fields
  return Object.assign(error, fields)
}

/** The error a caller of `task` or `worker` gets for what the function threw. */
export function taskError(plain: PlainError): PgParallelError {
  const error = fromPlain(plain)
  if (error instanceof PgParallelError) return error
  return new PgParallelError(plain.message, {
    category: 'task',
    cause: error,
    transient: false,
    infrastructure: false,
    connectionDead: false,
    retryable: false,
    mayHaveExecuted: true,
  })
}

/** Anything as an error of this package. */
export const wrapPlain = (plain: PlainError): PgParallelError => ErrorUtils.wrap(fromPlain(plain))
