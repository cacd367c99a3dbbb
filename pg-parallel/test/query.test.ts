/** `query`: results as pg's, errors, deadlines, the queue and its bounds, prepared statements. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { Core } from '../src/core'
import { ErrorUtils, PgParallelError, type QueryResult } from '../src/index'
import { resolveSettings } from '../src/options'
import { natureOf } from '../src/policy/replay'
import { direct, eventually, failure, freshTable, onServer, open, server, sleep } from './support/run'
import { startServer } from './support/servers'

const SAMPLES: [string, unknown[]?][] = [
  ['SELECT 1 AS one, $1::text AS two', ['x']],
  ['SELECT 1 AS a; SELECT 2 AS b'],
  [''],
  ["SELECT NULL AS n, true AS t, 1.5::float8 AS f, '2024-01-02'::date AS d, 12::int8 AS big, '1.10'::numeric AS num"],
  ["SELECT '{1,2}'::int[] AS list, '{\"a\": 1}'::jsonb AS doc"],
  ['VALUES (1), (2)'],
  ["SET application_name = 'x'"],
]

/** A result, or one for each statement of a script, without what pg keeps there for itself. */
const publicly = (result: QueryResult | pg.QueryResult | pg.QueryResult[]): string =>
  JSON.stringify(
    [result].flat().map(({ command, rowCount, oid, rows, fields }) => ({ command, rowCount, oid, rows, fields })),
  )

test('a result is what pg.Pool gives', async () => {
  const db = await onServer()
  const pool = new pg.Pool({ connectionString: (await server()).url })
  try {
    for (const [text, values] of SAMPLES) {
      const plain = publicly(await pool.query(text, values ?? []))
      const ours = publicly(await (values ? db.query(text, values) : db.query(text, [])))
      assert.equal(ours, plain, text)
    }
    const config = { text: 'SELECT 1 AS a, 2 AS b', rowMode: 'array' as const }
    assert.deepEqual((await db.query(config)).rows, (await pool.query(config)).rows)
    const named = { name: 'twice', text: 'SELECT $1::int AS n' }
    for (const n of [1, 2]) assert.deepEqual((await db.query({ ...named, values: [n] })).rows, [{ n }])
  } finally {
    await pool.end()
  }
})

test('an error carries what the server said, and what follows from it', async () => {
  const db = await onServer()
  const table = await freshTable('id int PRIMARY KEY')
  await db.query(`INSERT INTO ${table} VALUES (1)`)
  const error = await failure(db.query(`INSERT INTO ${table} VALUES ($1)`, [1]))
  assert.equal(error.sqlState, '23505')
  assert.equal(error.code, '23505')
  assert.equal(error.category, 'constraint')
  assert.equal(error.table, table)
  assert.equal(error.retryable, false)
  assert.equal(error.mayHaveExecuted, false)
  assert.equal(ErrorUtils.sqlState(error.cause), '23505')
  const syntax = await failure(db.query('SELEC 1'))
  assert.equal(syntax.sqlState, '42601')
  assert.equal(syntax.position, '1')
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
})

test('what pg itself refuses was not sent', async () => {
  const db = await onServer()
  const error = await failure(db.query({ text: 'INSERT INTO nowhere VALUES ($1)', values: 'no array' as never }))
  assert.equal(error.mayHaveExecuted, false)
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const unreadable = await failure(db.query('SELECT $1::json', [circle]))
  assert.match(unreadable.message, /circular/)
  assert.equal(unreadable.mayHaveExecuted, false)
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
})

test('an answer that cannot be read here is not asked for again', async () => {
  let asked = 0
  const types = {
    getTypeParser: () => () => {
      asked++
      throw new Error('cannot read this')
    },
  }
  const db = await onServer()
  const table = await freshTable('id int')
  const error = await failure(db.query({ text: `INSERT INTO ${table} VALUES (1) RETURNING id`, types: types }))
  assert.equal(asked, 1)
  assert.equal(error.mayHaveExecuted, true)
  assert.equal((await direct(`SELECT * FROM ${table}`)).length, 1)
})

