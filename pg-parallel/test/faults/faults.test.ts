/** Every promise about faults, each with the fault made exactly where it hurts. */
import assert from 'node:assert/strict'
import { once as once_ } from 'node:events'
import { after, test } from 'node:test'
import {
  ErrorUtils,
  type PgParallel,
  type PgParallelError,
  type PgParallelOptions,
  type Transaction,
} from '../../src/index'
import { direct, eventually, failure, freshTable, open, server, sleep } from '../support/run'
import { futureServer, startServer, TARGET } from '../support/servers'
import { FaultProxy } from './proxy'

const proxies: FaultProxy[] = []
after(async () => {
  for (const proxy of proxies) await proxy.close()
})

async function proxied(options: PgParallelOptions = {}): Promise<{ proxy: FaultProxy; db: PgParallel }> {
  const proxy = await FaultProxy.to(await server())
  proxies.push(proxy)
  return { proxy, db: open({ connectionString: proxy.url, retry: { initialDelayMs: 5 }, ...options }) }
}

const rows = async (table: string): Promise<number> => (await direct(`SELECT * FROM ${table}`)).length

/** Lets `action` happen to the first statement that matches, and to no other. */
function once(proxy: FaultProxy, pattern: RegExp, action: ReturnType<FaultProxy['onStatement']>): () => number {
  let seen = 0
  proxy.onStatement = (text) => (pattern.test(text) && ++seen === 1 ? action : 'pass')
  return () => seen
}

