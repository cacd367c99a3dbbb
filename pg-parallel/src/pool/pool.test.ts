import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeServer, type Answer, type FakeSession } from '../../test/support/fake'
import { closed, stops } from '../../test/support/stops'
import { resolveSettings, type PgParallelOptions } from '../options'
import type { Connection } from './connection'
import { MAX_OPENING, Pool } from './pool'
import type { Waiter } from './queue'

interface Setup {
  fake: FakeServer
  pool: Pool
  told: string[]
}

async function setup(
  options: PgParallelOptions = {},
  answer?: (text: string, session: FakeSession) => Answer | undefined,
): Promise<Setup> {
  const fake = await FakeServer.start(answer)
  const told: string[] = []
  const settings = resolveSettings({ ...fake.options, retry: { initialDelayMs: 1, maxDelayMs: 1 }, ...options })
  const pool = new Pool(settings, {
    connected: () => told.push('connected'),
    disconnected: () => told.push('disconnected'),
    connectFailed: (error, attempt) => told.push(`failed ${error.sqlState ?? error.category} ${attempt}`),
    full: () => told.push('full'),
    starved: () => told.push('starved'),
  })
  stops.push(async () => {
    pool.abort(closed)
    await pool.close(closed)
    await fake.stop()
  })
  return { fake, pool, told }
}

/** Asks and waits; a slot comes without a connection. */
function ask(pool: Pool, kind: Waiter['kind'] = 'exclusive', patience = 10): Promise<Connection | undefined> {
  return new Promise((serve, refuse) => {
    pool.acquire({ kind, patience, serve, refuse })
  })
}

async function lease(pool: Pool): Promise<Connection> {
  const connection = await ask(pool)
  assert(connection)
  return connection
}

const turn = (): Promise<void> => new Promise(setImmediate)

test('connections are shared out in the order of asking, and never more than max', async () => {
  const { fake, pool } = await setup({ max: 2 })
  const held = [await lease(pool), await lease(pool)]
  const order: number[] = []
  const waiting = [1, 2, 3].map(async (n) => {
    const connection = await lease(pool)
    order.push(n)
    pool.release(connection)
  })
  assert.deepEqual([pool.stats.busy, pool.stats.waiting], [2, 3])
  for (const connection of held) pool.release(connection)
  await Promise.all(waiting)
  assert.deepEqual(order, [1, 2, 3])
  assert.equal(fake.sessions.length, 2)
  assert.equal(pool.stats.idle, 2)
})

test('the queue is bounded; who gives up leaves it', async () => {
  const { pool } = await setup({ max: 1, maxQueue: 1 })
  const held = await lease(pool)
  const waiter: Waiter = { kind: 'exclusive', patience: 1, serve: () => assert.fail(), refuse: () => assert.fail() }
  pool.acquire(waiter)
  await assert.rejects(ask(pool), { category: 'overload' })
  assert.equal(pool.withdraw(waiter), true)
  assert.equal(pool.withdraw(waiter), false)
  pool.release(held)
  pool.release(await lease(pool))
})

test('the next user finds no transaction and no stale statements', async () => {
  const { fake, pool } = await setup({ max: 1 })
  const first = await lease(pool)
  await first.query('BEGIN')
  first.stale = true
  pool.release(first)
  const second = await lease(pool)
  assert.equal(second, first)
  assert.deepEqual(fake.texts, ['BEGIN', 'ROLLBACK'])
  assert.equal(second.stale, false)
  pool.release(second)
})

test('what cannot be restored is not handed on', async () => {
  const { fake, pool, told } = await setup({ max: 1 }, (text) => (text === 'ROLLBACK' ? { cut: true } : {}))
  const first = await lease(pool)
  await first.query('BEGIN')
  pool.release(first)
  pool.release(await lease(pool))
  assert.equal(fake.sessions.length, 2)
  assert.deepEqual(told, ['connected', 'disconnected', 'connected'])
})

test('a connection ends after maxUses and maxLifetimeSeconds', async () => {
  const { fake, pool } = await setup({ max: 1, maxUses: 2 })
  for (let n = 0; n < 5; n++) {
    const connection = await lease(pool)
    await connection.query('SELECT 1')
    pool.release(connection)
  }
  assert.equal(fake.sessions.length, 3)
})

