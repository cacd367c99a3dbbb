/** The circuit breaker on a real line: what counts, what it does to calls, how it closes again. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { failure, freshTable, onServer, open, server } from '../support/run'
import { FaultProxy } from './proxy'

const proxies: FaultProxy[] = []
after(async () => {
  for (const proxy of proxies) await proxy.close()
})

test('failures of the line open it, calls then fail at once without touching the server, and it closes again', async () => {
  const proxy = await FaultProxy.to(await server())
  proxies.push(proxy)
  const states: string[] = []
  const db = open({
    connectionString: proxy.url,
    retry: false,
    circuitBreaker: { failureThreshold: 3, cooldownMs: 200, halfOpenMaxCalls: 1, halfOpenSuccessesToClose: 2 },
  })
  db.on('breaker', ({ state }) => states.push(state))
  proxy.refuse = true
  for (let n = 0; n < 3; n++) assert.equal((await failure(db.query('SELECT 1'))).category, 'connection')
  assert.equal(db.stats.breaker?.state, 'open')
  proxy.refuse = false
  const error = await failure(db.query('SELECT 1'))
  assert.equal(error.category, 'circuit-open')
  assert.equal(error.mayHaveExecuted, false)
  assert.equal(error.retryable, true)
  assert(error.retryAfterMs !== undefined && error.retryAfterMs <= 200)
  assert.equal(proxy.history.length, 0)
  await new Promise((done) => setTimeout(done, error.retryAfterMs))
  await db.query('SELECT 1')
  assert.equal(db.stats.breaker.state, 'half-open')
  await db.query('SELECT 1')
  assert.equal(db.stats.breaker.state, 'closed')
  assert.deepEqual(states, ['open', 'half-open', 'closed'])
})

test('a call that may be tried again waits for the breaker instead of failing', async () => {
  const proxy = await FaultProxy.to(await server())
  proxies.push(proxy)
  const db = open({
    connectionString: proxy.url,
    retry: { maxAttempts: 20, initialDelayMs: 1 },
    circuitBreaker: { failureThreshold: 1, cooldownMs: 50 },
  })
  let cuts = 0
  proxy.onStatement = () => (++cuts <= 3 ? 'cut-before' : 'pass')
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
  assert((db.stats.breaker?.opened ?? 0) >= 1)
})

test('the application’s own errors never open it', async () => {
  const db = await onServer({ circuitBreaker: { failureThreshold: 2 } })
  const table = await freshTable('a int PRIMARY KEY')
  await db.query(`INSERT INTO ${table} VALUES (1)`)
  for (let n = 0; n < 10; n++) {
    assert.equal((await failure(db.query(`INSERT INTO ${table} VALUES (1)`))).sqlState, '23505')
    assert.equal((await failure(db.query('SELEC 1'))).sqlState, '42601')
    assert.equal((await failure(db.query('SELECT 1/0'))).sqlState, '22012')
    const stop = new AbortController()
    const call = failure(db.query('SELECT pg_sleep(600)', [], { signal: stop.signal }))
    stop.abort()
    assert.equal((await call).category, 'aborted')
  }
  assert.deepEqual(db.stats.breaker, { state: 'closed', consecutiveFailures: 0, opened: 0, rejected: 0 })
})