for (const fault of ['cut-before', 'cut-after', 'cut-answer', 'half-close'] as const) {
  test(`${fault}: a write is not sent again, and its error says that it may have run`, async () => {
    const { proxy, db } = await proxied()
    const table = await freshTable('a int')
    const seen = once(proxy, /^INSERT/, fault)
    const error = await failure(db.query(`INSERT INTO ${table} VALUES ($1)`, [1]))
    assert.equal(error.category, 'connection')
    assert.equal(error.mayHaveExecuted, true)
    assert.equal(error.retryable, false)
    assert.equal(seen(), 1)
    if (fault !== 'cut-before' && fault !== 'half-close')
      await eventually('the server has done it', async () => (await rows(table)) === 1)
    // The instance is as good as new.
    await db.query(`INSERT INTO ${table} VALUES ($1)`, [2])
  })

  test(`${fault}: a read is sent again`, async () => {
    const { proxy, db } = await proxied()
    const seen = once(proxy, /^SELECT \$1/, fault)
    assert.equal((await db.query('SELECT $1::int AS n', [7])).rows[0]?.['n'], 7)
    assert.equal(seen(), 2)
    assert.equal(db.stats.calls.retried, 1)
  })

  test(`${fault}: a write marked idempotent is sent again`, async () => {
    const { proxy, db } = await proxied()
    const table = await freshTable('a int PRIMARY KEY')
    const seen = once(proxy, /^INSERT/, fault)
    await db.query(`INSERT INTO ${table} VALUES ($1) ON CONFLICT DO NOTHING`, [1], { idempotent: true })
    assert.equal(seen(), 2)
    assert.equal(await rows(table), 1)
  })

  test(`${fault}: a transaction is run again when it was cut before COMMIT`, async () => {
    const { proxy, db } = await proxied()
    const table = await freshTable('a int')
    once(proxy, /^INSERT/, fault)
    let runs = 0
    await db.transaction(async (tx) => {
      runs++
      await tx.query(`INSERT INTO ${table} VALUES (1)`)
      await tx.query(`INSERT INTO ${table} VALUES (2)`)
    })
    assert.equal(runs, 2)
    assert.equal(await rows(table), 2)
  })

  test(`${fault}: a COMMIT without an answer`, async () => {
    const { proxy, db } = await proxied()
    const table = await freshTable('a int')
    once(proxy, /^COMMIT/, fault)
    let runs = 0
    const call = db.transaction(async (tx) => {
      runs++
      await tx.query(`INSERT INTO ${table} VALUES (1)`)
      return runs
    })
    // The server is asked what became of it: the work is done once, and nobody is left alone with a doubt.
    assert.equal(await call, runs)
    assert.equal(await rows(table), 1)
    if (fault === 'cut-before') assert.equal(runs, 2)
    if (fault === 'cut-answer') assert.equal(runs, 1)
  })

  test(`${fault}: streams and batches of functions that the database says only read are sent again`, async () => {
    const { proxy, db } = await proxied()
    const reading = `SELECT jsonb_set('{"a":1}', '{a}', '2') AS j, n FROM generate_series(1, 25) AS n`
    await db.query('SELECT jsonb_set($1, $2, $3)', ['{"a":1}', '{a}', '2'])
    await eventually('the database has been asked', () => proxy.history.length > 0 && db.idleCount === db.totalCount)
    const seen = once(proxy, /^SELECT jsonb_set/, fault)
    let count = 0
    for await (const row of db.stream(reading, [], { batchSize: 10 })) {
      assert(row)
      count++
    }
    assert.equal(count, 25)
    assert.equal(seen(), 2)
    const batched = once(proxy, /^SELECT jsonb_set/, fault)
    const [first] = await db.batch([reading, 'SELECT 1'])
    assert.equal(first?.rows.length, 25)
    assert(batched() >= 2)
  })

  test(`${fault}: with replay "marked", only what is marked is sent again`, async () => {
    const { proxy, db } = await proxied({ replay: 'marked' })
    const seen = once(proxy, /^SELECT \$1/, fault)
    const error = await failure(db.query('SELECT $1::int AS n', [7]))
    assert.equal(error.category, 'connection')
    assert.equal(error.mayHaveExecuted, true)
    assert.equal(seen(), 1)
    const streamed = once(proxy, /^SELECT n/, fault)
    const stream = db.stream('SELECT n FROM generate_series(1, 25) AS n')
    assert.equal((await failure(stream.next())).mayHaveExecuted, true)
    assert.equal(streamed(), 1)
    const marked = once(proxy, /^SELECT \$1/, fault)
    assert.equal((await db.query('SELECT $1::int AS n', [7], { idempotent: true })).rows[0]?.['n'], 7)
    assert.equal(marked(), 2)
  })

  test(`${fault}: a stream is started again as long as no row came out`, async () => {
    const { proxy, db } = await proxied()
    const seen = once(proxy, /^SELECT n/, fault)
    let count = 0
    for await (const row of db.stream('SELECT n FROM generate_series(1, 25) AS n', [], { batchSize: 10 })) {
      assert(row)
      count++
    }
    assert.equal(count, 25)
    assert.equal(seen(), 2)
  })
}

test(
  'a COMMIT without an answer, whose writes came by other ways than a statement’s text',
  { timeout: 120_000 },
  async () => {
    const table = await freshTable('a int')
    await direct(
      `CREATE FUNCTION ${table}_add() RETURNS int LANGUAGE sql AS 'INSERT INTO ${table} VALUES (1) RETURNING a'`,
    )
    const ways: ((tx: Transaction) => Promise<unknown>)[] = [
      async (tx) => {
        const copy = tx.copyFrom(`COPY ${table} FROM STDIN`)
        copy.end('1\n')
        await once_(copy, 'finish')
      },
      async (tx) => {
        for await (const row of tx.stream(`SELECT ${table}_add() AS a`)) assert(row)
      },
      // The first write writes nothing, and what failed is undone.
      async (tx) => {
        await tx.query(`UPDATE ${table} SET a = 2 WHERE false`)
        await tx.savepoint((inner) => inner.query(`INSERT INTO ${table} VALUES ('x')`)).catch(() => {})
        await tx.query(`INSERT INTO ${table} VALUES (1)`)
      },
    ]
    for (const [at, way] of ways.entries()) {
      const { proxy, db } = await proxied()
      once(proxy, /^COMMIT/, 'cut-answer')
      let runs = 0
      const work = db.transaction((tx) => {
        runs++
        return way(tx)
      })
      await work
      assert.equal(runs, 1)
      assert.equal(await rows(table), at + 1)
    }
  },
)