test('failures use up patience, one for each round of attempts', async () => {
  const { fake, pool, told } = await setup({ max: 3 })
  fake.refuse = '57P03'
  const results = await Promise.allSettled([
    ask(pool, 'exclusive', 2),
    ask(pool, 'exclusive', 2),
    ask(pool, 'exclusive', 4),
  ])
  assert.deepEqual(
    results.map((result) => result.status),
    ['rejected', 'rejected', 'rejected'],
  )
  assert.deepEqual(told, ['failed 57P03 1', 'failed 57P03 2', 'failed 57P03 3', 'failed 57P03 1'])
  fake.refuse = undefined
  pool.release(await lease(pool))
})

test('what waiting cannot cure refuses everybody at once', async () => {
  const { fake, pool, told } = await setup({ max: 1 })
  fake.refuse = '28P01'
  await assert.rejects(ask(pool), { category: 'authentication' })
  assert.equal(told.length, 1)
})

test('a full server lowers the ceiling: those who wait share what there is', async () => {
  const { fake, pool, told } = await setup({ max: 5 })
  const first = await lease(pool)
  fake.refuse = '53300'
  const second = lease(pool)
  while (!told.includes('full')) await turn()
  assert.equal(pool.stats.ceiling, 1)
  pool.release(first)
  assert.equal(await second, first)
  pool.release(first)
})

test('a refusal for want of room is none of a failing server while another connection is on its way', async () => {
  const { fake, pool, told } = await setup({ max: 2 })
  fake.refuse = '53300'
  const waiting = [lease(pool), lease(pool)]
  while (told.length === 0) await turn()
  assert.equal(told[0], 'full')
  fake.refuse = undefined
  for (const one of waiting) pool.release(await one)
})

test('where a full server has room again, the ceiling rises with every connection', async () => {
  const { fake, pool, told } = await setup({ max: 5 })
  const held = [await lease(pool)]
  fake.refuse = '53300'
  const more = Array.from({ length: 4 }, () => lease(pool))
  while (!told.includes('full')) await turn()
  fake.refuse = undefined
  held.push(...(await Promise.all(more)))
  assert.equal(fake.sessions.filter(Boolean).length >= 5, true)
  for (const connection of held) pool.release(connection)
})

test('nobody passes those who wait', async () => {
  const { pool } = await setup({ max: 1 })
  const one = await ask(pool, 'shared')
  assert(one)
  const served: string[] = []
  const lone = lease(pool).then((connection) => {
    served.push('first')
    return connection
  })
  const late = ask(pool, 'shared').then((connection) => {
    served.push('late')
    return connection
  })
  await turn()
  assert.deepEqual(served, [])
  pool.release(one)
  pool.release(await lone)
  const last = await late
  assert(last)
  assert.deepEqual(served, ['first', 'late'])
  pool.release(last)
})

test('a connection whose statement is being cancelled gets nothing further', async () => {
  const { pool } = await setup({ max: 1 }, (text) => (text === 'SELECT 1' ? { hang: true } : {}))
  const one = await ask(pool, 'shared')
  assert(one)
  const ended = new Promise((resolve) => one.submit({ text: 'SELECT 1' }, undefined, resolve))
  one.cancel(1_000)
  // However slow the machine is: it is not left alone for having been silent.
  one.progressAt = performance.now()
  const next = ask(pool, 'shared')
  assert.equal(pool.stats.waiting, 1)
  await ended
  pool.release(one)
  const connection = await next
  assert(connection)
  pool.release(connection)
})

test('a slot makes one idle connection leave, not more, and others are served meanwhile', async () => {
  const { fake, pool } = await setup({ max: 3 })
  const held = [await lease(pool), await lease(pool), await lease(pool)]
  for (const connection of held) pool.release(connection)
  // The server takes its time to close the socket of the one that has to go.
  const oldest = fake.sessions.find((session) => session.pid === held[0]?.processID)
  assert(oldest)
  const { socket } = oldest
  const end = socket.end.bind(socket)
  let close: (() => void) | undefined
  socket.end = ((): void => {
    close = (): void => void end()
  }) as never
  const slot = ask(pool, 'slot')
  for (let n = 0; n < 20; n++) {
    const connection = await lease(pool)
    await connection.query('SELECT 1')
    pool.release(connection)
  }
  assert.equal(pool.stats.total, 3)
  assert.equal(fake.sessions.filter((session) => session.heard.includes('Terminate')).length, 1)
  assert.equal(pool.stats.lent, 0)
  close?.()
  assert.equal(await slot, undefined)
  assert.deepEqual([pool.stats.total, pool.stats.lent], [2, 1])
  pool.returnSlot()
  assert.equal(pool.stats.lent, 0)
})

