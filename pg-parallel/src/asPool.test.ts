import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeServer } from '../test/support/fake'
import { stops } from '../test/support/stops'
import { PgParallel } from './client'
import type { PgParallelPool, PooledClient } from './asPool'

async function setup(): Promise<{ fake: FakeServer; pool: PgParallelPool; db: PgParallel }> {
  const fake = await FakeServer.start((text) => (text === 'bad' ? { error: '22012' } : { rows: [{ n: '1' }] }))
  const db = new PgParallel({ ...fake.options, max: 1, retry: { initialDelayMs: 1 } })
  stops.push(async () => {
    await db.shutdown({ timeoutMs: 0 })
    await fake.stop()
  })
  return { fake, pool: db.asPool(), db }
}

test('libraries know it by its name, and it is the same each time', async () => {
  const { pool, db } = await setup()
  assert.match(pool.constructor.name, /Pool/)
  assert.equal(db.asPool(), pool)
  assert.equal(typeof pool.listeners, 'function')
  assert.equal(pool.options.max, 1)
})

test('a transaction of the caller’s own, on a connection that is released', async () => {
  const { fake, pool } = await setup()
  const told: string[] = []
  for (const name of ['connect', 'acquire', 'release']) pool.on(name, () => told.push(name))
  const client = await pool.connect()
  await client.query('BEGIN')
  assert.deepEqual((await client.query('INSERT', [1])).rows, [{ n: 1 }])
  await client.query('COMMIT')
  assert.deepEqual([pool.totalCount, pool.idleCount], [1, 0])
  client.release()
  assert.throws(() => {
    client.release()
  }, /already been released/)
  await assert.rejects(client.query('SELECT 1'), /released/)
  assert.deepEqual(fake.texts, ['BEGIN', 'INSERT', 'COMMIT'])
  assert.deepEqual(told, ['connect', 'acquire', 'release'])
  const again = await pool.connect()
  await again.query('BEGIN')
  again.release()
  await pool.query('SELECT 1')
  assert.equal(fake.texts.filter((text) => text === 'ROLLBACK').length, 1, 'an open transaction is rolled back')
})

test('a client that is released with an error is closed', async () => {
  const { fake, pool } = await setup()
  const client = await pool.connect()
  client.release(new Error('broken'))
  await pool.query('SELECT 1')
  assert.equal(fake.sessions.length, 2)
})

test('callbacks', async () => {
  const { pool } = await setup()
  const rows = await new Promise((resolve) => {
    pool.query('SELECT $1', [1], (_error, result) => {
      resolve(result?.rows)
    })
  })
  assert.deepEqual(rows, [{ n: 1 }])
  const code = await new Promise((resolve) => {
    pool.query('bad', (error) => {
      resolve((error as { code?: string } | null)?.code)
    })
  })
  assert.equal(code, '22012')
  const client = await new Promise<PooledClient | undefined>((resolve) => {
    pool.connect((_error, found, release) => {
      release?.()
      resolve(found)
    })
  })
  assert(client)
  await new Promise<void>((resolve) => {
    pool.end(() => {
      resolve()
    })
  })
  assert.deepEqual([pool.ending, pool.ended], [true, true])
  await assert.rejects(pool.connect(), { category: 'closed' })
})
