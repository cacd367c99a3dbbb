/** COPY in and out as streams: data, backpressure, errors, limits, transactions. */
import assert from 'node:assert/strict'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { sql } from '../src/index'
import { direct, failure, freshTable, onServer } from './support/run'

const lines = function* (count: number): Generator<string> {
  for (let n = 1; n <= count; n++) yield `${n}\trow ${n}\n`
}

test('data goes in and comes out', async () => {
  const db = await onServer()
  const table = await freshTable('id int PRIMARY KEY, name text')
  const into = db.copyFrom(sql`COPY ${sql.id(table)} FROM STDIN`)
  await pipeline(Readable.from(lines(20_000)), into)
  assert.equal(into.rowCount, 20_000)
  assert.deepEqual(await direct(`SELECT count(*)::int AS n, max(name) AS name FROM ${table} WHERE id <= 9`), [
    { n: 9, name: 'row 9' },
  ])
  const out = db.copyTo(`COPY (SELECT * FROM ${table} ORDER BY id) TO STDOUT`)
  let text = ''
  for await (const piece of out) text += String(piece)
  assert.equal(text, [...lines(20_000)].join(''))
  assert.equal(out.rowCount, 20_000)
  assert.equal(db.stats.pool.busy, 0)
  assert.equal((await db.one(`SELECT count(*)::int AS n FROM ${table}`))['n'], 20_000)
})

test('nothing, one large piece, and binary format', async () => {
  const db = await onServer()
  const table = await freshTable('name text')
  const empty = db.copyFrom(`COPY ${table} FROM STDIN`)
  await pipeline(Readable.from([]), empty)
  assert.equal(empty.rowCount, 0)
  const large = Buffer.from('x'.repeat(5_000_000) + '\n')
  await pipeline(Readable.from([large]), db.copyFrom(`COPY ${table} FROM STDIN`))
  assert.deepEqual(await direct(`SELECT length(name) AS n FROM ${table}`), [{ n: 5_000_000 }])
  const other = await freshTable('name text')
  await pipeline(
    db.copyTo(`COPY ${table} TO STDOUT (FORMAT binary)`),
    db.copyFrom(`COPY ${other} FROM STDIN (FORMAT binary)`),
  )
  assert.deepEqual(await direct(`SELECT length(name) AS n FROM ${other}`), [{ n: 5_000_000 }])
  await pipeline(db.copyTo(`COPY ${await freshTable('id int')} TO STDOUT`), async (source) => {
    for await (const piece of source) assert.fail(String(piece))
  })
})

test('a reader that does not keep up stops the server', async () => {
  const db = await onServer({ max: 1 })
  const out = db.copyTo("COPY (SELECT n, repeat('x', 1000) FROM generate_series(1, 100000) AS n) TO STDOUT")
  await new Promise((resolve) => out.once('readable', resolve))
  const before = process.memoryUsage().arrayBuffers
  // The loop of this process is free, and yet what is not read does not arrive.
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert(out.readableLength < 2_000_000, `${out.readableLength} bytes wait`)
  assert(process.memoryUsage().arrayBuffers - before < 20_000_000)
  let size = 0
  for await (const piece of out) size += (piece as Buffer).length
  assert(size > 100_000_000)
  assert.equal(out.rowCount, 100_000)
})

test('a server that does not keep up stops the writer', async () => {
  const db = await onServer()
  const table = await freshTable('id int')
  const into = db.copyFrom(`COPY ${table} FROM STDIN`)
  let given = 0
  const source = new Readable({
    read() {
      given++
      this.push(given > 50_000 ? null : `${given}\n`.repeat(10))
    },
  })
  await pipeline(source, into)
  assert.equal(into.rowCount, 500_000)
})

