/** `sql`, numbers of rows, schemas, batches, cursors, names and types of an instance, connection strings. */
import '@js-temporal/polyfill'
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Temporal } from '@js-temporal/polyfill'
import { z } from 'zod'
import { sql } from '../src/index'
import { direct, failure, freshTable, onServer, open, server } from './support/run'

Object.assign(globalThis, { Temporal })

test('a template sends its values as parameters, whatever is in them', async () => {
  const db = await onServer()
  const table = await freshTable('id int PRIMARY KEY, "na""me" text, tags text[], doc jsonb')
  const evil = `'); DROP TABLE ${table}; --`
  const rows = [
    { id: 1, 'na"me': evil, tags: ['a', "b'c"], doc: { text: evil } },
    { id: 2, 'na"me': null, tags: [], doc: null },
  ]
  const inserted = await db.query(sql`INSERT INTO ${sql.id(table)} ${sql.insert(rows)} RETURNING id`)
  assert.deepEqual(inserted.rows, [{ id: 1 }, { id: 2 }])
  const found = await db.query(sql`SELECT * FROM ${sql.id('public', table)} WHERE id IN (${sql.list([1, 3])})`)
  assert.deepEqual(found.rows, [rows[0]])
  const conditions = [sql`id > ${0}`, sql`${sql.id('na"me')} IS NULL`]
  const both = sql`SELECT id FROM ${sql.id(table)} WHERE ${sql.join(conditions, sql` AND `)} ${sql.empty} ORDER BY id`
  assert.deepEqual((await db.query(both)).rows, [{ id: 2 }])
  await db.query(sql`UPDATE ${sql.id(table)} SET ${sql.set({ 'na"me': 'x', tags: ['y'] })} WHERE id = ${2}`)
  assert.deepEqual(await direct(`SELECT "na""me" AS name, tags FROM ${table} WHERE id = 2`), [
    { name: 'x', tags: ['y'] },
  ])
  await db.transaction(async (tx) => {
    assert.deepEqual((await tx.query(sql`SELECT ${5}::int AS n`)).rows, [{ n: 5 }])
    const streamed: unknown[] = []
    for await (const row of tx.stream(sql`SELECT n FROM generate_series(1, ${3}::int) AS n`)) streamed.push(row)
    assert.equal(streamed.length, 3)
  })
  const all: unknown[] = []
  for await (const row of db.stream(sql`SELECT n FROM generate_series(1, ${3}::int) AS n`)) all.push(row)
  assert.deepEqual(all, [{ n: 1 }, { n: 2 }, { n: 3 }])
  assert.equal(await db.worker(async (client) => (await client.one<{ n: number }>('SELECT 7 AS n')).n), 7)
})

test('one, maybeOne and many ask for a number of rows', async () => {
  const db = await onServer()
  const series = (count: number): ReturnType<typeof sql> => sql`SELECT n FROM generate_series(1, ${count}::int) AS n`
  assert.deepEqual(await db.one(series(1)), { n: 1 })
  assert.equal(await db.maybeOne(series(0)), undefined)
  assert.equal((await db.many('SELECT n FROM generate_series(1, $1::int) AS n', [2])).length, 2)
  const none = await failure(db.one(series(0)))
  assert.deepEqual([none.category, none.code, none.mayHaveExecuted], ['rows', 'P0002', false])
  assert.equal((await failure(db.one(series(2)))).code, 'P0003')
  assert.equal((await failure(db.maybeOne(series(2)))).code, 'P0003')
  assert.equal((await failure(db.many(series(0)))).code, 'P0002')
  const table = await freshTable('id int')
  const written = await failure(db.one(sql`INSERT INTO ${sql.id(table)} VALUES (1), (2) RETURNING id`))
  assert.equal(written.mayHaveExecuted, true, 'the rows are there')
  const rolledBack = await failure(
    db.transaction((tx) => tx.one(sql`INSERT INTO ${sql.id(table)} VALUES (3), (4) RETURNING id`)),
  )
  assert.equal(rolledBack.category, 'rows')
  assert.equal((await direct(`SELECT id FROM ${table}`)).length, 2)
})

