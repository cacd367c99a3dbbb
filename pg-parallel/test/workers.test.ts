/** `task` and `worker`: what runs where, what is refused, what happens to a thread that dies, who gets a connection. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { threadId } from 'node:worker_threads'
import type { CallOptions, PgParallel, PgParallelError } from '../src/index'
import { direct, eventually, failure, freshTable, onServer, open, server, sleep } from './support/run'
import { freePort, startServer } from './support/servers'

const fixture = (name: string): string => resolve('test/fixtures', name)

/** How a task ends that never ends by itself. */
const spinning = (db: PgParallel, options: CallOptions): Promise<PgParallelError> =>
  failure(
    db.task(
      () => {
        for (;;);
      },
      [],
      options,
    ),
  )

test('a function runs on another thread, with its arguments, and gives its result', async () => {
  const db = await onServer({ maxWorkers: 2 })
  const on = await db.task(async () => (await import('node:worker_threads')).threadId)
  assert.notEqual(on, threadId)
  assert.equal(await db.task((a: number, b: number) => a + b, [2, 3]), 5)
  assert.deepEqual(
    await db.task(
      (input: { list: number[]; when: Date; bytes: Uint8Array }) => ({ ...input, map: new Map([[1, new Set(['x'])]]) }),
      [{ list: [1, 2], when: new Date(0), bytes: new Uint8Array([1, 2]) }],
    ),
    { list: [1, 2], when: new Date(0), bytes: new Uint8Array([1, 2]), map: new Map([[1, new Set(['x'])]]) },
  )
  assert.equal(await db.task<[], unknown>(() => undefined), undefined)
  assert.equal(await db.task(() => null), null)
  assert.equal(await db.task(() => 12n), 12n)
  class Holder {
    async double(n: number): Promise<number> {
      return Promise.resolve(n * 2)
    }
  }
  assert.equal(await db.task(new Holder().double, [4]), 8)
})

test('import() and require work inside, relative to the caller too', async () => {
  const db = await onServer({ maxWorkers: 1 })
  assert.equal(await db.task(async () => (await import('node:path')).basename('/a/b')), 'b')
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  assert.equal(await db.task(() => (require('node:path') as typeof import('node:path')).basename('/a/c')), 'c')
  assert.equal(
    await db.task(
      // eslint-disable-next-line @typescript-eslint/no-require-imports
      () => (require('../../test/fixtures/helper.cjs') as { answer: number }).answer,
    ),
    42,
  )
  assert.equal(
    await db.task(
      async (path: string) => ((await import(path)) as { multiply: (a: number, b: number) => number }).multiply(6, 7),
      ['../../test/fixtures/tasks.mjs'],
    ),
    42,
  )
})

test('a function that needs a variable from outside is refused by its name, before anything runs', async () => {
  const db = await onServer({ maxWorkers: 1 })
  const outside = 1
  const secret = { n: 2 }
  const error = await failure(db.task(() => outside + secret.n))
  assert.equal(error.category, 'task')
  assert.match(error.message, /outside, secret/)
  assert.equal((await failure(db.worker(async (client) => client.query(String(outside))))).category, 'task')
  assert.equal(db.stats.workers.threads, 0)
})

test('functions in modules: .mjs, .cjs, default, a missing one, TypeScript', async () => {
  const db = await onServer({ maxWorkers: 1 })
  assert.equal(await db.task({ taskPath: fixture('tasks.mjs'), args: [1, 2] }), 3)
  assert.equal(await db.task({ taskPath: 'test/fixtures/tasks.mjs', taskName: 'multiply', args: [3, 4] }), 12)
  assert.equal(await db.task({ taskPath: fixture('tasks.cjs'), taskName: 'add' }, [5, 6]), 11)
  assert.equal(await db.task({ taskPath: `file://${fixture('tasks.mjs')}`, taskName: 'multiply', args: [2, 2] }), 4)
  const missing = await failure(db.task({ taskPath: fixture('tasks.mjs'), taskName: 'nothing' }))
  assert.match(missing.message, /exports no function "nothing", but .*multiply/)
  assert.equal((await failure(db.task({ taskPath: fixture('absent.mjs') }))).category, 'task')
  const typed = db.task<number[], number>({ taskPath: fixture('typed.ts'), taskName: 'add', args: [1, 2] })
  if ((process.features as { typescript?: unknown }).typescript) assert.equal(await typed, 3)
  else assert.match((await failure(typed)).message, /compile it to JavaScript/)
  const table = await freshTable('a int')
  await db.query(`INSERT INTO ${table} VALUES (1), (2)`)
  assert.equal(await db.worker({ taskPath: fixture('tasks.mjs'), taskName: 'rows', args: [table] }), 2)
})

