import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeServer } from '../../test/support/fake'
import { stops } from '../../test/support/stops'
import { ThreadDatabase, type WorkerClient } from './database'

async function setup(options = {}): Promise<{ fake: FakeServer; database: ThreadDatabase; told: string[] }> {
  const fake = await FakeServer.start((text) => (text === 'rows' ? { rows: [{ n: '1' }, { n: '2' }] } : {}))
  const told: string[] = []
  const database = new ThreadDatabase(
    { ...fake.options, ...options, max: 7 },
    {
      reserve: async () => {
        told.push('reserve')
        await Promise.resolve()
      },
      unreserve: () => told.push('unreserve'),
      password: () => 'secret',
      opened: (key) => told.push(`opened ${key?.processID ?? 'nothing'}`),
      log: (level, message) => told.push(`${level} ${message}`),
      tell: ({ id, begun, ended }) => told.push(`call ${id} ${begun?.text ?? ended?.attempts ?? ''}`),
    },
  )
  stops.push(() => fake.stop())
  return { fake, database, told }
}

test('a client does what an instance does, on one connection with a slot for it', async () => {
  const { fake, database, told } = await setup()
  const result = await database.use(async (client) => {
    const { rows } = await client.query<{ n: number }>('rows')
    const { rows: arrays } = await client.query({ text: 'rows', rowMode: 'array' })
    await client.transaction(async (tx) => tx.query('inside'))
    const streamed: unknown[] = []
    for await (const row of client.stream('rows')) streamed.push(row['n'])
    await Promise.all([client.query('one'), client.query('two')])
    return [rows.length, arrays, streamed]
  })
  assert.deepEqual(result, [2, [[1], [2]], [1, 2]])
  assert.equal(fake.sessions.length, 1)
  assert.deepEqual(told, ['reserve', 'opened 1'])
})

test('the function’s end waits for what it did not wait for, and after it the client is dead', async () => {
  const { fake, database } = await setup()
  let kept: WorkerClient | undefined
  await database.use(async (client) => {
    kept = client
    void client.query('forgotten')
    await Promise.resolve()
  })
  assert.deepEqual(fake.texts, ['forgotten'])
  const dead = kept
  assert(dead)
  await assert.rejects(dead.query('SELECT 1'), { category: 'closed' })
  await assert.rejects(
    dead.transaction(async () => {}),
    { category: 'closed' },
  )
  assert.throws(() => dead.stream('SELECT 1'), { category: 'closed' })
})

test('an idle connection is given up when it is wanted elsewhere, and made again when needed', async () => {
  const { fake, database, told } = await setup()
  await database.use(async (client) => client.query('one'))
  database.giveUpIdle()
  while (!told.includes('unreserve')) await new Promise(setImmediate)
  await database.use(async (client) => client.query('two'))
  assert.deepEqual(told, ['reserve', 'opened 1', 'unreserve', 'reserve', 'opened 2'])
  assert.equal(fake.sessions.length, 2)
})

test('what went wrong on the way is reported to the main thread', async () => {
  const { fake, database, told } = await setup({ retry: false })
  fake.refuse = '57P03'
  await assert.rejects(
    database.use(async (client) => client.query('SELECT 1')),
    { category: 'shutdown' },
  )
  assert.deepEqual(told, ['reserve', 'unreserve', 'warn could not connect: fake 57P03'])
})
