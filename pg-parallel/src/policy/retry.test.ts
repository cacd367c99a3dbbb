import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadline } from './deadline'
import { RetryUtils } from './retry'

for (const [factor, pauses] of [
  [1, [10, 10, 10, 10, 10]],
  [2, [10, 20, 40, 50, 50]],
  [3, [10, 30, 50, 50, 50]],
] as const) {
  test(`without jitter the pauses grow by a factor of ${factor} up to the limit`, () => {
    const backoff = RetryUtils.backoff({ initialDelayMs: 10, backoffFactor: factor, maxDelayMs: 50, jitter: false })
    assert.deepEqual(
      pauses.map(() => backoff.next()),
      pauses,
    )
  })
}

test('with jitter they are anywhere below', () => {
  const seen = new Set<number>()
  for (let round = 0; round < 200; round++) {
    const backoff = RetryUtils.backoff({ initialDelayMs: 10, backoffFactor: 2, maxDelayMs: 50, jitter: true })
    for (const most of [10, 20, 40, 50]) {
      const delay = backoff.next()
      assert(delay >= 0 && delay < most, `${delay}`)
      if (most === 50) seen.add(Math.floor(delay / 10))
    }
  }
  assert.deepEqual([...seen].sort(), [0, 1, 2, 3, 4])
})

test('no pause stays no pause', () => {
  const backoff = RetryUtils.backoff({ initialDelayMs: 0, maxDelayMs: 0, jitter: false })
  assert.deepEqual(
    Array.from({ length: 2_000 }, () => backoff.next()).filter((delay) => delay !== 0),
    [],
  )
})

test('run tries as often as allowed, and only where it may', async () => {
  let tries = 0
  const fail = (): Promise<never> => {
    tries++
    return Promise.reject(new Error('no'))
  }
  const base = { initialDelayMs: 0, maxDelayMs: 0 }
  await assert.rejects(RetryUtils.run(fail, { ...base, maxAttempts: 3, mayRepeat: () => true }), /no/)
  assert.equal(tries, 3)
  tries = 0
  await assert.rejects(RetryUtils.run(fail, { ...base, maxAttempts: 3, mayRepeat: () => false }), /no/)
  assert.equal(tries, 1)
  const retried: number[] = []
  const third = await RetryUtils.run((n) => (n < 3 ? Promise.reject(new Error('no')) : Promise.resolve(n)), {
    ...base,
    mayRepeat: () => true,
    onRetry: (_error, attempt) => retried.push(attempt),
  })
  assert.equal(third, 3)
  assert.deepEqual(retried, [1, 2])
})

test('the deadline ends a pause', async () => {
  const stop = new AbortController()
  const deadline = Deadline.from({ signal: stop.signal })
  const call = RetryUtils.run(() => Promise.reject(new Error('no')), {
    initialDelayMs: 60_000,
    maxDelayMs: 60_000,
    jitter: false,
    mayRepeat: () => true,
    ...(deadline ? { deadline } : {}),
    onRetry: () => {
      stop.abort()
    },
  })
  await assert.rejects(call, { category: 'aborted' })
})

test('senseless options are refused; false means once', () => {
  assert.throws(() => RetryUtils.resolve({ maxAttempts: 1.5 }), /maxAttempts/)
  assert.throws(() => RetryUtils.resolve({ initialDelayMs: -1 }), /initialDelayMs/)
  assert.throws(() => RetryUtils.resolve({ initialDelayMs: 10, maxDelayMs: 5 }), /maxDelayMs/)
  assert.throws(() => RetryUtils.resolve({ backoffFactor: 0.5 }), /backoffFactor/)
  assert.equal(RetryUtils.resolve(false).maxAttempts, 1)
})