test('nothing is run by eval or new Function, neither from a module nor inline', async () => {
  const program = `
    const { PgParallel } = require(${JSON.stringify(resolve('build/src/index.js'))})
    const db = new PgParallel({ maxWorkers: 1, connectionString: ${JSON.stringify((await server()).url)} })
    const forbidden = () => { try { return new Function('return 1')() } catch (error) { return error.name } }
    const work = [
      db.task(forbidden),
      db.task({ taskPath: ${JSON.stringify(fixture('tasks.mjs'))}, taskName: 'multiply', args: [2, 3] }),
      db.task(async (a) => (await import('node:path')).basename(a), ['/x/y']),
      db.worker(async (client) => (await client.query('SELECT 4 AS n')).rows[0].n),
    ]
    Promise.all(work).then((all) => { process.stdout.write(JSON.stringify(all)); return db.shutdown() })`
  const child = spawn(process.execPath, ['--disallow-code-generation-from-strings', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await once(child, 'close')
  assert.equal(output, '["EvalError",6,"y",4]')
})

test('what a function throws comes out with its message, fields and cause', async () => {
  const db = await onServer({ maxWorkers: 1 })
  const error = await failure(
    db.task(() => {
      throw Object.assign(new RangeError('too far', { cause: new Error('why') }), { code: 'E_FAR', distance: 7 })
    }),
  )
  assert.equal(error.category, 'task')
  assert.equal(error.message, 'too far')
  const cause = error.cause as Error & { distance: number; code: string }
  assert.equal(cause.name, 'RangeError')
  assert.equal(cause.distance, 7)
  assert.equal((cause.cause as Error).message, 'why')
  const text = await failure(
    db.task(() => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error
      throw 'just text'
    }),
  )
  assert.equal(text.cause, 'just text')
})

test('what cannot be copied is refused, in and out, and the thread lives on', async () => {
  const db = await onServer({ maxWorkers: 1 })
  const first = await db.task(async () => (await import('node:worker_threads')).threadId)
  assert.match((await failure(db.task((f: () => void) => f, [() => {}]))).message, /arguments cannot be sent/)
  assert.match((await failure(db.task(() => () => 1))).message, /could not be cloned/)
  assert.match((await failure(db.task(() => ({ a: Symbol('x') })))).message, /could not be cloned/)
  assert.equal(await db.task(async () => (await import('node:worker_threads')).threadId), first)
})

test('a task that loops is stopped at its time limit, its thread replaced, and others go on', async () => {
  const db = await onServer({ maxWorkers: 2 })
  await db.warmup({ connections: 0, threads: 2 })
  const started = new Int32Array(new SharedArrayBuffer(4))
  let ended = 0
  db.on('workerEnded', () => ended++)
  const loop = failure(
    db.task(
      (flag: Int32Array) => {
        Atomics.store(flag, 0, 1)
        for (;;);
      },
      [started],
      { timeoutMs: 3_000 },
    ),
  )
  await eventually('it runs', () => Atomics.load(started, 0) === 1)
  const others = Array.from({ length: 10 }, (_, n) => db.task((m: number) => m + 1, [n]))
  assert.deepEqual(
    await Promise.all(others),
    Array.from({ length: 10 }, (_, n) => n + 1),
  )
  const error = await loop
  assert.equal(error.category, 'timeout')
  await eventually('the thread is gone', () => ended === 1)
  assert.deepEqual(await Promise.all([1, 2, 3].map((n) => db.task((m: number) => m, [n]))), [1, 2, 3])
})

test('an aborted task stops, in the queue and on its thread', async () => {
  const db = await onServer({ maxWorkers: 1 })
  const stop = new AbortController()
  const running = spinning(db, { signal: stop.signal })
  const queued = failure(db.task(() => 1, [], { signal: stop.signal }))
  await eventually('it runs', () => db.stats.workers.running === 1 && db.stats.workers.threads === 1)
  stop.abort()
  assert.equal((await running).category, 'aborted')
  assert.equal((await queued).category, 'aborted')
  assert.equal(await db.task(() => 5), 5)
})

test('a thread that crashes rejects its own task only, and is replaced', async () => {
  const db = await onServer({ maxWorkers: 2 })
  const crashes = [
    db.task(() => process.exit(3)),
    db.task(async () => {
      setTimeout(() => {
        throw new Error('out of the blue')
      }, 1)
      await new Promise((done) => setTimeout(done, 60_000))
    }),
  ].map(failure)
  const others = Array.from({ length: 20 }, (_, n) => db.task((m: number) => m, [n]))
  for (const crash of crashes) assert.equal((await crash).category, 'worker')
  assert.deepEqual(
    await Promise.all(others),
    Array.from({ length: 20 }, (_, n) => n),
  )
  assert.equal(db.stats.workers.crashed, 2)
})

test('a thread that runs out of memory takes only its task with it', async () => {
  const db = await onServer({ maxWorkers: 1, workerResourceLimits: { maxOldGenerationSizeMb: 24 } })
  const error = await failure(
    db.task(() => {
      const hoard: number[][] = []
      for (;;) hoard.push(new Array<number>(10_000).fill(1.5))
    }),
  )
  assert.equal(error.category, 'worker')
  assert.match(error.message, /memory/)
  assert.equal(await db.task(() => 5), 5)
})

test('the queue of tasks is bounded and fair', async () => {
  const db = await onServer({ maxWorkers: 1, maxQueue: 3 })
  const stop = new AbortController()
  const running = spinning(db, { signal: stop.signal })
  await eventually('it runs', () => db.stats.workers.running === 1)
  const order: number[] = []
  const queued = [1, 2, 3].map(async (n) => {
    order.push(await db.task((m: number) => m, [n]))
  })
  await eventually('they wait', () => db.stats.workers.waiting === 3)
  assert.equal((await failure(db.task(() => 1))).category, 'overload')
  stop.abort()
  await running
  await Promise.all(queued)
  assert.deepEqual(order, [1, 2, 3])
})

test('a worker queries on a connection of its own: statements, transactions, streams, errors', async () => {
  const db = await onServer({ maxWorkers: 1 })
  const table = await freshTable('a int PRIMARY KEY')
  const result = await db.worker(
    async (client, name: string) => {
      await client.query(`INSERT INTO ${name} VALUES ($1)`, [1])
      await client.transaction(async (tx) => tx.query(`INSERT INTO ${name} VALUES (2)`))
      const seen: number[] = []
      for await (const row of client.stream<{ a: number }>(`SELECT a FROM ${name} ORDER BY a`)) seen.push(row.a)
      return seen
    },
    [table],
  )
  assert.deepEqual(result, [1, 2])
  const error = await failure(
    db.worker(async (client, name: string) => client.query(`INSERT INTO ${name} VALUES (1)`), [table]),
  )
  assert.equal(error.sqlState, '23505')
  assert.equal(error.category, 'constraint')
  assert.equal(error.mayHaveExecuted, false)
  assert.equal(error.table, table)
})

test('a client is dead when its function has ended', async () => {
  const db = await onServer({ maxWorkers: 1 })
  await db.worker(async (client) => {
    ;(globalThis as { kept?: unknown }).kept = client
    await client.query('SELECT 1')
  })
  const error = await failure(
    db.worker(async () => {
      const { kept } = globalThis as unknown as { kept: { query(text: string): Promise<unknown> } }
      await kept.query('SELECT 1')
    }),
  )
  assert.equal(error.category, 'closed')
})

test('threads and main pool together never exceed max', async () => {
  // The server has no room for a fourth, so one too many would be heard of.
  const small = await startServer({ maxConnections: 3 })
  const db = open({ connectionString: small.url, max: 3, maxWorkers: 4, idleTimeoutMillis: 0, retry: false })
  db.on('connectFailed', ({ error }) => assert.fail(error))
  await db.query('SELECT 1')
  let most = 0
  let running = true
  const watch = (async () => {
    while (running) {
      const { total, connecting, lent } = db.stats.pool
      most = Math.max(most, total + connecting + lent)
      await new Promise(setImmediate)
    }
  })()
  const work: Promise<unknown>[] = []
  for (let n = 0; n < 60; n++) {
    work.push(db.query('SELECT pg_sleep(0.001)'))
    if (n % 3 === 0) work.push(db.worker(async (client) => client.query('SELECT pg_sleep(0.002)').then(() => 1)))
  }
  await Promise.all(work)
  running = false
  await watch
  assert.equal(most, 3)
})

test('one connection serves the main thread and the threads in turn', async () => {
  const db = await onServer({ max: 1, maxWorkers: 2, idleTimeoutMillis: 0 })
  for (let n = 0; n < 5; n++) {
    assert.equal((await db.query('SELECT 1 AS ok')).rows[0]?.['ok'], 1)
    assert.equal(await db.worker(async (client) => (await client.query('SELECT 2 AS n')).rows[0]?.['n']), 2)
  }
})

test('a query that waits for a thread’s connection gets it when the thread is done with it', async () => {
  const db = await onServer({ max: 1, maxWorkers: 1, idleTimeoutMillis: 0 })
  const worker = db.worker(async (client) => {
    await client.query('SELECT 1')
    await new Promise((done) => setTimeout(done, 300))
    return (await client.query('SELECT 2 AS n')).rows[0]?.['n']
  })
  await eventually('the thread is connected', () => db.stats.workers.connected === 1)
  const query = db.query('SELECT 3 AS n')
  assert.equal(await worker, 2)
  assert.equal((await query).rows[0]?.['n'], 3)
})

test('a worker that is aborted is cancelled on the server', async () => {
  const db = await onServer({ max: 2, maxWorkers: 1 })
  const table = await freshTable('a int')
  await db.query(`INSERT INTO ${table} VALUES (1)`)
  const stop = new AbortController()
  const call = failure(
    db.worker(
      async (client, name: string) =>
        client.transaction(async (tx) => {
          await tx.query(`UPDATE ${name} SET a = 2`)
          await tx.query('SELECT pg_sleep(600)')
        }),
      [table],
      { signal: stop.signal },
    ),
  )
  await eventually('it is connected', () => db.stats.workers.connected === 1)
  await new Promise((done) => setTimeout(done, 100))
  stop.abort()
  assert.equal((await call).category, 'aborted')
  // Its row lock is gone with it.
  await db.query(`UPDATE ${table} SET a = a + 10`, [], { timeoutMs: 20_000 })
  assert.deepEqual(await direct(`SELECT a FROM ${table}`), [{ a: 11 }])
  assert.equal(await db.worker(async (client) => (await client.query('SELECT 3 AS n')).rows[0]?.['n']), 3)
})

test('options that cannot be sent to a thread are refused by worker() and only there', async () => {
  const db = await onServer({ maxWorkers: 1, onConnect: () => {} })
  assert.equal(await db.task(() => 1), 1)
  const error = await failure(db.worker(async (client) => client.query('SELECT 1').then(() => 1)))
  assert.equal(error.category, 'configuration')
  assert.match(error.message, /onConnect/)
  const logged = await onServer({ maxWorkers: 1, logger: console, password: () => 'unused' })
  assert.equal(await logged.worker(async (client) => (await client.query('SELECT 4 AS n')).rows[0]?.['n']), 4)
})

test('a password that is asked for is asked for with each connection of a thread; one that fails is reported', async () => {
  let asked = 0
  const db = await onServer({
    maxWorkers: 1,
    max: 1,
    password: () => {
      if (++asked === 2) throw new Error('no token')
      return `token ${asked}`
    },
  })
  const one = (): Promise<unknown> => db.worker(async (client) => (await client.query('SELECT 1 AS one')).rows)
  await one()
  const threads = asked
  await one()
  assert.equal(asked, threads, 'the connection is kept')
  // The main thread takes the only connection over, and the thread has to connect again.
  await db.query('SELECT 1')
  const error = await failure(one())
  assert.equal(error.category, 'authentication')
  assert.match(error.message, /no token/)
  await one()
})

test('large results come whole', async () => {
  const db = await onServer({ maxWorkers: 1 })
  const bytes = await db.task(() => new Uint8Array(3_000_000).fill(7))
  assert.equal(bytes.length, 3_000_000)
  assert(bytes.every((byte) => byte === 7))
  const rows = await db.task(() => Array.from({ length: 20_000 }, (_, id) => ({ id, name: `name ${id}` })))
  assert.deepEqual(rows[19_999], { id: 19_999, name: 'name 19999' })
})

test('threads stand back behind the event loop', { skip: process.platform !== 'linux' }, async () => {
  const niceness = async (): Promise<number> => (await import('node:os')).getPriority(0)
  const before = await niceness()
  assert.equal(await (await onServer({ maxWorkers: 1 })).task(niceness), Math.min(19, before + 5))
  assert.equal(await (await onServer({ maxWorkers: 1, workerNice: 0 })).task(niceness), before)
  assert.equal(await niceness(), before)
})

test('CPU work on threads leaves the event loop free', async () => {
  const db = await onServer({ maxWorkers: 1 })
  await db.warmup({ connections: 1, threads: 1 })
  // [the task is at work, it may end]: it does not end before the event loop has done all that is asked of it here.
  const state = new Int32Array(new SharedArrayBuffer(8))
  const burn = db.task(
    (flags: Int32Array) => {
      Atomics.store(flags, 0, 1)
      let turns = 0
      while (Atomics.load(flags, 1) === 0) turns++
      return turns
    },
    [state],
  )
  await eventually('it is at work', () => Atomics.load(state, 0) === 1)
  for (let n = 0; n < 20; n++) {
    assert.equal((await db.query<{ n: number }>('SELECT $1::int AS n', [n])).rows[0]?.n, n)
    await sleep(1)
  }
  Atomics.store(state, 1, 1)
  assert((await burn) > 0)
})

test('warmup brings up connections and threads, ten at a time, and reports what fails', async () => {
  const db = await onServer({ max: 25, maxWorkers: 2 })
  let most = 0
  const watch = setInterval(() => (most = Math.max(most, db.stats.pool.connecting)), 0)
  const report = await db.warmup()
  clearInterval(watch)
  assert.deepEqual(report, { connections: 25, threads: 2, errors: [] })
  assert(most <= 10, `${most} at once`)
  const nobody = open({
    connectionString: `postgres://postgres@127.0.0.1:${await freePort()}/postgres`,
    max: 5,
    maxWorkers: 1,
  })
  const failed = await nobody.warmup()
  assert.equal(failed.connections, 0)
  assert.equal(failed.threads, 1)
  assert(failed.errors.length > 0)
  assert.equal(failed.errors[0]?.category, 'connection')
})

test('warmup ends at its time limit and tells what is there', async () => {
  const hole = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
  await once(hole, 'listening')
  const { port } = hole.address() as { port: number }
  const db = open({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`, max: 3, maxWorkers: 1 })
  const report = await db.warmup({ threads: 0, timeoutMs: 50 })
  assert.deepEqual([report.connections, report.errors[0]?.category], [0, 'timeout'])
  await db.shutdown({ timeoutMs: 0 })
  hole.close()
})

test('shutdown lets calls finish, refuses new ones, and may be called again', async () => {
  const db = await onServer({ max: 2, maxWorkers: 1 })
  const calls = [
    db.query('SELECT pg_sleep(0.2)'),
    db.query('SELECT pg_sleep(0.1)'),
    db.query('SELECT 1'),
    db.task(() => new Promise((done) => setTimeout(done, 150))),
  ]
  const down = db.shutdown()
  assert.equal(db.shutdown({ timeoutMs: 1 }), down)
  assert.equal((await failure(db.query('SELECT 1'))).category, 'closed')
  assert.equal((await failure(db.task(() => 1))).category, 'closed')
  assert.equal((await failure(db.transaction(async () => {}))).category, 'closed')
  await Promise.all(calls)
  await down
  assert.equal(db.totalCount, 0)
})

test('shutdown ends what does not finish in time, on the server too', async () => {
  const db = await onServer({ max: 2, maxWorkers: 1 })
  const table = await freshTable('a int')
  await db.query(`INSERT INTO ${table} VALUES (1)`)
  const calls = [
    db.transaction(async (tx) => {
      await tx.query(`UPDATE ${table} SET a = 2`)
      await tx.query('SELECT pg_sleep(600)')
    }),
    db.query('SELECT pg_sleep(600)'),
    db.query('SELECT pg_sleep(601)'),
    db.task(() => {
      for (;;);
    }),
  ].map(failure)
  await eventually('they run', () => db.stats.pool.busy === 2 && db.stats.workers.running === 1)
  await db.shutdown({ timeoutMs: 50 })
  await Promise.all(calls)
  await direct(`UPDATE ${table} SET a = a + 10`)
  assert.deepEqual(await direct(`SELECT a FROM ${table}`), [{ a: 11 }])
})

test('a task keeps the process alive until it is done, also where nothing else does', async () => {
  const program = `
    const { PgParallel } = require(${JSON.stringify(resolve('build/src/index.js'))})
    const db = new PgParallel({ maxWorkers: 1 })
    db.task(() => 'done').then((text) => { process.stdout.write(text); return db.shutdown() })`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await new Promise((done) => child.once('close', done))
  assert.equal(output, 'done')
})

test('after shutdown nothing keeps the process alive', async () => {
  const child = spawn(process.execPath, [join(fixture('exits.mjs')), (await server()).url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise((done) => child.once('exit', done))
  assert.equal(output, 'done')
  assert.equal(code, 0)
})

test('a query’s whole result may be returned', async () => {
  const db = await onServer({ maxWorkers: 1 })
  const result = await db.worker((client) => client.query<{ n: number }>('SELECT 1 AS n'))
  assert.deepEqual(result.rows, [{ n: 1 }])
  assert.deepEqual([result.command, result.rowCount, result.fields[0]?.name], ['SELECT', 1, 'n'])
  const several = await db.worker(async (client) => [
    await client.query('SELECT 1; SELECT 2'),
    { deep: await client.query('SELECT 3 AS n') },
  ])
  assert.equal(several.length, 2)
})

test('warmup gives threads their database code and a connection, so that a short limit is enough', async () => {
  const db = await onServer({ max: 3, maxWorkers: 2 })
  const report = await db.warmup()
  assert.deepEqual([report.connections, report.threads, report.errors], [3, 2, []])
  assert.deepEqual([db.stats.workers.connected, db.totalCount], [2, 1])
  assert.equal(await db.worker(async (client) => (await client.query<{ n: number }>('SELECT 1 AS n')).rows[0]?.n), 1)
})

test('a worker’s limit may be shorter than its thread’s start: later calls find the thread ready', async () => {
  const db = await onServer({ maxWorkers: 1 })
  const call = (): Promise<number> => db.worker(() => Promise.resolve(1), [], { timeoutMs: 40 })
  await eventually('one gets through', async () => (await call().catch(() => 0)) === 1)
  assert.equal(db.stats.workers.crashed, 0)
})
