import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveSettings } from './options'

test('the defaults', () => {
  const settings = resolveSettings({ host: 'h', user: 'u' })
  assert.deepEqual(
    [settings.max, settings.min, settings.maxQueue, settings.pipelineDepth, settings.idleTimeoutMs, settings.timeoutMs],
    [10, 0, 100_000, 16, 10_000, undefined],
  )
  assert(settings.maxWorkers >= 1 && settings.maxWorkers <= 4)
  assert.equal(settings.client.keepAlive, true)
  assert.equal(settings.client.user, 'u')
  assert(!('max' in settings.client))
})

test('pg’s meanings of 0 and null', () => {
  assert.equal(resolveSettings({ idleTimeoutMillis: 0 }).idleTimeoutMs, Infinity)
  assert.equal(resolveSettings({ idleTimeoutMillis: null }).idleTimeoutMs, Infinity)
  assert.equal(resolveSettings({ maxLifetimeSeconds: 0 }).maxLifetimeMs, Infinity)
  assert.equal(resolveSettings({ maxLifetimeSeconds: 2 }).maxLifetimeMs, 2_000)
  assert.equal(resolveSettings({ connectionTimeoutMillis: 0 }).connectTimeoutMs, 60_000)
})

test('query_timeout is the time limit of calls, also from the connection string', () => {
  assert.equal(resolveSettings({ query_timeout: 7 }).timeoutMs, 7)
  const settings = resolveSettings({ connectionString: 'postgres://h/d?query_timeout=9' })
  assert.equal(settings.timeoutMs, 9)
  assert(!('query_timeout' in settings.client), 'pg’s own timer would leave the statement running')
  assert.equal(resolveSettings({ query_timeout: 7, timeoutMs: 5 }).timeoutMs, 5)
})

test('pipelining is for reads unless something else is said', () => {
  assert.deepEqual([resolveSettings().pipelineDepth, resolveSettings().pipelineWrites], [16, false])
  assert.equal(resolveSettings({ pipeline: true }).pipelineWrites, true)
  assert.equal(resolveSettings({ pipeline: true }).pipelineDepth, 16)
  assert.equal(resolveSettings({ pipeline: { depth: 3 } }).pipelineDepth, 3)
  assert.equal(resolveSettings({ pipeline: false }).pipelineDepth, 1)
})

test('min never exceeds max, and what makes no sense is refused by name', () => {
  assert.equal(resolveSettings({ min: 20, max: 5 }).min, 5)
  for (const [name, value] of Object.entries({
    max: 0,
    min: -1,
    maxWorkers: 1.5,
    maxQueue: NaN,
    maxUses: '3',
    workerNice: -1,
    replay: 'writes',
  })) {
    assert.throws(() => resolveSettings({ [name]: value }), new RegExp(`^PgParallelError: ${name} must be`))
  }
})
