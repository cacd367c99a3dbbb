import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeServer, type Answer, type FakeSession } from '../test/support/fake'
import { stops } from '../test/support/stops'
import { PgParallel } from './client'
import type { PgParallelOptions } from './options'

async function setup(
  answer?: (text: string, session: FakeSession) => Answer | undefined,
  options: PgParallelOptions = {},
): Promise<{ fake: FakeServer; db: PgParallel }> {
  const fake = await FakeServer.start(answer)
  const db = new PgParallel({ ...fake.options, retry: { initialDelayMs: 1 }, ...options })
  stops.push(async () => {
    await db.shutdown({ timeoutMs: 0 })
    await fake.stop()
  })
  return { fake, db }
}

test('making an instance opens nothing', async () => {
  const { fake, db } = await setup()
  assert.deepEqual([db.totalCount, db.idleCount, db.waitingCount], [0, 0, 0])
  assert.deepEqual(db.stats.workers.threads, 0)
  assert.equal(fake.sessions.length, 0)
})

test('each kind of call reaches the server and is counted', async () => {
  const { fake, db } = await setup(() => ({ rows: [{ n: '1' }] }))
  assert.deepEqual((await db.query('SELECT n')).rows, [{ n: 1 }])
  assert.deepEqual((await db.query({ text: 'SELECT n', rowMode: 'array' })).rows, [[1]])
  await db.transaction(async (tx) => tx.query('SELECT n'))
  for await (const row of db.stream('SELECT n')) assert.deepEqual(row, { n: 1 })
  assert.deepEqual(db.stats.calls, { started: 4, succeeded: 4, failed: 0, retried: 0 })
  assert.equal(fake.sessions.length, 1)
})

test('an error leads to where the query was asked', async () => {
  const { db } = await setup(() => ({ error: '42601' }))
  async function askedHere(): Promise<void> {
    await db.query('SELEC')
  }
  await assert.rejects(askedHere(), (error) => /askedHere/.test((error as Error).stack ?? ''))
})

test('task and worker refuse what makes no sense, and count it', async () => {
  const { db } = await setup()
  const without = new PgParallel({ maxWorkers: 0 })
  await assert.rejects(
    without.task(() => 1),
    { category: 'configuration' },
  )
  await without.shutdown()
  for (const wrong of [undefined, {}, { taskPath: 7 }, { taskPath: '' }]) {
    await assert.rejects(db.task(wrong as never), { category: 'configuration' })
  }
  await assert.rejects(
    db.task(() => 1, 'no array' as never),
    { category: 'configuration' },
  )
  await assert.rejects(
    db.task(() => 1, [], { timeoutMs: -1 }),
    { category: 'configuration' },
  )
  assert.deepEqual(db.stats.calls, { started: 2, succeeded: 0, failed: 2, retried: 0 })
  assert.equal(db.stats.workers.threads, 0)
})

test('warmup reports failures and succeeds as far as it can', async () => {
  const { fake, db } = await setup(undefined, { max: 3 })
  assert.deepEqual(await db.warmup({ threads: 0 }), { connections: 3, threads: 0, errors: [] })
  const { fake: full, db: refused } = await setup(undefined, { max: 2 })
  full.refuse = '53300'
  const report = await refused.warmup({ threads: 0 })
  assert.equal(report.connections, 0)
  assert.deepEqual(
    report.errors.map((error) => error.sqlState),
    ['53300', '53300'],
  )
  assert.equal(fake.sessions.length, 3)
})

test('shutdown waits for calls, refuses new ones, says so, and may be called twice', async () => {
  let answer: (() => void) | undefined
  const { fake, db } = await setup((text, session) => {
    if (text !== 'SELECT slow') return {}
    answer = (): void => {
      session.cancel()
    }
    return { hang: true }
  })
  const told: string[] = []
  db.on('shutdown', () => told.push('shutdown')).once('closed', () => told.push('closed'))
  const slow = assert.rejects(db.query('SELECT slow'), { sqlState: '57014' })
  while (!answer) await new Promise(setImmediate)
  const down = db.shutdown()
  assert.equal(db.shutdown(), down)
  await assert.rejects(db.query('SELECT 1'), { category: 'closed' })
  assert.deepEqual(told, ['shutdown'])
  answer()
  await slow
  await down
  assert.deepEqual(told, ['shutdown', 'closed'])
  assert.equal(fake.sessions[0]?.heard.at(-1), 'Terminate')
})

