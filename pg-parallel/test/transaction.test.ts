/** `transaction`: what is kept, what is rolled back, what is run again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transaction } from '../src/index'
import { TARGET } from './support/servers'
import { direct, eventually, failure, freshTable, onServer } from './support/run'

const count = async (table: string): Promise<number> =>
  Number((await direct(`SELECT count(*)::int AS n FROM ${table}`))[0]?.['n'])

test('what the function returns is committed; what it throws rolls back and comes out unchanged', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  const result = await db.transaction(async (tx) => {
    await tx.query(`INSERT INTO ${table} VALUES ($1)`, [1])
    return (await tx.query<{ a: number }>(`SELECT a FROM ${table}`)).rows[0]?.a
  })
  assert.equal(result, 1)
  const mine = new Error('mine')
  await assert.rejects(
    db.transaction(async (tx) => {
      await tx.query(`INSERT INTO ${table} VALUES (2)`)
      throw mine
    }),
    (error) => error === mine,
  )
  assert.equal(await count(table), 1)
})

test('the isolation level is the one asked for', async () => {
  const db = await onServer()
  for (const isolation of ['read committed', 'repeatable read', 'serializable'] as const) {
    const { rows } = await db.transaction((tx) => tx.query('SHOW transaction_isolation'), { isolation })
    assert.equal(rows[0]?.['transaction_isolation'], isolation)
  }
  const table = await freshTable('a int')
  const error = await failure(db.transaction((tx) => tx.query(`INSERT INTO ${table} VALUES (1)`), { readOnly: true }))
  assert.equal(error.sqlState, '25006')
  const injected = db.transaction(async () => {}, { isolation: 'serializable; DROP TABLE x' as never })
  assert.equal((await failure(injected)).category, 'configuration')
})

test('an error that the function swallowed is not taken for a commit', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  const error = await failure(
    db.transaction(async (tx) => {
      await tx.query(`INSERT INTO ${table} VALUES (1)`)
      await tx.query('SELECT 1/0').catch(() => {})
    }),
  )
  assert.equal(error.sqlState, '25P02')
  assert.match(error.message, /rolled back/)
  assert.equal(await count(table), 0)
})

test('a savepoint undoes its part only', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int PRIMARY KEY')
  await db.transaction(async (tx) => {
    await tx.query(`INSERT INTO ${table} VALUES (1)`)
    await assert.rejects(tx.savepoint(async (inner) => inner.query(`INSERT INTO ${table} VALUES (1)`)))
    await tx.savepoint(async (inner) => inner.query(`INSERT INTO ${table} VALUES (2)`))
  })
  assert.equal(await count(table), 2)
})

test('a transaction object is dead when its function has ended; what it did not await is waited for', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  let kept: Transaction | undefined
  await db.transaction(async (tx) => {
    kept = tx
    void tx.query(`INSERT INTO ${table} VALUES (1)`)
    void tx.query(`INSERT INTO ${table} VALUES (2)`)
    await Promise.resolve()
  })
  assert.equal(await count(table), 2)
  assert(kept)
  assert.equal((await failure(kept.query(`INSERT INTO ${table} VALUES (3)`))).category, 'closed')
})

test('a serialization failure is retried when asked for, and reported as retryable when not', async () => {
  const db = await onServer()
  const table = await freshTable('a int')
  await db.query(`INSERT INTO ${table} VALUES (0)`)
  const increment = (retrySerializable: boolean): { done: Promise<number>; runs: () => number } => {
    let runs = 0
    const done = db.transaction(
      async (tx) => {
        runs++
        const { rows } = await tx.query<{ a: number }>(`SELECT a FROM ${table}`)
        // In the first run somebody else comes in between.
        if (runs === 1) await direct(`UPDATE ${table} SET a = a + 10`)
        await tx.query(`UPDATE ${table} SET a = $1`, [Number(rows[0]?.a) + 1])
        return Number(rows[0]?.a) + 1
      },
      { isolation: 'repeatable read', retrySerializable },
    )
    return { done, runs: () => runs }
  }
  const once = increment(false)
  const error = await failure(once.done)
  assert.equal(error.sqlState, '40001')
  assert.equal(error.category, 'serialization')
  assert.equal(error.retryable, true)
  assert.equal(error.mayHaveExecuted, false)
  assert.equal(once.runs(), 1)
  const again = increment(true)
  assert.equal(await again.done, 21)
  assert.equal(again.runs(), 2)
  assert.deepEqual(await direct(`SELECT a FROM ${table}`), [{ a: 21 }])
})

// pgsqlite lets one writer in at a time: none can wait for another's row.
test('a deadlock is retried when asked for', { skip: TARGET === 'pgsqlite' }, async () => {
  const db = await onServer()
  const table = await freshTable('id int PRIMARY KEY, a int')
  await db.query(`INSERT INTO ${table} VALUES (1, 0), (2, 0)`)
  let started = 0
  let both: (() => void) | undefined
  const meet = new Promise<void>((done) => {
    both = done
  })
  const swap = (first: number, second: number): Promise<void> =>
    db.transaction(
      async (tx) => {
        await tx.query(`UPDATE ${table} SET a = a + 1 WHERE id = $1`, [first])
        if (++started === 2) both?.()
        await meet
        await tx.query(`UPDATE ${table} SET a = a + 1 WHERE id = $1`, [second])
      },
      { retrySerializable: true },
    )
  await Promise.all([swap(1, 2), swap(2, 1)])
  assert.deepEqual(await direct(`SELECT a FROM ${table} ORDER BY id`), [{ a: 2 }, { a: 2 }])
})

test('a time limit rolls back, frees the connection, and holds also where the function waits for something else', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  const inside = await failure(
    db.transaction(
      async (tx) => {
        await tx.query(`INSERT INTO ${table} VALUES (1)`)
        await tx.query('SELECT pg_sleep(600)')
      },
      { timeoutMs: 100 },
    ),
  )
  assert.equal(inside.category, 'timeout')
  assert.equal(inside.mayHaveExecuted, false)
  const outside = await failure(
    db.transaction(
      async (tx) => {
        await tx.query(`INSERT INTO ${table} VALUES (1)`)
        await new Promise(() => {})
      },
      { timeoutMs: 100 },
    ),
  )
  assert.equal(outside.category, 'timeout')
  await eventually('both are rolled back', async () => (await db.query(`SELECT * FROM ${table}`)).rows.length === 0)
  assert.equal(db.totalCount, 1)
})

test('a prepared statement that went stale runs the transaction again, once', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  const all = { name: 'tx_all', text: `SELECT * FROM ${table}` }
  await db.query(all)
  await direct(`ALTER TABLE ${table} ADD COLUMN b int`)
  let runs = 0
  const { fields } = await db.transaction(async (tx) => {
    runs++
    await tx.query(`INSERT INTO ${table} VALUES (1)`)
    return tx.query(all)
  })
  assert.deepEqual(
    fields.map((field) => field.name),
    ['a', 'b'],
  )
  assert.equal(runs, 2)
  assert.equal(await count(table), 1)
})

test('a statement may have a time limit or a signal of its own; a savepoint saves the rest', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  for (const how of ['timeout', 'aborted'] as const) {
    await db.transaction(async (tx) => {
      await tx.query(`INSERT INTO ${table} VALUES (1)`)
      const error = await failure(
        tx.savepoint((inner) => {
          const options = how === 'timeout' ? { timeoutMs: 50 } : { signal: AbortSignal.timeout(50) }
          return inner.query('SELECT pg_sleep(600)', [], options)
        }),
      )
      assert.equal(error.category, how)
      // The cancel request must not hit this one.
      await tx.query(`INSERT INTO ${table} VALUES (2)`)
    })
  }
  assert.equal(await count(table), 4)
  const whole = await failure(
    db.transaction(async (tx) => {
      await tx.query(`INSERT INTO ${table} VALUES (3)`)
      await tx.query({ text: 'SELECT pg_sleep(600)', timeoutMs: 50 })
    }),
  )
  assert.equal(whole.category, 'timeout')
  assert.equal(await count(table), 4)
})
