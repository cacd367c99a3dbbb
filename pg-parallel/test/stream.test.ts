/** `stream`: all rows in order, bounded memory, and a connection that is free afterwards, however the loop ends. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { direct, failure, freshTable, onServer } from './support/run'

test('every row comes once and in order, whatever the batch size', async () => {
  const db = await onServer({ max: 1 })
  for (const [rows, batchSize] of [
    [0, 10],
    [1, 10],
    [10, 10],
    [25, 10],
    [1_000, 1],
    [5_000, undefined],
  ] as const) {
    const seen: number[] = []
    for await (const { n } of db.stream<{ n: number }>('SELECT n FROM generate_series(1, $1::int) AS n', [rows], {
      batchSize,
    })) {
      seen.push(n)
    }
    assert.deepEqual(
      seen,
      Array.from({ length: rows }, (_, index) => index + 1),
    )
  }
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
})

test('no more than a batch is read ahead', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  // Each row that the server works out leaves a trace in a sequence.
  await direct(`CREATE SEQUENCE ${table}_seq`)
  for await (const row of db.stream(`SELECT nextval('${table}_seq') FROM generate_series(1, 1000000)`, [], {
    batchSize: 5,
  })) {
    assert(row)
    break
  }
  const [state] = await direct(`SELECT nextval('${table}_seq')::int AS n`)
  assert(Number(state?.['n']) <= 50, `the server worked out ${String(state?.['n'])} rows`)
})

test('leaving the loop frees the connection', async () => {
  const db = await onServer({ max: 1 })
  for (let round = 0; round < 5; round++) {
    for await (const { n } of db.stream<{ n: number }>('SELECT n FROM generate_series(1, 100000) AS n', [], {
      batchSize: 10,
    })) {
      if (n === 15) break
    }
    assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
  }
  assert.equal(db.totalCount, 1)
})

test('an error in the middle comes out after the rows before it, and not as the end', async () => {
  const db = await onServer({ max: 1 })
  const seen: unknown[] = []
  const error = await failure(
    (async () => {
      for await (const row of db.stream('SELECT 10 / (n - 8) AS q FROM generate_series(1, 20) AS n', [], {
        batchSize: 3,
      })) {
        seen.push(row['q'])
      }
    })(),
  )
  assert.equal(error.sqlState, '22012')
  assert(seen.length >= 3 && seen.length <= 7, `${seen.length} rows`)
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
})

test('errors before the first row: in the text, in a value', async () => {
  const db = await onServer({ max: 1 })
  const read = async (text: string, values?: unknown[]): Promise<void> => {
    for await (const row of db.stream(text, values)) assert(row)
  }
  assert.equal((await failure(read('SELEC 1'))).sqlState, '42601')
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  assert.match((await failure(read('SELECT $1::json', [circle]))).message, /circular/)
  assert.equal((await failure(read('SELECT 1', ['a', 'b']))).sqlState, '08P01')
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
})

test('a statement without rows, and one that writes', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  const seen: unknown[] = []
  for await (const row of db.stream(`INSERT INTO ${table} VALUES (1)`)) seen.push(row)
  for await (const row of db.stream(`INSERT INTO ${table} VALUES (2) RETURNING a`)) seen.push(row)
  for await (const row of db.stream('')) seen.push(row)
  assert.deepEqual(seen, [{ a: 2 }])
  assert.equal((await direct(`SELECT * FROM ${table}`)).length, 2)
})

test('a time limit ends it on the server', async () => {
  const db = await onServer({ max: 1 })
  const error = await failure(
    (async () => {
      for await (const row of db.stream('SELECT pg_sleep(600)', [], { timeoutMs: 50 })) assert(row)
    })(),
  )
  assert.equal(error.category, 'timeout')
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
})

test('in a transaction it sees what the transaction did', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  const seen = await db.transaction(async (tx) => {
    await tx.query(`INSERT INTO ${table} SELECT n FROM generate_series(1, 10) AS n`)
    const rows: number[] = []
    for await (const { a } of tx.stream<{ a: number }>(`SELECT a FROM ${table} ORDER BY a`, [], { batchSize: 4 })) {
      rows.push(a)
      if (a === 6) break
    }
    await tx.query(`DELETE FROM ${table} WHERE a > 5`)
    return rows
  })
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6])
  assert.equal((await direct(`SELECT * FROM ${table}`)).length, 5)
})

test('in a transaction, other statements may run inside the loop, also a second stream', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int, b int')
  await db.query(`INSERT INTO ${table} SELECT n FROM generate_series(1, 10) AS n`)
  let inner = 0
  await db.transaction(async (tx) => {
    for await (const { a } of tx.stream<{ a: number }>(`SELECT a FROM ${table} ORDER BY a`, [], { batchSize: 3 })) {
      await tx.query(`UPDATE ${table} SET b = $1 WHERE a = $2`, [a * 2, a])
      for await (const row of tx.stream('SELECT n FROM generate_series(1, 5) AS n', [], { batchSize: 2 })) {
        assert(row)
        inner++
        if (inner % 3 === 0) break
      }
    }
    await assert.rejects(
      tx.savepoint(async (one) => {
        for await (const row of one.stream('SELECT 1/0')) assert(row)
      }),
      { sqlState: '22012' },
    )
  })
  assert(inner >= 30)
  assert.deepEqual(await direct(`SELECT count(*)::int AS n FROM ${table} WHERE b = a * 2`), [{ n: 10 }])
})

test('a stream that outlives its transaction ends with an error', async () => {
  const db = await onServer({ max: 1 })
  let kept: AsyncGenerator | undefined
  await db.transaction(async (tx) => {
    kept = tx.stream('SELECT n FROM generate_series(1, 10) AS n', [], { batchSize: 1 })
    await kept.next()
  })
  assert(kept)
  const rest = kept
  assert.equal((await failure(rest.next())).category, 'closed')
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
})

test('values are read as query reads them: type parsers and binary', async () => {
  const types = { getTypeParser: () => (value: unknown) => `<${String(value)}>` }
  for (const options of [{ types }, { binary: true }]) {
    const db = await onServer({ max: 1, ...(options as object) })
    const text = "SELECT 7 AS n, true AS t, 'x'::text AS s"
    const rows: unknown[] = []
    for await (const row of db.stream(text)) rows.push(row)
    await db.transaction(async (tx) => {
      for await (const row of tx.stream(text)) rows.push(row)
    })
    const { rows: expected } = await db.query({ text, values: [] })
    assert.deepEqual(rows, [...expected, ...expected])
  }
})

test('COPY is refused, and the connection goes on', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  await db.query(`INSERT INTO ${table} VALUES (1)`)
  const read = async (rows: AsyncIterable<unknown>): Promise<void> => {
    for await (const row of rows) assert(row)
  }
  for (const direction of ['FROM STDIN', 'TO STDOUT']) {
    const text = `COPY ${table} ${direction}`
    assert.match((await failure(read(db.stream(text)))).message, new RegExp(`COPY ${direction} is not supported`))
    assert.match((await failure(db.transaction((tx) => read(tx.stream(text))))).message, /is not supported/)
    assert.deepEqual((await db.query(`SELECT a FROM ${table}`)).rows, [{ a: 1 }])
  }
})
