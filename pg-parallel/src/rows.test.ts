import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkedRows, checkSchema, manyOf, maybeOneOf, oneOf, type StandardSchema } from './rows'
import type { QueryResult } from './types'

const of = (...rows: Record<string, unknown>[]): QueryResult => ({
  command: 'SELECT',
  rowCount: rows.length,
  oid: null,
  fields: [],
  rows,
})

const positive: StandardSchema<unknown, { n: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (row) => {
      const { n } = row as { n: number }
      return n > 0
        ? Promise.resolve({ value: { n: n * 2 } })
        : { issues: [{ message: 'too small', path: ['a', { key: 'n' }] }] }
    },
  },
}

test('numbers of rows', () => {
  const [none, one, two] = [of(), of({ n: 1 }), of({ n: 1 }, { n: 2 })]
  assert.deepEqual(oneOf(one, 'SELECT'), { n: 1 })
  assert.equal(maybeOneOf(none, 'SELECT'), undefined)
  assert.deepEqual(manyOf(two, 'SELECT'), two.rows)
  assert.throws(() => oneOf(none, 'SELECT 1'), { category: 'rows', code: 'P0002', mayHaveExecuted: false })
  assert.throws(() => oneOf(two, 'DELETE FROM t RETURNING n'), { code: 'P0003', mayHaveExecuted: true })
  assert.throws(() => maybeOneOf(two, 'SELECT'), { code: 'P0003' })
  assert.throws(() => manyOf(none, 'SELECT'), { code: 'P0002' })
  assert.throws(() => oneOf([one, one] as never, 'SELECT 1; SELECT 1'), { category: 'rows' })
})

test('rows are what the schema makes of them', async () => {
  assert.deepEqual((await checkedRows(of({ n: 1 }, { n: 2 }), positive, 'SELECT')).rows, [{ n: 2 }, { n: 4 }])
  await assert.rejects(checkedRows(of({ n: 1 }, { n: 0 }), positive, 'SELECT'), {
    category: 'rows',
    message: 'row 2 is not what its schema asks for: a.n: too small',
  })
  await assert.rejects(checkedRows([of(), of()] as never, positive, 'SELECT'), { category: 'rows' })
})

test('only a Standard Schema is one', () => {
  checkSchema(positive)
  for (const other of [null, {}, { '~standard': { version: 2, validate: () => ({ value: 1 }) } }]) {
    assert.throws(
      () => {
        checkSchema(other)
      },
      { category: 'configuration' },
    )
  }
})
