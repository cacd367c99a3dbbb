import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onFake } from '../test/support/core'
import type { Answer } from '../test/support/fake'
import { failure } from '../test/support/failure'
import type { Core } from './core'
import { PgParallelError } from './errors'
import { Deadline } from './policy/deadline'
import { callQuery, runOn } from './query'

/** Does something else the first time. */
const first = (once: Answer, then: Answer = {}): (() => Answer) => {
  let calls = 0
  return () => (++calls === 1 ? once : then)
}

test('a read that was cut is sent again, a write is not', async () => {
  const { fake, core } = await onFake(first({ cut: true }, { rows: [{ n: '1' }] }))
  assert.deepEqual((await callQuery(core, 'SELECT 1', undefined, undefined)).rows, [{ n: 1 }])
  assert.deepEqual(fake.texts, ['SELECT 1', 'SELECT 1'])
  assert.equal(core.calls.retried, 1)
  const { fake: other, core: writing } = await onFake(first({ cut: true }))
  const error = await failure(callQuery(writing, 'INSERT', undefined, undefined))
  assert.deepEqual(
    [error.category, error.mayHaveExecuted, error.retryable, error.attempts],
    ['connection', true, false, 1],
  )
  assert.deepEqual(other.texts, ['INSERT'])
})

test('each further attempt is told of', async () => {
  const { core } = await onFake(first({ cut: true }, {}))
  const told: unknown[] = []
  core.events.on('retry', ({ kind, error, attempt, delayMs }) => {
    told.push(kind, error.category, attempt, delayMs >= 0)
  })
  await callQuery(core, 'SELECT 1', undefined, undefined)
  assert.deepEqual(told, ['query', 'connection', 1, true])
  assert.equal(core.calls.retried, 1)
})

test('idempotent makes the difference, as an argument and in the query object', async () => {
  for (const call of [
    (core: Core) => callQuery(core, 'INSERT', [], { idempotent: true }),
    (core: Core) => callQuery(core, { text: 'INSERT', idempotent: true }, undefined, undefined),
  ]) {
    const { fake, core } = await onFake(first({ cut: true }))
    await call(core)
    assert.deepEqual(fake.texts, ['INSERT', 'INSERT'])
  }
})

test('attempts are limited, by the instance and by the call', async () => {
  const { fake, core } = await onFake(() => ({ error: '53200' }))
  assert.equal((await failure(callQuery(core, 'SELECT 1', undefined, undefined))).attempts, 3)
  assert.equal((await failure(callQuery(core, 'SELECT 1', undefined, { retry: false }))).attempts, 1)
  assert.equal((await failure(callQuery(core, 'SELECT 1', undefined, { retry: { maxAttempts: 2 } }))).attempts, 2)
  assert.equal(fake.texts.length, 6)
})

test('a stale plan is forgotten and the statement sent once more, which is no second attempt', async () => {
  const { fake, core } = await onFake(first({ error: '26000', unbound: true }, {}), { retry: false })
  await callQuery(core, { name: 'one', text: 'INSERT' }, undefined, undefined)
  assert.deepEqual(fake.texts, ['INSERT', 'INSERT'])
  assert.equal(core.calls.retried, 0)
  const { core: hopeless } = await onFake((text) => (text === 'INSERT' ? { error: '26000', unbound: true } : {}))
  const error = await failure(callQuery(hopeless, { name: 'one', text: 'INSERT' }, undefined, undefined))
  assert.equal(error.category, 'plan')
})

test('behind a pooler the names of statements are left out: each is parsed where it runs', async () => {
  const { fake, core } = await onFake(first({ error: '26000', unbound: true }), { retry: false, max: 1 })
  for (let n = 0; n < 3; n++) await callQuery(core, { name: 'one', text: 'INSERT' }, undefined, undefined)
  const heard = fake.sessions[0]?.heard.filter((one) => /^(Parse|Close)/.test(one))
  assert.deepEqual(heard, ['Parse INSERT', 'Close Sone', 'Parse INSERT', 'Parse INSERT', 'Parse INSERT'])
})

test('the same code from a statement that runs is its own affair, and it is not sent again', async () => {
  const { fake, core } = await onFake(() => ({ error: '26000' }))
  for (const text of ['SELECT outer($1)', 'CALL outer($1)']) {
    const error = await failure(callQuery(core, { name: text, text, values: [1] }, undefined, undefined))
    assert.deepEqual([error.code, error.mayHaveExecuted], ['26000', text.startsWith('CALL')])
  }
  assert.equal(fake.texts.length, 2)
})

test('a name without a text is refused where nothing is prepared by that name', async () => {
  const { fake, core } = await onFake(() => ({}))
  const error = await failure(callQuery(core, { name: 'one' } as never, undefined, undefined))
  assert.match(error.message, /No statement is prepared as 'one'/)
  assert.equal(error.mayHaveExecuted, false)
  assert.deepEqual(fake.texts, [])
})

test('a name that somebody else has taken behind a pooler is closed, and the statement parsed again', async () => {
  const { fake, core } = await onFake(first({ error: '42P05', unbound: true }, {}), { retry: false })
  await callQuery(core, { name: 'one', text: 'INSERT' }, undefined, undefined)
  const heard = fake.sessions[0]?.heard.filter((one) => /^(Parse|Close)/.test(one))
  assert.deepEqual(heard, ['Parse INSERT', 'Close Sone', 'Parse INSERT'])
})

