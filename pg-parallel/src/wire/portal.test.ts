import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeServer, type Answer } from '../../test/support/fake'
import { stops } from '../../test/support/stops'
import { ErrorUtils } from '../errors'
import { resolveSettings } from '../options'
import { Connection } from '../pool/connection'
import { Portal, type Row } from './portal'

const FIVE = { rows: [1, 2, 3, 4, 5].map((n) => ({ n: String(n) })) }

async function open(answer: Answer, options: object = {}): Promise<{ connection: Connection; heard: () => string[] }> {
  const fake = await FakeServer.start(() => answer)
  const { client, session } = resolveSettings({ ...fake.options, ...options })
  const config = { ...client, session, connectionTimeoutMillis: 5_000 }
  const connection = await Connection.open(config, fake.address, new Set())
  stops.push(
    () => connection.destroy(),
    () => fake.stop(),
  )
  return { connection, heard: () => fake.sessions[0]?.heard ?? [] }
}

async function all(portal: Portal, connection: Connection): Promise<unknown[][]> {
  const batches: unknown[][] = []
  for (let rows: Row[] | undefined; (rows = await portal.read(connection.session));)
    batches.push(rows.map((row) => row['n']))
  return batches
}

const settled = (connection: Connection): Promise<void> => new Promise((done) => connection.settled(done, 5_000))

test('without a name: one round trip, a Flush for each batch, one Sync at the end', async () => {
  const { connection, heard } = await open(FIVE)
  const portal = new Portal('SELECT n', [], 2, '')
  assert.deepEqual(await all(portal, connection), [[1, 2], [3, 4], [5]])
  await settled(connection)
  assert.deepEqual(heard(), [
    ...['Parse SELECT n', 'Bind', 'Describe', 'Execute 2', 'Flush', 'Execute 2', 'Flush', 'Execute 2', 'Flush', 'Sync'],
  ])
})

test('with a name: a round trip for each batch, in which others may come between', async () => {
  const { connection, heard } = await open(FIVE)
  await connection.query('BEGIN')
  const portal = new Portal('SELECT n', [], 3, 'p')
  assert.deepEqual((await portal.read(connection.session))?.length, 3)
  await settled(connection)
  await connection.query('SELECT other')
  assert.deepEqual(await all(portal, connection), [[4, 5]])
  await settled(connection)
  portal.end(connection.session)
  await settled(connection)
  portal.end(connection.session)
  assert.deepEqual(heard(), [
    'Query BEGIN',
    ...['Parse SELECT n', 'Bind p', 'Describe', 'Execute p 3', 'Sync'],
    'Query SELECT other',
    ...['Execute p 3', 'Sync', 'Close Pp', 'Sync'],
  ])
})

test('leaving early closes the portal, with a name and without', async () => {
  for (const name of ['', 'p']) {
    const { connection, heard } = await open(FIVE)
    if (name !== '') await connection.query('BEGIN')
    const portal = new Portal('SELECT n', [], 2, name)
    await portal.read(connection.session)
    if (name !== '') await settled(connection)
    portal.end(connection.session)
    await settled(connection)
    assert.deepEqual(heard().slice(-2), [`Close P${name}`, 'Sync'], name)
    assert.equal((await connection.query('SELECT n')).rows.length, 5)
  }
})

test('an error ends it, and the connection goes on', async () => {
  for (const name of ['', 'p']) {
    const { connection } = await open({ error: '22012' })
    const portal = new Portal('SELECT 1/0', [], 2, name)
    await assert.rejects(portal.read(connection.session), { code: '22012' })
    assert.equal(portal.sent, true)
    await settled(connection)
    assert(connection.usable)
  }
})

test('a value that cannot be converted ends it before anything is run', async () => {
  for (const name of ['', 'p']) {
    const { connection, heard } = await open({})
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    const portal = new Portal('SELECT $1', [circle], 2, name)
    await assert.rejects(portal.read(connection.session), /circular/)
    assert.equal(portal.sent, false)
    await settled(connection)
    assert(!heard().some((one) => one.startsWith('Execute')))
  }
})

test('a reader that gives up hears at once, and the rest is dropped', async () => {
  const { connection } = await open({ hang: true })
  const portal = new Portal('SELECT n', [], 2, '')
  const reading = portal.read(connection.session)
  portal.giveUp(new Error('enough'))
  await assert.rejects(reading, /enough/)
  connection.cancel(1_000)
  await connection.quiesce(1_000)
  assert(connection.usable)
})

test('COPY is refused in both directions', async () => {
  for (const name of ['', 'p']) {
    for (const copy of ['in', 'out'] as const) {
      const { connection } = await open({ copy })
      const portal = new Portal('COPY t', [], 2, name)
      await assert.rejects(portal.read(connection.session), (error) => {
        assert.match(String(error), /is not supported/)
        return !ErrorUtils.isInfrastructure(error)
      })
      await settled(connection)
      assert(connection.usable)
    }
  }
})

test('rows are read by the connection’s type parsers', async () => {
  const types = { getTypeParser: () => (value: unknown) => `<${String(value)}>` }
  const { connection } = await open({ rows: [{ n: '1' }] }, { types })
  assert.deepEqual(await all(new Portal('SELECT n', [], 2, ''), connection), [['<1>']])
})