test(
  'after a crash a transaction’s id may be somebody else’s, and says nothing',
  { skip: TARGET !== 'postgres' },
  async () => {
    const own = await startServer()
    const proxy = await FaultProxy.to(own)
    proxies.push(proxy)
    const db = open({
      connectionString: proxy.url,
      retry: { initialDelayMs: 50, maxAttempts: 100 },
      circuitBreaker: false,
    })
    await direct('CREATE TABLE t (a int)', [], own.url)
    let pid = 0
    proxy.onStatement = (text) => {
      if (!/^COMMIT/.test(text)) return 'pass'
      // A killed backend makes all of the server start again by a recovery, under the same postmaster.
      process.kill(pid, 'SIGKILL')
      return 'cut-before'
    }
    const error = await failure(
      db.transaction(async (tx) => {
        pid = (await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid ?? 0
        await tx.query('INSERT INTO t VALUES (1)')
      }),
    )
    assert.equal(error.mayHaveExecuted, true)
    await own.remove()
  },
)

test('a stream that is cut in the middle fails and does not begin again', async () => {
  const { proxy, db } = await proxied()
  let count = 0
  const error = await failure(
    (async () => {
      for await (const row of db.stream('SELECT n FROM generate_series(1, 1000) AS n', [], { batchSize: 10 })) {
        assert(row)
        if (++count === 15) proxy.cutAll()
      }
    })(),
  )
  assert.equal(error.category, 'connection')
  assert.equal(count, 20)
})

test('retry: false tries once', async () => {
  const { proxy, db } = await proxied({ retry: false })
  const seen = once(proxy, /^SELECT \$1/, 'cut-after')
  const error = await failure(db.query('SELECT $1::int AS n', [7]))
  assert.equal(error.retryable, true)
  assert.equal(error.attempts, 1)
  assert.equal(seen(), 1)
})

test('the number of tries is limited, and the error tells it', async () => {
  const { proxy, db } = await proxied({ retry: { maxAttempts: 3, initialDelayMs: 1 } })
  let seen = 0
  proxy.onStatement = () => {
    seen++
    return 'cut-before'
  }
  const error = await failure(db.query('SELECT 1'))
  assert.equal(seen, 3)
  assert.equal(error.attempts, 3)
})

test('a black hole: the time limit holds, the connection is given up, the next call gets a new one', async () => {
  const { proxy, db } = await proxied({ max: 1, cancelTimeoutMs: 50 })
  await db.query('SELECT 1')
  once(proxy, /^INSERT/, 'black-hole')
  proxy.swallowNew = true // the cancel request gets lost too
  const error = await failure(db.query('INSERT INTO nowhere VALUES (1)', [], { timeoutMs: 50 }))
  assert.equal(error.category, 'timeout')
  assert.equal(error.mayHaveExecuted, true)
  proxy.swallowNew = false
  assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
})

test('a black hole while connecting: the attempt ends, and the next one may succeed', async () => {
  const { proxy, db } = await proxied({ connectionTimeoutMillis: 100 })
  proxy.swallowNew = true
  const call = db.query('SELECT 1 AS ok')
  await eventually('an attempt was swallowed', () => proxy.history.length > 0)
  proxy.swallowNew = false
  assert.equal((await call).rows[0]?.['ok'], 1)
})

test('a cancel request that arrives late hits nobody else', async () => {
  const { proxy, db } = await proxied({ max: 1 })
  proxy.cancelDelayMs = 300
  const stop = new AbortController()
  const first = failure(db.query('SELECT pg_sleep(0.1)', [], { signal: stop.signal }))
  await eventually('it runs', () => proxy.history.some((link) => link.statements.some((text) => text.includes('0.1'))))
  stop.abort()
  assert.equal((await first).category, 'aborted')
  // Its statement ends by itself before the request arrives; this one must not be sent before that.
  await db.query('SELECT pg_sleep(0.6)', [], { retry: false })
  assert.equal(db.totalCount, 1)
})

test('a slow line only makes it slower', async () => {
  const { proxy, db } = await proxied()
  proxy.delayMs = 30
  const results = await Promise.all([1, 2, 3].map((n) => db.query<{ n: number }>('SELECT $1::int AS n', [n])))
  assert.deepEqual(
    results.map((result) => result.rows[0]?.n),
    [1, 2, 3],
  )
})

test('idle connections that die do not crash the process, and no call fails by them', async () => {
  const { proxy, db } = await proxied({ max: 4, validateAfterIdleMs: 0 })
  const table = await freshTable('a int')
  await db.warmup({ connections: 4, threads: 0 })
  assert.equal(db.idleCount, 4)
  proxy.cutAll()
  // Not even a write that comes before anybody has noticed.
  await Promise.all([1, 2, 3, 4].map((a) => db.query(`INSERT INTO ${table} VALUES ($1)`, [a])))
  assert.equal(await rows(table), 4)
})

test('an idle connection behind a dead line is found out before a write is trusted to it', async () => {
  const { proxy, db } = await proxied({ max: 1, validateAfterIdleMs: 0 })
  const table = await freshTable('a int')
  await db.query('SELECT 1')
  proxy.blackHoleAll()
  await db.query(`INSERT INTO ${table} VALUES (1)`)
  assert.equal(await rows(table), 1)
  assert.equal(proxy.history.length, 2)
})

test('connecting is tried until the server is there, also for a write', async () => {
  const late = await futureServer()
  const db = open({ connectionString: late.url, retry: { maxAttempts: 200, maxDelayMs: 100 } })
  const failed = new Promise((done) => db.once('connectFailed', done))
  const created = db.query('CREATE TABLE early (a int)')
  await failed
  await late.start()
  await created
  assert.equal((await db.query('SELECT * FROM early')).rows.length, 0)
})

test('connecting in vain uses the call’s tries, and no more', async () => {
  const never = await futureServer()
  const db = open({ connectionString: never.url, retry: { maxAttempts: 3, initialDelayMs: 1 }, circuitBreaker: false })
  let attempts = 0
  db.on('connectFailed', () => {
    attempts++
  })
  const error = await failure(db.query('INSERT INTO t VALUES (1)'))
  assert.equal(error.category, 'connection')
  assert.equal(error.code, 'ECONNREFUSED')
  assert.equal(error.mayHaveExecuted, false)
  assert.equal(error.retryable, true)
  assert.equal(attempts, 3)
  const limited = await failure(db.query('SELECT 1', [], { timeoutMs: 30, retry: { maxAttempts: 1_000 } }))
  assert.equal(limited.category, 'timeout')
})

test('what waiting cannot cure is not tried again', async () => {
  const { url } = await server()
  const elsewhere = open({ connectionString: url, options: '-c no_such_setting=1', retry: { initialDelayMs: 1 } })
  let attempts = 0
  elsewhere.on('connectFailed', () => {
    attempts++
  })
  const error = await failure(elsewhere.query('SELECT 1'))
  assert.equal(error.sqlState, '42704')
  assert.equal(error.retryable, false)
  assert.equal(attempts, 1)
})

test('backends that are killed: reads and writes go on, and nothing is written twice', async () => {
  const db = open({ connectionString: (await server()).url, max: 4, retry: { initialDelayMs: 2, maxAttempts: 50 } })
  const table = await freshTable('a int')
  const alive = new Set<number>()
  db.on('connect', ({ processID }) => alive.add(processID ?? 0))
  db.on('disconnect', ({ processID }) => alive.delete(processID ?? 0))
  let stop = false
  const killer = (async () => {
    let killed = 0
    while (!stop) {
      await sleep(20)
      for (const pid of [...alive]) {
        const [row] = await direct('SELECT pg_terminate_backend($1::int) AS killed', [pid])
        if (row?.['killed'] === true) killed++
      }
    }
    return killed
  })()
  const attempts = Array.from({ length: 300 }, async (_, a) => {
    await sleep(a * 2)
    await db.query('SELECT $1::int', [a])
    try {
      await db.query(`INSERT INTO ${table} VALUES ($1)`, [a])
      return 'done'
    } catch (error) {
      // Only where the line went without a word from the server.
      assert(ErrorUtils.wrap(error).mayHaveExecuted, String(error))
      return 'unknown'
    }
  })
  const outcomes = await Promise.all(attempts).finally(() => {
    stop = true
  })
  assert((await killer) > 0)
  const written = (await direct(`SELECT a FROM ${table} ORDER BY a`)).map((row) => Number(row['a']))
  assert.equal(new Set(written).size, written.length, 'a row was written twice')
  for (const [a, outcome] of outcomes.entries()) if (outcome === 'done') assert(written.includes(a), `row ${a} is lost`)
})

test(
  'a statement whose backend is killed under it is run again where the server said so',
  { skip: TARGET === 'pgsqlite' },
  async () => {
    const db = open({ connectionString: (await server()).url, max: 1, retry: { initialDelayMs: 2 } })
    const table = await freshTable('a int')
    await db.query(`CREATE FUNCTION ${table}_slow() RETURNS int LANGUAGE sql AS 'SELECT 1 FROM pg_sleep(0.3)'`)
    const insert = db.query(`INSERT INTO ${table} SELECT ${table}_slow()`)
    await eventually('it runs', async () => {
      const [busy] = await direct(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO ${table} SELECT%' AND state = 'active'`,
      )
      return busy !== undefined
    })
    await insert
    assert.equal(await rows(table), 1)
  },
)

test('a server restart looks like a slow answer', async () => {
  const own = await startServer()
  await direct('CREATE TABLE t (a int)', [], own.url)
  const db = open({ connectionString: own.url, max: 8, retry: { maxAttempts: 100, maxDelayMs: 200 } })
  let running = true
  let writes = 0
  const unknown = new Set<number>()
  const load = Array.from({ length: 20 }, async () => {
    while (running) {
      await db.query('SELECT count(*) FROM t')
      const a = writes++
      try {
        await db.query('INSERT INTO t VALUES ($1)', [a])
      } catch (error) {
        assert(ErrorUtils.wrap(error).mayHaveExecuted, String(error))
        unknown.add(a)
      }
    }
  })
  for (const how of ['fast', 'kill'] as const) {
    const before = db.stats.calls.succeeded
    await eventually('it is under load', () => db.stats.calls.succeeded > before + 50)
    await own.stop(how)
    await sleep(50)
    await own.start()
  }
  const before = db.stats.calls.succeeded
  await eventually('it has recovered', () => db.stats.calls.succeeded > before + 50)
  running = false
  await Promise.all(load)
  const written = (await direct('SELECT a FROM t', [], own.url)).map((row) => Number(row['a']))
  assert.equal(new Set(written).size, written.length, 'a row was written twice')
  for (let a = 0; a < writes; a++) if (!unknown.has(a)) assert(written.includes(a), `row ${a} is lost`)
})

/** A transaction whose COMMIT gets no answer, because the server ends with it and comes again: what the call came to, and its runs. */
async function commitLost(
  db: PgParallel,
  proxy: FaultProxy,
  fault: 'cut-before' | 'cut-answer',
  between: () => Promise<void>,
): Promise<{ error: PgParallelError | undefined; runs: number }> {
  let commits = 0
  proxy.onStatement = (text) => {
    if (!/^COMMIT/.test(text) || ++commits !== 1) return 'pass'
    // The server is asked when it has come again, and not before.
    proxy.refuse = true
    return fault
  }
  let runs = 0
  const call = db.transaction(async (tx) => {
    runs++
    await tx.query('INSERT INTO t VALUES (1)')
  })
  const settled = call.then(
    () => undefined,
    (error: unknown) => ErrorUtils.wrap(error),
  )
  await eventually('COMMIT is on its way', () => commits === 1)
  // (the server has done it, or has seen that its client is gone)
  await sleep(100)
  await between()
  proxy.refuse = false
  return { error: await settled, runs }
}

test(
  'a COMMIT without an answer is resolved by a server that was restarted meanwhile',
  { timeout: 120_000 },
  async () => {
    const own = await startServer()
    const proxy = await FaultProxy.to(own)
    proxies.push(proxy)
    await direct('CREATE TABLE t (a int)', [], own.url)
    const count = async (): Promise<number> => (await direct('SELECT a FROM t', [], own.url)).length
    const db = open({ connectionString: proxy.url, retry: { maxAttempts: 200, maxDelayMs: 50 }, circuitBreaker: false })
    await db.transaction((tx) => tx.query('INSERT INTO t VALUES (0)'))
    const restart = async (how: 'fast' | 'kill'): Promise<void> => {
      // PostgreSQL's checkpoints have no fractions of a second.
      if (TARGET === 'postgres') await sleep(1_100)
      await own.stop(how)
      if (TARGET === 'postgres') await sleep(1_100)
      await own.start()
    }
    let there = 1
    for (const how of ['fast', 'kill'] as const) {
      for (const fault of ['cut-answer', 'cut-before'] as const) {
        const { error, runs } = await commitLost(db, proxy, fault, () => restart(how))
        if (TARGET === 'postgres' && how === 'kill') {
          // After a crash an id may be another transaction's.
          assert.equal(error?.mayHaveExecuted, true)
          if (fault === 'cut-answer') there++
        } else {
          assert.equal(error, undefined)
          assert.equal(runs, fault === 'cut-answer' ? 1 : 2, `${how}, ${fault}`)
          there++
        }
        assert.equal(await count(), there, `${how}, ${fault}`)
      }
    }
  },
)

test(
  'an older copy of the database, or another one, does not say that nothing was committed',
  { timeout: 120_000 },
  async () => {
    const own = await startServer()
    const proxy = await FaultProxy.to(own)
    proxies.push(proxy)
    await direct('CREATE TABLE t (a int)', [], own.url)
    const db = open({ connectionString: proxy.url, retry: { maxAttempts: 200, maxDelayMs: 50 }, circuitBreaker: false })
    const ready = (): Promise<unknown> => db.transaction((tx) => tx.query('INSERT INTO t VALUES (0)'))
    await own.stop('fast')
    own.copy()
    if (TARGET === 'postgres') await sleep(1_100)
    await own.start()
    await ready()
    const { error, runs } = await commitLost(db, proxy, 'cut-answer', async () => {
      await own.stop('fast')
      own.restore()
      if (TARGET === 'postgres') await sleep(1_100)
      await own.start()
    })
    assert.equal(error?.mayHaveExecuted, true)
    assert.equal(runs, 1)
    // Without any transaction before it, nobody knows whose file it is.
    const fresh = open({
      connectionString: proxy.url,
      retry: { maxAttempts: 200, maxDelayMs: 50 },
      circuitBreaker: false,
    })
    const first = await commitLost(fresh, proxy, 'cut-before', async () => {
      await own.stop('kill')
      await own.start()
    })
    assert.equal(first.error?.mayHaveExecuted, true)
  },
)

test('10,000 inserts under faults: no row twice, none lost that was confirmed', async () => {
  const { proxy, db } = await proxied({
    max: 20,
    validateAfterIdleMs: 20,
    retry: { initialDelayMs: 1, maxDelayMs: 20, maxAttempts: 100 },
    circuitBreaker: { failureThreshold: 20, cooldownMs: 10 },
  })
  const table = await freshTable('a int')
  // The same faults in every run: a small generator with a fixed seed.
  let seed = 20_240_517
  const random = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff
    return seed / 0x7fffffff
  }
  const actions = ['cut-before', 'cut-after', 'cut-answer', 'half-close'] as const
  let faults = 0
  proxy.onStatement = () => {
    if (random() > 0.02) return 'pass'
    faults++
    return actions[Math.floor(random() * actions.length)] ?? 'pass'
  }
  const outcome = new Map<number, string>()
  let next = 0
  const writer = async (): Promise<void> => {
    for (let a = next++; a < 10_000; a = next++) {
      if (a % 997 === 0) proxy.cutAll()
      try {
        await db.query(`INSERT INTO ${table} VALUES ($1)`, [a])
        outcome.set(a, 'done')
      } catch (error) {
        outcome.set(a, ErrorUtils.wrap(error).mayHaveExecuted ? 'unknown' : 'not done')
      }
    }
  }
  await Promise.all(Array.from({ length: 40 }, writer))
  assert(faults > 100, `only ${faults} faults`)
  await eventually('the server has finished what was cut off', async () => {
    const before = await rows(table)
    await sleep(50)
    return (await rows(table)) === before
  })
  const written = (await direct(`SELECT a FROM ${table}`)).map((row) => Number(row['a']))
  const set = new Set(written)
  assert.equal(set.size, written.length, `${written.length - set.size} rows were written twice`)
  const count = { done: 0, unknown: 0, 'not done': 0 }
  for (const [a, what] of outcome) {
    count[what as keyof typeof count]++
    if (what === 'done') assert(set.has(a), `row ${a} was confirmed and is not there`)
    if (what === 'not done') assert(!set.has(a), `row ${a} was said not to be done and is there`)
  }
  assert.equal(outcome.size, 10_000)
  assert.equal(count['not done'], 0, 'a statement that never ran was not tried again')
  assert(count.done > 9_000, JSON.stringify(count))
})

