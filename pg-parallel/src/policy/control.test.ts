import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusedAlone, refusedInTransaction } from './control'

test('what a pool would undo is refused, with a sentence that says what to use', () => {
  for (const text of [
    'BEGIN',
    'start transaction',
    '/* app */ begin;',
    'COMMIT',
    'END',
    'rollback',
    'ABORT',
    'SAVEPOINT a',
  ]) {
    assert.match(refusedAlone(text)?.message ?? '', /use transaction\(\)/, text)
  }
  for (const text of ['LISTEN x', 'unlisten *'])
    assert.match(refusedAlone(text)?.message ?? '', /not listened to/, text)
  for (const text of ['SELECT 1', '', 'NOTIFY x', "COMMIT PREPARED 'a'", 'BEGIN; SELECT 1; COMMIT', undefined]) {
    assert.equal(refusedAlone(text), undefined, text)
  }
})

test('inside a transaction its beginning and end are refused, savepoints are not', () => {
  for (const text of ['BEGIN', 'COMMIT', 'ROLLBACK', 'rollback work', "PREPARE TRANSACTION 'a'"]) {
    assert.match(refusedInTransaction(text)?.message ?? '', /return to commit/, text)
  }
  for (const text of [
    'SAVEPOINT a',
    'ROLLBACK TO a',
    'rollback work to savepoint a',
    'RELEASE a',
    'LISTEN x',
    'SELECT 1',
  ]) {
    assert.equal(refusedInTransaction(text), undefined, text)
  }
})
