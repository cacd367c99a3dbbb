import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { FakeServer } from '../test/support/fake'
import { stops } from '../test/support/stops'
import type { PgParallelDriver } from './asDriver'
import { PgParallel } from './client'

async function setup(): Promise<{ fake: FakeServer; driver: PgParallelDriver; db: PgParallel }> {
  const fake = await FakeServer.start((text) => (text === 'bad' ? { error: '22012' } : { rows: [{ n: '1' }] }))
  const db = new PgParallel({ ...fake.options, max: 1, retry: { initialDelayMs: 1, maxAttempts: 2 } })
  stops.push(async () => {
    await db.shutdown({ timeoutMs: 0 })
    await fake.stop()
  })
  return { fake, driver: db.asDriver(), db }
}

test('a client connects, answers and ends, by promise and by callback', async () => {
  const { fake, driver } = await setup()
  const client = new driver.Client()
  assert.equal(await client.connect(), client)
  assert.equal(client.processID, fake.sessions[0]?.pid)
  assert.deepEqual((await client.query('one')).rows, [{ n: 1 }])
  await client.end()
  const second = new driver.Client()
  await new Promise<void>((resolve) => {
    second.connect((error) => {
      assert.equal(error, undefined)
      second.query('bad', (failed) => {
        assert.equal((failed as { code?: string } | null)?.code, '22012')
        second.end(() => {
          resolve()
        })
      })
    })
  })
  assert.equal(fake.sessions.length, 2, 'the first connection was closed, not kept for others')
})

test('before it is connected and after it has ended, a client refuses by the way it was asked', async () => {
  const { driver } = await setup()
  const client = new driver.Client()
  await assert.rejects(client.query('one'), /connect\(\) first/)
  const refused = await new Promise((resolve) => {
    client.query('one', [], resolve)
  })
  assert.match(String(refused), /connect\(\) first/)
  await client.end()
  await assert.rejects(client.query('one'), /was ended/)
})

test('a client’s own parsers hold for it alone', async () => {
  const { driver, db } = await setup()
  const client = new driver.Client({ types: { getTypeParser: () => () => 'parsed' } })
  await client.connect()
  assert.deepEqual((await client.query('one')).rows, [{ n: 'parsed' }])
  const ended = once(client, 'end')
  await client.end()
  await ended
  assert.deepEqual((await db.query('one')).rows, [{ n: 1 }])
})

test('the settings that the server reports are told while it connects', async () => {
  const { driver } = await setup()
  const client = new driver.Client()
  const told: unknown[] = []
  client.connection.on('parameterStatus', (message) => told.push(message))
  await client.connect()
  assert(told.length > 0)
  await client.end()
})

test('a connection that cannot be made is an error of connect, and end has nothing to do then', async () => {
  const { fake, driver } = await setup()
  await fake.stop()
  const client = new driver.Client()
  await assert.rejects(client.connect(), { category: 'connection' })
  await client.end()
})

test('a pool made of it is the instance’s', async () => {
  const { driver, db } = await setup()
  assert.equal(new driver.Pool(), db.asPool())
  assert.equal(typeof driver.types.setTypeParser, 'function')
})
