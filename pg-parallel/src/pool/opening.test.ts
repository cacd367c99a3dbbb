import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeServer } from '../../test/support/fake'
import { stops } from '../../test/support/stops'
import { resolveSettings, type PgParallelOptions } from '../options'
import type { Opening } from '../wire/connect'
import { openAny } from './opening'

async function fake(): Promise<FakeServer> {
  const server = await FakeServer.start()
  stops.push(() => server.stop())
  return server
}

const settingsFor = (servers: FakeServer[], options: PgParallelOptions = {}): ReturnType<typeof resolveSettings> => {
  const hosts = servers.map(({ options: { host, port } }) => ({ host, port }))
  return resolveSettings({ ...servers[0]?.options, host: undefined, port: undefined, hosts, ...options })
}

test('the first server that lets in is taken, and the most telling failure is reported where none does', async () => {
  const [full, there] = [await fake(), await fake()]
  full.refuse = '53300'
  const connecting = new Set<Opening>()
  const connection = await openAny(settingsFor([full, there]), connecting)
  assert.equal(connection.address.port, there.options.port)
  assert.equal(connecting.size, 0)
  connection.destroy()
  there.refuse = '57P03'
  await assert.rejects(openAny(settingsFor([full, there]), connecting), { sqlState: '53300' })
})

test('a server of another kind is left, and its connection closed', async () => {
  const [standby, primary] = [await fake(), await fake()]
  Object.assign(standby.parameters, { in_hot_standby: 'on', default_transaction_read_only: 'off' })
  Object.assign(primary.parameters, { in_hot_standby: 'off', default_transaction_read_only: 'off' })
  const connection = await openAny(settingsFor([standby, primary], { targetSessionAttrs: 'primary' }), new Set())
  assert.equal(connection.address.port, primary.options.port)
  connection.destroy()
  await assert.rejects(openAny(settingsFor([standby], { targetSessionAttrs: 'primary' }), new Set()), {
    category: 'read-only',
  })
})

test('onConnect and verify come before anybody gets the connection; what they throw closes it', async () => {
  const server = await fake()
  const order: string[] = []
  const options: PgParallelOptions = {
    onConnect: async (client) => {
      await client.query('SET a = 1')
      order.push('onConnect')
    },
    verify: (_, done) => {
      order.push('verify')
      done()
    },
  }
  const connection = await openAny(settingsFor([server], options), new Set())
  assert.deepEqual(order, ['onConnect', 'verify'])
  assert.deepEqual(server.texts, ['SET a = 1'])
  connection.destroy()
  const no = (): never => {
    throw new Error('not this one')
  }
  await assert.rejects(openAny(settingsFor([server], { onConnect: no }), new Set()), /not this one/)
})