test('who waits while all slots are lent is told of', async () => {
  const { pool, told } = await setup({ max: 1 })
  await ask(pool, 'slot')
  const waiting = lease(pool)
  assert.deepEqual(told, ['starved'])
  pool.returnSlot()
  pool.release(await waiting)
})

test('warm-up opens a bounded number at a time, and reports what fails', async () => {
  const { pool } = await setup({ max: 25 })
  const warming = pool.warmup(25)
  assert.equal(pool.stats.connecting, MAX_OPENING)
  assert.deepEqual(await warming, [])
  assert.equal(pool.stats.idle, 25)
  const { fake, pool: refused, told } = await setup({ max: 2 })
  fake.refuse = '57P03'
  assert.equal((await refused.warmup(2)).length, 2)
  assert.deepEqual(told, ['failed 57P03 1'], 'what fails together is one failure')
})

test('warm-up of a server without room for all takes what there is, and is no failure', async () => {
  const { fake, pool, told } = await setup({ max: 30 })
  await pool.warmup(5)
  fake.refuse = '53300'
  const errors = await pool.warmup(30)
  assert(errors.length > 0 && errors.every((error) => error.sqlState === '53300'))
  assert.equal(pool.stats.idle, 5)
  assert.equal(pool.stats.ceiling, 5)
  assert.deepEqual([...new Set(told)], ['connected', 'full'])
})

test('pipelining: single statements share a connection up to the depth, a lease does not', async () => {
  const { pool } = await setup({ max: 1, pipeline: { depth: 2 } })
  const one = await ask(pool, 'shared')
  const two = await ask(pool, 'shared')
  assert(one)
  assert.equal(two, one)
  assert.equal(one.inFlight, 2)
  const full: Waiter = { kind: 'shared', patience: 1, serve: () => assert.fail(), refuse: () => assert.fail() }
  pool.acquire(full)
  assert.equal(pool.stats.waiting, 1)
  assert.equal(pool.withdraw(full), true)
  let alone = false
  const lone = lease(pool).then((connection) => {
    alone = true
    return connection
  })
  const third = ask(pool, 'shared')
  pool.release(one)
  await turn()
  assert.equal(alone, false)
  pool.release(one)
  const connection = await lone
  assert.equal(connection.exclusive, true)
  pool.release(connection)
  const last = await third
  assert(last)
  assert.equal(last.exclusive, false)
  pool.release(last)
})

test('close waits for those inside, and refuses the rest', async () => {
  const { pool } = await setup({ max: 1 })
  const held = await lease(pool)
  let over = false
  const closing = pool.close(closed).then(() => (over = true))
  await assert.rejects(ask(pool), { category: 'closed' })
  await turn()
  assert.equal(over, false)
  pool.release(held)
  await closing
})

test('pipelining: short statements need few lanes, longer ones get more, and full lanes are no limit', async () => {
  const { pool } = await setup({ max: 10, pipeline: { depth: 4 } })
  const take = (count: number): Promise<Connection[]> =>
    Promise.all(Array.from({ length: count }, async () => (await ask(pool, 'shared'))!))
  const lanes = (of: Connection[]): number => new Set(of).size
  const held = await Promise.all(Array.from({ length: 10 }, () => lease(pool)))
  for (const connection of held) pool.release(connection)
  // nothing is known of the statements
  const unknown = await take(16)
  assert.equal(lanes(unknown), 8)
  for (const connection of unknown) pool.release(connection)
  // answered at once
  for (let n = 0; n < 500; n++) pool.release((await ask(pool, 'shared'))!)
  const short = await take(16)
  assert.equal(lanes(short), 4)
  const more = await take(16)
  assert.equal(lanes([...short, ...more]), 8)
  // the further ones come free although the pool is never idle
  for (const connection of [...more, ...short.slice(4)]) pool.release(connection)
  const busy = await take(8)
  assert.equal(lanes([...short.slice(0, 4), ...busy]), 4)
  for (const connection of [...busy, ...short.slice(0, 4)]) pool.release(connection)
  // as if each had taken its time
  for (let n = 0; n < 100; n++) {
    const connection = (await ask(pool, 'shared'))!
    connection.progressAt -= 5
    pool.release(connection)
  }
  const long = await take(16)
  assert.equal(lanes(long), 8)
  for (const connection of long) pool.release(connection)
})
