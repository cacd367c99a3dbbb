/** What integration tests have in common. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import pg from 'pg'
import { PgParallel, type PgParallelOptions } from '../../src/index'
import { startServer, stopServers, type TestServer } from './servers'

export { failure } from './failure'

const instances: PgParallel[] = []

after(async () => {
  await Promise.all(instances.map((db) => db.shutdown({ timeoutMs: 0 })))
  await stopServers()
})

let shared: Promise<TestServer> | undefined

/** The file's own server. */
export function server(): Promise<TestServer> {
  return (shared ??= startServer())
}

/** An instance that is shut down with the file. */
export function open(options: PgParallelOptions): PgParallel {
  const db = new PgParallel(options)
  instances.push(db)
  return db
}

/** An instance on the file's server. */
export async function onServer(options: PgParallelOptions = {}): Promise<PgParallel> {
  return open({ connectionString: (await server()).url, ...options })
}

/** One query on a plain connection that shares nothing with what is tested. */
export async function direct(text: string, values: unknown[] = [], url?: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url ?? (await server()).url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows
  } finally {
    await client.end()
  }
}

/** Waits for something that another process does; its own time, not a guessed one. */
export async function eventually(what: string, check: () => Promise<boolean> | boolean): Promise<void> {
  const end = performance.now() + 60_000
  while (performance.now() < end) {
    if (await check()) return
    await sleep(20)
  }
  assert.fail(`never happened: ${what}`)
}

export const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))

let tables = 0
/** A table nobody else uses. */
export async function freshTable(columns: string): Promise<string> {
  const name = `t_${process.pid}_${++tables}`
  await direct(`CREATE TABLE ${name} (${columns})`)
  return name
}
