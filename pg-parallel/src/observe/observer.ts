/**
 * Follows calls from start to end for whoever listens: `diagnostics_channel` subscribers and OpenTelemetry. A call
 * nobody listens to costs one look at a flag for each.
 *
 * Channels: `pg-parallel:<kind>:start`, `…:end`, `…:error`, with `kind` one of query, transaction, stream, task,
 * worker. All three carry the same {@link CallMessage} object, so that a subscriber can keep its own notes in a WeakMap.
 */
import { channel, type Channel } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import type { Span, Tracer } from '@opentelemetry/api'
import type { CallKind } from './events'

/** What subscribers of the channels get. */
export interface CallMessage {
  readonly kind: CallKind
  /** The SQL text, or the name of the function. */
  readonly text: string | undefined
  /** The prepared statement's name. */
  readonly name: string | undefined
  /** On `end` and `error`: duration in milliseconds, waiting and retries included. */
  durationMs?: number
  /** On `end` and `error`: how often it was tried. */
  attempts?: number
  /** On `error`. */
  error?: unknown
}

/** A call that somebody follows. */
export interface Followed {
  end(attempts: number): void
  fail(error: unknown, attempts: number): void
}

interface Channels {
  readonly start: Channel
  readonly end: Channel
  readonly error: Channel
}

const channelsOf = (kind: CallKind): Channels => ({
  start: channel(`pg-parallel:${kind}:start`),
  end: channel(`pg-parallel:${kind}:end`),
  error: channel(`pg-parallel:${kind}:error`),
})

const CHANNELS: Readonly<Record<CallKind, Channels>> = {
  query: channelsOf('query'),
  transaction: channelsOf('transaction'),
  stream: channelsOf('stream'),
  task: channelsOf('task'),
  worker: channelsOf('worker'),
}

type Api = typeof import('@opentelemetry/api')

/** The API package, where the application has it. */
function loadApi(): Api | undefined {
  for (const from of [__filename, `${process.cwd()}/`]) {
    try {
      return createRequire(from)('@opentelemetry/api') as Api
    } catch {
      // Not installed there: tracing is off.
    }
  }
  return undefined
}

/** See the top of the file. */
export class Observer {
  readonly #api: Api | undefined
  readonly #database: string | undefined
  #tracer: Tracer | undefined

  constructor(tracing: boolean, database: string | undefined) {
    this.#api = tracing ? loadApi() : undefined
    this.#database = database
  }

  /** Undefined when nobody listens. */
  begin(kind: CallKind, text: string | undefined, name?: string): Followed | undefined {
    const channels = CHANNELS[kind]
    const published = channels.start.hasSubscribers || channels.end.hasSubscribers || channels.error.hasSubscribers
    const span = this.#span(kind, text)
    if (!published && !span) return undefined
    const message: CallMessage = { kind, text, name }
    if (published) channels.start.publish(message)
    const started = performance.now()
    const finish = (attempts: number): void => {
      message.durationMs = performance.now() - started
      message.attempts = attempts
      if (attempts > 1) span?.setAttribute('pg_parallel.attempts', attempts)
    }
    return {
      end: (attempts) => {
        finish(attempts)
        if (channels.end.hasSubscribers) channels.end.publish(message)
        span?.end()
      },
      fail: (error, attempts) => {
        finish(attempts)
        message.error = error
        if (channels.error.hasSubscribers) channels.error.publish(message)
        if (span) {
          const { code } = error as { code?: unknown }
          if (typeof code === 'string') span.setAttribute('error.type', code)
          span.recordException(error as Error)
          // 2 is SpanStatusCode.ERROR
          span.setStatus({ code: 2, message: (error as Error).message })
          span.end()
        }
      },
    }
  }

  /** A span, unless the API is absent or has no SDK behind it. */
  #span(kind: CallKind, text: string | undefined): Span | undefined {
    if (!this.#api) return undefined
    const { trace, SpanKind } = this.#api
    // Without an SDK there is nobody to make spans for, and this is asked for every call.
    const provider = trace.getTracerProvider() as { getDelegate?(): object }
    if (provider.getDelegate?.().constructor.name === 'NoopTracerProvider') return undefined
    this.#tracer ??= trace.getTracer('pg-parallel')
    const verb = text?.trimStart().split(/\s/, 1)[0]?.toUpperCase().slice(0, 32)
    const database = kind === 'task' ? undefined : { 'db.system.name': 'postgresql' }
    const span = this.#tracer.startSpan(kind === 'query' || kind === 'stream' ? (verb ?? kind) : kind, {
      kind: kind === 'task' ? SpanKind.INTERNAL : SpanKind.CLIENT,
      attributes: {
        'pg_parallel.call': kind,
        ...database,
        ...(text === undefined || kind === 'task' || kind === 'worker' ? {} : { 'db.query.text': text }),
        ...(this.#database === undefined ? {} : { 'db.namespace': this.#database }),
      },
    })
    return span.isRecording() ? span : undefined
  }
}