test('a text whose Parse fails does not keep others from being prepared', async () => {
  const { fake, core } = await onFake((text) => (text.startsWith('bad') ? { error: '42601' } : {}), { max: 1 })
  await Promise.allSettled(Array.from({ length: 6 }, (_, n) => callQuery(core, 'bad $1', [n], undefined)))
  for (let n = 0; n < 4; n++) await callQuery(core, 'SELECT $1', [n], undefined)
  assert.equal(
    fake.sessions.flatMap(({ heard }) => heard).filter((text) => text === 'Parse SELECT $1').length,
    2,
    'parsed without a name, and then with one',
  )
})

test('a time limit cancels on the server, and the connection serves the next', async () => {
  const { fake, core } = await onFake((text) => ({ hang: text === 'UPDATE slow' }))
  await core.pool.warmup(1) // the time is for the statement
  const error = await failure(callQuery(core, 'UPDATE slow', undefined, { timeoutMs: 30 }))
  assert.deepEqual([error.category, error.mayHaveExecuted], ['timeout', true])
  await callQuery(core, 'SELECT 1', undefined, undefined)
  assert.equal(fake.cancels.length, 1)
  assert.equal(fake.sessions.length, 1)
  const own = await failure(callQuery(core, { text: 'UPDATE slow', query_timeout: 30 } as never, undefined, undefined))
  assert.equal(own.category, 'timeout')
})

test('a write gets a connection that has just shown a sign of life', async () => {
  const { fake, core } = await onFake((text) => ({ cut: text === '' }), { validateAfterIdleMs: 0 })
  await callQuery(core, 'SELECT 1', undefined, undefined)
  await new Promise((done) => setTimeout(done, 5))
  await callQuery(core, 'SELECT 2', undefined, undefined) // a read can be sent again
  await new Promise((done) => setTimeout(done, 5))
  // The sign of life does not come: the write goes to another connection. (A new one is trusted.)
  await callQuery(core, 'INSERT', undefined, undefined)
  assert.deepEqual(
    fake.sessions.map((session) => session.texts),
    [['SELECT 1', 'SELECT 2', ''], ['INSERT']],
  )
})

test('what is no query is refused before it is counted', async () => {
  const { core } = await onFake(() => undefined)
  const callback = (() => {}) as never
  for (const wrong of [
    callQuery(core, 7 as never, undefined, undefined),
    callQuery(core, { text: 'x', submit: () => {} } as never, undefined, undefined),
    callQuery(core, { text: 'x', callback } as never, undefined, undefined),
    callQuery(core, 'x', callback, undefined),
    callQuery(core, 'x', [], callback),
  ]) {
    assert.equal((await failure(wrong)).category, 'configuration')
  }
  assert.equal(core.calls.started, 0)
})

test('the breaker is asked and told', async () => {
  const { core } = await onFake(() => ({ cut: true }), { retry: false, circuitBreaker: { failureThreshold: 2 } })
  await failure(callQuery(core, 'SELECT 1', undefined, undefined))
  assert.equal(core.breaker?.stats.consecutiveFailures, 1)
  await failure(callQuery(core, 'SELECT 1', undefined, undefined))
  assert.equal((await failure(callQuery(core, 'SELECT 1', undefined, undefined))).category, 'circuit-open')
})

test('runOn: one statement on a held connection, ended by the first deadline to pass', async () => {
  const { fake, core } = await onFake((text) => ({ hang: text === 'slow' }))
  const connection = await core.lease(undefined, 1)
  await runOn(connection, { text: 'SELECT 1' }, undefined, { deadlines: [], cancelTimeoutMs: 1_000 })
  const deadlines = [Deadline.from({ timeoutMs: 600_000 }), undefined, Deadline.from({ timeoutMs: 20 })]
  const error = await failure(runOn(connection, { text: 'slow' }, undefined, { deadlines, cancelTimeoutMs: 1_000 }))
  assert.equal(error.category, 'timeout')
  const late = await failure(runOn(connection, { text: 'x' }, undefined, { deadlines, cancelTimeoutMs: 1_000 }))
  assert.equal(late.category, 'timeout')
  for (const deadline of deadlines) deadline?.dispose()
  assert.deepEqual(fake.texts, ['SELECT 1', 'slow'])
  core.pool.release(connection)
  const next = await core.lease(undefined, 1)
  next.fail(new Error('Connection terminated'))
  const dead = await failure(runOn(next, { text: 'x' }, undefined, { deadlines: [], cancelTimeoutMs: 1_000 }))
  assert.equal(dead.category, 'connection')
  core.pool.release(next)
})

test('a write, and what may be cancelled, shares its connection with nobody', async () => {
  for (const [text, options] of [
    ['INSERT', undefined],
    ['SELECT 1', { timeoutMs: 60_000 }],
    ['SELECT 1', { signal: new AbortController().signal }],
  ] as const) {
    let answers = 0
    const { core } = await onFake(() => (++answers === 1 ? { hang: true } : {}))
    const calls = [text, text].map((text) => callQuery(core, text, undefined, options))
    while (answers === 0) await new Promise(setImmediate)
    assert.equal(core.pool.stats.waiting, 1, text)
    core.pool.abort(new PgParallelError('over', { category: 'closed' }))
    await Promise.allSettled(calls)
  }
  let heard = 0
  const { core: reading } = await onFake(() => {
    heard++
    return { hang: true }
  })
  const calls = [1, 2].map(() => callQuery(reading, 'SELECT 1', undefined, undefined))
  while (heard === 0) await new Promise(setImmediate)
  assert.equal(reading.pool.stats.waiting, 0)
  reading.pool.abort(new PgParallelError('over', { category: 'closed' }))
  await Promise.allSettled(calls)
})
