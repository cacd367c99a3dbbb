/** LISTEN and NOTIFY, across lost connections and restarts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Notification } from '../src/index'
import { direct, eventually, failure, onServer, open } from './support/run'
import { startServer } from './support/servers'

test('notifications arrive until nobody listens any more', async () => {
  const db = await onServer({ max: 2 })
  const told: string[] = []
  const hear = ({ channel, payload }: Notification): void => void told.push(`${channel} ${payload}`)
  const first = await db.listen('News', hear)
  const second = await db.listen('News', hear)
  const other = await db.listen('other', hear)
  await db.notify('News', 'one')
  await direct("NOTIFY other, 'two'")
  await direct('NOTIFY news')
  await eventually('both have arrived', () => told.length === 3)
  assert.deepEqual(told, ['News one', 'News one', 'other two'])
  await first.unlisten()
  await db.notify('News', 'three')
  await eventually('it has arrived', () => told.length === 4)
  await second.unlisten()
  await other.unlisten()
  assert.equal(db.stats.pool.idle, db.stats.pool.total, 'the connection went back')
  await db.notify('News', 'four')
  assert.equal((await db.one('SELECT count(*)::int AS n FROM pg_listening_channels()'))['n'], 0)
  assert.equal(told.length, 4)
})

test('a connection that is lost is replaced, and those who listen are told', async () => {
  const db = await onServer({ max: 2, retry: { initialDelayMs: 5 } })
  const told: string[] = []
  await db.listen('steady', ({ payload }) => void told.push(payload), {
    onListen: ({ again }) => void told.push(again ? 'again' : 'first'),
  })
  const subscription = await db.listen('second', () => {})
  for (let round = 1; round <= 3; round++) {
    await direct(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()",
    )
    await eventually('it listens again', () => told.filter((one) => one === 'again').length === round)
    await db.notify('steady', `round ${round}`)
    await eventually('it has arrived', () => told.at(-1) === `round ${round}`)
  }
  assert.deepEqual(told, ['first', 'again', 'round 1', 'again', 'round 2', 'again', 'round 3'])
  await subscription[Symbol.asyncDispose]()
})

test('a restart of the server is survived', async () => {
  const own = await startServer()
  const db = open({ connectionString: own.url, max: 2, retry: { initialDelayMs: 5, maxDelayMs: 20, maxAttempts: 3 } })
  const told: string[] = []
  await db.listen('restart', ({ payload }) => void told.push(payload), {
    onListen: ({ again }) => void told.push(again ? 'again' : 'first'),
  })
  await own.stop('kill')
  await new Promise((resolve) => setTimeout(resolve, 300))
  await own.start()
  await eventually('it listens again', () => told.includes('again'))
  await db.notify('restart', 'here')
  await eventually('it has arrived', () => told.includes('here'))
  assert.deepEqual(told, ['first', 'again', 'here'])
})

test('shutdown does not wait for those who listen', async () => {
  const db = await onServer({ max: 2 })
  await db.listen('last', () => {})
  await db.shutdown()
  assert.equal(db.stats.pool.total, 0)
  assert.equal((await failure(db.listen('last', () => {}))).category, 'closed')
})

test('what cannot be listened to is refused', async () => {
  const alone = await onServer({ max: 1 })
  assert.match((await failure(alone.listen('x', () => {}))).message, /max is 1/)
  const db = await onServer({ max: 2 })
  for (const channel of ['', 'x'.repeat(64), 'a\0b']) {
    assert.equal((await failure(db.listen(channel, () => {}))).category, 'configuration')
  }
  assert.equal((await failure(db.listen('x', undefined as never))).category, 'configuration')
})