test('a time limit ends the statement on the server and frees the connection', async () => {
  const db = await onServer({ max: 1 })
  const pid = (await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
  const error = await failure(db.query('SELECT pg_sleep(600)', [], { timeoutMs: 50 }))
  assert.equal(error.category, 'timeout')
  assert.equal(error.mayHaveExecuted, false) // it only reads
  // There is one connection: only if the server has stopped the statement is it free, and it is the same one.
  assert.equal((await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid, pid)
})

test('an aborted signal ends the statement on the server, also in the queue', async () => {
  const db = await onServer({ max: 1 })
  const running = new AbortController()
  const queued = new AbortController()
  const slow = failure(db.query('SELECT pg_sleep(600)', [], { signal: running.signal }))
  await eventually('the connection is busy', () => db.stats.pool.busy === 1)
  const waiting = failure(db.query({ text: 'INSERT INTO nowhere VALUES (1)', signal: queued.signal }))
  assert.equal(db.waitingCount, 1)
  const reason = new Error('changed my mind')
  queued.abort(reason)
  const first = await waiting
  assert.equal(first.category, 'aborted')
  assert.equal(first.cause, reason)
  assert.equal(first.mayHaveExecuted, false)
  assert.equal(db.waitingCount, 0)
  running.abort()
  assert.equal((await slow).category, 'aborted')
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
  const before = new AbortController()
  before.abort()
  assert.equal((await failure(db.query('SELECT 1', [], { signal: before.signal }))).category, 'aborted')
})

test('an aborted signal ends whole transactions and streams on the server, and their connection goes on', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  const pid = async (): Promise<number | undefined> =>
    (await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
  const before = await pid()
  const calls: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
    transaction: (signal) =>
      db.transaction(
        async (tx) => {
          await tx.query(`INSERT INTO ${table} VALUES (1)`)
          await tx.query('SELECT pg_sleep(600)')
        },
        { signal },
      ),
    stream: async (signal) => {
      for await (const row of db.stream('SELECT pg_sleep(600)', [], { signal })) assert(row)
    },
    'stream between rows': async (signal) => {
      for await (const row of db.stream('SELECT generate_series(1, 100000)', [], { signal, batchSize: 1 })) assert(row)
    },
  }
  for (const [what, call] of Object.entries(calls)) {
    const stop = new AbortController()
    const reason = new Error('changed my mind')
    const error = failure(call(stop.signal))
    await eventually('it is under way', () => db.stats.pool.busy === 1)
    await sleep(20)
    stop.abort(reason)
    assert.equal((await error).category, 'aborted', what)
    assert.equal((await error).cause, reason, what)
    // There is one connection: only if the server has stopped the statement is it free, and it is the same one.
    assert.equal(await pid(), before, what)
  }
  assert.deepEqual(await direct(`SELECT * FROM ${table}`), [])
})

test('a cancel request never hits the next statement', async () => {
  const db = await onServer({ max: 1 })
  for (let round = 0; round < 40; round++) {
    const stop = new AbortController()
    const call = db.query('SELECT 1', [], { signal: stop.signal }).catch(() => {})
    // Some are aborted in the queue, some on the server, some when they are over.
    for (let turns = round % 4; turns > 0; turns--) await new Promise(setImmediate)
    stop.abort()
    assert.equal((await db.query('SELECT 2 AS two')).rows[0]?.['two'], 2)
    await call
  }
})

test('calls are served in the order they came, and no more connections are opened than allowed', async () => {
  for (const max of [1, 3]) {
    const db = await onServer({ max })
    const order: number[] = []
    await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        await db.query('SELECT 1')
        order.push(index)
        assert(db.totalCount <= max)
      }),
    )
    // On several connections the answers may overtake each other.
    if (max === 1) assert.deepEqual(order, [...order.keys()])
    assert.equal(db.waitingCount, 0)
  }
})

