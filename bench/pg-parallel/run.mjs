// See README.md beside this file.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { addExisting, addPiscina, addSlonik, burn, contenders } from './contenders.mjs'
import { load, loadFor, median, paced, sleep } from './measure.mjs'

const root = new URL('../../', import.meta.url)
const started = process.cwd()
process.chdir(new URL('pg-parallel/', root).pathname)
const require = createRequire(new URL('pg-parallel/package.json', root))
const pg = require('pg')
// The servers of the tests: `npx tsc -p tsconfig.json` in pg-parallel/ builds them.
const { startServer, stopServers } = require('./build/test/support/servers.js')

const args = process.argv.slice(2)
const option = (name, fallback) => (args.includes(name) ? args[args.indexOf(name) + 1] : fallback)
const ROUNDS = Number(option('--rounds', '7'))
const TASK_MS = Number(option('--task-ms', '50'))
const RATE = Number(option('--rate', '1000'))
const only = option('--only', undefined)?.split(',')
const targets = option('--target', 'postgres,pgsqlite').split(',')
const ROWS = 10_000
const existing = option('--existing', process.env.EXISTING_PG_PARALLEL)
if (existing) addExisting(existing)
const slonik = option('--slonik', undefined)
if (slonik) addSlonik(resolve(started, slonik))
const piscina = option('--piscina', undefined)
if (piscina) addPiscina(resolve(started, piscina))

const SCENARIOS = {
  light: { operations: 1_000, concurrency: 10 },
  medium: { operations: 5_000, concurrency: 50 },
  heavy: { operations: 10_000, concurrency: 100 },
  crowded: { operations: 10_000, concurrency: 100, maxConnections: 50 },
  stress: { operations: 20_000, concurrency: 400 },
}

const poolMax = (concurrency) => Math.min(concurrency + 10, 100)
const threads = (concurrency) => Math.min(4, Math.ceil(concurrency / 25))

async function prepare(server) {
  const client = new pg.Client(server.url)
  await client.connect()
  await client.query('CREATE TABLE bench (id int PRIMARY KEY, name text, value int)')
  await client.query(`INSERT INTO bench SELECT n, 'name ' || n, 0 FROM generate_series(1, ${ROWS}) AS n`)
  if (server.target === 'postgres') {
    // Reserved connections are for superusers; an application is none.
    await client.query('CREATE ROLE app LOGIN; GRANT ALL ON bench TO app; VACUUM ANALYZE bench'.split(';')[0])
    await client.query('GRANT ALL ON bench TO app')
    await client.query('VACUUM ANALYZE bench')
  }
  await client.end()
  return server.target === 'postgres' ? server.url.replace('postgres@', 'app@') : server.url
}

const options = (maxConnections) => ({
  maxConnections,
  settings: { shared_buffers: '128MB', superuser_reserved_connections: '3', fsync: 'on' },
})

/** The contenders in another order each round. */
const order = (round) => {
  const names = Object.keys(contenders)
  return names.map((_, index) => names[(index + round) % names.length])
}

/** The median of the rounds, and of what each round was of `pg.Pool`'s in the same round: a disturbance meets both. */
function figures(rounds, key, ofs) {
  const list = rounds[key]
  const result = { contender: key, rounds: list.length, errors: list.reduce((sum, { errors }) => sum + errors, 0) }
  for (const of of ofs) result[of] = median(list.map((one) => one[of]))
  result.ofPool = median(list.map((one, round) => one.opsPerSecond / rounds['pg.Pool'][round].opsPerSecond))
  return result
}

const percent = (share) => `${(share * 100).toFixed(0)} %`
const row = (...cells) => console.log('| ' + cells.join(' | ') + ' |')
const fixed = (value) => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2))
const results = []

async function selects(target, name) {
  const { operations, concurrency, maxConnections = 100 } = SCENARIOS[name]
  const server = await startServer(options(maxConnections), target)
  const url = await prepare(server)
  const rounds = Object.fromEntries(Object.keys(contenders).map((key) => [key, []]))
  // One round more than counted: the first warms up the compiler.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const key of order(round)) {
      const it = contenders[key](url, poolMax(concurrency), threads(concurrency))
      await it.warm().catch(() => {})
      await sleep(100)
      const result = await load(operations, concurrency, (n) => it.select((n % ROWS) + 1))
      await it.close()
      if (round > 0) rounds[key].push(result)
    }
  }
  await server.remove()
  for (const key of Object.keys(rounds)) {
    const result = { target, scenario: name, ...figures(rounds, key, ['opsPerSecond', 'cpuMicroseconds', 'p50', 'p95', 'p99']) }
    results.push(result)
    row(target, name, key, fixed(result.opsPerSecond), percent(result.ofPool), fixed(result.cpuMicroseconds), fixed(result.p50), fixed(result.p95), fixed(result.p99), result.errors)
  }
}

