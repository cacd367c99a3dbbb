import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { MessageChannel, Worker } from 'node:worker_threads'
import { stops } from '../../test/support/stops'
import { RELAY_DATA } from './files'
import type { RelayNews, RelayOrder } from './relay'
import type { MainMessage, ThreadData, ThreadMessage } from './protocol'

const ENTRY = join(__dirname, 'entry.js')

test('one file is both kinds of thread', async () => {
  const relay = new Worker(ENTRY, { workerData: RELAY_DATA })
  stops.push(() => relay.terminate())
  const { port1, port2 } = new MessageChannel()
  relay.postMessage({ id: 1, port: port1 } satisfies RelayOrder, [port1])
  port2.postMessage({ type: 'ready' })
  assert.deepEqual(await once(relay, 'message'), [{ id: 1, message: { type: 'ready' } } satisfies RelayNews])
  port2.close()

  const orders = new MessageChannel()
  const answers = new MessageChannel()
  const job = new Int32Array(new SharedArrayBuffer(4))
  const data: ThreadData = {
    nice: 0,
    options: undefined,
    setup: undefined,
    missing: [],
    orders: orders.port2,
    answers: answers.port2,
    job,
  }
  const thread = new Worker(ENTRY, { workerData: data, transferList: [data.orders, data.answers] })
  stops.push(() => thread.terminate())
  const said: ThreadMessage[] = []
  const result = new Promise<ThreadMessage>((resolve) => {
    answers.port1.on('message', (message: ThreadMessage) => {
      said.push(message)
      if (message.type === 'result') resolve(message)
    })
  })
  Atomics.store(job, 0, -1)
  orders.port1.postMessage({
    type: 'job',
    job: { id: 1, kind: 'task', source: '(a, b) => a + b', args: [40, 2] },
  } satisfies MainMessage)
  assert.deepEqual(await result, { type: 'result', id: 1, result: { ok: true, value: 42 } })
  assert.equal(said[0]?.type, 'ready')
})

test('on the main thread it says what it is for', () => {
  assert.throws(() => createRequire(__filename)(ENTRY) as unknown, /give its path as threadPath/)
})
