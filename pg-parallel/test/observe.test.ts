/** Who listens is told: events, diagnostics_channel, OpenTelemetry, statistics, the logger. */
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'
import { trace, type Span, type SpanOptions, type TracerProvider } from '@opentelemetry/api'
import type { CallMessage } from '../src/index'
import { failure, onServer, open, server } from './support/run'
import { freePort } from './support/servers'

test('events tell of connections, retries and the end, with the types that the declarations say', async () => {
  const seen: string[] = []
  const db = await onServer({ max: 1, maxWorkers: 1 })
  const { port } = await server()
  db.on('connect', ({ address, processID }) => seen.push(`connect ${address.port === port} ${typeof processID}`))
  db.on('disconnect', ({ error }) => seen.push(`disconnect ${error === undefined}`))
  db.on('workerStarted', ({ threadId }) => seen.push(`thread ${typeof threadId}`))
  db.on('workerEnded', () => seen.push('thread ended'))
  db.on('shutdown', ({ timeoutMs }) => seen.push(`shutdown ${timeoutMs}`))
  db.once('closed', () => seen.push('closed'))
  const never = (): void => assert.fail('it was taken off')
  db.on('connect', never).off('connect', never)
  await db.query('SELECT 1')
  await db.task(() => 1)
  await db.shutdown({ timeoutMs: 5_000 })
  assert.deepEqual(seen.sort(), [
    'closed',
    'connect true number',
    'disconnect true',
    'shutdown 5000',
    'thread ended',
    'thread number',
  ])
})

test('a listener that throws is reported and breaks nothing', async () => {
  const errors: unknown[] = []
  const logger = {
    info: () => {},
    warn: () => {},
    error: (_message: string, details?: unknown) => errors.push(details),
  }
  const db = await onServer({ logger })
  const mine = new Error('mine')
  db.on('connect', () => {
    throw mine
  })
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
  assert.deepEqual(errors, [mine])
})

test('the logger hears of trouble', async () => {
  const lines: string[] = []
  const log = (message: string): unknown => lines.push(message)
  const db = open({
    connectionString: `postgres://postgres@127.0.0.1:${await freePort()}/postgres`,
    retry: false,
    circuitBreaker: { failureThreshold: 1 },
    logger: { info: log, warn: log, error: log },
  })
  await failure(db.query('SELECT 1'))
  assert(lines.some((line) => line.startsWith('could not connect: ')))
  assert(lines.includes('circuit breaker is open'))
})

test('diagnostics_channel: start, end and error of every kind of call', async () => {
  const db = await onServer({ maxWorkers: 1 })
  const seen: string[] = []
  const messages = new Set<CallMessage>()
  const subscriptions: (() => void)[] = []
  for (const kind of ['query', 'transaction', 'stream', 'task', 'worker']) {
    for (const what of ['start', 'end', 'error']) {
      const name = `pg-parallel:${kind}:${what}`
      const listen = (message: unknown): void => {
        messages.add(message as CallMessage)
        seen.push(`${kind} ${what}`)
        assert.equal((message as CallMessage).kind, kind)
        if (what !== 'start') assert(((message as CallMessage).durationMs ?? -1) >= 0)
      }
      subscribe(name, listen)
      subscriptions.push(() => unsubscribe(name, listen))
    }
  }
  await db.query({ name: 'named', text: 'SELECT 1' })
  await failure(db.query('SELEC'))
  await db.transaction(async (tx) => tx.query('SELECT 1'))
  for await (const row of db.stream('SELECT 1 AS one')) assert(row)
  await db.task(function twice() {
    return 2
  })
  await db.worker(async (client) => client.query('SELECT 1').then(() => 1))
  for (const end of subscriptions) end()
  await db.query('SELECT 1')
  const around = (kind: string, ...inner: string[]): string[] => [`${kind} start`, ...inner, `${kind} end`]
  assert.deepEqual(seen, [
    ...around('query'),
    'query start',
    'query error',
    ...around('transaction', ...around('query')),
    ...around('stream'),
    ...around('task'),
    ...around('worker', ...around('query')),
  ])
  assert.equal(messages.size, 8, 'start and end share one message')
  const inner = [...messages].filter((message) => message.within)
  assert.deepEqual(
    inner.map((message) => [message.text, message.within?.kind, (message.durationMs ?? -1) >= 0]),
    [
      ['SELECT 1', 'transaction', true],
      ['SELECT 1', 'worker', true],
    ],
  )
  const [first] = messages
  assert.deepEqual([first?.text, first?.name, first?.attempts], ['SELECT 1', 'named', 1])
})

test('OpenTelemetry: spans where an SDK is there', async () => {
  const spans: { name: string; attributes: Record<string, unknown>; ended: boolean; error: unknown }[] = []
  const provider = {
    getTracer: () => ({
      startSpan: (name: string, options?: SpanOptions) => {
        const span = {
          name,
          attributes: { ...options?.attributes } as Record<string, unknown>,
          ended: false,
          error: undefined as unknown,
        }
        spans.push(span)
        return {
          isRecording: () => true,
          setAttribute: (key: string, value: unknown) => (span.attributes[key] = value),
          recordException: (error: unknown) => (span.error = error),
          setStatus: () => {},
          end: () => (span.ended = true),
        } as unknown as Span
      },
    }),
  } as unknown as TracerProvider
  assert(trace.setGlobalTracerProvider(provider))
  try {
    const db = await onServer()
    await db.query('SELECT 1')
    const error = await failure(db.query('SELECT 1/0'))
    assert.deepEqual(
      spans.map(({ name, ended, error: recorded }) => [name, ended, recorded]),
      [
        ['SELECT', true, undefined],
        ['SELECT', true, error],
      ],
    )
    assert.equal(spans[0]?.attributes['db.system.name'], 'postgresql')
    assert.equal(spans[0].attributes['db.query.text'], 'SELECT 1')
    assert.equal(spans[1]?.attributes['error.type'], '22012')
    const silent = await onServer({ tracing: false })
    await silent.query('SELECT 1')
    assert.equal(spans.length, 2)
  } finally {
    trace.disable()
  }
})

test('statistics add up', async () => {
  const db = await onServer({ max: 2, maxWorkers: 1 })
  await Promise.all([db.query('SELECT 1'), db.query('SELECT 1'), db.query('SELECT 1'), failure(db.query('SELEC'))])
  await db.task(() => 1)
  const { calls, pool, workers, breaker } = db.stats
  assert.deepEqual(calls, { started: 5, succeeded: 4, failed: 1, retried: 0 })
  assert.deepEqual([pool.max, pool.total, pool.idle, pool.busy, pool.waiting], [2, 2, 2, 0, 0])
  assert.deepEqual([workers.max, workers.threads, workers.completed, workers.crashed], [1, 1, 1, 0])
  assert.equal(breaker?.state, 'closed')
  assert.deepEqual([db.totalCount, db.idleCount, db.waitingCount], [2, 2, 0])
})
