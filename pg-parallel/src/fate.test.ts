import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onFake } from '../test/support/core'
import type { Answer } from '../test/support/fake'
import { fateOf, type Teller, type TransactionIdentity } from './fate'
import { Deadline } from './policy/deadline'

const row = (fields: Record<string, string>, started = '1', recovered = '2'): { rows: Record<string, string>[] } => ({
  rows: [{ ...fields, started, recovered, given: '5' }],
})
const CAN = row({ can: 't', id: '', fate: '' })
const TELLER: Teller = {
  can: 'SELECT can',
  identity: 'SELECT identity',
  fate: 'SELECT fate',
  wentOn: 'SELECT went on',
  proofs: ({ id, witness }, fate) => [id, fate === 'committed' ? id : witness],
}
const IDENTITY: TransactionIdentity = {
  id: '700',
  epoch: { started: '1', recovered: '2' },
  given: '5',
  witness: '600',
  teller: TELLER,
}

test('the server’s word is taken in the epoch of the transaction, and in no other', async () => {
  for (const [answer, expected] of [
    [row({ fate: 'committed' }), 'committed'],
    [row({ fate: 'aborted' }), 'aborted'],
    [row({ fate: 'committed' }, '1', '3'), 'unknown'],
    [row({ fate: 'committed' }, '3', '3'), 'unknown'],
    [row({ fate: 'strange' }), 'unknown'],
    [row({ fate: 'strange' }, '3'), 'unknown'],
    [{ rows: [{ fate: 'committed', started: '', recovered: '2' }] }, 'unknown'],
    [{ rows: [] }, 'unknown'],
    [{ error: '22023' }, 'unknown'],
  ] as const) {
    const { core } = await onFake((text) => (text === TELLER.fate ? answer : row({ can: 't' })))
    assert.equal(await fateOf(core, IDENTITY, undefined), expected)
  }
})

test('the word of a server that was started since is taken where ids went on', async () => {
  for (const [fate, proof, expected] of [
    ['committed', row({ can: 't' }), 'committed'],
    ['aborted', row({ can: 't' }), 'aborted'],
    ['committed', row({ can: 'f' }), 'unknown'],
    ['aborted', row({ can: 'f' }), 'unknown'],
    ['committed', { rows: [] }, 'unknown'],
    ['committed', { error: '42501' }, 'unknown'],
  ] as const) {
    const { core } = await onFake((text) => (text === TELLER.fate ? row({ fate }, '3') : proof))
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

test('an answer that does not come does not hold the call beyond its deadline', { timeout: 60_000 }, async () => {
  for (const hangs of [TELLER.fate, TELLER.wentOn]) {
    const stop = new AbortController()
    const answer = (text: string): Answer => {
      if (text !== hangs) return row({ fate: 'committed' }, '3')
      stop.abort()
      return { hang: true }
    }
    const { core } = await onFake(answer, { cancelTimeoutMs: 50 })
    assert.equal(await fateOf(core, IDENTITY, Deadline.from({ signal: stop.signal })), 'unknown')
  }
})

test('an identity is heard where the server gives one', async () => {
  for (const [answer, expected] of [
    [row({ id: '700' }), { id: '700', epoch: { started: '1', recovered: '2' }, given: '5', witness: null }],
    [{ error: '25P02' }, undefined],
    [{ rows: [{ id: '700', started: '', recovered: '' }] }, undefined],
  ] as const) {
    const { core, fake } = await onFake((text) => (text.includes('AS can') ? CAN : answer))
    fake.parameters['server_version'] = '15.3'
    const connection = await core.lease(undefined, 1)
    assert.equal(await core.fates.identity(connection), undefined, 'nobody has asked whether it can')
    core.fates.ask(connection)
    await connection.quiesce(1_000)
    const { teller, ...identity } = (await core.fates.identity(connection)) ?? { teller: undefined }
    assert.deepEqual(identity, expected ?? {})
    assert.equal(teller?.fate.includes('pg_xact_status'), expected === undefined ? undefined : true)
    core.pool.release(connection)
  }
})

test('what has committed is the witness of what comes', async () => {
  const { core, fake } = await onFake((text) => (text.includes('AS can') ? CAN : row({ id: '700' })))
  fake.parameters['server_version'] = '15.3'
  const connection = await core.lease(undefined, 1)
  core.fates.ask(connection)
  await connection.quiesce(1_000)
  const first = await core.fates.identity(connection)
  core.fates.committed(first)
  core.fates.committed(undefined)
  core.fates.committed({ ...IDENTITY, id: null })
  assert.equal((await core.fates.identity(connection))?.witness, '700')
  const { teller } = first ?? {}
  assert.deepEqual(teller?.proofs(IDENTITY, 'aborted'), ['5', '600'])
  core.pool.release(connection)
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
  const teller = (await core.fates.identity(connection))?.teller
  assert(teller)
  assert.match(teller.fate, /pgsqlite/)
  assert.deepEqual(teller.proofs(IDENTITY, 'aborted'), ['700', '600'])
  assert.deepEqual(teller.proofs(IDENTITY, 'committed'), ['700', '700'])
  assert.equal(fake.texts.length, 3)
  core.pool.release(connection)
})

test('a connection that is lost between the two answers leaves the question open', async () => {
  let asked = 0
  const { core, fake } = await onFake(
    (text) => {
      if (text.includes('bgwriter')) return { error: '0A000' }
      if (text.includes('AS can')) return ++asked === 1 ? { cut: true } : CAN
      return row({ id: '700' })
    },
    { max: 2 },
  )
  fake.parameters['server_version'] = '15.18'
  const lost = await core.lease(undefined, 1)
  const beside = await core.lease(undefined, 1)
  core.fates.ask(lost)
  await lost.quiesce(1_000)
  core.pool.release(lost)
  const before = core.fates.can(beside)
  core.fates.ask(beside)
  await beside.quiesce(1_000)
  core.pool.release(beside)
  assert.deepEqual([before, core.fates.can(beside)], [false, true])
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
