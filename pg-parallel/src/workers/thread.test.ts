import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { deserialize } from 'node:v8'
import { FakeServer } from '../../test/support/fake'
import { stops } from '../../test/support/stops'
import { startThread, type ThreadGiven, type ThreadUnderTest } from '../../test/support/thread'
import { moved, type Job, type MainMessage } from './protocol'

/** The module under test, on a thread. */
const start = (given?: ThreadGiven, grant?: () => MainMessage): ThreadUnderTest =>
  startThread(join(__dirname, 'thread.js'), given, grant)

const fixture = (name: string): string => `file://${join(process.cwd(), 'test/fixtures', name)}`

test('it says when it is ready, and shows which job it has taken up', async () => {
  const { worker, job, said, run } = start()
  const { threadId } = worker
  assert.equal(Atomics.load(job, 0), 0)
  assert.deepEqual(await run({ kind: 'warm' }), { ok: true, value: threadId })
  assert.equal(Atomics.load(job, 0), 1)
  assert.deepEqual(said, [{ type: 'ready' }])
})

test('what a result is made of changes hands', () => {
  const data = new Uint8Array(8)
  assert.deepEqual(moved({ type: 'result', id: 1, result: { ok: true, data } }), [data.buffer])
  assert.deepEqual(moved({ type: 'result', id: 1, result: { ok: true, value: 1 } }), [])
  assert.deepEqual(moved({ type: 'ready' }), [])
})

test('functions from text and from modules', async () => {
  const { run } = start()
  assert.deepEqual(await run({ kind: 'task', source: '(a, b) => a + b', args: [1, 2] }), { ok: true, value: 3 })
  const list = await run({ kind: 'task', source: '() => [1, new Date(0)]' })
  assert(list.ok && 'data' in list)
  assert.deepEqual(deserialize(list.data), [1, new Date(0)])
  assert.deepEqual(await run({ kind: 'task', module: fixture('tasks.mjs'), name: 'multiply', args: [2, 3] }), {
    ok: true,
    value: 6,
  })
  assert.deepEqual(await run({ kind: 'task', module: fixture('tasks.cjs'), name: 'add', args: [2, 3] }), {
    ok: true,
    value: 5,
  })
})

test('a job that was withdrawn before it was taken up does not run', async () => {
  const { job, run } = start()
  const done = run({ kind: 'task', source: '() => 1' })
  assert.equal(Atomics.compareExchange(job, 0, -1, 0), -1)
  assert.deepEqual(await done, { ok: true, value: undefined })
  assert.deepEqual(await run({ kind: 'task', source: '() => 2' }), { ok: true, value: 2 })
})

test('whatever goes wrong is an answer', async () => {
  const { run } = start()
  const message = async (job: Partial<Job>): Promise<string> => {
    const result = await run({ kind: 'task', ...job })
    return result.ok ? 'ok' : result.error.message
  }
  assert.equal(await message({ source: "() => { throw new Error('mine') }" }), 'mine')
  assert.match(await message({ source: '() => () => 1' }), /could not be cloned|ok/)
  assert.match(await message({ source: '() => ({ f() {} })' }), /could not be cloned/)
  assert.match(await message({ module: fixture('tasks.mjs'), name: 'nothing' }), /exports no function "nothing"/)
  assert.match(await message({ module: fixture('absent.mjs') }), /absent/)
})

test('a worker asks for a slot before it connects, tells of the connection, and gives it back when asked', async () => {
  const fake = await FakeServer.start(() => ({ rows: [{ n: '1' }] }))
  stops.unshift(() => fake.stop())
  const { orders, said, run } = start({ options: { ...fake.options, password: '', idleTimeoutMillis: 0 } }, () => ({
    type: 'granted',
    password: 'secret',
  }))
  const job: Partial<Job> & Pick<Job, 'kind'> = {
    kind: 'worker',
    source: "async (client) => (await client.query('SELECT n')).rows[0].n",
  }
  assert.deepEqual(await run(job), { ok: true, value: 1 })
  assert.deepEqual(await run(job), { ok: true, value: 1 })
  assert.deepEqual(
    said.map(({ type }) => type),
    ['ready', 'need', 'opened'],
  )
  const opened = said[2]
  assert(opened?.type === 'opened')
  assert.equal(opened.key?.processID, fake.sessions[0]?.pid)
  orders.postMessage({ type: 'reclaim' } satisfies MainMessage)
  const asked = performance.now()
  while (said.length < 4) {
    assert(performance.now() - asked < 20_000, 'it is not given back')
    await new Promise(setImmediate)
  }
  assert.equal(said[3]?.type, 'closed')
})

test('a slot that is denied is an error of the query', async () => {
  const { run } = start({ options: { host: '127.0.0.1', port: 1, retry: false } }, () => ({
    type: 'denied',
    error: { name: 'Error', message: 'no room', stack: undefined, fields: {} },
  }))
  const result = await run({ kind: 'worker', source: "(client) => client.query('SELECT 1')" })
  assert(!result.ok)
  assert.match(result.error.message, /no room/)
})
