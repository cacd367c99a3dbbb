import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorUtils } from '../errors'
import { CircuitBreaker, CircuitBreakerUtils } from './breaker'

const down = (): Error => Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
const duplicate = Object.assign(new Error('duplicate'), { code: '23505', severity: 'ERROR' })

function breaker(options: Partial<typeof CircuitBreakerUtils.defaults> = {}): {
  it: CircuitBreaker
  states: string[]
  wait: (ms: number) => void
} {
  let now = 0
  const states: string[] = []
  const it = new CircuitBreaker(
    { failureThreshold: 2, cooldownMs: 100, halfOpenMaxCalls: 2, halfOpenSuccessesToClose: 2, ...options },
    (state) => states.push(state),
    () => now,
  )
  return { it, states, wait: (ms) => (now += ms) }
}

const refused = (it: CircuitBreaker): boolean => {
  try {
    it.enter().release()
    return false
  } catch (error) {
    assert.equal(ErrorUtils.category(error), 'circuit-open')
    return true
  }
}

test('it opens after so many failures in a row', () => {
  const { it, states } = breaker()
  it.enter().failure(down())
  it.enter().success()
  it.enter().failure(down())
  assert.equal(it.state, 'closed')
  it.enter().failure(down())
  assert.equal(it.state, 'open')
  assert(refused(it))
  assert.deepEqual(states, ['open'])
  assert.equal(it.stats.rejected, 1)
})

test('the application’s errors do not count, and show that the server is there', () => {
  const { it } = breaker()
  for (let n = 0; n < 5; n++) {
    it.enter().failure(down())
    it.enter().failure(duplicate)
  }
  assert.equal(it.state, 'closed')
})

test('half-open, it lets so many calls through and closes after so many successes', () => {
  const { it, wait, states } = breaker()
  it.recordFailure(down())
  it.recordFailure(down())
  wait(100)
  const first = it.enter()
  const second = it.enter()
  assert(refused(it))
  first.success()
  assert.equal(it.state, 'half-open')
  second.success()
  assert.deepEqual(states, ['open', 'half-open', 'closed'])
})

test('whoever waits as long as the refusal says is let in, though timers fire up to a millisecond early', () => {
  const { it, wait } = breaker({ cooldownMs: 100 })
  it.recordFailure(down())
  it.recordFailure(down())
  wait(0.5)
  try {
    it.enter()
    assert.fail('it is open')
  } catch (error) {
    assert.equal(ErrorUtils.wrap(error).retryAfterMs, 100)
  }
  wait(99)
  assert(!refused(it))
})

test('half-open, one failure opens it again, and late answers of the older trial do not count', () => {
  const { it, wait } = breaker()
  it.recordFailure(down())
  it.recordFailure(down())
  wait(100)
  const late = it.enter()
  it.enter().failure(down())
  assert.equal(it.state, 'open')
  late.success()
  late.success()
  wait(100)
  it.enter().release()
  assert.equal(it.state, 'half-open')
  it.recordFailure(down())
  assert.equal(it.state, 'open')
})

test('a trial of before does not close it in a later half-open state', () => {
  const { it, wait } = breaker({ halfOpenSuccessesToClose: 1 })
  it.recordFailure(down())
  it.recordFailure(down())
  wait(100)
  const late = it.enter()
  it.enter().failure(down())
  wait(100)
  const now = it.enter()
  late.success()
  assert.equal(it.state, 'half-open')
  now.success()
  assert.equal(it.state, 'closed')
})

test('a trial call that never reached the server makes room for another', () => {
  const { it, wait } = breaker({ halfOpenMaxCalls: 1 })
  it.recordFailure(down())
  it.recordFailure(down())
  wait(100)
  it.enter().release()
  assert(!refused(it))
})

test('the utilities know the defaults and what counts', () => {
  assert.equal(CircuitBreakerUtils.counts(down()), true)
  assert.equal(CircuitBreakerUtils.counts(duplicate), false)
  assert.equal(CircuitBreakerUtils.create().state, 'closed')
  assert.equal(CircuitBreakerUtils.resolve({ cooldownMs: 5 }).cooldownMs, 5)
})

test('statements that end together with their connection are one failure', () => {
  const { it } = breaker({ failureThreshold: 2 })
  const lost = down()
  for (let n = 0; n < 16; n++) it.enter().failure(lost)
  for (let n = 0; n < 16; n++) it.enter().failure(ErrorUtils.wrap(lost))
  assert.deepEqual([it.state, it.stats.consecutiveFailures], ['closed', 1])
  it.enter().failure(down())
  assert.equal(it.state, 'open')
})
