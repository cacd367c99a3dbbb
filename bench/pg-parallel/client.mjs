// Processor time of the client, beside the rate: `pg.Pool`, postgres and pg-parallel, each in a process of its own.
//
// usage: node bench/pg-parallel/client.mjs [--target postgres|pgsqlite] [--rounds N] [--only keys,light,rows]
//
// keys: key SELECTs, 64 callers on 10 connections. light: 10 callers on 20 connections. rows: 100,000 rows of int, text,
// float8 and timestamptz, also from pg-parallel's threads; beside the processor time, how long the event loop was busy.
// The contenders take turns, one measurement each, in another order each round; the figure is the median of the rounds.
import { fork } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { median } from './measure.mjs'

const SELECT = 'SELECT id, name, value FROM bench WHERE id = $1'
const ROWS = 'SELECT id, name, amount, at FROM wide'
const root = new URL('../../', import.meta.url)
const require = createRequire(new URL('pg-parallel/package.json', root))

/** Each returns what runs a key SELECT, what reads the rows, and what closes it. */
const contenders = {
  'pg.Pool': (url, max) => {
    const pool = new (require('pg').Pool)({ connectionString: url, max })
    return {
      select: (id) => pool.query(SELECT, [id]),
      rows: async () => (await pool.query(ROWS)).rows,
      close: () => pool.end(),
    }
  },
  postgres: (url, max) => {
    const sql = require('postgres')(url, { max, onnotice: () => {} })
    return {
      select: (id) => sql`SELECT id, name, value FROM bench WHERE id = ${id}`,
      rows: () => sql`SELECT id, name, amount, at FROM wide`,
      close: () => sql.end({ timeout: 5 }),
    }
  },
  'pg-parallel': (url, max) => parallel(url, max, (db) => db.query(ROWS)),
  'pg-parallel, decode thread': (url, max) => parallel(url, max, (db) => db.query({ text: ROWS, decode: 'thread' })),
  'pg-parallel, worker': (url, max) =>
    parallel(url, max, (db) => db.worker((client, text) => client.query(text), [ROWS])),
}

function parallel(url, max, read) {
  const { PgParallel } = require('pg-parallel')
  const db = new PgParallel({ connectionString: url, max, maxWorkers: 1 })
  return {
    select: (id) => db.query(SELECT, [id]),
    rows: async () => (await read(db)).rows,
    close: () => db.shutdown(),
  }
}

const SCENARIOS = {
  keys: { callers: 64, max: 10, operations: 30_000 },
  light: { callers: 10, max: 20, operations: 10_000 },
  rows: { callers: 1, max: 2, operations: 4 },
}

/** In a child: measures as often as it is asked to. */
async function child() {
  const [, , , contender, scenario, url] = process.argv
  const { callers, max, operations } = SCENARIOS[scenario]
  const it = contenders[contender](url, max)
  const one =
    scenario === 'rows'
      ? async () => {
          const rows = await it.rows()
          if (rows.length !== 100_000) throw new Error(`${rows.length} rows`)
        }
      : (n) => it.select((n % 10_000) + 1)
  const round = async (count) => {
    let next = 0
    await Promise.all(
      Array.from({ length: callers }, async () => {
        for (let n = next++; n < count; n = next++) await one(n)
      }),
    )
  }
  await round(Math.max(2, operations / 3))
  process.on('message', async () => {
    const cpu = process.cpuUsage()
    const busy = performance.eventLoopUtilization()
    const began = performance.now()
    await round(operations)
    const seconds = (performance.now() - began) / 1_000
    const used = process.cpuUsage(cpu)
    process.send({
      cpu: (used.user + used.system) / operations,
      busy: (performance.eventLoopUtilization(busy).active * 1_000) / operations,
      rate: operations / seconds,
    })
  })
  process.on('disconnect', () => it.close().finally(() => process.exit(0)))
  process.send('ready')
}

const answer = (process) =>
  new Promise((resolve, reject) => {
    process.once('message', resolve)
    process.once('exit', (code) => reject(new Error(`a contender ended with ${code}`)))
  })

