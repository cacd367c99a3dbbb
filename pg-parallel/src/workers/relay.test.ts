import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { stops } from '../../test/support/stops'
import type { ThreadMessage } from './protocol'
import { hearDirectly, Relay, type Hearing } from './relay'

// Neither the relay nor what it hears keeps a process alive.
const alive = setInterval(() => {}, 1_000)
after(() => {
  clearInterval(alive)
})

/** Collects what is heard. */
function listener(): Hearing & { heard: ThreadMessage[]; end: Promise<void> } {
  let closed = (): void => {}
  const end = new Promise<void>((resolve) => (closed = resolve))
  const heard: ThreadMessage[] = []
  return { heard, end, closed, message: (message) => heard.push(message) }
}

const log = (message: string): ThreadMessage => ({ type: 'log', level: 'info', message })

function relay(): Relay {
  const one = new Relay((error) => assert.fail(String(error)))
  stops.push(() => one.close())
  return one
}

for (const how of ['directly', 'through the relay']) {
  test(`${how}: everything is heard, in order, and then the end, each thread by its own listener`, async () => {
    const through = how === 'directly' ? undefined : relay()
    const threads = [1, 2].map((n) => {
      const { port1, port2 } = new MessageChannel()
      const hearing = listener()
      if (through) through.hear(port1, hearing)
      else hearDirectly(port1, hearing)
      for (let k = 0; k < 100; k++) port2.postMessage(log(`${n}.${k}`))
      port2.close()
      return hearing
    })
    for (const [index, { heard, end }] of threads.entries()) {
      await end
      assert.deepEqual(
        heard,
        Array.from({ length: 100 }, (_, k) => log(`${index + 1}.${k}`)),
      )
    }
  })
}

test('a long result comes whole', async () => {
  const { port1, port2 } = new MessageChannel()
  const hearing = listener()
  relay().hear(port1, hearing)
  const data = new Uint8Array(3_000_000).fill(7)
  port2.postMessage({ type: 'result', id: 1, result: { ok: true, data } } satisfies ThreadMessage, [data.buffer])
  port2.close()
  await hearing.end
  const [message] = hearing.heard
  assert(message?.type === 'result' && message.result.ok && 'data' in message.result)
  assert.equal(message.result.data.length, 3_000_000)
  assert(message.result.data.every((byte) => byte === 7))
})

test('a relay that is gone ends every hearing once', async () => {
  const { port1, port2 } = new MessageChannel()
  const one = relay()
  const hearing = listener()
  one.hear(port1, hearing)
  assert.equal(one.over, false)
  await one.close()
  await hearing.end
  assert.equal(one.over, true)
  port2.close()
  await once(port2, 'close')
  assert.deepEqual(hearing.heard, [])
})