test('a schema checks and types rows', async () => {
  const db = await onServer()
  const User = z.object({ id: z.number(), name: z.string().transform((name) => name.toUpperCase()) })
  const query = sql.type(User)`SELECT ${1}::int AS id, ${'ann'} AS name`
  const user: { id: number; name: string } = await db.one(query)
  assert.deepEqual(user, { id: 1, name: 'ANN' })
  assert.deepEqual((await db.query({ text: "SELECT 1 AS id, 'b' AS name", schema: User })).rows, [{ id: 1, name: 'B' }])
  const streamed: unknown[] = []
  for await (const row of db.stream(query)) streamed.push(row)
  for await (const row of db.stream("SELECT 1 AS id, 'c' AS name", [], { schema: User })) streamed.push(row)
  assert.deepEqual(streamed, [user, { id: 1, name: 'C' }])
  assert.deepEqual(
    (await db.batch([query, 'SELECT 1 AS x'])).map(({ rows }) => rows),
    [[user], [{ x: 1 }]],
  )
  const wrong = await failure(db.query(sql.type(User)`SELECT 1 AS id, ${7}::int AS name`))
  assert.equal(wrong.category, 'rows')
  assert.match(wrong.message, /row 1 .*name/)
  await db.transaction(async (tx) => {
    assert.deepEqual(await tx.one(query), user)
  })
})

test('a batch takes effect as a whole', async () => {
  const db = await onServer()
  const table = await freshTable('id int PRIMARY KEY')
  const insert = (id: number): ReturnType<typeof sql> => sql`INSERT INTO ${sql.id(table)} VALUES (${id})`
  const results = await db.batch([insert(1), insert(2), `SELECT count(*)::int AS n FROM ${table}`, ''])
  assert.deepEqual(
    results.map(({ command, rowCount, rows }) => ({ command, rowCount, rows })),
    [
      { command: 'INSERT', rowCount: 1, rows: [] },
      { command: 'INSERT', rowCount: 1, rows: [] },
      { command: 'SELECT', rowCount: 1, rows: [{ n: 2 }] },
      { command: null, rowCount: null, rows: [] },
    ],
  )
  for (let round = 0; round < 3; round++) {
    const error = await failure(db.batch([insert(3), insert(1), insert(4)]))
    assert.deepEqual([error.sqlState, error.batchIndex, error.mayHaveExecuted], ['23505', 1, false])
  }
  assert.deepEqual(await direct(`SELECT id FROM ${table} ORDER BY id`), [{ id: 1 }, { id: 2 }])
  // What was prepared on the way, or not, does not confuse what follows.
  for (let id = 5; id < 9; id++) await db.batch([insert(id), insert(id + 10)])
  assert.equal((await direct(`SELECT id FROM ${table}`)).length, 10)
  assert.deepEqual(await db.batch([]), [])
})

test('a cursor gives batches of rows', async () => {
  const db = await onServer()
  const sizes: number[] = []
  for await (const rows of db.cursor('SELECT n FROM generate_series(1, 25) AS n', [], { batchSize: 10 })) {
    sizes.push(rows.length)
  }
  assert.deepEqual(sizes, [10, 10, 5])
  await db.transaction(async (tx) => {
    for await (const rows of tx.cursor(sql`SELECT n FROM generate_series(1, ${25}::int) AS n`, { batchSize: 20 })) {
      sizes.push(rows.length)
    }
  })
  assert.deepEqual(sizes, [10, 10, 5, 20, 5])
})

