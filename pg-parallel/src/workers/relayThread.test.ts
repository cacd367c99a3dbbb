import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { MessageChannel, Worker } from 'node:worker_threads'
import { stops } from '../../test/support/stops'
import type { RelayNews, RelayOrder } from './relay'

test('it says again what it hears, with the number it was told, and tells of the end', async () => {
  const worker = new Worker(join(__dirname, 'relayThread.js'))
  stops.push(() => worker.terminate())
  const { port1, port2 } = new MessageChannel()
  worker.postMessage({ id: 7, port: port1 } satisfies RelayOrder, [port1])
  port2.postMessage({ type: 'ready' })
  assert.deepEqual(await once(worker, 'message'), [{ id: 7, message: { type: 'ready' } } satisfies RelayNews])
  port2.close()
  assert.deepEqual(await once(worker, 'message'), [{ id: 7 } satisfies RelayNews])
})
