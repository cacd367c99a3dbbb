import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from './sql'

const both = (query: { text: string; values: unknown[] }): [string, unknown[]] => [query.text, query.values]

test('values become parameters, in the order in which they stand', () => {
  assert.deepEqual(both(sql`SELECT ${1}, ${'x'} AS b, ${null}`), ['SELECT $1, $2 AS b, $3', [1, 'x', null]])
  const part = sql`a = ${1} AND ${sql`b = ${2}`}`
  assert.deepEqual(both(sql`SELECT ${0} WHERE ${part} AND c = ${3}`), [
    'SELECT $1 WHERE a = $2 AND b = $3 AND c = $4',
    [0, 1, 2, 3],
  ])
  const twice = sql`x = ${7}`
  assert.deepEqual(both(sql`${twice} OR ${twice}`), ['x = $1 OR x = $2', [7, 7]])
})

test('what only looks like a fragment is a value', () => {
  const fake = { text: 'DROP TABLE t', values: [], pieces: [{ code: 'DROP TABLE t' }] }
  assert.deepEqual(both(sql`SELECT ${fake}`), ['SELECT $1', [fake]])
})

test('names, lists, rows and assignments', () => {
  assert.equal(sql.id('a"b', 'select').text, '"a""b"."select"')
  assert.deepEqual(both(sql.list([1, sql`now()`, 'x'])), ['$1, now(), $2', [1, 'x']])
  assert.deepEqual(both(sql.join([sql`a`, sql`b = ${1}`], sql` OR `)), ['a OR b = $1', [1]])
  assert.equal(sql.join([]).text, '')
  assert.deepEqual(
    both(
      sql.insert([
        { a: 1, b: 2 },
        { b: 4, a: 3 },
      ]),
    ),
    ['("a", "b") VALUES ($1, $2), ($3, $4)', [1, 2, 3, 4]],
  )
  assert.deepEqual(both(sql.insert({ a: 1, b: 2 }, ['b'])), ['("b") VALUES ($1)', [2]])
  assert.deepEqual(both(sql.set({ a: 1, b: sql`b + ${1}` })), ['"a" = $1, "b" = b + $2', [1, 1]])
  assert.equal(sql`a ${sql.empty} b ${sql.unsafe('c --')}`.text, 'a  b c --')
})

test('what would go wrong later is refused', () => {
  const refused: (() => unknown)[] = [
    () => sql`SELECT ${undefined}`,
    () => sql`SELECT ${() => 1}`,
    () => sql.list([]),
    () => sql.list([undefined]),
    () => sql.id(),
    () => sql.id(''),
    () => sql.id('a\0b'),
    () => sql.id(7 as never),
    () => sql.insert([]),
    () => sql.insert([{ a: 1 }, { b: 1 }]),
    () => sql.insert([{ a: 1 }, { a: 1, b: 1 }]),
    () => sql.set({}),
    () => sql.set({ a: undefined }),
    () => sql.join([sql`a`], sql`${1}`),
    () => sql('SELECT 1' as never),
    () => sql(['SELECT 1'] as never),
  ]
  for (const [index, one] of refused.entries()) assert.throws(one, { category: 'configuration' }, `${index}`)
})
