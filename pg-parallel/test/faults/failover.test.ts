/** Several hosts: which one is taken, and what happens when the primary is another one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { direct, failure, open, server } from '../support/run'
import { freePort, startServer, TARGET } from '../support/servers'

test('a host that does not answer is passed over', async () => {
  const { port } = await server()
  const dead = await freePort()
  for (const options of [
    { connectionString: `postgres://postgres@127.0.0.1:${dead},127.0.0.1:${port}/postgres` },
    { host: '127.0.0.1,127.0.0.1', port: `${dead},${port}` as never, user: 'postgres', database: 'postgres' },
    {
      hosts: [
        { host: '127.0.0.1', port: dead },
        { host: '127.0.0.1', port },
      ],
      user: 'postgres',
      database: 'postgres',
    },
  ]) {
    const db = open(options)
    assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
  }
})

test('a Unix socket is a host too', async () => {
  const { socketDir, port } = await server()
  const db = open({ host: socketDir, port, user: 'postgres', database: 'postgres' })
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
})

const CASES: [string, 'first' | 'second' | 'none'][] = [
  ['any', 'first'],
  ['read-only', 'first'],
  ['standby', 'first'],
  ['prefer-standby', 'first'],
  ['read-write', 'second'],
  ['primary', 'second'],
]

test(
  'target_session_attrs finds the right server, and follows a failover',
  { skip: TARGET === 'pgsqlite' },
  async () => {
    const primary = await startServer()
    const standby = await startServer({ standbyOf: primary })
    await direct('CREATE TABLE t (a int)', [], primary.url)
    const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`
    const portOf = (which: string): number => (which === 'first' ? standby.port : primary.port)
    for (const [target, expected] of CASES) {
      const db = open({ connectionString: `postgres://postgres@${hosts}/postgres?target_session_attrs=${target}` })
      const { rows } = await db.query("SELECT current_setting('port')::int AS port")
      assert.equal(rows[0]?.['port'], portOf(expected), target)
      await db.shutdown()
    }
    const lonely = open({
      connectionString: `postgres://postgres@127.0.0.1:${primary.port}/postgres?target_session_attrs=standby`,
      retry: { maxAttempts: 2, initialDelayMs: 1 },
    })
    const error = await failure(lonely.query('SELECT 1'))
    assert.equal(error.category, 'read-only')
    const preferring = open({
      connectionString: `postgres://postgres@127.0.0.1:${primary.port}/postgres?target_session_attrs=prefer-standby`,
    })
    assert.equal((await preferring.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)

    const db = open({
      connectionString: `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`,
      retry: { maxAttempts: 200, maxDelayMs: 100 },
    })
    await db.query('INSERT INTO t VALUES (1)')
    await primary.stop('fast')
    const during = db.query('INSERT INTO t VALUES (2)')
    await standby.promote()
    await during
    const { rows } = await db.query("SELECT current_setting('port')::int AS port")
    assert.equal(rows[0]?.['port'], standby.port)
  },
)

test('a server that has become read-only is left', { skip: TARGET === 'pgsqlite' }, async () => {
  const first = await startServer()
  const second = await startServer()
  for (const one of [first, second]) await direct('CREATE TABLE t (a int)', [], one.url)
  const db = open({
    connectionString: `postgres://postgres@127.0.0.1:${first.port},127.0.0.1:${second.port}/postgres?target_session_attrs=read-write`,
    max: 1,
    retry: { initialDelayMs: 1 },
  })
  await db.query('INSERT INTO t VALUES (1)')
  await direct('ALTER DATABASE postgres SET default_transaction_read_only = on', [], first.url)
  // Sessions that are there notice only when they are told.
  await db.query('SET default_transaction_read_only = on')
  await db.query('INSERT INTO t VALUES (2)')
  assert.equal((await direct('SELECT * FROM t', [], second.url)).length, 1)
})
