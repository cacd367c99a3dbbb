/** How a session begins on a real server: passwords, SCRAM with and without channel binding, TLS. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { PgParallelOptions } from '../src/index'
import { direct, failure, open } from './support/run'
import { futureServer, startServer, TARGET } from './support/servers'

const one = async (options: PgParallelOptions): Promise<unknown> => {
  const db = open({ retry: false, max: 1, ...options })
  try {
    return (await db.query('SELECT current_user AS who')).rows[0]?.['who']
  } finally {
    await db.shutdown()
  }
}

test('SCRAM with channel binding, SCRAM, MD5 and the clear text', { skip: TARGET === 'pgsqlite' }, async () => {
  const server = await futureServer({ tls: true })
  await server.start()
  await direct(
    "SET password_encryption = 'scram-sha-256'; CREATE ROLE scram LOGIN PASSWORD 'pä\u00a0ss'",
    [],
    server.url,
  )
  await direct("SET password_encryption = 'md5'; CREATE ROLE md5 LOGIN PASSWORD 'secret'", [], server.url)
  await direct("CREATE ROLE clear LOGIN PASSWORD 'secret'", [], server.url)
  writeFileSync(
    join(server.socketDir, 'data/pg_hba.conf'),
    'host all scram all scram-sha-256\nhost all md5 all md5\nhost all clear all password\nhost all postgres all trust\n',
  )
  await direct('SELECT pg_reload_conf()', [], server.url)
  const { host, port } = server
  const at = { host, port, database: 'postgres' }
  const ssl = { rejectUnauthorized: false }
  const scram = { ...at, user: 'scram', password: 'pä\u00a0ss' }
  assert.equal(await one(scram), 'scram')
  assert.equal(await one({ ...scram, ssl }), 'scram')
  assert.equal(await one({ ...scram, ssl, channelBinding: 'require', requireAuth: 'scram-sha-256' }), 'scram')
  assert.equal(await one({ ...scram, ssl, channelBinding: 'disable' }), 'scram')
  assert.match((await failure(one({ ...scram, channelBinding: 'require' }))).message, /channel binding/)
  const wrong = await failure(one({ ...scram, password: 'other' }))
  assert.deepEqual([wrong.category, wrong.sqlState, wrong.attempts], ['authentication', '28P01', 1])
  assert.equal(await one({ ...at, user: 'md5', password: 'secret' }), 'md5')
  assert.equal(await one({ ...at, user: 'clear', password: () => 'secret' }), 'clear')
  const refused = await failure(one({ ...at, user: 'clear', password: 'secret', requireAuth: '!password' }))
  assert.match(refused.message, /requireAuth/)
})

test('TLS: certificates are checked, and what does not fit is category tls', async () => {
  const server = await startServer({ tls: true })
  const error = await failure(one({ connectionString: server.url, ssl: true }))
  assert.deepEqual([error.category, error.attempts], ['tls', 1])
  assert.equal(await one({ connectionString: server.url, ssl: { rejectUnauthorized: false } }), 'postgres')
})
