import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onFake } from '../test/support/core'
import { fateOf, type TransactionIdentity } from './fate'

const row = (fields: Record<string, string>, epoch = '1'): { rows: Record<string, string>[] } => ({
  rows: [{ ...fields, started: epoch, recovered: '2' }],
})
const CAN = row({ can: 't', id: '', fate: '' })
const IDENTITY: TransactionIdentity = { id: '700', epoch: '1 2', question: 'SELECT fate' }

test('the server’s word is taken in the epoch of the transaction, and in no other', async () => {
  for (const [answer, expected] of [
    [row({ fate: 'committed' }), 'committed'],
    [row({ fate: 'aborted' }), 'aborted'],
    [row({ fate: 'committed' }, '3'), 'unknown'],
    [row({ fate: 'strange' }), 'unknown'],
    [{ rows: [] }, 'unknown'],
    [{ error: '22023' }, 'unknown'],
  ] as const) {
    const { core } = await onFake(() => answer)
    assert.equal(await fateOf(core, IDENTITY, undefined), expected)
  }
})

test('what has written nothing needs no question', async () => {
  const { core, fake } = await onFake()
  assert.equal(await fateOf(core, { ...IDENTITY, id: null }, undefined), 'aborted')
  assert.equal(fake.sessions.length, 0)
})

test('a transaction in progress is asked for again, and a lost connection is no answer', async () => {
  let asked = 0
  const { core } = await onFake(() => {
    asked++
    if (asked === 1) return { cut: true }
    return row({ fate: asked === 2 ? 'in progress' : 'committed' })
  })
  assert.equal(await fateOf(core, IDENTITY, undefined), 'committed')
  const { core: slow } = await onFake(() => row({ fate: 'in progress' }))
  assert.equal(await fateOf(slow, IDENTITY, undefined), 'unknown')
})

test('an identity is heard where the server gives one', async () => {
  for (const [answer, expected] of [
    [row({ id: '700' }), { id: '700', epoch: '1 2' }],
    [{ error: '25P02' }, undefined],
    [{ rows: [{ id: '700', started: '', recovered: '' }] }, undefined],
  ] as const) {
    const { core, fake } = await onFake((text) => (text.includes('AS can') ? CAN : answer))
    fake.parameters['server_version'] = '15.3'
    const connection = await core.lease(undefined, 1)
    assert.equal(await core.fates.identity(connection), undefined, 'nobody has asked whether it can')
    core.fates.ask(connection)
    await connection.quiesce(1_000)
    const { question, ...identity } = (await core.fates.identity(connection)) ?? { question: undefined }
    assert.deepEqual(identity, expected ?? {})
    assert.equal(question?.includes('pg_xact_status'), expected === undefined ? undefined : true)
    core.pool.release(connection)
  }
})

test('pgsqlite is asked in its own way, where PostgreSQL’s fails', async () => {
  const { core, fake } = await onFake((text) => {
    if (text.includes('bgwriter')) return { error: '0A000' }
    return text.includes('AS can') ? CAN : row({ id: '700' })
  })
  fake.parameters['server_version'] = '15.18'
  const connection = await core.lease(undefined, 1)
  core.fates.ask(connection)
  await connection.quiesce(1_000)
  assert.equal(core.fates.can(connection), true)
  assert.match((await core.fates.identity(connection))?.question ?? '', /pgsqlite/)
  assert.equal(fake.texts.length, 3)
  core.pool.release(connection)
})

test('only a server that says its version, and a recent one, is asked whether it can tell', async () => {
  for (const [version, asked] of [
    ['14.9', 0],
    ['15.3 (Debian)', 1],
    ['17beta1', 1],
  ] as const) {
    const { core, fake } = await onFake(() => row({ could: 't' }))
    fake.parameters['server_version'] = version
    const connection = await core.lease(undefined, 1)
    core.fates.ask(connection)
    core.fates.ask(connection)
    await connection.quiesce(1_000)
    core.fates.ask(connection)
    await connection.quiesce(1_000)
    assert.equal(fake.texts.length >= asked, true)
    assert.equal(fake.texts.length === 0, asked === 0)
    assert.equal(core.fates.can(connection), false, 'it did not say that it can')
    core.pool.release(connection)
  }
})