/** 80 % SELECT, 15 % UPDATE, 5 % CPU work of 5 ms. */
const mixture = (it) => async (n) => {
  if (n % 20 === 0) return it.task ? it.task(5) : burn(5)
  return n % 20 < 4 ? it.update((n % ROWS) + 1) : it.select((n % ROWS) + 1)
}
const kindOf = (n) => (n % 20 === 0 ? 'task' : 'query')

/** The same calls at a rate that all contenders can keep up with. */
async function pacedMixed(target) {
  const server = await startServer(options(100), target)
  const url = await prepare(server)
  const rounds = Object.fromEntries(Object.keys(contenders).map((key) => [key, []]))
  for (let round = 0; round <= ROUNDS; round++) {
    for (const key of order(round)) {
      const it = contenders[key](url, poolMax(25), 2)
      await it.warm(2).catch(() => {})
      await sleep(100)
      const result = await paced(2_000, RATE, kindOf, mixture(it))
      await it.close()
      if (round > 0) rounds[key].push(result)
    }
  }
  await server.remove()
  for (const key of Object.keys(rounds)) {
    const result = { target, scenario: 'paced', ...figures(rounds, key, ['opsPerSecond', 'queryP99', 'taskP99', 'p99']) }
    results.push(result)
    row(target, 'paced', key, fixed(result.opsPerSecond), `p99 of queries ${fixed(result.queryP99)} ms`, `of tasks ${fixed(result.taskP99)} ms`, `of all ${fixed(result.p99)} ms`, result.errors)
  }
}

async function mixed(target) {
  const server = await startServer(options(100), target)
  const url = await prepare(server)
  const rounds = Object.fromEntries(Object.keys(contenders).map((key) => [key, []]))
  for (let round = 0; round <= ROUNDS; round++) {
    for (const key of order(round)) {
      const it = contenders[key](url, poolMax(25), 2)
      await it.warm(2).catch(() => {})
      await sleep(100)
      const delay = monitorEventLoopDelay({ resolution: 1 })
      delay.enable()
      const result = await load(2_000, 25, mixture(it), kindOf)
      delay.disable()
      result.loopP99 = delay.percentile(99) / 1e6 - 1
      await it.close()
      if (round > 0) rounds[key].push(result)
    }
  }
  await server.remove()
  for (const key of Object.keys(rounds)) {
    const result = { target, scenario: 'mixed', ...figures(rounds, key, ['opsPerSecond', 'cpuMicroseconds', 'p50', 'p95', 'p99', 'queryP99', 'taskP99', 'loopP99']) }
    results.push(result)
    row(target, 'mixed', `${key}, event-loop p99 ${fixed(result.loopP99)} ms, p99 of queries ${fixed(result.queryP99)} ms, of tasks ${fixed(result.taskP99)} ms`, fixed(result.opsPerSecond), percent(result.ofPool), fixed(result.cpuMicroseconds), fixed(result.p50), fixed(result.p95), fixed(result.p99), result.errors)
  }
}

/** Four CPU tasks all the time beside key SELECTs; idle and busy seconds alternate. */
async function cpu(target) {
  const server = await startServer(options(100), target)
  const url = await prepare(server)
  const keys = Object.keys(contenders).filter((key) => key === 'pg-parallel' || key === 'existing package' || key.startsWith('piscina'))
  const rounds = Object.fromEntries(keys.map((key) => [key, []]))
  for (let round = 0; round <= ROUNDS; round++) {
    for (const key of keys) {
      const it = contenders[key](url, 14, 4)
      await it.warm(4)
      const select = (n) => it.select((n % ROWS) + 1)
      await loadFor(500, 4, select)
      const second = async () => {
        const delay = monitorEventLoopDelay({ resolution: 1 })
        delay.enable()
        const perSecond = await loadFor(1_000, 4, select)
        delay.disable()
        // The histogram counts from one timer to the next: the timer's own period is not a delay.
        return { perSecond, p99: delay.percentile(99) / 1e6 - 1, max: delay.max / 1e6 - 1 }
      }
      const idle = await second()
      let running = true
      const tasks = Array.from({ length: 4 }, async () => {
        let done = 0
        for (; running; done++) await it.task(TASK_MS)
        return done
      })
      await sleep(100)
      const busy = await second()
      running = false
      const done = (await Promise.all(tasks)).reduce((sum, one) => sum + one)
      await it.close()
      if (round > 0) rounds[key].push({ idle: idle.perSecond, busy: busy.perSecond, share: busy.perSecond / idle.perSecond, loopP99: busy.p99, idleLoopP99: idle.p99, loopMax: busy.max, tasks: done })
    }
  }
  await server.remove()
  for (const key of keys) {
    const figure = (of) => median(rounds[key].map((one) => one[of]))
    const result = { target, scenario: 'cpu', contender: key, rounds: ROUNDS }
    for (const of of Object.keys(rounds[key][0])) result[of] = figure(of)
    results.push(result)
    console.log(
      `| ${target} | cpu | ${key}: idle ${fixed(result.idle)}/s, beside 4 tasks ${fixed(result.busy)}/s = ${percent(result.share)}, ` +
        `event-loop delay p99 ${fixed(result.loopP99)} ms (idle ${fixed(result.idleLoopP99)} ms), max ${fixed(result.loopMax)} ms, ${result.tasks} tasks |`,
    )
  }
}

