import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onFake } from '../test/support/core'
import { ReadFunctions } from './functions'
import { natureOf } from './policy/replay'

test('what the database says of functions decides, and it is asked once', async () => {
  const { core, fake } = await onFake((text) => (text.includes('pg_proc') ? { rows: [{ fn: 'jsonb_set' }] } : {}))
  const functions = new ReadFunctions()
  const known = natureOf("SELECT jsonb_set(a, '{b}', '1') FROM t")
  assert.equal(functions.judge(known).readOnly, false, 'nobody was asked yet')
  await Promise.all([functions.learn(core), functions.learn(core)])
  assert.equal(functions.judge(known).readOnly, true)
  for (const text of ['SELECT jsonb_set(book(7))', 'SELECT public.jsonb_set(a)', 'SELECT jsonb_set(a) FOR UPDATE']) {
    assert.equal(functions.judge(natureOf(text)).readOnly, false, text)
  }
  assert.equal(fake.texts.length, 1)
})

test('a database that does not answer changes nothing', async () => {
  const { core } = await onFake(() => ({ error: '42501' }))
  const functions = new ReadFunctions()
  await functions.learn(core)
  assert.equal(functions.judge(natureOf('SELECT jsonb_set(a)')).readOnly, false)
})
