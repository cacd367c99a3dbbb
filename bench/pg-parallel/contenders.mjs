// The contenders behind one interface: { warm, query, close } and, where it has threads, { task }.
import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(new URL('../../pg-parallel/package.json', import.meta.url))
const pg = require('pg')
const postgres = require('postgres')
const { PgParallel } = require('pg-parallel')

const SELECT = 'SELECT id, name, value FROM bench WHERE id = $1'
const UPDATE = 'UPDATE bench SET value = value + 1 WHERE id = $1'

/** Opens connections, at most ten at a time, errors ignored. */
async function warm(count, one) {
  for (let done = 0; done < count; done += 10) {
    await Promise.allSettled(Array.from({ length: Math.min(10, count - done) }, one))
  }
}

/** CPU work where there are no threads: the event loop does it. */
export const burn = (ms) => {
  const end = performance.now() + ms
  let x = 0
  while (performance.now() < end) x += Math.sqrt(x + 1)
  return x
}

/** The same as a task. */
const burnFor = (duration) => {
  const end = performance.now() + duration
  let x = 0
  while (performance.now() < end) x += Math.sqrt(x + 1)
  return x
}

function parallel(options) {
  return (url, max, maxWorkers) => {
    const db = new PgParallel({ connectionString: url, max, maxWorkers, ...options })
    return {
      db,
      warm: (threads = 0) => db.warmup({ threads }),
      select: (id) => db.query(SELECT, [id]),
      update: (id) => db.query(UPDATE, [id]),
      task: (ms) => db.task(burnFor, [ms]),
      close: () => db.shutdown(),
    }
  }
}

export const contenders = {
  'pg.Pool': (url, max) => {
    const pool = new pg.Pool({ connectionString: url, max })
    pool.on('error', () => {})
    return {
      warm: () => {
        const held = []
        return warm(max, async () => held.push(await pool.connect())).then(() => held.forEach((client) => client.release()))
      },
      select: (id) => pool.query(SELECT, [id]),
      update: (id) => pool.query(UPDATE, [id]),
      close: () => pool.end(),
    }
  },
  postgres: (url, max) => {
    const sql = postgres(url, { max, onnotice: () => {} })
    return {
      warm: () => warm(max, () => sql`SELECT 1`),
      select: (id) => sql`SELECT id, name, value FROM bench WHERE id = ${id}`,
      update: (id) => sql`UPDATE bench SET value = value + 1 WHERE id = ${id}`,
      close: () => sql.end({ timeout: 5 }),
    }
  },
  'pg-parallel': parallel({}),
  'pg-parallel, pipelined': parallel({ pipeline: true }),
}

/** The package of the same name that was in the registry before, from a folder that has it: see README.md. */
export function addExisting(folder) {
  const { PgParallel: Existing } = require(folder)
  contenders['existing package'] = (url, max, maxWorkers) => {
    const db = new Existing({ connectionString: url, max, maxWorkers })
    db.localPool?.on('error', () => {})
    return {
      // Its own warm-up starts threads and opens no connection.
      warm: async (threads = 0) => {
        if (threads > 0) await db.warmup()
        await warm(max, () => db.query('SELECT 1'))
      },
      select: (id) => db.query(SELECT, [id]),
      update: (id) => db.query(UPDATE, [id]),
      task: (ms) => db.task(burnFor, [ms]),
      close: () => db.shutdown(),
    }
  }
}

/** slonik, from a folder that has it. */
export function addSlonik(folder) {
  const { createPool, sql } = createRequire(join(folder, 'package.json'))('slonik')
  contenders.slonik = (url, max) => {
    // Its default schema of rows is `any`: none is checked, as with the others.
    const pool = createPool(url, { maximumPoolSize: max })
    const run = async (statement) => (await pool).query(statement)
    return {
      warm: () => warm(max, () => run(sql.unsafe`SELECT 1`)),
      select: (id) => run(sql.unsafe`SELECT id, name, value FROM bench WHERE id = ${id}`),
      update: (id) => run(sql.unsafe`UPDATE bench SET value = value + 1 WHERE id = ${id}`),
      close: async () => (await pool).end(),
    }
  }
}

/** `pg.Pool` with piscina's threads beside it, from a folder that has piscina: what pg-parallel's own threads are measured against. */
export function addPiscina(folder) {
  const { Piscina } = createRequire(join(folder, 'package.json'))('piscina')
  for (const nice of [0, 19]) {
    contenders[`piscina, nice ${nice}`] = (url, max, maxWorkers) => {
      const threads = new Piscina({
        filename: new URL('piscinaTask.mjs', import.meta.url).href,
        minThreads: maxWorkers,
        maxThreads: maxWorkers,
        atomics: 'disabled',
        workerData: { nice },
      })
      const { close, ...queries } = contenders['pg.Pool'](url, max)
      return { ...queries, task: (ms) => threads.run(ms), close: () => Promise.all([threads.destroy(), close()]) }
    }
  }
}
