/** Libraries for `pg` that run on `asPool()`: each does its own basic things, transactions included. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import Cursor from 'pg-cursor'
import QueryStream from 'pg-query-stream'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import type { PgParallelPool } from '../src/index'
import { direct, freshTable, onServer } from './support/run'

const pool = async (max = 4): Promise<PgParallelPool> => (await onServer({ max })).asPool()

test('pg-cursor', async () => {
  const client = await (await pool(1)).connect()
  const cursor = client.query(new Cursor('SELECT n FROM generate_series(1, $1::int) AS n', [5]))
  // What is asked meanwhile waits for the cursor's end.
  const after = client.query('SELECT 7 AS n')
  assert.deepEqual(await cursor.read(3), [{ n: 1 }, { n: 2 }, { n: 3 }])
  assert.deepEqual(await cursor.read(3), [{ n: 4 }, { n: 5 }])
  assert.deepEqual(await cursor.read(3), [])
  assert.deepEqual((await after).rows, [{ n: 7 }])
  const early = client.query(new Cursor('SELECT n FROM generate_series(1, 1000) AS n'))
  assert.equal((await early.read(10)).length, 10)
  await early.close()
  const wrong = client.query(new Cursor('SELECT 1 / (3 - n) AS n FROM generate_series(1, 5) AS n'))
  await assert.rejects(wrong.read(10), { code: '22012' })
  assert.deepEqual((await client.query('SELECT 8 AS n')).rows, [{ n: 8 }])
  client.release()
})

test('pg-query-stream', async () => {
  const client = await (await pool(1)).connect()
  let sum = 0
  for await (const row of client.query(new QueryStream('SELECT n FROM generate_series(1, 1000) AS n'))) {
    sum += (row as { n: number }).n
  }
  assert.equal(sum, 500_500)
  for await (const row of client.query(new QueryStream('SELECT n FROM generate_series(1, 1000) AS n'))) {
    assert(row)
    break
  }
  await assert.rejects(
    async () => {
      for await (const row of client.query(new QueryStream('SELECT nothing'))) assert.fail(String(row))
    },
    { code: '42703' },
  )
  assert.deepEqual((await client.query('SELECT 8 AS n')).rows, [{ n: 8 }])
  client.release()
})

test('pg-copy-streams', async () => {
  const table = await freshTable('id int, name text')
  const client = await (await pool(1)).connect()
  const into = client.query(copyFrom(`COPY ${table} FROM STDIN`))
  const lines = Array.from({ length: 20_000 }, (_, n) => `${n}\trow ${n}\n`)
  await pipeline(Readable.from(lines), into)
  assert.equal(into.rowCount, 20_000)
  const out = client.query(copyTo(`COPY (SELECT * FROM ${table} ORDER BY id) TO STDOUT`))
  let text = ''
  for await (const piece of out) text += String(piece)
  assert.equal(text, lines.join(''))
  const wrong = client.query(copyFrom(`COPY ${table} FROM STDIN`))
  await assert.rejects(pipeline(Readable.from(['not a number\tx\n']), wrong), { code: '22P02' })
  const nowhere = client.query(copyTo('COPY nowhere TO STDOUT'))
  nowhere.resume()
  const [error] = (await once(nowhere, 'error')) as [{ code: string }]
  assert.equal(error.code, '42P01')
  assert.deepEqual((await client.query('SELECT 8 AS n')).rows, [{ n: 8 }])
  client.release()
})

test('Drizzle', async () => {
  const { drizzle } = await import('drizzle-orm/node-postgres')
  const { pgTable, integer, text } = await import('drizzle-orm/pg-core')
  const { eq } = await import('drizzle-orm')
  const name = await freshTable('id int PRIMARY KEY, name text')
  const people = pgTable(name, { id: integer('id').primaryKey(), name: text('name') })
  const db = drizzle({ client: (await pool()) as never })
  await db.insert(people).values([
    { id: 1, name: 'ann' },
    { id: 2, name: 'bob' },
  ])
  await assert.rejects(
    db.transaction(async (tx) => {
      await tx.delete(people)
      await tx.transaction(async (inner) => {
        await inner.insert(people).values({ id: 3, name: 'carl' })
      })
      tx.rollback()
    }),
  )
  await db.transaction(async (tx) => {
    await tx.update(people).set({ name: 'eve' }).where(eq(people.id, 2))
  })
  assert.deepEqual(await db.select().from(people).orderBy(people.id), [
    { id: 1, name: 'ann' },
    { id: 2, name: 'eve' },
  ])
})

test('Kysely', async () => {
  const { Kysely, PostgresDialect, sql } = await import('kysely')
  const name = await freshTable('id int PRIMARY KEY, name text')
  const db = new Kysely<Record<string, { id: number; name: string | null }>>({
    dialect: new PostgresDialect({ pool: await pool(), cursor: Cursor }),
  })
  await db.insertInto(name).values({ id: 1, name: 'ann' }).execute()
  await assert.rejects(
    db.transaction().execute(async (tx) => {
      await tx.deleteFrom(name).execute()
      throw new Error('undo')
    }),
    /undo/,
  )
  await db
    .transaction()
    .setIsolationLevel('serializable')
    .execute((tx) => tx.updateTable(name).set({ name: 'eve' }).where('id', '=', 1).execute())
  assert.deepEqual(await db.selectFrom(name).selectAll().execute(), [{ id: 1, name: 'eve' }])
  const streamed: unknown[] = []
  await sql`INSERT INTO ${sql.table(name)} SELECT n, 'x' FROM generate_series(2, 5) AS n`.execute(db)
  for await (const row of db.selectFrom(name).select('id').stream(2)) streamed.push(row)
  assert.equal(streamed.length, 5)
  await db.destroy()
})

test('TypeORM', async () => {
  const { DataSource, EntitySchema } = await import('typeorm')
  const db = await onServer({ max: 4 })
  const name = await freshTable('id int PRIMARY KEY, name text')
  const Person = new EntitySchema<{ id: number; name: string }>({
    name: 'Person',
    tableName: name,
    columns: { id: { type: Number, primary: true }, name: { type: String } },
  })
  const source = new DataSource({ type: 'postgres', driver: db.asDriver(), entities: [Person] })
  await source.initialize()
  const people = source.getRepository(Person)
  await people.save({ id: 1, name: 'ann' })
  await assert.rejects(
    source.transaction(async (manager) => {
      await manager.getRepository(Person).clear()
      throw new Error('undo')
    }),
    /undo/,
  )
  await source.transaction(async (manager) => {
    await manager.getRepository(Person).update({ id: 1 }, { name: 'eve' })
  })
  assert.deepEqual(await people.find(), [{ id: 1, name: 'eve' }])
  await source.destroy()
})

test('connect-pg-simple', async () => {
  const { default: session } = await import('express-session')
  const { default: connect } = await import('connect-pg-simple')
  const table = await freshTable('sid varchar PRIMARY KEY, sess json NOT NULL, expire timestamp(6) NOT NULL')
  const Store = connect(session)
  const store = new Store({ pool: (await pool()) as never, tableName: table, pruneSessionInterval: false })
  const data = { cookie: { originalMaxAge: null }, user: 'ann' }
  const failed = await new Promise((resolve) => {
    store.set('s1', data, resolve)
  })
  assert(!failed, String(failed))
  const found = await new Promise((resolve) => {
    store.get('s1', (_error: unknown, one: unknown) => {
      resolve(one)
    })
  })
  assert.deepEqual(found, data)
})

test('the adapter of Auth.js', async () => {
  const { default: adapter } = await import('@auth/pg-adapter')
  await direct(
    `CREATE TABLE IF NOT EXISTS users (id SERIAL PRIMARY KEY, name text, email text, "emailVerified" timestamptz, image text)`,
  )
  await direct(`CREATE TABLE IF NOT EXISTS accounts (id SERIAL PRIMARY KEY, "userId" int, type text, provider text, "providerAccountId" text,
    refresh_token text, access_token text, expires_at bigint, id_token text, scope text, session_state text, token_type text)`)
  await direct(
    `CREATE TABLE IF NOT EXISTS sessions (id SERIAL PRIMARY KEY, "userId" int, expires timestamptz, "sessionToken" text)`,
  )
  const auth = adapter((await pool()) as never)
  const user = await auth.createUser!({ id: '', name: 'ann', email: 'ann@example.org', emailVerified: null })
  assert.equal((await auth.getUserByEmail!('ann@example.org'))?.name, 'ann')
  await auth.createSession!({ userId: user.id, sessionToken: 't', expires: new Date(Date.now() + 1e6) })
  assert.equal((await auth.getSessionAndUser!('t'))?.user.name, 'ann')
})

test('graphile-worker', async () => {
  const { runOnce, makeWorkerUtils, Logger } = await import('graphile-worker')
  const pgPool = (await pool()) as never
  const silent = new Logger(() => () => {})
  const utils = await makeWorkerUtils({ pgPool, logger: silent })
  await utils.migrate()
  await utils.addJob('greet', { name: 'ann' })
  const greeted: unknown[] = []
  await runOnce({
    pgPool,
    logger: silent,
    noHandleSignals: true,
    taskList: {
      greet: (payload) => {
        greeted.push(payload)
      },
    },
  })
  assert.deepEqual(greeted, [{ name: 'ann' }])
  await utils.release()
})
