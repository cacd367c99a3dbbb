import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure } from '../test/support/failure'
import { onFake } from '../test/support/core'
import { callBatch } from './batch'

test('all statements before one Sync', async () => {
  const { fake, core } = await onFake(() => ({ rows: [{ n: '1' }] }))
  const results = await callBatch(core, ['SELECT 1', { text: 'SELECT $1', values: [2] }], undefined)
  assert.deepEqual(
    results.map(({ rows }) => rows),
    [[{ n: 1 }], [{ n: 1 }]],
  )
  const { heard } = fake.sessions[0]!
  assert.deepEqual(
    heard.filter((one) => /^(Parse|Execute|Sync)/.test(one)),
    ['Parse SELECT 1', 'Execute 0', 'Parse SELECT $1', 'Execute 0', 'Sync'],
  )
})

test('reads are tried again, writes are not', async () => {
  let cuts = 0
  const { fake, core } = await onFake((text) => (text.endsWith('2') && cuts++ === 0 ? { cut: true } : {}))
  await callBatch(core, ['SELECT 1', 'SELECT 2'], undefined)
  assert.equal(fake.sessions.length, 2)
  cuts = 0
  const error = await failure(callBatch(core, ['SELECT 1', 'INSERT 2'], undefined))
  assert.equal(error.mayHaveExecuted, true)
  cuts = 0
  await callBatch(core, ['SELECT 1', 'INSERT 2'], { idempotent: true })
})

test('an error names its statement', async () => {
  const { core } = await onFake((text) => (text === 'bad' ? { error: '22012' } : {}))
  const error = await failure(callBatch(core, ['INSERT 1', 'bad', 'INSERT 2'], undefined))
  assert.deepEqual([error.batchIndex, error.sqlState], [1, '22012'])
})

test('what cannot be part of a batch is refused', async () => {
  const { fake, core } = await onFake()
  for (const items of [['BEGIN'], ['COPY t FROM STDIN'], ['LISTEN x'], [null], 'SELECT 1', [{ text: 'a\0b' }]]) {
    assert.equal((await failure(callBatch(core, items as never, undefined))).category, 'configuration')
  }
  assert.deepEqual(await callBatch(core, [], undefined), [])
  assert.equal(fake.sessions.length, 0)
})
