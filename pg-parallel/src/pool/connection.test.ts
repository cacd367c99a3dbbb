import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeServer, type Answer, type FakeSession } from '../../test/support/fake'
import { stops } from '../../test/support/stops'
import { resolveSettings } from '../options'
import { Connection, sendCancel, type ConnectionConfig } from './connection'

const config = (fake: FakeServer): ConnectionConfig => {
  const { client, session } = resolveSettings(fake.options)
  return { ...client, session, connectionTimeoutMillis: 5_000 }
}

async function open(
  answer?: (text: string, session: FakeSession) => Answer | undefined,
): Promise<{ fake: FakeServer; connection: Connection }> {
  const fake = await FakeServer.start(answer)
  const connection = await Connection.open(config(fake), fake.address, new Set())
  stops.push(
    () => connection.destroy(),
    () => fake.stop(),
  )
  return { fake, connection }
}

test('opening fails with what the server says, and leaves nothing behind', async () => {
  const fake = await FakeServer.start()
  stops.push(() => fake.stop())
  fake.refuse = '53300'
  const opening = new Set<Connection>()
  const attempt = Connection.open(config(fake), fake.address, opening)
  assert.equal(opening.size, 1)
  await assert.rejects(attempt, { code: '53300' })
  assert.equal(opening.size, 0)
})

test('a connection lost while idle is unusable and gone; the process goes on', async () => {
  const { fake, connection } = await open()
  const told: string[] = []
  connection.onDead = (): unknown => told.push('dead')
  const gone = new Promise<void>((done) => (connection.onGone = done))
  assert(connection.usable)
  fake.sessions[0]?.socket.destroy()
  await gone
  assert.deepEqual(told, ['dead'])
  assert.equal(connection.usable, false)
  assert.equal(connection.gone, true)
  assert.match(connection.failure?.message ?? '', /Connection terminated/)
})

test('ping tells a live connection from a dead one, and gives the dead one up', async () => {
  const { connection } = await open()
  assert.equal(await connection.ping(5_000), true)
  const silent = await open(() => ({ hang: true }))
  assert.equal(await silent.connection.ping(20), false)
  assert.equal(silent.connection.usable, false)
  const cut = await open(() => ({ cut: true }))
  assert.equal(await cut.connection.ping(5_000), false)
})

test('cancel asks the server; the connection is free when both have been answered', async () => {
  const { fake, connection } = await open((text) => ({ hang: text === 'SELECT slow' }))
  const slow = connection.query('SELECT slow').catch((error: unknown) => (error as { code: string }).code)
  assert.equal(connection.quiet, false)
  connection.cancel(5_000)
  connection.cancel(5_000) // once is enough
  await connection.quiesce(5_000)
  assert.equal(await slow, '57014')
  assert.deepEqual(fake.cancels, [connection.processID])
  assert.equal(connection.quiet, true)
  await connection.query('SELECT quick')
})

test('a statement that does not end after its cancel request costs the connection', async () => {
  const { connection } = await open((_text, session) => {
    session.cancel = (): void => {} // it hears nothing
    return { hang: true }
  })
  const lost = assert.rejects(connection.query('SELECT slow'))
  connection.cancel(30)
  await lost
  assert.equal(connection.usable, false)
  assert.match(connection.failure?.message ?? '', /did not end in time/)
})

test('a cancel request that cannot be delivered costs the connection: it might arrive later', async () => {
  const fake = await FakeServer.start()
  const { address } = fake
  await fake.stop()
  const key = { processID: 1, secretKey: new Uint8Array(4), ...address }
  await assert.rejects(sendCancel(key, {}, 1_000), { code: 'ECONNREFUSED' })
  const { connection } = await open()
  Object.defineProperty(connection, 'cancelKey', { value: key })
  connection.cancel(1_000)
  await connection.cancelled
  assert(!connection.usable)
  assert.match(connection.failure?.message ?? '', /ECONNREFUSED/)
})

test('the role comes from what the server reports, or from asking', async () => {
  const reporting = await FakeServer.start()
  stops.push(() => reporting.stop())
  reporting.parameters = { in_hot_standby: 'on', default_transaction_read_only: 'off' }
  const connection = await Connection.open(config(reporting), reporting.address, new Set())
  stops.unshift(() => connection.destroy())
  assert.deepEqual(await connection.role(), { standby: true, readOnly: false })
  assert.deepEqual(reporting.texts, [])
  const older = await open((text) =>
    text.startsWith('SHOW') ? { rows: [{ transaction_read_only: 'on' }] } : { rows: [{ standby: 'f' }] },
  )
  assert.deepEqual(await older.connection.role(), { standby: false, readOnly: true })
})

test('forgotten statements are parsed again, and the old ones closed', async () => {
  const { fake, connection } = await open()
  const run = (name: string): Promise<void> =>
    new Promise((resolve, reject) => {
      connection.submit({ name, text: `SELECT ${name}` }, undefined, (error) => {
        if (error) reject(error)
        else resolve()
      })
    })
  await run('one')
  await run('one')
  connection.stale = true
  connection.forgetStatements()
  assert.equal(connection.stale, false)
  await run('one')
  const heard = fake.sessions[0]?.heard.filter((one) => /^(Parse|Close)/.test(one))
  assert.deepEqual(heard, ['Parse SELECT one', 'Close Sone', 'Parse SELECT one'])
})

test('close says goodbye and waits; a server that does not answer is left after a while', async () => {
  const { fake, connection } = await open()
  await connection.close(5_000)
  assert.equal(connection.gone, true)
  assert.equal(fake.sessions[0]?.heard.at(-1), 'Terminate')
  await connection.close(5_000)
  const stuck = await open(() => ({ hang: true }))
  const lost = assert.rejects(stuck.connection.query('SELECT slow'))
  await stuck.connection.close(20)
  await lost
  assert.equal(stuck.connection.usable, false)
})
