/** What is promised holds behind a real PgBouncer in transaction mode, too. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { FaultProxy } from './faults/proxy'
import { direct, eventually, failure, freshTable, open, server } from './support/run'
import { poolerBin, startPooler, type Pooler } from './support/pooler'

const bin = poolerBin()
if (bin === undefined) console.error('PgBouncer is not there and cannot be brought: its tests are left out')
const skip = bin === undefined

const proxies: FaultProxy[] = []
after(async () => {
  for (const proxy of proxies) await proxy.close()
})

let shared: Promise<Pooler> | undefined
/** One with fewer connections to the server than the instances have to it. */
const pooler = (): Promise<Pooler> => (shared ??= server().then((behind) => startPooler(bin ?? '', behind, 3)))

test('statements that are prepared by themselves, whichever connection of the server they meet', { skip }, async () => {
  const db = open({ connectionString: (await pooler()).url, max: 10 })
  const texts = [
    'SELECT $1::int AS n',
    'SELECT $1::int + 0 AS n',
    'SELECT n FROM (VALUES ($1::int)) AS v (n)',
    'SELECT sum(i)::int AS n FROM generate_series($1::int, $1::int) AS i',
  ]
  let next = 0
  const caller = async (): Promise<void> => {
    for (let n = next++; n < 2_000; n = next++) {
      const { rows } = await db.query<{ n: number }>(texts[n % texts.length] ?? '', [n])
      assert.equal(rows[0]?.n, n)
    }
  }
  await Promise.all(Array.from({ length: 25 }, caller))
  assert.equal(db.stats.calls.failed, 0)
})

test('statements that the application named', { skip }, async () => {
  const db = open({ connectionString: (await pooler()).url, max: 10 })
  const results = await Promise.all(
    Array.from({ length: 500 }, (_, n) =>
      db.query<{ n: number }>({ name: `named-${n % 3}`, text: `SELECT $1::int + ${n % 3} AS n`, values: [n] }),
    ),
  )
  results.forEach(({ rows }, n) => {
    assert.equal(rows[0]?.n, n + (n % 3))
  })
})

test('statements that the application named, in batches, transactions and streams', { skip }, async () => {
  const db = open({ connectionString: (await pooler()).url, max: 10 })
  const table = await freshTable('a int, b int')
  const insert = (a: number, b: number): { name: string; text: string; values: number[] } => ({
    name: `insert-${b}`,
    text: `INSERT INTO ${table} VALUES ($1, ${b})`,
    values: [a],
  })
  const work: Promise<unknown>[] = []
  for (let n = 0; n < 60; n++) {
    work.push(db.query(insert(n, 0)))
    work.push(db.batch([insert(n, 1), insert(n, 2)]))
    work.push(
      db.transaction(async (tx) => {
        await tx.query(insert(n, 1))
        await tx.query(insert(n, 3))
      }),
    )
  }
  await Promise.all(work)
  assert.deepEqual(await direct(`SELECT b, count(*)::int FROM ${table} GROUP BY b ORDER BY b`), [
    { b: 0, count: 60 },
    { b: 1, count: 120 },
    { b: 2, count: 60 },
    { b: 3, count: 60 },
  ])
})

test('writes, batches and transactions take effect once and whole', { skip }, async () => {
  const db = open({ connectionString: (await pooler()).url, max: 10 })
  const table = await freshTable('a int, b int')
  const work: Promise<unknown>[] = []
  for (let n = 0; n < 60; n++) {
    work.push(db.query(`INSERT INTO ${table} VALUES ($1, 0)`, [n]))
    work.push(
      db.batch([
        { text: `INSERT INTO ${table} VALUES ($1, 1)`, values: [n] },
        { text: `INSERT INTO ${table} VALUES ($1, 2)`, values: [n] },
      ]),
    )
    work.push(
      db.transaction(async (tx) => {
        await tx.query(`INSERT INTO ${table} VALUES ($1, 3)`, [n])
        await tx.query(`INSERT INTO ${table} VALUES ($1, 4)`, [n])
        const { rows } = await tx.query(`SELECT count(*)::int AS count FROM ${table} WHERE a = $1 AND b > 2`, [n])
        assert.equal(rows[0]?.['count'], 2)
      }),
    )
    work.push(
      failure(
        db.transaction(async (tx) => {
          await tx.query(`INSERT INTO ${table} VALUES ($1, 5)`, [n])
          await tx.query('SELECT 1 / 0')
        }),
      ),
    )
  }
  await Promise.all(work)
  assert.deepEqual(
    await direct(`SELECT b, count(*)::int, count(DISTINCT a)::int AS different FROM ${table} GROUP BY b ORDER BY b`),
    [...[0, 1, 2, 3, 4].map((b) => ({ b, count: 60, different: 60 }))],
  )
})

test('streams, COPY and threads', { skip }, async () => {
  const db = open({ connectionString: (await pooler()).url, max: 6, maxWorkers: 1 })
  let sum = 0
  for await (const row of db.stream<{ n: number }>('SELECT n FROM generate_series(1, $1::int) AS n', [1_000], {
    batchSize: 100,
  })) {
    sum += row.n
  }
  assert.equal(sum, 500_500)
  const table = await freshTable('a int')
  const copy = db.copyFrom(`COPY ${table} FROM STDIN`)
  copy.end('1\n2\n3\n')
  await new Promise((done, fail) => copy.once('finish', done).once('error', fail))
  assert.equal(copy.rowCount, 3)
  const { rows } = await db.query({ text: `SELECT a FROM ${table} ORDER BY a`, decode: 'thread' })
  assert.deepEqual(Array.from(rows), [{ a: 1 }, { a: 2 }, { a: 3 }])
})

test('a time limit cancels the statement on the server', { skip }, async () => {
  const db = open({ connectionString: (await pooler()).url, max: 2 })
  const error = await failure(db.query('SELECT pg_sleep(60)', [], { timeoutMs: 100 }))
  assert.equal(error.category, 'timeout')
  await eventually('nothing sleeps', async () => {
    const [row] = await direct(
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep(60)%'",
    )
    return row?.['count'] === 0
  })
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
})

test('a COMMIT without an answer is resolved', { skip }, async () => {
  const proxy = await FaultProxy.to(await pooler())
  proxies.push(proxy)
  for (const fault of ['cut-before', 'cut-answer'] as const) {
    const db = open({ connectionString: proxy.url, retry: { initialDelayMs: 5 } })
    const table = await freshTable('a int')
    let commits = 0
    proxy.onStatement = (text) => (/^COMMIT/.test(text) && ++commits === 1 ? fault : 'pass')
    let runs = 0
    await db.transaction(async (tx) => {
      runs++
      await tx.query(`INSERT INTO ${table} VALUES (1)`)
    })
    assert.equal(runs, fault === 'cut-before' ? 2 : 1)
    assert.equal((await direct(`SELECT a FROM ${table}`)).length, 1)
  }
})
