import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { MessageChannel, Worker } from 'node:worker_threads'
import { stops } from '../../test/support/stops'
import { startThread } from '../../test/support/thread'
import { RELAY_DATA } from './files'
import type { RelayNews, RelayOrder } from './relay'

const ENTRY = join(__dirname, 'entry.js')

test('one file is both kinds of thread', async () => {
  const relay = new Worker(ENTRY, { workerData: RELAY_DATA })
  stops.push(() => relay.terminate())
  const { port1, port2 } = new MessageChannel()
  relay.postMessage({ id: 1, port: port1 } satisfies RelayOrder, [port1])
  port2.postMessage({ type: 'ready' })
  assert.deepEqual(await once(relay, 'message'), [{ id: 1, message: { type: 'ready' } } satisfies RelayNews])
  port2.close()

  const thread = startThread(ENTRY)
  assert.deepEqual(await thread.run({ kind: 'task', source: '(a, b) => a + b', args: [40, 2] }), {
    ok: true,
    value: 42,
  })
  assert.equal(thread.said[0]?.type, 'ready')
})

test('on the main thread it says what it is for', () => {
  assert.throws(() => createRequire(__filename)(ENTRY) as unknown, /give its path as threadPath/)
})
