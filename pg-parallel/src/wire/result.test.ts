import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addTag, emptyResult } from './result'

test('a command’s tag as pg reads it', () => {
  for (const [tag, command, oid, rowCount] of [
    ['SELECT 3', 'SELECT', null, 3],
    ['INSERT 0 2', 'INSERT', 0, 2],
    ['CREATE TABLE', 'CREATE', null, null],
    ['', null, null, null],
  ] as const) {
    const bytes = Buffer.from(`${tag}\0`)
    const result = emptyResult()
    addTag(result, bytes, 0, bytes.length)
    assert.deepEqual([result.command, result.oid, result.rowCount], [command, oid, rowCount], tag)
  }
})