test('an error of the server ends the stream, and the connection goes on', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('id int PRIMARY KEY')
  const error = await failure(
    pipeline(Readable.from(['1\n', 'no number\n', '3\n']), db.copyFrom(`COPY ${table} FROM STDIN`)),
  )
  assert.equal(error.sqlState, '22P02')
  assert.equal(error.mayHaveExecuted, false)
  assert.deepEqual(await db.one(`SELECT count(*)::int AS n FROM ${table}`), { n: 0 })
  const missing = await failure(pipeline(Readable.from(['1\n']), db.copyFrom('COPY nowhere FROM STDIN')))
  assert.equal(missing.sqlState, '42P01')
  const out = await failure(
    pipeline(db.copyTo('COPY (SELECT 1 / (3 - n) FROM generate_series(1, 5) AS n) TO STDOUT'), drop()),
  )
  assert.equal(out.sqlState, '22012')
  const wrongWay = await failure(pipeline(Readable.from(['1\n']), db.copyFrom(`COPY ${table} TO STDOUT`)))
  assert.equal(wrongWay.category, 'configuration')
  const otherWay = await failure(pipeline(db.copyTo(`COPY ${table} FROM STDIN`), drop()))
  assert.equal(otherWay.category, 'configuration')
  assert.throws(() => db.copyFrom('SELECT 1'), { category: 'configuration' })
  assert.throws(() => db.copyFrom(sql`COPY t FROM STDIN WHERE id = ${1}`), { category: 'configuration' })
  assert.deepEqual(await db.one(`SELECT count(*)::int AS n FROM ${table}`), { n: 0 })
})

const drop = (): Writable =>
  new Writable({
    write: (_chunk, _encoding, then) => {
      then()
    },
  })

test('a source that fails, a reader that has enough, and a time limit leave nothing behind', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('id int')
  // eslint-disable-next-line @typescript-eslint/require-await
  const broken = async function* (): AsyncGenerator<string> {
    yield '1\n'
    throw new Error('no more')
  }
  await assert.rejects(pipeline(Readable.from(broken()), db.copyFrom(`COPY ${table} FROM STDIN`)), /no more/)
  assert.deepEqual(await db.one(`SELECT count(*)::int AS n FROM ${table}`), { n: 0 })
  for await (const piece of db.copyTo("COPY (SELECT repeat('x', 1000) FROM generate_series(1, 1000000)) TO STDOUT")) {
    assert(piece)
    break
  }
  assert.deepEqual(await db.one('SELECT 1 AS one'), { one: 1 })
  const late = db.copyFrom(`COPY ${table} FROM STDIN`, { timeoutMs: 100 })
  late.write('1\n')
  const error = await failure(new Promise((_, reject) => late.once('error', reject)))
  assert.equal(error.category, 'timeout')
  assert.equal(error.mayHaveExecuted, false)
  const slow = await failure(pipeline(db.copyTo('COPY (SELECT pg_sleep(60)) TO STDOUT', { timeoutMs: 100 }), drop()))
  assert.equal(slow.category, 'timeout')
  assert.deepEqual(await db.one(`SELECT count(*)::int AS n FROM ${table}`), { n: 0 })
  assert.equal(db.stats.pool.total, 1)
})

test('COPY is part of a transaction', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('id int')
  await db.transaction(async (tx) => {
    await pipeline(Readable.from(['1\n2\n']), tx.copyFrom(`COPY ${table} FROM STDIN`))
    assert.deepEqual(await tx.one(`SELECT count(*)::int AS n FROM ${table}`), { n: 2 })
    let text = ''
    for await (const piece of tx.copyTo(`COPY ${table} TO STDOUT`)) text += String(piece)
    assert.equal(text, '1\n2\n')
  })
  await assert.rejects(
    db.transaction(async (tx) => {
      await pipeline(Readable.from(['3\n']), tx.copyFrom(`COPY ${table} FROM STDIN`))
      throw new Error('undo')
    }),
    /undo/,
  )
  const forgotten = await failure(
    db.transaction(
      async (tx) => {
        const into = tx.copyFrom(`COPY ${table} FROM STDIN`)
        into.on('error', () => {})
        into.write('4\n')
        await tx.savepoint(() => Promise.resolve()).catch(() => {})
      },
      { timeoutMs: 2_000 },
    ),
  )
  assert(forgotten)
  assert.deepEqual(await direct(`SELECT count(*)::int AS n FROM ${table}`), [{ n: 2 }])
})

test('a backend that dies in the middle ends the stream, and nothing is kept', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('id int')
  const into = db.copyFrom(`COPY ${table} FROM STDIN`)
  const failed = failure(new Promise((_, reject) => into.once('error', reject)))
  // A backend that dies before it has taken data loses nothing: the COPY begins again, and nobody would end it.
  await new Promise((resolve) => into.write('1\n', resolve))
  const killed = await direct(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY ${table}%' AND state = 'active'`,
  )
  assert.equal(killed.length, 1)
  const error = await failed
  assert.equal(error.mayHaveExecuted, false)
  assert.deepEqual(await db.one(`SELECT count(*)::int AS n FROM ${table}`), { n: 0 })
})
