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
// every type, as text: a parameter, a result, stored, in an array, NULL
await c.query("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN positive AS int CHECK (VALUE > 0)");
const types = {
  bool: [true, false], int2: [-32768, 32767], int4: [-2147483648, 2147483647], int8: ['-9223372036854775808'], oid: [4294967295], float4: [1.5, -0.25], float8: [0.1, 5e-324, -1e308, NaN, Infinity],
  numeric: ['12.340', 'NaN', `1${'0'.repeat(300)}`, '-0.000000000000000000001'], 'numeric(8,2)': ['-999999.99'], text: ["é'\\\"", '', '日本\n', 'x'.repeat(70000)], 'varchar(5)': ['abcde'], 'char(5)': ['ab   '], name: ['a name'],
  bytea: [Buffer.from([0, 255, 92])], time: ['01:02:03.000004'], timetz: ['01:02:03+05:30'], timestamptz: [when], uuid: ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'], json: [{ a: [1, null] }], jsonb: [{ a: [1, null] }], mood: ['happy'], positive: [7],
};
const send = (t, v) => (t === 'json' || t === 'jsonb' ? JSON.stringify(v) : v);
for (const [t, values] of Object.entries(types)) {
  await c.query(`CREATE TEMP TABLE one (v ${t}, a ${t}[])`);
  for (const v of values) {
    assert.deepEqual((await c.query(`SELECT $1::${t} AS v`, [send(t, v)])).rows[0].v, v, t);
    const stored = await c.query('INSERT INTO one VALUES ($1, $2) RETURNING v', [send(t, v), [send(t, v), null]]);
    assert.deepEqual(stored.rows[0].v, v, t);
    if (t !== 'json') assert.equal((await c.query(`SELECT count(*) FROM one WHERE v = $1 AND a[1] = v AND a[2] IS NULL AND cardinality(a) = 2`, [send(t, v)])).rows[0].count, '1', t);
  }
  assert.deepEqual((await c.query(`SELECT $1::${t} AS v, $2::${t}[] AS a`, [null, null])).rows[0], { v: null, a: null });
  await c.query('DROP TABLE one');
}
const parsed = (await c.query("SELECT '2024-02-29'::date AS d, '2024-01-02 03:04:05.678'::timestamp AS ts, '1 year 2 mons 3 days 04:05:06.7'::interval AS i, '{{1,2},{3,NULL}}'::int[] AS g, '{\"a,b\",NULL,\"\"}'::text[] AS x, '{t,f}'::bool[] AS b")).rows[0];
assert.deepEqual([parsed.d.getDate(), parsed.ts.getMilliseconds(), { ...parsed.i }, parsed.g, parsed.x, parsed.b], [29, 678, { years: 1, months: 2, days: 3, hours: 4, minutes: 5, seconds: 6, milliseconds: 700 }, [[1, 2], [3, null]], ['a,b', null, ''], [true, false]]);
for (const [text, values, code] of [['SELECT $1::int', ['x'], '22P02'], ['SELECT $1::positive', [-1], '23514'], ["SELECT $1::mood", ['angry'], '22P02'], ['SELECT 1/0', [], '22012'], ['INSERT INTO t (a) VALUES (NULL)', [], '23502'], ['SELECT * FROM nowhere', [], '42P01'], ['SELEC', [], '42601']])
  await assert.rejects(c.query(text, values), (e) => e.code === code && e.severity === 'ERROR', text);
await c.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
await c.query('SAVEPOINT s');
await assert.rejects(c.query('SELECT 1/0'), { code: '22012' });
await assert.rejects(c.query('SELECT 1'), { code: '25P02' });
await c.query('ROLLBACK TO s');
assert.equal((await c.query('SHOW transaction_isolation')).rows[0].transaction_isolation, 'serializable');
await c.query('COMMIT');
const notices = [];
c.on('notice', (n) => notices.push(n.message));
await c.query('DROP TABLE IF EXISTS not_there');
assert.deepEqual(notices, ['table "not_there" does not exist, skipping']);
const heard = new Promise((resolve) => c.once('notification', resolve));
await c.query('LISTEN news');
await pool.query("NOTIFY news, 'hello'");
const { channel, payload } = await heard;
assert.deepEqual([channel, payload], ['news', 'hello']);
await c.query('UNLISTEN *');
c.release();
const sums = await Promise.all(Array.from({ length: 12 }, (_, i) => pool.query('UPDATE t SET a = a + $1 WHERE id = 1 RETURNING a', [i])));
assert.equal(Math.max(...sums.map((r) => r.rows[0].a)), 67);
await pool.end();
console.log('ok');
