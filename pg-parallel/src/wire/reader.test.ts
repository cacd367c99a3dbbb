import assert from 'node:assert/strict'
import { test } from 'node:test'
import { message } from '../../test/support/message'
import { MessageReader, protocolError } from './reader'

function reader(): { it: MessageReader; heard: string[] } {
  const heard: string[] = []
  const it = new MessageReader((type, bytes, start, end) =>
    heard.push(`${String.fromCharCode(type)} ${bytes.toString('latin1', start, end)}`),
  )
  return { it, heard }
}

test('messages are the same however the stream is cut', () => {
  const all = Buffer.concat([message('D', 'one'), message('C', ''), message('D', 'x'.repeat(300)), message('Z', 'I')])
  const whole = reader()
  whole.it.push(all)
  assert.deepEqual(whole.heard, ['D one', 'C ', `D ${'x'.repeat(300)}`, 'Z I'])
  for (let size = 1; size < 40; size++) {
    const { it, heard } = reader()
    for (let at = 0; at < all.length; at += size) {
      const chunk = Buffer.from(all.subarray(at, at + size))
      it.push(chunk)
      chunk.fill(0) // as the receive buffer, which is used again
    }
    assert.deepEqual(heard, whole.heard, `in pieces of ${size}`)
  }
})

test('a length that cannot be is refused, whole or in parts', () => {
  for (const [type, length] of [
    ['D', 0],
    ['D', 3],
    ['D', -1],
    ['D', 0x7fffffff],
    ['Z', 1 << 25],
  ] as const) {
    const bytes = Buffer.alloc(5)
    bytes.write(type)
    bytes.writeInt32BE(length, 1)
    assert.throws(() => reader().it.push(bytes), { category: 'protocol' })
    assert.throws(
      () => {
        const { it } = reader()
        for (const byte of bytes) it.push(Buffer.from([byte]))
        it.push(Buffer.from([0]))
      },
      { category: 'protocol' },
    )
  }
  assert.equal(protocolError('x').retryable, false)
})

test('what a length promises takes no memory before it has come', () => {
  const { it } = reader()
  const head = Buffer.alloc(5)
  head.write('D')
  head.writeInt32BE(1 << 29, 1)
  const before = process.memoryUsage().arrayBuffers
  it.push(head)
  for (let n = 0; n < 100; n++) it.push(Buffer.alloc(1_000))
  assert(process.memoryUsage().arrayBuffers - before < 10_000_000)
})