async function prepare(server) {
  const client = new (require('pg').Client)(server.url)
  await client.connect()
  for (const text of [
    'CREATE TABLE bench (id int PRIMARY KEY, name text, value int)',
    `INSERT INTO bench SELECT n, 'name ' || n, 0 FROM generate_series(1, 10000) AS n`,
    'CREATE TABLE wide (id int PRIMARY KEY, name text, amount float8, at timestamptz)',
    `INSERT INTO wide SELECT n, 'name ' || n, n * 1.1, '2024-01-01 00:00:00+00'::timestamptz + n * interval '1 second' FROM generate_series(1, 100000) AS n`,
    'ANALYZE',
  ]) {
    await client.query(text)
  }
  await client.end()
}

async function measure(target, scenario, rounds, url) {
  const threads = (name) => name.includes(',')
  const names = Object.keys(contenders).filter((name) => scenario === 'rows' || !threads(name))
  const children = new Map()
  for (const name of names) {
    const process = fork(fileURLToPath(import.meta.url), ['--child', name, scenario, url])
    children.set(name, process)
    await answer(process)
  }
  const found = new Map(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (let at = 0; at < names.length; at++) {
      const name = names[(at + round) % names.length]
      children.get(name).send('go')
      found.get(name).push(await answer(children.get(name)))
    }
  }
  for (const process of children.values()) {
    process.removeAllListeners('exit')
    const over = new Promise((done) => process.once('exit', done))
    process.disconnect()
    await over
  }
  return names.map((name) => {
    const figure = (of) => median(found.get(name).map((one) => one[of]))
    const share = (of, against) => median(found.get(name).map((one, round) => one[of] / found.get(against)[round][of]))
    return {
      target,
      scenario,
      contender: name,
      rounds,
      cpuMicroseconds: figure('cpu'),
      busyMicroseconds: figure('busy'),
      perSecond: figure('rate'),
      ...Object.fromEntries(
        ['pg.Pool', 'postgres'].map((against) => [
          `of ${against}`,
          { cpu: share('cpu', against), busy: share('busy', against), rate: share('rate', against) },
        ]),
      ),
    }
  })
}

async function main() {
  const args = process.argv.slice(2)
  const option = (name, fallback) => (args.includes(name) ? args[args.indexOf(name) + 1] : fallback)
  const targets = option('--target', 'postgres,pgsqlite').split(',')
  const scenarios = option('--only', 'keys,light,rows').split(',')
  const rounds = Number(option('--rounds', '5'))
  process.chdir(new URL('pg-parallel/', root).pathname)
  const { startServer, stopServers } = require('./build/test/support/servers.js')
  const results = []
  try {
    for (const target of targets) {
      const server = await startServer({ settings: { shared_buffers: '128MB' } }, target)
      await prepare(server)
      for (const scenario of scenarios) {
        for (const result of await measure(target, scenario, rounds, server.url)) {
          results.push(result)
          const { contender, cpuMicroseconds: cpu, busyMicroseconds: busy, perSecond } = result
          const shares = ['pg.Pool', 'postgres'].map((against) => {
            const { cpu, busy, rate } = result[`of ${against}`]
            return `of ${against}: processor ${cpu.toFixed(3)}, busy ${busy.toFixed(3)}, rate ${rate.toFixed(2)}`
          })
          console.log(
            `| ${target} | ${scenario} | ${contender} | ${cpu.toFixed(1)} µs | ${busy.toFixed(1)} µs | ${perSecond.toFixed(1)}/s | ${shares.join(' | ')} |`,
          )
        }
      }
      await server.remove()
    }
  } finally {
    await stopServers()
  }
  mkdirSync(new URL('.results/', root), { recursive: true })
  const file = new URL('.results/bench-pg-parallel-client.json', root)
  writeFileSync(file, JSON.stringify({ date: new Date().toISOString(), node: process.version, results }, undefined, 2) + '\n')
}

if (process.argv[2] === '--child') await child()
else await main()
