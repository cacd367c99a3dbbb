import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { message } from '../../test/support/message'
import { Copy, type CopyDirection } from './copy'
import { SeenTexts } from './prepared'
import { MessageReader } from './reader'
import { Session } from './session'

function start(direction: CopyDirection): {
  copy: Copy
  say: (...bytes: Buffer[]) => void
  told: string[]
  sent: () => string
} {
  const socket = new PassThrough()
  const written: Buffer[] = []
  socket.on('data', (chunk: Buffer) => written.push(Buffer.from(chunk)))
  const options = {
    binary: false,
    maxPrepared: 0,
    seen: new SeenTexts(),
    maxResultBytes: Infinity,
    maxRows: Infinity,
    errorTimeoutMs: 1_000,
  }
  const session = new Session(socket, options, new Map(), 'I', { failed: () => {}, gone: () => {} })
  const told: string[] = []
  const copy = new Copy('COPY', direction, {
    begun: () => told.push('begun'),
    data: (bytes, from, to) => told.push(bytes.toString('latin1', from, to)),
    ended: (error, rowCount) => told.push(`ended ${error?.message ?? ''} ${rowCount ?? ''}`),
  })
  session.submit(copy)
  const reader = new MessageReader(session.hear)
  return {
    copy,
    told,
    say: (...bytes) => {
      reader.push(Buffer.concat(bytes))
    },
    sent: () => Buffer.concat(written).toString('latin1'),
  }
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const READY = message('Z', 'I')

test('data in: it counts as sent from CopyDone on', async () => {
  const { copy, say, told, sent } = start('in')
  assert.equal(copy.sent, false)
  say(message('G', '\0\0\0'))
  let room = 0
  copy.send([Buffer.from('one'), Buffer.from('two')], () => room++)
  assert.equal(copy.sent, false)
  copy.finish()
  assert.equal(copy.sent, true)
  await tick()
  assert.match(sent(), /one.*two/s)
  assert(sent().endsWith('c\0\0\0\u0004'))
  say(message('C', 'COPY 2\0'), READY)
  assert.deepEqual([told, room], [['begun', 'ended  2'], 1])
})

test('data out', () => {
  const { say, told } = start('out')
  say(message('H', '\0\0\0'), message('d', 'a\n'), message('d', 'b\n'), message('c'), message('C', 'COPY 2\0'), READY)
  assert.deepEqual(told, ['begun', 'a\n', 'b\n', 'ended  2'])
})

test('giving up tells the server, and drops what it still says', async () => {
  const { copy, say, told, sent } = start('in')
  say(message('G', '\0\0\0'))
  copy.giveUp(new Error('enough'))
  await tick()
  assert.match(sent(), /f\0\0\0.the client gave it up\0$/s)
  say(message('E', 'SERROR\0C57014\0Mcanceled\0\0'), READY)
  assert.deepEqual(told, ['begun', 'ended enough '])
  const out = start('out')
  out.say(message('H', '\0\0\0'))
  out.copy.giveUp(new Error('enough'))
  out.say(message('d', 'dropped'), message('c'), message('C', 'COPY 1\0'), READY)
  assert.deepEqual(out.told, ['begun', 'ended enough 1'])
})

test('another statement than the one asked for is an error', async () => {
  const wrongWay = start('in')
  wrongWay.say(message('H', '\0\0\0'), message('d', 'x'), message('c'), message('C', 'COPY 1\0'), READY)
  assert.match(wrongWay.told.join(), /^ended copyFrom\(\) is for/)
  const otherWay = start('out')
  otherWay.say(message('G', '\0\0\0'))
  await tick()
  assert.match(otherWay.sent(), /there is no source of data/)
  otherWay.say(message('E', 'SERROR\0C57014\0Mcanceled\0\0'), READY)
  assert.match(otherWay.told.join(), /^ended copyTo\(\) is for/)
  const none = start('in')
  none.say(message('C', 'SELECT 1\0'), READY)
  assert.match(none.told.join(), /no COPY … FROM STDIN/)
  assert.equal(none.copy.sent, true)
})
