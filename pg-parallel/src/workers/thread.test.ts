import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { deserialize } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { FakeServer } from '../../test/support/fake'
import { stops } from '../../test/support/stops'
import type { Hello, Job, JobResult, MainMessage, ThreadData, ThreadMessage } from './protocol'

interface ThreadUnderTest {
  hello: Hello
  /** What it says beside results. */
  said: ThreadMessage[]
  run(job: Partial<Job> & Pick<Job, 'kind'>): Promise<JobResult>
}

/** The module on a thread of its own, without piscina: its exports are called with a job, and answer. */
async function start(data: Partial<ThreadData> = {}, grant?: () => MainMessage): Promise<ThreadUnderTest> {
  const program = `
    const { parentPort } = require('node:worker_threads')
    const thread = require(${JSON.stringify(join(__dirname, 'thread.js'))})
    parentPort.on('message', (job) => thread[job.kind](job).then((result) => parentPort.postMessage({ result })))`
  const worker = new Worker(program, { eval: true, workerData: { nice: 0, options: undefined, ...data } })
  stops.push(() => worker.terminate())
  const [hello] = (await once(worker, 'message')) as [Hello]
  const said: ThreadMessage[] = []
  hello.port.on('message', (message: ThreadMessage) => {
    said.push(message)
    if (message.type === 'need' && grant) hello.port.postMessage(grant())
  })
  let id = 0
  return {
    hello,
    said,
    run: async (job) => {
      worker.postMessage({ id: ++id, args: [], ...job })
      const [{ result }] = (await once(worker, 'message')) as [{ result: JobResult }]
      return result
    },
  }
}

const fixture = (name: string): string => `file://${join(process.cwd(), 'test/fixtures', name)}`

test('it says hello, and shows which job it has taken up', async () => {
  const { hello, run } = await start()
  assert.equal(typeof hello.pgParallelThread, 'number')
  assert.equal(Atomics.load(hello.job, 0), 0)
  assert.deepEqual(await run({ kind: 'warm' }), { ok: true, value: hello.pgParallelThread })
  assert.equal(Atomics.load(hello.job, 0), 1)
})

test('functions from text and from modules', async () => {
  const { run } = await start()
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

test('whatever goes wrong is an answer', async () => {
  const { run } = await start()
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
  const { hello, said, run } = await start({ options: { ...fake.options, password: '' } }, () => ({
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
    ['need', 'opened'],
  )
  const [, opened] = said
  assert(opened?.type === 'opened')
  assert.equal(opened.key?.processID, fake.sessions[0]?.pid)
  hello.port.postMessage({ type: 'reclaim' } satisfies MainMessage)
  while (said.length < 3) await new Promise(setImmediate)
  assert.equal(said[2]?.type, 'closed')
})

test('a slot that is denied is an error of the query', async () => {
  const { run } = await start({ options: { host: '127.0.0.1', port: 1, retry: false } }, () => ({
    type: 'denied',
    error: { name: 'Error', message: 'no room', stack: undefined, fields: {} },
  }))
  const result = await run({ kind: 'worker', source: "(client) => client.query('SELECT 1')" })
  assert(!result.ok)
  assert.match(result.error.message, /no room/)
})
