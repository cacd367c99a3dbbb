import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageWriter, newPrefix } from './writer'

const hex = (write: (writer: MessageWriter) => void): string => {
  const writer = new MessageWriter()
  write(writer)
  return writer.take().toString('latin1')
}

test('messages as the protocol has them', () => {
  assert.equal(
    hex((writer) => writer.sync()),
    'S\0\0\0\x04',
  )
  assert.equal(
    hex((writer) => writer.query('SELECT 1')),
    'Q\0\0\0\x0dSELECT 1\0',
  )
  assert.equal(
    hex((writer) => writer.parse('s', 'x')),
    'P\0\0\0\x0as\0x\0\0\0',
  )
  assert.equal(
    hex((writer) => writer.bind('', 's', ['ab', null, Buffer.from([7])], [])),
    'B\0\0\0\x24\0s\0\0\x03\0\0\0\0\0\x01\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\x01\x07\0\0'.replace('\x24', '\x22'),
  )
  assert.equal(
    hex((writer) => writer.execute('p', 5)),
    'E\0\0\0\x0ap\0\0\0\0\x05',
  )
  assert.equal(
    hex((writer) => writer.describe('P', '')),
    'D\0\0\0\x06P\0',
  )
  assert.equal(
    hex((writer) => writer.sslRequest()),
    '\0\0\0\x08\x04\xd2\x16\x2f',
  )
})

test('texts of every length and alphabet, and buffers that grow', () => {
  for (const text of [
    '',
    'ascii',
    'é'.repeat(20),
    'long '.repeat(5_000),
    '\u{1f600}'.repeat(3_000),
    'mixed é'.repeat(9),
  ]) {
    const written = new MessageWriter()
    written.query(text)
    const bytes = written.take()
    assert.equal(bytes.toString('utf8', 5, bytes.length - 1), text)
    assert.equal(bytes.readInt32BE(1), bytes.length - 1)
  }
})

test('what was not meant to be sent is undone, and a buffer is used again', () => {
  const writer = new MessageWriter()
  writer.sync()
  const { mark } = writer
  writer.query('SELECT')
  writer.undo(mark)
  assert.equal(writer.length, 5)
  writer.reuse(true)
  assert.equal(writer.length, 0)
  assert.notEqual(newPrefix(), newPrefix())
})