async function resilience(target) {
  const server = await startServer(options(100), target)
  const url = await prepare(server)
  for (const key of Object.keys(contenders)) {
    const list = []
    for (let round = 0; round < 3; round++) {
      const it = contenders[key](url, poolMax(25), 1)
      await it.warm().catch(() => {})
      let running = true
      const crashes = []
      const onCrash = (error) => crashes.push(error)
      process.on('uncaughtException', onCrash)
      process.on('unhandledRejection', onCrash)
      const killer = (async () => {
        const client = new pg.Client(server.url)
        client.on('error', () => {})
        await client.connect()
        let last = 0
        while (running) {
          const { rows } = await client.query("SELECT pid FROM pg_stat_activity WHERE pid NOT IN ($1, pg_backend_pid()) AND datname = current_database() ORDER BY state = 'active' DESC, random() LIMIT 1", [last])
          last = rows[0]?.pid ?? 0
          if (last) await client.query('SELECT pg_terminate_backend($1)', [last])
          await sleep(20)
        }
        await client.end()
      })()
      const result = await load(15_000, 25, async (n) => {
        if (n % 25 === 0) await sleep(2)
        return it.select((n % ROWS) + 1)
      })
      running = false
      await killer
      await it.close().catch(() => {})
      process.off('uncaughtException', onCrash)
      process.off('unhandledRejection', onCrash)
      result.crashes = crashes.length
      list.push(result)
    }
    const sum = (of) => list.reduce((total, result) => total + result[of], 0)
    const result = { target, scenario: 'resilience', contender: key, opsPerSecond: median(list.map((one) => one.opsPerSecond)), p99: median(list.map((one) => one.p99)), errors: sum('errors'), crashes: sum('crashes') }
    results.push(result)
    row(target, 'resilience', key, fixed(result.opsPerSecond), '', '', '', '', fixed(result.p99), `${result.errors} (${result.crashes} would have ended the process)`)
  }
  await server.remove()
}

async function cold(target) {
  const server = await startServer(options(100), target)
  const url = await prepare(server)
  const rounds = Object.fromEntries(Object.keys(contenders).map((key) => [key, []]))
  for (let round = 0; round <= Math.min(ROUNDS, 3); round++) {
    for (const key of order(round)) {
      const each = await load(200, 4, async (n) => {
        const it = contenders[key](url, 1, 0)
        await it.select(n + 1)
        await it.close()
      })
      const it = contenders[key](url, 4, 0)
      await it.warm()
      const warm = await load(4_000, 4, (n) => it.select((n % ROWS) + 1))
      await it.close()
      if (round > 0) rounds[key].push({ cold: each.opsPerSecond, warm: warm.opsPerSecond, errors: each.errors + warm.errors })
    }
  }
  await server.remove()
  for (const [key, list] of Object.entries(rounds)) {
    const result = { target, scenario: 'cold', contender: key, rounds: list.length, errors: list.reduce((sum, { errors }) => sum + errors, 0) }
    for (const of of ['cold', 'warm']) result[of] = median(list.map((one) => one[of]))
    results.push(result)
    row(target, 'cold', `${key}: an instance per operation ${fixed(result.cold)}/s, warm ${fixed(result.warm)}/s`)
  }
}

async function memory() {
  const { PgParallel } = require('pg-parallel')
  const resident = () => {
    global.gc?.()
    return process.memoryUsage().rss / 2 ** 20
  }
  const list = []
  for (let round = 0; round < 3; round++) {
    const db = new PgParallel({ maxWorkers: 4 })
    await db.warmup({ connections: 0, threads: 1 })
    await sleep(300)
    const before = resident()
    await db.warmup({ connections: 0, threads: 4 })
    await sleep(300)
    list.push((resident() - before) / 3)
    await db.shutdown()
  }
  results.push({ scenario: 'memory', mebibytesPerThread: median(list) })
  console.log(`| memory | ${fixed(median(list))} MiB per idle thread |`)
}

try {
  const wanted = (name) => only === undefined || only.includes(name)
  if (wanted('memory')) await memory()
  row('server', 'scenario', 'contender', 'ops/s', 'of pg.Pool', 'CPU µs', 'p50 ms', 'p95 ms', 'p99 ms', 'errors')
  for (const target of targets) {
    for (const name of Object.keys(SCENARIOS)) if (wanted(name)) await selects(target, name)
    if (wanted('mixed')) await mixed(target)
    if (wanted('paced')) await pacedMixed(target)
    if (wanted('cpu')) await cpu(target)
    if (wanted('resilience')) await resilience(target)
    if (wanted('cold')) await cold(target)
  }
} finally {
  await stopServers()
}
mkdirSync(new URL('.results/', root), { recursive: true })
writeFileSync(new URL('.results/bench-pg-parallel.json', root), JSON.stringify({ date: new Date().toISOString(), node: process.version, rounds: ROUNDS, results }, undefined, 2) + '\n')
