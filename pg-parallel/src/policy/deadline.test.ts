import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { Deadline, pause } from './deadline'

test('no options, no deadline', () => {
  assert.equal(Deadline.from(undefined), undefined)
  assert.equal(Deadline.from({}), undefined)
  for (const timeoutMs of [0, -1, NaN, 2 ** 31]) assert.throws(() => Deadline.from({ timeoutMs }), /timeoutMs/)
})

test('time passes: listeners are told once, and check throws from then on', async () => {
  const deadline = Deadline.from({ timeoutMs: 5 })
  assert(deadline)
  deadline.check()
  assert(deadline.remaining <= 5)
  const reason = await new Promise((done) => deadline.onEnd(done))
  assert.equal(deadline.reason, reason)
  assert.equal(deadline.remaining, 0)
  assert.throws(
    () => {
      deadline.check()
    },
    { category: 'timeout' },
  )
  await assert.rejects(pause(60_000, deadline), { category: 'timeout' })
})

test('a signal ends it, also one that was aborted before', async () => {
  const stop = new AbortController()
  const deadline = Deadline.from({ signal: stop.signal })
  assert(deadline)
  let told = 0
  const forget = deadline.onEnd(() => told++)
  forget()
  deadline.onEnd(() => told++)
  stop.abort(new Error('why'))
  assert.equal(told, 1)
  assert.equal(deadline.reason?.category, 'aborted')
  assert.equal(deadline.reason.code, 'ABORT_ERR')
  const before = Deadline.from({ signal: stop.signal })
  assert.equal(before?.reason?.category, 'aborted')
  await pause(1)
})

test('disposed, it keeps no timer and no listener', () => {
  const stop = new AbortController()
  const deadline = Deadline.from({ signal: stop.signal, timeoutMs: 60_000 })
  deadline?.onEnd(() => assert.fail('told after the end'))
  deadline?.dispose()
  stop.abort()
  assert(!process.getActiveResourcesInfo().includes('Timeout'))
})

test('a signal has one listener for all its calls, and none when they are over', () => {
  const stop = new AbortController()
  const deadlines = Array.from({ length: 50 }, () => Deadline.from({ signal: stop.signal }))
  assert.equal(getEventListeners(stop.signal, 'abort').length, 1)
  for (const deadline of deadlines.slice(0, 49)) deadline?.dispose()
  assert.equal(getEventListeners(stop.signal, 'abort').length, 1)
  const last = deadlines.at(-1)
  stop.abort()
  assert.equal(last?.reason?.category, 'aborted')
  assert.equal(deadlines[0]?.reason, undefined)
  assert.equal(getEventListeners(stop.signal, 'abort').length, 0)
  const other = new AbortController()
  Deadline.from({ signal: other.signal })?.dispose()
  assert.equal(getEventListeners(other.signal, 'abort').length, 0)
})
