import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tokensOf } from './lexer'

const texts = (sql: string): string | undefined =>
  tokensOf(sql)
    ?.map((token) => token.text)
    .join(' ')

const CASES: [string, string | undefined][] = [
  ['SELECT a.b, $1::int', 'select a . b , $1 : : int'],
  ['/* one /* two */ still */ SELECT -- rest\n 1', 'select 1'],
  ["SELECT E'\\'; --' , 'it''s'", "select E , '"],
  ['SELECT $$ ; $$, $tag$ $$ $tag$', 'select $ , $'],
  ['SELECT "a ""b"" (" (1)', 'select "a ""b"" (" ( 1 )'],
  ["SELECT 'a\\'", undefined],
  ["SELECT U&'d'", undefined],
  ["SELECT 'open", undefined],
  ['SELECT /* open /* */', undefined],
  ['SELECT $$ open', undefined],
  ['SELECT "open', undefined],
  ['', ''],
]

for (const [sql, expected] of CASES) {
  test(`tokens of ${sql}`, () => {
    assert.equal(texts(sql), expected)
  })
}