test('a full queue refuses at once', async () => {
  const db = await onServer({ max: 1, maxQueue: 2 })
  const stop = new AbortController()
  const calls = [0, 1, 2].map(() =>
    db.query('SELECT pg_sleep(600)', [], { signal: stop.signal }).catch(() => 'stopped'),
  )
  const error = await failure(db.query('SELECT 1'))
  assert.equal(error.category, 'overload')
  assert.equal(error.mayHaveExecuted, false)
  stop.abort()
  await Promise.all(calls)
})

test('demand above the server’s max_connections waits', async () => {
  const small = await startServer({ maxConnections: 5 })
  const db = open({ connectionString: small.url, max: 40, circuitBreaker: { failureThreshold: 1 } })
  const { connections, errors } = await db.warmup({ threads: 0 })
  assert(connections <= 5 && errors.length > 0)
  const results = await Promise.all(
    Array.from({ length: 400 }, (_, n) => db.query<{ n: number }>('SELECT $1::int AS n', [n])),
  )
  assert.deepEqual(
    results.map((result) => result.rows[0]?.n),
    Array.from({ length: 400 }, (_, n) => n),
  )
  assert(db.totalCount <= 5)
  assert.equal(db.stats.breaker?.opened, 0, 'a full server is no failing server')
  assert.equal(db.stats.calls.retried, 0)
})

test('a server that others have filled is waited for', async () => {
  const small = await startServer({ maxConnections: 2 })
  const others = [new pg.Client(small.url), new pg.Client(small.url)]
  for (const other of others) {
    other.on('error', () => {})
    await other.connect()
  }
  const db = open({ connectionString: small.url, retry: { maxAttempts: 100, maxDelayMs: 100 } })
  const refused = new Promise<string | undefined>((done) => {
    db.once('connectFailed', ({ error }) => {
      done(error.sqlState)
    })
  })
  const call = db.query('SELECT 1 AS ok')
  assert.equal(await refused, '53300')
  await others[0]?.end()
  assert.equal((await call).rows[0]?.['ok'], 1)
  await others[1]?.end()
})

test('a prepared statement survives a change of its table', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  await db.query(`INSERT INTO ${table} VALUES (1)`)
  const all = { name: 'all', text: `SELECT * FROM ${table}` }
  assert.deepEqual((await db.query(all)).rows, [{ a: 1 }])
  await db.query(`ALTER TABLE ${table} ADD COLUMN b int`)
  assert.deepEqual((await db.query(all)).rows, [{ a: 1, b: null }])
  // Twice: once for each change.
  await db.query(`ALTER TABLE ${table} DROP COLUMN b`)
  assert.deepEqual((await db.query(all)).rows, [{ a: 1 }])
  assert.equal(db.stats.calls.retried, 0)
})

test('a prepared statement survives losing its server side', async () => {
  const db = await onServer({ max: 1 })
  const one = { name: 'one', text: 'SELECT 1 AS one' }
  await db.query(one)
  await db.query('DEALLOCATE ALL')
  assert.deepEqual((await db.query(one)).rows, [{ one: 1 }])
  const table = await freshTable('a int')
  const insert = { name: 'insert', text: `INSERT INTO ${table} VALUES ($1)`, values: [1] }
  await db.query(insert)
  await db.query('DEALLOCATE ALL')
  await db.query(insert)
  assert.equal((await direct(`SELECT * FROM ${table}`)).length, 2)
})

test('a transaction left open by BEGIN does not reach the next caller', async () => {
  const db = await onServer({ max: 1 })
  const table = await freshTable('a int')
  await db.query('BEGIN; SELECT 1')
  await db.query(`INSERT INTO ${table} VALUES (1)`)
  assert.equal((await direct(`SELECT * FROM ${table}`)).length, 1)
})