test('names and types of an instance', async () => {
  const db = await onServer({ camelCase: true, int8: 'bigint', dates: 'string' })
  const text = `SELECT 9007199254740993::int8 AS big_number, ARRAY[1, NULL]::int8[] AS many_of_them,
    '2024-01-02'::date AS "the_day", '2024-01-02 03:04:05.678901'::timestamp AS the_moment`
  const expected = {
    bigNumber: 9_007_199_254_740_993n,
    manyOfThem: [1n, null],
    theDay: '2024-01-02',
    theMoment: '2024-01-02 03:04:05.678901',
  }
  assert.deepEqual(await db.one(text), expected)
  for (let round = 0; round < 4; round++) assert.deepEqual((await db.query(text, [])).rows, [expected])
  for await (const row of db.stream(text)) assert.deepEqual(row, expected)
  assert.deepEqual(await db.worker((client, query: string) => client.one(query), [text]), expected)
  assert.deepEqual((await db.query({ text, rowMode: 'array' })).rows, [Object.values(expected)])
  const exact = await onServer({ int8: 'number' })
  assert.deepEqual(await exact.one('SELECT 42::int8 AS n'), { n: 42 })
  assert.match((await failure(exact.query('SELECT 9007199254740993::int8 AS n'))).message, /not exact/)
})

test('Temporal comes back as it was sent', async () => {
  const db = await onServer({ dates: 'temporal' })
  const values = [
    Temporal.Instant.from('2024-03-04T05:06:07.123456Z'),
    Temporal.PlainDateTime.from('2024-03-04T05:06:07.123456'),
    Temporal.PlainDate.from('2024-03-04'),
    Temporal.PlainTime.from('05:06:07.5'),
  ]
  const text = 'SELECT $1::timestamptz AS a, $2::timestamp AS b, $3::date AS c, $4::time AS d'
  const row = await db.one(text, values)
  assert.deepEqual(Object.values(row).map(String), values.map(String))
  assert(row['a'] instanceof Temporal.Instant && row['c'] instanceof Temporal.PlainDate)
  const old = Temporal.PlainDate.from('-000043-03-15')
  const odd = await db.one(`SELECT $1::date AS a, $1::text AS b, 'infinity'::date AS c, ARRAY[$2::date] AS d`, [
    old,
    Temporal.PlainDate.from('+012024-01-01'),
  ])
  assert.deepEqual(
    [String(odd['a']), odd['b'], odd['c'], String(odd['d'])],
    ['-000043-03-15', '0044-03-15 BC', Infinity, '+012024-01-01'],
  )
  const zoned = Temporal.ZonedDateTime.from('2024-03-04T05:06:07+01:00[Europe/Berlin]')
  assert.equal(String((await db.one('SELECT $1::timestamptz AS a', [zoned]))['a']), '2024-03-04T04:06:07Z')
})

test('libpq’s connection strings and services', async () => {
  const { host, port } = await server()
  const keywords = `host=${host} port=${port} user=postgres dbname='postgres' application_name = 'it\\'s me' connect_timeout=7`
  const name = "SELECT current_setting('application_name') AS name"
  assert.deepEqual(await open({ connectionString: keywords }).one(name), { name: "it's me" })
  const folder = mkdtempSync(join(tmpdir(), 'pg-parallel-service-'))
  const file = join(folder, 'services')
  writeFileSync(
    file,
    `# mine\n[other]\nhost=nowhere\n\n[mine]\nhost=${host}\nport=${port}\nuser=postgres\ndbname=postgres\napplication_name=served\n`,
  )
  process.env['PGSERVICEFILE'] = file
  try {
    for (const options of [
      { service: 'mine' },
      { connectionString: 'service=mine' },
      { connectionString: 'postgres:///?service=mine' },
    ]) {
      assert.deepEqual(await open(options).one(name), { name: 'served' })
    }
    assert.throws(() => open({ service: 'nobody' }), /no definition of service "nobody"/)
  } finally {
    delete process.env['PGSERVICEFILE']
    rmSync(folder, { recursive: true })
  }
})

test('await using', async () => {
  const db = await onServer()
  await db[Symbol.asyncDispose]()
  assert.equal((await failure(db.query('SELECT 1'))).category, 'closed')
})

test('what the server remarks is an event', async () => {
  const db = await onServer()
  const told: string[] = []
  db.on('notice', ({ notice }) => told.push(`${notice.code ?? ''} ${notice.message}`))
  await db.query("DO $$BEGIN RAISE NOTICE 'hear, hear'; END$$")
  assert.deepEqual(told, ['00000 hear, hear'])
})
