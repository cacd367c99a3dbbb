import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError, readError, readNotice } from './notice'

test('an error has its fields by the names that pg gives them', () => {
  const bytes = Buffer.from('SERROR\0VERROR\0C23505\0Mthere already\0DKey\0tt\0nt_pkey\0\0')
  const error = readError(bytes, 0, bytes.length)
  assert(error instanceof DatabaseError)
  const { message, severity, code, detail, table, constraint, hint } = error
  assert.deepEqual(
    [message, severity, code, detail, table, constraint, hint],
    ['there already', 'ERROR', '23505', 'Key', 't', 't_pkey', undefined],
  )
})

test('one without an end is refused, one with nothing in it is not', () => {
  const cut = Buffer.from('SERROR\0C235')
  assert.throws(() => readNotice(cut, 0, cut.length), { category: 'protocol' })
  assert.equal(readNotice(Buffer.from('\0'), 0, 1).message, '')
})
