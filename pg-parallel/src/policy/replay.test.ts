import assert from 'node:assert/strict'
import { test } from 'node:test'
import { natureOf, natureOfAll, writing } from './replay'

const READS = [
  'SELECT 1',
  'select * from t where id = $1',
  'select count(*), max(x) from "Weird ""Table" where name like \'%;%\' order by 1 limit 5',
  'WITH a AS (SELECT 1) SELECT * FROM a',
  'VALUES (1), (2)',
  'TABLE t',
  'SHOW server_version',
  'select a::numeric(10,2) from t where b in (1, 2) -- comment; delete\n',
  'select pg_catalog.lower(x) from t;',
  "select 'insert into t' as text",
  '',
  'select $$a$$',
  'select $tag$; delete from t $tag$',
  "select /* ; */ 1 /*traceparent='00-1',app='x'*/",
  "select E'it\\'s; delete'",
  'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r',
  'WITH a AS MATERIALIZED (SELECT 1), b(x, y) AS NOT MATERIALIZED (VALUES (1, 2)) TABLE b',
  'select * from unnest($1::int[]) with ordinality as u(a, b)',
  'select * from generate_series(1, 2) u(a)',
]
const WRITES = [
  'INSERT INTO t VALUES (1)',
  'select book_seat(7)',
  'select "count"(7)',
  'select mine.lower(x) from t',
  'select * from t for update',
  'select * into u from t',
  "select nextval('s')",
  "select set_config('a', 'b', false)",
  'WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone',
  'select 1; select 2',
  'select 1; delete from t',
  "select E'\\'; delete from t",
  "select 'a\\'",
  'EXPLAIN ANALYZE DELETE FROM t',
  'BEGIN',
  'CALL p()',
  'select distinct on (a) book_seat(b) from t',
  'select * from book_seats() as s(a int)',
  "select U&'d'",
]

for (const text of READS) {
  test(`may be sent twice: ${text}`, () => {
    assert.equal(natureOf(text).readOnly, true)
  })
}
for (const text of WRITES) {
  test(`must not be sent twice: ${text}`, () => {
    assert.equal(natureOf(text).readOnly, false)
  })
}

test('a single data statement leaves no trace when the server reports an error', () => {
  for (const text of [
    'INSERT INTO t VALUES (1)',
    'update t set a = 1',
    'create table t (a int)',
    "insert into t values (E'\\n')",
  ]) {
    assert.equal(natureOf(text).atomic, true, text)
  }
})

test('what may commit on its way is not atomic', () => {
  for (const text of [
    'CALL p()',
    'DO $$ begin commit; end $$',
    'VACUUM t',
    'create index concurrently i on t (a)',
    'insert into t values (1); commit',
    'create database d',
  ]) {
    assert.equal(natureOf(text).atomic, false, text)
  }
})

test('several statements read if each of them does, as far as the functions that they call do', () => {
  assert.deepEqual(natureOfAll(['SELECT 1', 'SELECT jsonb_set(a) FROM t']).calls, ['jsonb_set'])
  assert.equal(natureOfAll(['SELECT 1', 'SELECT jsonb_set(a) FROM t']).readOnly, false)
  assert.equal(natureOfAll(['SELECT 1', 'TABLE t']).readOnly, true)
  const writes = natureOfAll(['SELECT jsonb_set(a) FROM t', 'DELETE FROM t'])
  assert.equal(writes.readOnly, false)
  assert.equal(writes.calls, undefined)
})

test('a statement that is taken for one that writes stays as atomic as it is', () => {
  for (const text of ['SELECT 1', 'SELECT jsonb_set(a) FROM t', 'DELETE FROM t']) {
    const nature = writing(natureOf(text))
    assert.equal(nature.readOnly, false)
    assert.equal(nature.calls, undefined)
    assert.equal(nature.atomic, true)
  }
})
