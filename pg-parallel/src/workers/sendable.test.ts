import assert from 'node:assert/strict'
import { test } from 'node:test'
import { threadOptions } from './sendable'

test('what cannot be sent to a thread is named; the password is never among it', () => {
  assert.deepEqual(threadOptions({ host: 'a', password: 'secret', log: () => {}, max: undefined }), {
    kept: { host: 'a', password: '' },
    missing: [],
  })
  const { kept, missing } = threadOptions({ host: 'a', onConnect: () => {} })
  assert.deepEqual([kept, missing.map(({ name }) => name)], [{ host: 'a' }, ['onConnect']])
})
