/** Libraries that make their connections themselves, by `asDriver()`, and those that ask for a function that runs SQL. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { EntitySchema } from '@mikro-orm/core'
import knexLibrary, { type Knex } from 'knex'
import Cursor from 'pg-cursor'
import QueryStream from 'pg-query-stream'
import { direct, freshTable, onServer } from './support/run'

interface Person {
  id: number
  name: string
}

async function knexBasics(knex: Knex, streams: boolean): Promise<void> {
  const table = await freshTable('id int PRIMARY KEY, name text, at timestamptz DEFAULT now()')
  assert.deepEqual(
    await knex(table).insert([
      { id: 1, name: 'ann' },
      { id: 2, name: 'bob' },
    ]),
    { command: 'INSERT', rowCount: 2, oid: 0, rows: [], fields: [] },
  )
  assert.deepEqual(await knex(table).insert({ id: 3, name: 'carl' }).returning('id'), [{ id: 3 }])
  await assert.rejects(knex(table).insert({ id: 3, name: 'twice' }), { code: '23505' })
  await assert.rejects(
    knex.transaction(async (tx) => {
      await tx(table).delete()
      throw new Error('undo')
    }),
    /undo/,
  )
  await knex.transaction(
    async (tx) => {
      await tx(table).where('id', 2).update({ name: 'eve' })
      // A savepoint of its own.
      await tx
        .transaction(async (inner) => {
          await inner(table).delete()
          throw new Error('inner')
        })
        .catch((error: unknown) => assert.equal((error as Error).message, 'inner'))
    },
    { isolationLevel: 'repeatable read' },
  )
  assert.deepEqual(await knex<Person>(table).select('id', 'name').orderBy('id'), [
    { id: 1, name: 'ann' },
    { id: 2, name: 'eve' },
    { id: 3, name: 'carl' },
  ])
  assert((await knex(table).first<{ at: unknown }>('at')).at instanceof Date)
  if (streams) {
    const streamed: unknown[] = []
    for await (const row of knex(table).select('id').orderBy('id').stream()) streamed.push(row)
    assert.deepEqual(streamed, [{ id: 1 }, { id: 2 }, { id: 3 }])
  }
  await knex.destroy()
}

test('Knex, with the instance’s pool', async () => {
  const db = await onServer({ max: 2 })
  const config = { client: 'pg', connectionPool: db.asPool() }
  // Knex 3.3 releases the connection of a stream twice, which no pool of a driver takes.
  await knexBasics(knexLibrary.default(config as Knex.Config), false)
  assert.equal((await db.query('SELECT 1 AS one')).rows.length, 1, 'the pool is still the instance’s')
})

test('Knex, by a dialect of its own that needs no pg', async () => {
  const db = await onServer({ max: 4 })
  const dialect = 'knex/lib/dialects/postgres/index.js'
  const { default: Postgres } = (await import(dialect)) as { default: typeof Knex.Client }
  class Dialect extends Postgres {
    _driver(): unknown {
      return db.asDriver()
    }
  }
  await knexBasics(knexLibrary.default({ client: Dialect, connection: {}, pool: { min: 0, max: 2 } }), true)
  // What Knex has closed is closed, and the places are free again.
  await Promise.all(Array.from({ length: 4 }, () => db.query('SELECT pg_sleep(0.01)')))
})

test('MikroORM', async () => {
  const db = await onServer({ max: 4 })
  const { MikroORM, PostgreSqlDriver } = await import('@mikro-orm/postgresql')
  const { PostgreSqlKnexDialect } = await import('@mikro-orm/knex')
  class Dialect extends PostgreSqlKnexDialect {
    _driver(): unknown {
      return db.asDriver()
    }
  }
  const tableName = await freshTable('id int PRIMARY KEY, name text, born date')
  const People = new EntitySchema<Person & { born: string | null }>({
    name: 'Person',
    tableName,
    properties: {
      id: { type: 'number', primary: true },
      name: { type: 'string' },
      born: { type: 'date', nullable: true },
    },
  })
  const orm = await MikroORM.init({
    driver: PostgreSqlDriver,
    driverOptions: { client: Dialect },
    dbName: 'any',
    entities: [People],
    discovery: { disableDynamicFileAccess: true },
    ensureDatabase: false,
  })
  const em = orm.em.fork()
  em.create(People, { id: 1, name: 'ann', born: '1999-12-31' })
  em.create(People, { id: 2, name: 'bob', born: null })
  await em.flush()
  await assert.rejects(
    em.fork().transactional(async (tx) => {
      await tx.nativeDelete(People, {})
      throw new Error('undo')
    }),
    /undo/,
  )
  await em.fork().transactional(async (tx) => {
    const bob = await tx.findOneOrFail(People, { id: 2 })
    bob.name = 'eve'
  })
  const found = await orm.em.fork().find(People, {}, { orderBy: { id: 1 } })
  // MikroORM's own parsers of dates, which it hands to the driver, are used.
  assert.deepEqual(
    found.map(({ id, name, born }) => [id, name, born]),
    [
      [1, 'ann', '1999-12-31'],
      [2, 'eve', null],
    ],
  )
  await orm.close()
})

test('Sequelize', async () => {
  const db = await onServer({ max: 4 })
  const { Sequelize, DataTypes } = await import('sequelize')
  const sequelize = new Sequelize({
    dialect: 'postgres',
    dialectModule: db.asDriver(),
    logging: false,
    pool: { max: 2 },
  })
  const tableName = await freshTable('id int PRIMARY KEY, name text, born timestamptz')
  const People = sequelize.define(
    'Person',
    { id: { type: DataTypes.INTEGER, primaryKey: true }, name: DataTypes.TEXT, born: DataTypes.DATE },
    { tableName, timestamps: false },
  )
  await People.bulkCreate([
    { id: 1, name: 'ann', born: new Date(0) },
    { id: 2, name: 'bob', born: null },
  ])
  await assert.rejects(
    sequelize.transaction(async (transaction) => {
      await People.destroy({ where: {}, transaction })
      throw new Error('undo')
    }),
    /undo/,
  )
  await sequelize.transaction(async (transaction) => {
    await People.update({ name: 'eve' }, { where: { id: 2 }, transaction })
  })
  await assert.rejects(People.create({ id: 1, name: 'twice' }), { name: 'SequelizeUniqueConstraintError' })
  const found = await People.findAll({ order: ['id'], raw: true })
  assert.deepEqual(found as unknown, [
    { id: 1, name: 'ann', born: new Date(0) },
    { id: 2, name: 'eve', born: null },
  ])
  await sequelize.close()
})

test('pg-boss', async () => {
  const db = await onServer({ max: 4 })
  const { default: PgBoss } = await import('pg-boss')
  const pool = db.asPool()
  const boss = new PgBoss({
    db: { executeSql: (text, values) => pool.query(text, values) },
    supervise: false,
    schedule: false,
  })
  boss.on('error', (error) => assert.fail(error))
  await boss.start()
  await boss.createQueue('greet')
  const id = await boss.send('greet', { name: 'ann' })
  // Jobs that are sent within a transaction come and go with it.
  for (const end of ['ROLLBACK', 'COMMIT']) {
    using client = await pool.connect()
    await client.query('BEGIN')
    const inTransaction = { executeSql: (text: string, values: unknown[]) => client.query(text, values) }
    await boss.send('greet', { name: end }, { db: inTransaction })
    await client.query(end)
  }
  const jobs = await boss.fetch<{ name: string }>('greet', { batchSize: 5 })
  assert.deepEqual(jobs.map(({ data }) => data.name).sort(), ['COMMIT', 'ann'])
  await boss.complete('greet', id as string)
  const [counted] = await direct(`SELECT count(*)::int AS n FROM pgboss.job WHERE state = 'completed'`)
  assert.deepEqual(counted, { n: 1 })
  await boss.stop({ graceful: false, wait: false })
})

test('the pool itself takes cursors and query streams, and has the connection back at their end', async () => {
  const pool = (await onServer({ max: 1 })).asPool()
  const cursor = pool.query(new Cursor('SELECT n FROM generate_series(1, $1::int) AS n', [5]))
  assert.deepEqual(await cursor.read(3), [{ n: 1 }, { n: 2 }, { n: 3 }])
  const released = once(pool, 'release')
  await cursor.close()
  await released
  let sum = 0
  for await (const row of pool.query(new QueryStream('SELECT n FROM generate_series(1, 100) AS n'))) {
    sum += (row as { n: number }).n
  }
  assert.equal(sum, 5_050)
  await assert.rejects(pool.query(new Cursor('SELECT nothing')).read(1), { code: '42703' })
  assert.deepEqual((await pool.query('SELECT 1 AS n')).rows, [{ n: 1 }])
  await pool.end()
  await assert.rejects(pool.query(new Cursor('SELECT 1')).read(1), { category: 'closed' })
})

test('what a driver’s client is asked in the wrong order is refused, and its end closes the connection', async () => {
  const db = await onServer({ max: 1 })
  const { Client } = db.asDriver()
  const client = new Client()
  await assert.rejects(client.query('SELECT 1'), { category: 'configuration' })
  await client.connect()
  await assert.rejects(client.connect(), { category: 'configuration' })
  await client.query("SET application_name TO 'mine'")
  const pid = client.processID
  const ended = once(client, 'end')
  await client.end()
  await client.end()
  await ended
  await assert.rejects(client.query('SELECT 1'), { category: 'configuration' })
  const { rows } = await db.query("SELECT pg_backend_pid() AS pid, current_setting('application_name') AS name")
  assert.notEqual(rows[0]?.['pid'], pid)
  assert.notEqual(rows[0]?.['name'], 'mine')
  const lost = new Client()
  lost.on('error', () => {})
  await lost.connect()
  const gone = once(lost, 'error')
  await direct('SELECT pg_terminate_backend($1)', [lost.processID])
  await gone
  await lost.end()
  assert.deepEqual((await db.query('SELECT 1 AS n')).rows, [{ n: 1 }])
})
