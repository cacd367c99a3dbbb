/**
 * Follows calls from start to end for whoever listens: `diagnostics_channel` subscribers and OpenTelemetry. A call
 * nobody listens to costs one look at a flag for each.
 *
 * Channels: `pg-parallel:<kind>:start`, `…:end`, `…:error`, with `kind` one of query, transaction, stream, copy,
 * task, worker. All three carry the same {@link CallMessage} object, so that a subscriber can keep its own notes in a WeakMap.
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
  /** The transaction or worker call that a statement belongs to. */
  readonly within?: CallMessage
  /** On `end` and `error`: duration in milliseconds, waiting and retries included. */
  durationMs?: number
  /** On `end` and `error`: how often it was tried. */
  attempts?: number
  /** On `error`. */
  error?: unknown
}

/** A call that somebody follows. */
export interface Followed {
  /** `durationMs`: where the call ended some time ago, on a thread. */
  end(attempts: number, durationMs?: number): void
  fail(error: unknown, attempts: number, durationMs?: number): void
  readonly message?: CallMessage
  readonly span?: Span | undefined
}

/** Where a call's beginning and end are told. */
export interface CallObserver {
  /** Somebody listens now. */
  readonly listening: boolean
  /**
   * Undefined when nobody listens.
   *
   * @param within - the call that this one is a part of
   * @param ageMs - how long ago it began
   */
  begin(
    kind: CallKind,
    text: string | undefined,
    name?: string,
    within?: Followed,
    ageMs?: number,
  ): Followed | undefined
}

/** What the instance talks to, for the spans. */
export interface Place {
  readonly database?: string | undefined
  /** Where there is one server only. */
  readonly host?: string | undefined
  readonly port?: number | undefined
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
  copy: channelsOf('copy'),
  task: channelsOf('task'),
  worker: channelsOf('worker'),
}

type Api = typeof import('@opentelemetry/api')

/** The API package, where the application has it. */
function loadApi(): Api | undefined {
  // In a bundle that is an ES module there is no file name.
  const own = typeof __filename === 'string' ? [__filename] : []
  for (const from of [...own, `${process.cwd()}/`]) {
    try {
      return createRequire(from)('@opentelemetry/api') as Api
    } catch {
      // Not installed there: tracing is off.
    }
  }
  return undefined
}

/** See the top of the file. */
export class Observer implements CallObserver {
  readonly #api: Api | undefined
  readonly #place: Place
  #tracer: Tracer | undefined
  /** What stands in for an SDK where there is none. */
  #noop: object | undefined

  constructor(tracing: boolean, place: Place) {
    this.#api = tracing ? loadApi() : undefined
    this.#place = place
  }

  get listening(): boolean {
    return this.#tracing !== undefined || hasSubscribers(CHANNELS.query)
  }

  begin(kind: CallKind, text: string | undefined, name?: string, within?: Followed, ageMs = 0): Followed | undefined {
    const channels = CHANNELS[kind]
    const published = hasSubscribers(channels)
    const span = this.#span(kind, text, within?.span, ageMs)
    if (!published && !span) return undefined
    const message: CallMessage = { kind, text, name, ...(within?.message ? { within: within.message } : {}) }
    if (published) channels.start.publish(message)
    const started = performance.now() - ageMs
    const finish = (attempts: number, durationMs: number | undefined): number | undefined => {
      message.durationMs = durationMs ?? performance.now() - started
      message.attempts = attempts
      if (attempts > 1) span?.setAttribute('pg_parallel.attempts', attempts)
      return durationMs === undefined ? undefined : performance.timeOrigin + started + durationMs
    }
    return {
      message,
      span,
      end: (attempts, durationMs) => {
        const endTime = finish(attempts, durationMs)
        if (channels.end.hasSubscribers) channels.end.publish(message)
        span?.end(endTime)
      },
      fail: (error, attempts, durationMs) => {
        const endTime = finish(attempts, durationMs)
        message.error = error
        if (channels.error.hasSubscribers) channels.error.publish(message)
        if (!span) return
        const { code, sqlState } = error as { code?: unknown; sqlState?: unknown }
        if (typeof code === 'string') span.setAttribute('error.type', code)
        if (typeof sqlState === 'string') span.setAttribute('db.response.status_code', sqlState)
        span.recordException(error as Error)
        // 2 is SpanStatusCode.ERROR
        span.setStatus({ code: 2, message: (error as Error).message })
        span.end(endTime)
      },
    }
  }

  /** The API, unless it is absent or has no SDK behind it, and so nobody to make spans for. */
  get #tracing(): Api | undefined {
    // This is asked for every call.
    const provider = this.#api?.trace.getTracerProvider() as { getDelegate?(): object } | undefined
    const delegate = provider?.getDelegate?.()
    if (delegate === undefined) return this.#api
    if (delegate === this.#noop) return undefined
    if (delegate.constructor.name !== 'NoopTracerProvider') return this.#api
    this.#noop = delegate
    return undefined
  }

  #span(kind: CallKind, text: string | undefined, parent: Span | undefined, ageMs: number): Span | undefined {
    const api = this.#tracing
    if (!api) return undefined
    const { trace, context, SpanKind } = api
    this.#tracer ??= trace.getTracer('pg-parallel')
    const verb = text?.trimStart().split(/\s/, 1)[0]?.toUpperCase().slice(0, 32)
    const statement = kind === 'query' || kind === 'stream' || kind === 'copy'
    const { database, host, port } = this.#place
    const known: Record<string, string | number | undefined> = {
      'pg_parallel.call': kind,
      'db.system.name': kind === 'task' ? undefined : 'postgresql',
      'db.query.text': statement ? text : undefined,
      'db.operation.name': statement ? verb : undefined,
      'db.namespace': database,
      'server.address': kind === 'task' ? undefined : host,
      'server.port': kind === 'task' ? undefined : port,
    }
    const attributes: Record<string, string | number> = {}
    for (const [key, value] of Object.entries(known)) if (value !== undefined) attributes[key] = value
    const span = this.#tracer.startSpan(
      statement ? (verb ?? kind) : kind,
      {
        kind: kind === 'task' ? SpanKind.INTERNAL : SpanKind.CLIENT,
        attributes,
        ...(ageMs > 0 ? { startTime: performance.timeOrigin + performance.now() - ageMs } : {}),
      },
      ...(parent ? [trace.setSpan(context.active(), parent)] : []),
    )
    return span.isRecording() ? span : undefined
  }
}

const hasSubscribers = ({ start, end, error }: Channels): boolean =>
  start.hasSubscribers || end.hasSubscribers || error.hasSubscribers
