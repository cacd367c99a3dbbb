import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Core, RefusedByPool } from './core'
import { PgParallelError } from './errors'
import { resolveSettings, type PgParallelOptions } from './options'
import { Deadline } from './policy/deadline'

const core = (options: PgParallelOptions = {}): Core =>
  new Core(resolveSettings({ host: '127.0.0.1', port: 1, ...options }), {})

test('idle resolves when the last call has ended', async () => {
  const it = core()
  await it.idle()
  it.begin()
  it.begin()
  let quiet = false
  const idle = it.idle().then(() => (quiet = true))
  it.finish(true)
  await Promise.resolve()
  assert.equal(quiet, false)
  it.finish(false)
  await idle
  assert.deepEqual(it.calls, { started: 2, succeeded: 1, failed: 1, retried: 0 })
  it.closed = new PgParallelError('closed', { category: 'closed' })
  assert.throws(
    () => {
      it.begin()
    },
    { category: 'closed' },
  )
})

test('stop ends every pause at once; a deadline ends its own', async () => {
  const it = core()
  const stop = new AbortController()
  const limited = it.pause(600_000, Deadline.from({ signal: stop.signal }))
  const endless = it.pause(600_000, undefined)
  let called = false
  const takeBack = it.after(600_000, () => (called = true))
  takeBack()
  stop.abort()
  await assert.rejects(limited, { category: 'aborted' })
  it.stop()
  await endless
  assert.equal(called, false)
  assert(!process.getActiveResourcesInfo().includes('Timeout'))
})

test('a call’s settings go before the instance’s', () => {
  const it = core({ retry: { maxAttempts: 7, initialDelayMs: 3 }, timeoutMs: 50 })
  assert.equal(it.retryOf(undefined).maxAttempts, 7)
  assert.deepEqual(
    [it.retryOf({ retry: { maxAttempts: 2 } }).maxAttempts, it.retryOf({ retry: { maxAttempts: 2 } }).initialDelayMs],
    [2, 3],
  )
  assert.equal(it.retryOf({ retry: false }).maxAttempts, 1)
  const own = it.deadlineOf(undefined)
  const given = it.deadlineOf({ timeoutMs: 600_000 })
  assert(own && own.remaining <= 50)
  assert(given && given.remaining > 50)
  own.dispose()
  given.dispose()
})

test('a lease that cannot be had is refused after as many failures as it has patience for', async () => {
  const it = core({ retry: { initialDelayMs: 1, maxDelayMs: 1 } })
  let failures = 0
  it.events.on('connectFailed', () => failures++)
  await assert.rejects(it.lease(undefined, 3), RefusedByPool)
  assert.equal(failures, 3)
  const stop = new AbortController()
  const lease = it.lease(Deadline.from({ signal: stop.signal }), 1_000)
  stop.abort()
  await assert.rejects(lease, { category: 'aborted' })
  assert.equal(it.pool.stats.waiting, 0)
  await it.pool.close(new PgParallelError('closed', { category: 'closed' }))
})
