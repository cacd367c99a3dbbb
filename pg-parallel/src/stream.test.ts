import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onFake } from '../test/support/core'
import { portalFor, stream, type StreamOptions } from './stream'

const FIVE = { rows: [1, 2, 3, 4, 5].map((n) => ({ n: String(n) })) }

type Read = (options?: StreamOptions, most?: number) => Promise<number[]>

async function setup(
  ...given: Parameters<typeof onFake>
): Promise<Awaited<ReturnType<typeof onFake>> & { read: Read }> {
  const { fake, core } = await onFake(...given)
  const read: Read = async (options, most = Infinity) => {
    const seen: number[] = []
    for await (const { n } of stream<{ n: number }>(core, 'SELECT n', [], { batchSize: 2, ...options })) {
      seen.push(n)
      if (seen.length >= most) break
    }
    return seen
  }
  return { fake, core, read }
}

test('all rows in order, and the connection is back in the pool', async () => {
  const { fake, core, read } = await setup(() => FIVE)
  assert.deepEqual(await read(), [1, 2, 3, 4, 5])
  assert.deepEqual(await read({}, 3), [1, 2, 3])
  assert.deepEqual(await read(), [1, 2, 3, 4, 5])
  assert.deepEqual(core.calls, { started: 3, succeeded: 3, failed: 0, retried: 0 })
  assert.equal(core.pool.stats.total, 1)
  assert.equal(fake.sessions.length, 1, 'leaving the loop does not cost the connection')
})

test('it begins again as long as no row was handed out, and never after that', async () => {
  let calls = 0
  const { fake, read } = await setup(() => (++calls < 3 ? { cut: true } : FIVE))
  assert.deepEqual(await read(), [1, 2, 3, 4, 5])
  assert.equal(fake.sessions.length, 3)
  const { fake: other, core, read: again } = await setup(() => FIVE)
  const seen: number[] = []
  await assert.rejects(
    async () => {
      for await (const { n } of stream<{ n: number }>(core, 'SELECT n', [], { batchSize: 2 })) {
        seen.push(n)
        if (n === 2) other.sessions[0]?.socket.destroy()
      }
    },
    { category: 'connection' },
  )
  assert.deepEqual(seen, [1, 2])
  assert.equal(other.texts.length, 1)
  assert.deepEqual((await again()).length, 5)
})

test('a statement that writes is not begun again', async () => {
  const { fake, core } = await setup(() => ({ cut: true }))
  const rows = stream(core, 'INSERT', [], {})
  await assert.rejects(rows.next(), { mayHaveExecuted: true })
  assert.equal(fake.texts.length, 1)
})

test('a time limit ends it, on the server too, between rows and while waiting', async () => {
  const { fake, core, read } = await setup(() => ({ hang: true }))
  await core.pool.warmup(1) // the time is for the statement
  await assert.rejects(read({ timeoutMs: 30 }), { category: 'timeout' })
  // Free again only when the cancel request and its statement are over.
  core.pool.release(await core.lease(undefined, 1))
  assert.equal(fake.cancels.length, 1)
  const { core: slow } = await setup(() => FIVE)
  await assert.rejects(
    async () => {
      for await (const row of stream(slow, 'SELECT n', [], { batchSize: 2, timeoutMs: 30 })) {
        assert(row)
        await new Promise((done) => setTimeout(done, 20))
      }
    },
    { category: 'timeout' },
  )
})

test('the breaker hears of it', async () => {
  const { core, read } = await setup(() => ({ cut: true }), { retry: false, circuitBreaker: { failureThreshold: 1 } })
  await assert.rejects(read())
  await assert.rejects(read(), { category: 'circuit-open' })
  assert.equal(core.breaker?.stats.opened, 1)
})

test('the batch size must make sense', () => {
  for (const batchSize of [0, -1, 1.5, NaN]) {
    assert.throws(() => portalFor('SELECT 1', [], batchSize), /batchSize/)
  }
  portalFor('SELECT 1', undefined, undefined)
})