test('shutdown cancels on the server what does not end in time', async () => {
  const { fake, db } = await setup(() => ({ hang: true }))
  const slow = assert.rejects(db.query('SELECT slow', [], { retry: false }))
  while (fake.texts.length === 0) await new Promise(setImmediate)
  await db.shutdown({ timeoutMs: 10 })
  await slow
  assert.equal(fake.cancels.length, 1)
})

test('shutdown ends a call that waits for a server that is not there', async () => {
  const { fake, db } = await setup(undefined, { retry: { maxAttempts: 1_000, initialDelayMs: 20 } })
  await fake.stop()
  const call = assert.rejects(db.query('SELECT 1'), { category: 'closed' })
  await new Promise((done) => db.once('connectFailed', done))
  await db.shutdown({ timeoutMs: 40 })
  await call
})

test('shutdown takes no longer than it may, whatever the server does', async () => {
  const { fake, db } = await setup((_text, session) => {
    session.cancel = (): void => {} // it hears nothing
    return { hang: true }
  })
  const slow = assert.rejects(db.query('SELECT slow', [], { retry: false }))
  while (fake.texts.length === 0) await new Promise(setImmediate)
  const started = performance.now()
  await db.shutdown({ timeoutMs: 200 })
  await slow
  // The contract is about time; cancelTimeoutMs and the goodbye would have added seven seconds.
  assert(performance.now() - started < 3_000)
})

/** Messages that no ReadyForQuery follows: of an unknown type, without a length, half an error. */
const BROKEN: Record<string, Buffer> = {
  'an unknown type': Buffer.from([0x7f, 0, 0, 0, 4]),
  'no length': Buffer.from([0x7f, 0, 0, 0, 0]),
  'half an error': Buffer.concat([Buffer.from([0x45, 0, 0, 0, 90]), Buffer.from('SERROR\0C22012\0')]),
  'an error alone': Buffer.concat([Buffer.from([0x45, 0, 0, 0, 19]), Buffer.from('SERROR\0C22012\0\0')]),
}
for (const [what, raw] of Object.entries(BROKEN)) {
  test(`the connection’s place is free again after ${what}`, async () => {
    const { db } = await setup((text) => (text === 'SELECT broken' ? { raw } : {}), { max: 1, cancelTimeoutMs: 30 })
    await assert.rejects(db.query('SELECT broken', [], { retry: false, timeoutMs: 500 }))
    await db.query('SELECT 1')
    assert.equal(db.stats.pool.total, 1)
    await db.shutdown()
  })
}

test('what was tried once is not reported as ten attempts', async () => {
  const { fake, db } = await setup(undefined, { retry: { initialDelayMs: 1 } })
  fake.refuse = '28P01'
  for (const call of [
    db.query('SELECT 1'),
    db.transaction(async () => {}),
    (async () => {
      for await (const row of db.stream('SELECT 1')) assert(row)
    })(),
  ]) {
    await assert.rejects(call, { category: 'authentication', attempts: 1 })
  }
})

test('what the protocol cannot express is refused before it is sent', async () => {
  const { fake, db } = await setup(undefined, { max: 1 })
  const many = Array.from({ length: 70_000 }, (_, n) => n)
  for (const call of [
    db.query('SELECT $1', many),
    db.query("SELECT '\0'"),
    db.query({ name: 'a\0', text: 'SELECT 1' }),
    db.transaction((tx) => tx.query('SELECT $1', many)),
  ]) {
    await assert.rejects(call, { category: 'configuration', mayHaveExecuted: false })
  }
  await db.query('SELECT 1')
  assert.equal(fake.sessions.length, 1)
})

test('transactions by plain statements are refused, and a Cursor in a transaction is not taken for a query', async () => {
  const { db } = await setup()
  await assert.rejects(db.query('BEGIN'), /transaction\(\)/)
  await assert.rejects(db.query({ text: 'LISTEN x' }), /listened/)
  await assert.rejects(
    db.transaction((tx) => tx.query('COMMIT')),
    /return to commit/,
  )
  const cursor = { text: 'SELECT 1', submit: () => {} }
  await assert.rejects(
    db.transaction((tx) => tx.query(cursor)),
    /use stream/,
  )
})
