import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'
import { trace, type TracerProvider } from '@opentelemetry/api'
import { Observer, type CallMessage } from './observer'

test('a call that nobody listens to is not followed', () => {
  assert.equal(new Observer(true, { database: 'mine' }).begin('query', 'SELECT 1'), undefined)
})

test('subscribers get one message from start to end, with the error where there was one', () => {
  const seen: [string, CallMessage][] = []
  const listeners = ['start', 'end', 'error'].map((what) => {
    const listen = (message: unknown): unknown => seen.push([what, message as CallMessage])
    subscribe(`pg-parallel:stream:${what}`, listen)
    return (): unknown => unsubscribe(`pg-parallel:stream:${what}`, listen)
  })
  const observer = new Observer(false, {})
  observer.begin('stream', 'SELECT 1', 'name')?.end(2)
  const failure = new Error('no')
  observer.begin('stream', 'SELECT 2')?.fail(failure, 1)
  for (const stop of listeners) stop()
  assert.deepEqual(
    seen.map(([what]) => what),
    ['start', 'end', 'start', 'error'],
  )
  assert.equal(seen[0]?.[1], seen[1]?.[1])
  const { durationMs, ...ended } = seen[0]?.[1] ?? {}
  assert((durationMs ?? -1) >= 0)
  assert.deepEqual(ended, { kind: 'stream', text: 'SELECT 1', name: 'name', attempts: 2 })
  assert.equal(seen[3]?.[1].error, failure)
  assert.equal(observer.begin('stream', 'SELECT 3'), undefined)
})

test('spans: names and attributes say what is known of a call, and no SQL of a task', () => {
  const spans: { name: string; attributes: Record<string, unknown>; said: string[] }[] = []
  const provider = {
    getTracer: () => ({
      startSpan: (name: string, options: { attributes: Record<string, unknown> }) => {
        const span = { name, attributes: { ...options.attributes }, said: [] as string[] }
        spans.push(span)
        return {
          isRecording: () => true,
          setAttribute: (key: string, value: unknown) => (span.attributes[key] = value),
          recordException: () => span.said.push('exception'),
          setStatus: ({ code }: { code: number }) => span.said.push(`status ${code}`),
          end: () => span.said.push('end'),
        }
      },
    }),
  } as unknown as TracerProvider
  assert(trace.setGlobalTracerProvider(provider))
  try {
    const observer = new Observer(true, { database: 'mine' })
    observer.begin('query', '  select 1')?.end(1)
    observer.begin('task', 'burn')?.end(1)
    observer.begin('transaction', 'BEGIN')?.fail(Object.assign(new Error('no'), { code: '40001' }), 3)
    assert.equal(new Observer(false, { database: 'mine' }).begin('query', 'SELECT 1'), undefined)
  } finally {
    trace.disable()
  }
  assert.deepEqual(spans, [
    {
      name: 'SELECT',
      attributes: {
        'pg_parallel.call': 'query',
        'db.system.name': 'postgresql',
        'db.query.text': '  select 1',
        'db.operation.name': 'SELECT',
        'db.namespace': 'mine',
      },
      said: ['end'],
    },
    { name: 'task', attributes: { 'pg_parallel.call': 'task', 'db.namespace': 'mine' }, said: ['end'] },
    {
      name: 'transaction',
      attributes: {
        'pg_parallel.call': 'transaction',
        'db.system.name': 'postgresql',
        'db.namespace': 'mine',
        'pg_parallel.attempts': 3,
        'error.type': '40001',
      },
      said: ['exception', 'status 2', 'end'],
    },
  ])
})
