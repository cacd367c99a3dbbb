/** What the main thread and a worker thread say to each other. Everything here survives the structured clone. */
import type { MessagePort } from 'node:worker_threads'
import type { ErrorClass, PgParallelErrorInit } from '../errors'
import { ErrorUtils, PgParallelError } from '../errors'
import type { PgParallelOptions } from '../options'
import type { CancelKey } from '../pool/connection'

/** Work for a thread. */
export interface Job {
  readonly id: number
  /** `warm` only proves that the thread is there. */
  readonly kind: 'task' | 'worker' | 'warm'
  /** Text of a function given inline, checked for free variables. */
  readonly source?: string
  /** Folder that `import()` and `require` inside an inline function start from. */
  readonly base?: string
  /** URL of the module of a file task. */
  readonly module?: string
  /** Its export. */
  readonly name?: string
  readonly args: readonly unknown[]
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
   * One word of shared memory: the id of the job that the thread took up last. The main thread wants to know it only
   * when something goes wrong, and then the thread may be too busy, or too dead, to tell.
   */
  readonly job: Int32Array
}

/** What a job came to. */
export type JobResult =
  | { readonly ok: true; readonly value: unknown }
  /** In V8's own format: it refuses what cannot be cloned while the thread can still say so. */
  | { readonly ok: true; readonly data: Uint8Array }
  | { readonly ok: false; readonly error: PlainError }

/** From the thread. */
export type ThreadMessage =
  /** It has started. */
  | { readonly type: 'ready' }
  | { readonly type: 'result'; readonly id: number; readonly result: JobResult }
  /** It wants to open a connection. */
  | { readonly type: 'need' }
  | { readonly type: 'opened'; readonly key: CancelKey | undefined }
  /** The slot is free again. */
  | { readonly type: 'closed' }
  | { readonly type: 'log'; readonly level: 'info' | 'warn' | 'error'; readonly message: string }

/** What of a message changes hands instead of being copied. */
export function moved(message: ThreadMessage): ArrayBuffer[] {
  if (message.type !== 'result' || !message.result.ok || !('data' in message.result)) return []
  return [message.result.data.buffer as ArrayBuffer]
}

/** To the thread. */
export type MainMessage =
  | { readonly type: 'job'; readonly job: Job }
  | { readonly type: 'granted'; readonly password: string | undefined }
  | { readonly type: 'denied'; readonly error: PlainError }
  /** The slot is wanted elsewhere: close the connection if it is idle. */
  | { readonly type: 'reclaim' }

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
