/** Rows from threads without copying, values as they are yielded, arguments that change hands, and the setup module. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from '../src/index'
import { direct, eventually, failure, freshTable, onServer, sleep } from './support/run'

const folder = mkdtempSync(join(tmpdir(), 'pg-parallel-setup-'))
after(() => {
  rmSync(folder, { recursive: true })
})

const TEXT = `SELECT n AS id, 'row ' || n AS name, n / 3.0::float8 AS part, '2024-01-01 00:00:00+00'::timestamptz + n * interval '1 hour' AS at,
  CASE WHEN n % 3 = 0 THEN NULL ELSE n::int8 END AS big, ARRAY[n, n + 1] AS list FROM generate_series(1, $1::int) AS n`

test('decode: thread gives what the main thread would have read', async () => {
  const db = await onServer({ max: 3, maxWorkers: 1 })
  for (const count of [0, 3, 2_000]) {
    const here = await db.query(TEXT, [count])
    // The second time it is prepared there, and in binary format.
    for (let round = 0; round < 3; round++) {
      const there = await db.query({ text: TEXT, values: [count], decode: 'thread' })
      assert.deepEqual(there, here)
      assert.equal(JSON.stringify(there.rows), JSON.stringify(here.rows))
    }
  }
  const arrays = await db.query({ text: TEXT, values: [100], rowMode: 'array', decode: 'thread' })
  assert.deepEqual(arrays.rows[99], Object.values((await db.query(TEXT, [100])).rows[99] ?? {}))
  const scripts = (await db.query({ text: 'SELECT 1 AS a; SELECT 2 AS b', decode: 'thread' })) as unknown as {
    rows: unknown
  }[]
  assert.deepEqual(
    scripts.map(({ rows }) => rows),
    [[{ a: 1 }], [{ b: 2 }]],
  )
  const table = await freshTable('a int')
  const inserted = await db.query({ text: `INSERT INTO ${table} VALUES ($1), ($2)`, values: [1, 2], decode: 'thread' })
  assert.deepEqual([inserted.rowCount, inserted.rows], [2, []])
  const error = await failure(db.query({ text: 'SELECT 1 / $1::int', values: [0], decode: 'thread' }))
  assert.deepEqual([error.sqlState, error.category, error.mayHaveExecuted], ['22012', 'statement', false])
})

test('decode: thread reads by the main thread’s own parsers, names and choices', async () => {
  const types = { getTypeParser: (oid: number) => (value: unknown) => `${oid}:${String(value)}` }
  const db = await onServer({ max: 2, maxWorkers: 1, types: types, camelCase: true })
  for (let round = 0; round < 3; round++) {
    const { rows } = await db.query({ text: 'SELECT $1::int AS first_one', values: [7], decode: 'thread' })
    assert.deepEqual(rows, [{ firstOne: '23:7' }])
  }
  const bigints = await onServer({ max: 2, maxWorkers: 1, int8: 'bigint' })
  for (let round = 0; round < 3; round++) {
    const { rows } = await bigints.query({ text: 'SELECT $1::int8 AS n', values: ['12'], decode: 'thread' })
    assert.deepEqual(rows, [{ n: 12n }])
  }
})

test('a time limit and a signal cancel on the server, and the thread goes on', async () => {
  const db = await onServer({ max: 2, maxWorkers: 1 })
  await db.warmup()
  const [{ pid } = { pid: 0 }] = (
    await db.query<{ pid: number }>({ text: 'SELECT pg_backend_pid() AS pid', decode: 'thread' })
  ).rows
  const late = await failure(db.query({ text: 'SELECT pg_sleep(60)', decode: 'thread', timeoutMs: 50 }))
  assert.deepEqual([late.category, late.mayHaveExecuted], ['timeout', false])
  const stop = new AbortController()
  const stopped = failure(db.query({ text: 'SELECT pg_sleep(60)', decode: 'thread', signal: stop.signal }))
  setTimeout(() => {
    stop.abort()
  }, 50)
  assert.equal((await stopped).category, 'aborted')
  const { rows } = await db.query<{ pid: number }>({ text: 'SELECT pg_backend_pid() AS pid', decode: 'thread' })
  assert.equal(rows[0]?.pid, pid)
  assert.equal(db.stats.workers.crashed, 0)
})

test('streams and cursors from threads', async () => {
  const db = await onServer({ max: 2, maxWorkers: 1 })
  const here = (await db.query(TEXT, [2_500])).rows
  const there: unknown[] = []
  for await (const row of db.stream(TEXT, [2_500], { decode: 'thread', batchSize: 100 })) there.push(row)
  assert.deepEqual(there, here)
  let batches = 0
  for await (const rows of db.cursor(sql`SELECT n FROM generate_series(1, ${250}::int) AS n`, {
    decode: 'thread',
    batchSize: 100,
  })) {
    assert.equal(rows.length, batches++ < 2 ? 100 : 50)
  }
  assert.equal(batches, 3)
  // Whoever leaves the loop leaves nothing behind.
  for await (const row of db.stream('SELECT n FROM generate_series(1, 1000000) AS n', [], { decode: 'thread' })) {
    assert(row)
    break
  }
  assert.deepEqual((await db.query({ text: 'SELECT 1 AS one', decode: 'thread' })).rows, [{ one: 1 }])
  const wrong = await failure(
    db.stream('SELECT 1 / (5 - n) FROM generate_series(1, 9) AS n', [], { decode: 'thread' }).next(),
  )
  assert.equal(wrong.sqlState, '22012')
  const slow = failure(
    (async () => {
      for await (const row of db.stream('SELECT pg_sleep(0.05)::text FROM generate_series(1, 1000)', [], {
        decode: 'thread',
        batchSize: 1,
        timeoutMs: 300,
      }))
        assert(row)
    })(),
  )
  assert.equal((await slow).category, 'timeout')
  assert.deepEqual((await db.query({ text: 'SELECT 1 AS one', decode: 'thread' })).rows, [{ one: 1 }])
})

test('what a worker returns has its rows, wherever they are', async () => {
  const db = await onServer({ max: 2, maxWorkers: 1 })
  const here = (await db.query(TEXT, [300])).rows
  const there = await db.worker(
    async (client, text) => {
      const result = await client.query(text, [300])
      const looked = (await client.query<{ name: string }>(text, [300])).rows
      looked[0]!.name = 'changed'
      return { result, again: [result.rows], looked, few: (await client.query(text, [2])).rows }
    },
    [TEXT],
  )
  assert.deepEqual(there.result.rows, here)
  assert.deepEqual(there.again[0], here)
  assert.equal(there.looked[0]?.name, 'changed')
  assert.deepEqual(there.looked.slice(1), here.slice(1))
  assert.deepEqual(there.few, here.slice(0, 2))
})

test('what a function on a thread yields comes as it is yielded', async () => {
  const db = await onServer({ max: 2, maxWorkers: 1 })
  const seen: number[] = []
  for await (const n of db.taskStream(
    function* (most: number) {
      for (let n = 1; n <= most; n++) yield n
    },
    [100],
  )) {
    seen.push(n)
  }
  assert.equal(seen.length, 100)
  let rows = 0
  for await (const batch of db.workerStream(
    async function* (client, text: string) {
      for await (const rows of client.cursor(text, [250], { batchSize: 100 })) yield rows
    },
    [TEXT],
  )) {
    rows += batch.length
  }
  assert.equal(rows, 250)
  const error = await failure(
    (async () => {
      for await (const n of db.taskStream(function* () {
        yield 1
        throw new Error('enough')
      })) {
        assert.equal(n, 1)
      }
    })(),
  )
  assert.match(error.message, /enough/)
  await assert.rejects(db.taskStream((() => 7) as never).next(), /nothing that can be iterated/)
})

test('a function that yields runs a few values ahead, and ends with its reader', async () => {
  const db = await onServer({ max: 1, maxWorkers: 1 })
  const made = new Int32Array(new SharedArrayBuffer(8))
  for await (const n of db.taskStream(
    function* (made: Int32Array) {
      try {
        for (let n = 1; ; n++) {
          Atomics.add(made, 0, 1)
          yield n
        }
      } finally {
        Atomics.store(made, 1, 1)
      }
    },
    [made],
  )) {
    if (n === 3) {
      await sleep(50)
      break
    }
  }
  await eventually('the generator has ended', () => Atomics.load(made, 1) === 1)
  assert(Atomics.load(made, 0) <= 20, String(made[0]))
  // One that never ends by itself loses its thread.
  const impatient = await onServer({ max: 1, maxWorkers: 1, cancelTimeoutMs: 50 })
  for await (const n of impatient.taskStream(async function* () {
    yield 1
    await new Promise(() => {})
    yield 2
  })) {
    assert.equal(n, 1)
    break
  }
  assert.equal(await impatient.task(() => 5), 5)
})

test('arguments in transferList change hands', async () => {
  const db = await onServer({ maxWorkers: 1 })
  const bytes = new Uint8Array([1, 2, 3])
  const sum = await db.task((bytes: Uint8Array) => bytes.reduce((a, b) => a + b), [bytes], {
    transferList: [bytes.buffer],
  })
  assert.equal(sum, 6)
  assert.equal(bytes.length, 0)
  const error = await failure(db.task((bytes: Uint8Array) => bytes.length, [bytes], { transferList: [bytes.buffer] }))
  assert.match(error.message, /cannot be sent/)
})

test('threads load the setup module first', async () => {
  const setup = join(folder, 'setup.mjs')
  const types = join(process.cwd(), 'node_modules/pg-types/index.js')
  writeFileSync(
    setup,
    `import types from ${JSON.stringify(types)}
    types.setTypeParser(20, BigInt)
    export const onConnect = async (client) => { await client.query("SET application_name = 'by setup'") }`,
  )
  const db = await onServer({
    max: 2,
    maxWorkers: 1,
    setup,
    onConnect: (client) => client.query("SET application_name = 'main'"),
  })
  const rows = await db.worker(
    async (client) =>
      (
        await client.query(
          "SELECT n::int8 AS n, current_setting('application_name') AS name FROM generate_series(1, 100) AS n",
        )
      ).rows,
  )
  assert.deepEqual(rows[99], { n: 100n, name: 'by setup' })
  assert.deepEqual((await db.query('SELECT 1::int8 AS n')).rows, [{ n: '1' }])
  const without = await onServer({ max: 2, maxWorkers: 1, onConnect: () => {} })
  assert.match((await failure(without.worker(() => 1))).message, /onConnect: it cannot be sent/)
  writeFileSync(join(folder, 'empty.mjs'), '')
  const empty = await onServer({ max: 2, maxWorkers: 1, setup: join(folder, 'empty.mjs'), onConnect: () => {} })
  assert.match((await failure(empty.worker(() => 1))).message, /must export it/)
  const missing = await onServer({ maxWorkers: 1, setup: join(folder, 'nowhere.mjs') })
  const error = await failure(missing.task(() => 1))
  assert.match(error.message, /setup module .* cannot be loaded/)
  assert.equal((await direct('SELECT 1 AS one')).length, 1)
})