test(
  'transactions under faults at any of their statements, COMMIT too, are each done once, and none ends with a doubt',
  { timeout: 120_000 },
  async () => {
    const table = await freshTable('a int, b int')
    const { proxy, db } = await proxied({
      max: 5,
      retry: { initialDelayMs: 2, maxDelayMs: 20, maxAttempts: 200 },
      circuitBreaker: false,
    })
    const kinds = ['cut-before', 'cut-after', 'cut-answer', 'half-close'] as const
    let commits = 0
    // Every seventh of all statements: which one of a transaction that is differs from one to the next.
    let statements = 0
    proxy.onStatement = (text) => {
      if (!/^(BEGIN|INSERT|COMMIT|SELECT pg_catalog.pg_xact_status)/.test(text) || ++statements % 7 !== 0) return 'pass'
      if (/^COMMIT/.test(text)) commits++
      return kinds[Math.floor(statements / 7) % kinds.length] ?? 'pass'
    }
    let next = 0
    const one = async (): Promise<void> => {
      for (let n = next++; n < 200; n = next++) {
        await db.transaction(async (tx) => {
          await tx.query(`INSERT INTO ${table} VALUES ($1, 1)`, [n])
          await tx.query(`INSERT INTO ${table} VALUES ($1, 2)`, [n])
        })
      }
    }
    await Promise.all(Array.from({ length: 8 }, one))
    proxy.onStatement = () => 'pass'
    assert(commits > 0)
    assert.deepEqual(
      await direct(`SELECT a FROM ${table} GROUP BY a HAVING count(*) <> 2 OR count(DISTINCT b) <> 2`),
      [],
    )
    assert.equal(await rows(table), 400)
  },
)
