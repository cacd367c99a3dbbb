import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { FakeServer } from '../test/support/fake'
import { stops } from '../test/support/stops'
import type { PgParallelDriver } from './asDriver'
import { PgParallel } from './client'
import type { Submittable } from './wire/submitted'

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

test('what is asked while it connects is sent in order when it has, and drain is told at the end of all', async () => {
  const { fake, driver } = await setup()
  const client = new driver.Client()
  const connected = client.connect()
  const order: string[] = []
  const first = client.query('one').then(({ rows }) => order.push(`one ${rows.length}`))
  client.query('two', () => order.push('two'))
  const failing = client.query('bad')
  const drained = once(client, 'drain')
  await assert.rejects(failing, { code: '22012' })
  await Promise.all([connected, first, drained])
  assert.deepEqual(order, ['one 1', 'two'])
  assert.deepEqual(fake.texts, ['one', 'two', 'bad'])
  await client.end()
})

test('a statement that speaks for itself is sent at once, or when the client is connected', async () => {
  const { fake, driver } = await setup()
  const client = new driver.Client()
  const connected = client.connect()
  const statement = (text: string): Submittable & { heard: Promise<string> } => {
    let hear = (_: string): void => {}
    const heard = new Promise<string>((resolve) => (hear = resolve))
    return {
      heard,
      submit: (connection) => {
        connection.query(text)
      },
      handleReadyForQuery: () => {
        hear('ready')
      },
      handleError: ({ message }) => {
        hear(message)
      },
    }
  }
  const early = statement('early')
  assert.equal(client.query(early), early)
  assert.equal(await early.heard, 'ready')
  await connected
  let submitted = false
  const now = statement('now')
  const submit = now.submit.bind(now)
  now.submit = (connection) => {
    submitted = true
    return submit(connection)
  }
  client.query(now)
  // Who closes a cursor in the same turn must find it begun, or it stays open.
  assert.equal(submitted, true)
  const order: string[] = []
  const after = [client.query('after').then(() => order.push('after'))]
  const last = statement('last')
  client.query(last)
  after.push(last.heard.then(() => order.push('last')))
  await Promise.all(after)
  assert.deepEqual(order, ['after', 'last'])
  assert.deepEqual(fake.texts, ['early', 'now', 'after', 'last'])
  await client.end()
  const late = statement('late')
  assert.equal(client.query(late), late)
  assert.match(await late.heard, /was ended/)
})

test('its end does not wait for a statement that nobody reads to its end', { timeout: 60_000 }, async () => {
  const { driver } = await setup()
  const client = new driver.Client()
  await client.connect()
  const heard = new Promise<string>((resolve) => {
    client.query({
      submit: () => {},
      handleError: ({ message }: Error) => {
        resolve(message)
      },
    })
  })
  await client.end()
  assert.match(await heard, /closed|terminated/i)
})

test(
  'a statement that has heard an error does not hear of the end of its connection',
  { timeout: 60_000 },
  async () => {
    const { driver } = await setup()
    const client = new driver.Client()
    await client.connect()
    const heard: string[] = []
    const failed = new Promise<void>((resolve) => {
      const statement: Submittable = {
        // Without Sync the round trip goes on after the error.
        submit: (connection) => {
          connection.parse({ text: 'bad' })
          connection.bind({})
          connection.execute({})
          connection.flush()
        },
        handleError: ({ message }) => {
          heard.push(message)
          resolve()
        },
      }
      client.query(statement)
    })
    await failed
    await client.end()
    await new Promise(setImmediate)
    assert.equal(heard.length, 1, heard.join(', '))
  },
)

test('a statement that speaks for itself hears that there is no connection', async () => {
  const { fake, driver } = await setup()
  await fake.stop()
  const client = new driver.Client()
  const refused = assert.rejects(client.connect(), { category: 'connection' })
  const heard = new Promise<Error>((resolve) => {
    client.query({ submit: () => {}, handleError: resolve })
  })
  await refused
  assert.equal(((await heard) as { category?: string }).category, 'connection')
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
