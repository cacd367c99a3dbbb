import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeServer } from '../test/support/fake'
import { stops } from '../test/support/stops'
import { PgParallel } from './client'
import { threadReading, wantsThread } from './remote'
import { sql } from './sql'

test('only what was asked to be read on a thread is', () => {
  assert(wantsThread({ text: 'SELECT 1', decode: 'thread' }))
  assert(!wantsThread({ text: 'SELECT 1', decode: 'main' }) && !wantsThread('SELECT 1') && !wantsThread(sql`SELECT 1`))
  assert.throws(() => wantsThread({ decode: 'elsewhere' }), { category: 'configuration' })
  assert.equal(threadReading('SELECT 1', [], { batchSize: 2 }), undefined)
  assert.deepEqual(threadReading('SELECT $1', [1], { decode: 'thread', batchSize: 2 }), {
    text: 'SELECT $1',
    values: [1],
    options: { batchSize: 2 },
    schema: undefined,
  })
  assert.deepEqual(threadReading(sql`SELECT ${1}`, { decode: 'thread' }, undefined)?.values, [1])
})

test('what makes no sense is refused before a thread is started', async () => {
  const fake = await FakeServer.start(() => ({}))
  const db = new PgParallel({ ...fake.options, maxWorkers: 1 })
  const none = new PgParallel({ ...fake.options, maxWorkers: 0 })
  const binary = new PgParallel({ ...fake.options, maxWorkers: 1, binary: true })
  stops.push(async () => {
    await Promise.all([db, none, binary].map((one) => one.shutdown({ timeoutMs: 0 })))
    await fake.stop()
  })
  const text = 'SELECT 1'
  const decode = 'thread'
  for (const call of [
    none.query({ text, decode }),
    none.stream(text, [], { decode }).next(),
    binary.query({ text, decode }),
    db.query({ text, decode, binary: true }),
    db.query({ text: 'BEGIN', decode }),
    db.query({ text: '\0', decode }),
    db.cursor(text, [], { decode, batchSize: 0 }).next(),
    db.transaction((tx) => tx.stream(text, [], { decode } as never).next()),
  ]) {
    await assert.rejects(call, { category: 'configuration' })
  }
  assert.equal(db.stats.workers.threads, 0)
})
