// postgres.js: pipelined queries, helpers, transactions with savepoints, cursors, its type look-up.
import assert from 'node:assert/strict';
import postgres from 'postgres';

const { PGHOST, PGPORT, PGUSER, PGDATABASE } = process.env;
const sql = postgres({ path: `${PGHOST}/.s.PGSQL.${PGPORT}`, user: PGUSER, database: PGDATABASE, max: 3, onnotice: () => {} });
await sql`CREATE TABLE t (id serial PRIMARY KEY, name text UNIQUE, n int, tags text[], data jsonb, at timestamptz, ok bool)`;
const at = new Date('2024-01-02T03:04:05Z');
const [row] = await sql`INSERT INTO t ${sql({ name: "it's", n: 5, tags: ['a', 'b'], data: { k: 1 }, at, ok: true })} RETURNING *`;
assert.deepEqual({ ...row }, { id: 1, name: "it's", n: 5, tags: ['a', 'b'], data: { k: 1 }, at, ok: true });
await sql`INSERT INTO t ${sql([{ name: 'x', n: 1 }, { name: 'y', n: 2 }], 'name', 'n')}`;
const found = await sql`SELECT name FROM t WHERE n IN ${sql([1, 2])} ORDER BY n`;
assert.deepEqual(found.map((r) => r.name), ['x', 'y']);
assert.deepEqual(found.columns.map((c) => c.type), [25]);
const many = await Promise.all([1, 2, 3, 4, 5].map((i) => sql`SELECT ${i}::int AS i`));
assert.deepEqual(many.map((r) => r[0].i), [1, 2, 3, 4, 5]);
await sql.begin(async (tx) => {
  await tx`UPDATE t SET n = 100 WHERE name = 'x'`;
  await tx.savepoint(async (sp) => { await sp`DELETE FROM t`; throw new Error('back'); }).catch((e) => assert.equal(e.message, 'back'));
});
assert.equal((await sql`SELECT n FROM t WHERE name = 'x'`)[0].n, 100);
await assert.rejects(sql`INSERT INTO t (name) VALUES ('x')`, (e) => e.code === '23505' && e.constraint_name === 't_name_key' && e.table_name === 't');
await assert.rejects(sql`SELECT 1/0`, (e) => e.code === '22012');
const seen = [];
await sql`SELECT g FROM generate_series(1, 7) g`.cursor(3, (rows) => { seen.push(rows.map((r) => r.g)); });
assert.deepEqual(seen, [[1, 2, 3], [4, 5, 6], [7]]);
await sql.end();
console.log('ok');