test('pg.Pool’s options work: onConnect, verify, log, maxUses, idleTimeoutMillis, maxLifetimeSeconds', async () => {
  let hooked = 0
  const db = await onServer({
    max: 1,
    maxUses: 2,
    onConnect: () => {
      hooked++
    },
  })
  const pids = new Set<number>()
  for (let n = 0; n < 4; n++)
    pids.add((await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid ?? 0)
  assert.equal(pids.size, 2)
  assert.equal(hooked, 2)
  const logged: unknown[] = []
  const clients: unknown[] = []
  const picky = await onServer({
    max: 1,
    log: (...messages: unknown[]) => logged.push(...messages),
    verify: (client, done) => {
      clients.push(client)
      done(clients.length === 1 ? new Error('not this one') : undefined)
    },
    retry: { initialDelayMs: 1 },
  })
  assert.match((await failure(picky.query('SELECT 1'))).message, /not this one/)
  assert.equal((await picky.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
  assert.throws(() => open({ Client: pg.Client } as never), /Client is not supported/)
  assert(logged.length > 0)
  assert.throws(() => open({ Promise: (() => {}) as never }), /Promise/)
  const old = await onServer({ maxLifetimeSeconds: 1 })
  await old.query('SELECT 1')
  await eventually('the old connection is closed', () => old.totalCount === 0)
  const brief = await onServer({ idleTimeoutMillis: 20 })
  await brief.query('SELECT 1')
  await eventually('the idle connection is closed', () => brief.totalCount === 0)
})

test('several statements may be under way on a connection (pipelining)', async () => {
  const db = await onServer({ max: 1, pipeline: true })
  const table = await freshTable('a int PRIMARY KEY')
  const results = await Promise.allSettled(
    Array.from({ length: 300 }, (_, n) =>
      db.query<{ a: number }>(`INSERT INTO ${table} VALUES ($1) RETURNING a`, [n % 200]),
    ),
  )
  for (const [n, result] of results.entries()) {
    if (n < 200) assert(result.status === 'fulfilled' && result.value.rows[0]?.a === n)
    else assert(result.status === 'rejected' && ErrorUtils.sqlState(result.reason) === '23505')
  }
  // What needs the connection for itself gets it for itself.
  const mixed = await Promise.all([
    db.query('SELECT 1 AS n'),
    db.transaction(async (tx) => tx.query('SELECT 2 AS n')),
    db.query('SELECT 3 AS n'),
    db.query('SELECT 4 AS n', [], { timeoutMs: 60_000 }),
  ])
  assert.deepEqual(
    mixed.map((result) => result.rows[0]?.['n']),
    [1, 2, 3, 4],
  )
  assert.equal(db.totalCount, 1)
})

test('an error leads to where the query was asked', async () => {
  const db = await onServer()
  async function askedHere(): Promise<void> {
    await db.query('SELEC')
  }
  assert.match((await failure(askedHere())).stack ?? '', /askedHere/)
})

test('what is no query is refused, and not taken for one', async () => {
  const db = await onServer()
  for (const wrong of [undefined, null, 7, { text: 'SELECT 1', submit: () => {} }]) {
    assert.equal((await failure(db.query(wrong as never))).category, 'configuration')
  }
  const callback = (() => {}) as never
  for (const call of [
    db.query('SELECT 1', callback),
    db.query('SELECT 1', [], callback),
    db.query({ text: 'SELECT 1', callback } as never),
  ]) {
    assert.match((await failure(call)).message, /callbacks/)
  }
  assert.equal(db.stats.calls.started, 0)
})

test('over TLS too, and cancelling as well', async () => {
  const secure = await startServer({ tls: true })
  const db = open({ connectionString: secure.url, ssl: { rejectUnauthorized: false }, max: 1 })
  const pid = (await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
  assert.equal((await failure(db.query('SELECT pg_sleep(600)', [], { timeoutMs: 50 }))).category, 'timeout')
  assert.equal((await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid, pid)
})

test('allowExitOnIdle lets the process end without shutdown', async () => {
  const program = `
    const { PgParallel } = require(${JSON.stringify(resolve('build/src/index.js'))})
    const db = new PgParallel({ connectionString: ${JSON.stringify((await server()).url)}, allowExitOnIdle: true, idleTimeoutMillis: 0 })
    db.query('SELECT 1').then(() => db.query('SELECT 2')).then(() => process.stdout.write('done'))`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { timeout: 60_000 })
  assert.equal(stdout, 'done')
})

test('options that make no sense are refused', async () => {
  assert.throws(() => open({ max: -1 }), /max must be/)
  assert.throws(() => open({ retry: { maxAttempts: 0 } }), /retry.maxAttempts/)
  assert.throws(() => open({ circuitBreaker: { failureThreshold: 0 } }), /failureThreshold/)
  assert.throws(
    () => open({ connectionString: 'postgres://a,b/x?target_session_attrs=strong' }),
    /target_session_attrs/,
  )
  const db = await onServer()
  assert.equal((await failure(db.query('SELECT 1', [], { timeoutMs: -1 }))).category, 'configuration')
})

test('COPY has nowhere to get its data from or to put it: an error, and the connection goes on', async () => {
  const db = await onServer({ max: 1, circuitBreaker: { failureThreshold: 1 } })
  const table = await freshTable('a int')
  await db.query(`INSERT INTO ${table} VALUES (1)`)
  for (const query of [
    `COPY ${table} FROM STDIN`,
    { name: 'copy_in', text: `COPY ${table} FROM STDIN` },
    `COPY ${table} TO STDOUT`,
    { name: 'copy_out', text: `COPY ${table} TO STDOUT` },
  ]) {
    const error = await failure(db.query(query))
    assert.match(error.message, /COPY (FROM STDIN|TO STDOUT) is not supported/)
    assert.equal(error.category, 'statement')
    assert.equal(error.retryable, false)
    assert.deepEqual((await db.query(`SELECT a FROM ${table}`)).rows, [{ a: 1 }])
  }
  assert.equal(db.stats.breaker?.opened, 0)
})

test('pg’s query_timeout works for one query as well as for all', async () => {
  const db = await onServer({ max: 1 })
  const slow = { text: 'SELECT pg_sleep(600)', query_timeout: 50 }
  assert.equal((await failure(db.query(slow))).category, 'timeout')
  const strict = await onServer({ max: 1, query_timeout: 50 })
  assert.equal((await failure(strict.query('SELECT pg_sleep(600)'))).category, 'timeout')
})

test('what comes in binary format, once a statement is prepared, is what came as a text', async () => {
  const db = await onServer({ max: 1 })
  await db.query("SET TIME ZONE 'America/St_Johns'")
  const texts = [
    `SELECT x::int2 AS s, x::int4 AS i, x::int8 AS b, (x + 40000)::oid AS o, x::float4 / 7 AS f, x::float8 / 7 AS d, x::numeric / 8 AS n,
       x > 0 AS t, decode(md5(x::text), 'hex') AS y FROM generate_series($1::int, $1 + 20000, 4999) AS x`,
    `SELECT a::timestamptz, a::timestamp AS local, a::date AS day FROM unnest(ARRAY['infinity', '-infinity', '2024-02-29 12:34:56.789123', '1969-12-31 23:59:59.999999',
       '0044-03-15 BC', '0099-01-02 03:04:05', '1883-11-18 12:03:57', '2500-01-01 00:00:00.5', '9999-12-31 23:59:59.9999', $1]) AS a`,
    `SELECT ARRAY[x, NULL, -x]::int4[] AS i, ARRAY[[x, 1], [2, x]]::int2[] AS s, '{}'::int4[] AS none, NULL::int4[] AS gone, '[2:3]={5,6}'::int4[] AS bounds,
       ARRAY['a,b', '', NULL, 'NULL', 'ä"\\', x::text] AS t, ARRAY['v', x::text]::varchar[] AS v, ARRAY[x > 0, NULL] AS b,
       ARRAY[x / 7.0, 'NaN', '-Infinity']::float8[] AS d, ARRAY[x]::numeric[] AS n, md5(x::text)::uuid AS u FROM generate_series($1::int, 3) AS x`,
    `SELECT d::float8 AS d FROM unnest(ARRAY['NaN', 'Infinity', '-Infinity', '-0', '5e-324', '1.7976931348623157e308', $1]) AS d`,
  ]
  const values = [-9998, '2000-01-01', 1, '0.1']
  for (const [at, text] of texts.entries()) {
    const first = await db.query({ text, values: [values[at]], prepare: false })
    for (let round = 0; round < 6; round++) assert.deepEqual(await db.query(text, [values[at]]), first)
    const { rows } = await db.query({ text, values: [values[at]], rowMode: 'array' })
    assert.deepEqual(
      rows,
      first.rows.map((row) => Object.values(row)),
    )
  }
  const choosy = await onServer({ max: 1, int8: 'bigint' })
  for (let round = 0; round < 4; round++) {
    const { rows } = await choosy.query('SELECT (-$1::int8) AS n, NULL::int8 AS none', ['9223372036854775807'])
    assert.deepEqual(rows, [{ n: -9_223_372_036_854_775_807n, none: null }])
  }
})

test('a query without values that comes again is prepared', async () => {
  const db = await onServer({ max: 1 })
  const text = 'SELECT count(*)::int AS n FROM pg_prepared_statements'
  for (const expected of [0, 1, 1]) assert.deepEqual((await db.query(text)).rows, [{ n: expected }])
  assert.deepEqual((await db.query({ text, prepare: false })).rows, [{ n: 1 }])
  // Where nobody would send it again, a change of the table is none of its business.
  const table = await freshTable('a int')
  const client = await db.asPool().connect()
  for (const expected of ['a', 'a,b', 'a,b,c']) {
    const { fields } = await client.query(`SELECT * FROM ${table}`)
    assert.equal(fields.map(({ name }) => name).join(), expected)
    await client.query(
      `ALTER TABLE ${table} ADD COLUMN ${expected === 'a' ? 'b' : 'c'}${expected === 'a,b,c' ? 'c' : ''} int`,
    )
  }
  client.release()
  for (const columns of [4, 4, 5]) {
    if (columns === 5) await direct(`ALTER TABLE ${table} ADD COLUMN d int`)
    assert.equal((await db.query(`SELECT * FROM ${table}`)).fields.length, columns)
  }
})

test('which functions only read is asked from the database, and the application’s own count as writing', async () => {
  const db = await onServer({ max: 2 })
  await direct(`CREATE OR REPLACE FUNCTION own_stable() RETURNS int STABLE LANGUAGE sql AS 'SELECT 1'`)
  const core = new Core(resolveSettings({ connectionString: (await server()).url }), {})
  await core.functions.learn(core)
  const reads = (text: string): boolean => core.functions.judge(natureOf(text)).readOnly
  for (const call of [
    "jsonb_set('{}', '{a}', '1')",
    "date_bin('1 day', now(), now())",
    "to_tsvector('a')",
    'pg_size_pretty(1::bigint)',
  ]) {
    await db.query(`SELECT ${call}`)
    assert.equal(reads(`SELECT ${call}`), true, call)
  }
  for (const call of [
    'own_stable()',
    "nextval('s')",
    "set_config('a.b', 'c', false)",
    'pg_advisory_lock(1)',
    'lo_unlink(1)',
  ]) {
    assert.equal(reads(`SELECT ${call}`), false, call)
  }
  const closed = new PgParallelError('over', { category: 'closed' })
  core.pool.abort(closed)
  await core.pool.close(closed)
})
