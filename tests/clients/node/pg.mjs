// node-postgres: typed parameters, prepared statements, transactions, error fields, a pool.
import assert from 'node:assert/strict';
import pg from 'pg';

const pool = new pg.Pool({ max: 4 });
const c = await pool.connect();
await c.query('CREATE TABLE t (id serial PRIMARY KEY, a int NOT NULL, b text UNIQUE, c numeric(8,2), d timestamptz, e jsonb, f text[], g bytea, h bool, i int8)');
const when = new Date('2024-01-02T03:04:05.678Z');
const one = await c.query('INSERT INTO t (a, b, c, d, e, f, g, h, i) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING *',
  [1, "it's", '1.50', when, { k: [1] }, ['x', 'y"'], Buffer.from([0, 255]), true, '9007199254740993']);
assert.deepEqual({ ...one.rows[0] }, { id: 1, a: 1, b: "it's", c: '1.50', d: when, e: { k: [1] }, f: ['x', 'y"'], g: Buffer.from([0, 255]), h: true, i: '9007199254740993' });
assert.equal(one.command, 'INSERT');
assert.deepEqual(one.fields.map((f) => f.dataTypeID), [23, 23, 25, 1700, 1184, 3802, 1009, 17, 16, 20]);
for (let i = 2; i <= 20; i++) await c.query({ name: 'ins', text: 'INSERT INTO t (a, b) VALUES ($1, $2)', values: [i, `n${i}`] });
const array = await c.query({ text: 'SELECT a, b FROM t WHERE a = ANY($1) ORDER BY a', values: [[2, 3]], rowMode: 'array' });
assert.deepEqual(array.rows, [[2, 'n2'], [3, 'n3']]);
await c.query('BEGIN');
assert.equal((await c.query('DELETE FROM t')).rowCount, 20);
await c.query('ROLLBACK');
await assert.rejects(c.query('INSERT INTO t (a, b) VALUES (1, $1)', ['n2']), (e) =>
  e.code === '23505' && e.constraint === 't_b_key' && e.table === 't' && e.detail === 'Key (b)=(n2) already exists.');
await assert.rejects(c.query('SELECT nope FROM t'), (e) => e.code === '42703' && e.position === '8');
const several = await c.query('SELECT 1 AS x; SELECT 2 AS y');
assert.deepEqual(several.map((r) => ({ ...r.rows[0] })), [{ x: 1 }, { y: 2 }]);
c.release();
const sums = await Promise.all(Array.from({ length: 12 }, (_, i) => pool.query('UPDATE t SET a = a + $1 WHERE id = 1 RETURNING a', [i])));
assert.equal(Math.max(...sums.map((r) => r.rows[0].a)), 67);
await pool.end();
console.log('ok');
