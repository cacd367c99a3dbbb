import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorUtils, PgParallelError } from './errors'

const withCode = (code: string, message = 'x'): Error => Object.assign(new Error(message), { code, severity: 'ERROR' })

// code → category, transient, counts for the breaker, connection dead
const ROWS: [string, string, boolean, boolean, boolean][] = [
  ['23505', 'constraint', false, false, false],
  ['42601', 'statement', false, false, false],
  ['40001', 'serialization', true, false, false],
  ['40P01', 'serialization', true, false, false],
  ['53300', 'resource', true, true, true],
  ['53200', 'resource', true, true, false],
  ['57P01', 'shutdown', true, true, true],
  ['57P02', 'shutdown', true, true, true],
  ['57P03', 'shutdown', true, true, true],
  ['57P04', 'configuration', false, false, true],
  ['57014', 'timeout', false, true, false],
  ['58030', 'resource', false, false, false],
  ['08006', 'connection', true, true, true],
  ['08P01', 'protocol', false, true, true],
  ['28P01', 'authentication', false, false, true],
  ['3D000', 'configuration', false, false, true],
  ['26000', 'plan', true, false, false],
  ['0A000', 'statement', false, false, false],
  ['ECONNREFUSED', 'connection', true, true, true],
  ['ECONNRESET', 'connection', true, true, true],
  ['EPIPE', 'connection', true, true, true],
  ['ENOTFOUND', 'connection', true, true, true],
  ['ERR_SOMETHING', 'statement', false, false, false],
]
for (const [code, category, transient, infrastructure, dead] of ROWS) {
  test(`${code} is ${category}`, () => {
    const error = withCode(code)
    assert.deepEqual(ErrorUtils.classify(error), { category, transient, infrastructure, connectionDead: dead })
    assert.equal(ErrorUtils.isInfrastructure(error), infrastructure)
    assert.equal(ErrorUtils.isTransient(error), transient)
  })
}

test('a stale plan is told from other things that are not supported', () => {
  assert(ErrorUtils.isStalePlan(withCode('0A000', 'cached plan must not change result type')))
  assert(ErrorUtils.isStalePlan(Object.assign(withCode('0A000', 'Plan …'), { routine: 'RevalidateCachedQuery' })))
  assert(!ErrorUtils.isStalePlan(withCode('0A000', 'COPY to a program is not supported')))
})

test('what pg says without a code is known by its words', () => {
  for (const message of [
    'Connection terminated unexpectedly',
    'Connection terminated',
    'Client has encountered a connection error and is not queryable',
    'timeout expired',
  ]) {
    assert.equal(ErrorUtils.category(new Error(message)), 'connection', message)
  }
  assert.equal(ErrorUtils.category(new Error('something else')), 'statement')
})

test('several addresses of one name count as the first of them', () => {
  const all = new AggregateError([
    withCode('ECONNREFUSED', 'connect ::1'),
    withCode('ECONNREFUSED', 'connect 127.0.0.1'),
  ])
  assert.equal(ErrorUtils.category(all), 'connection')
  assert.match(ErrorUtils.wrap(all).message, /connect ::1.*connect 127.0.0.1/)
})

test('a wrapped error keeps what pg’s users read', () => {
  const cause = Object.assign(withCode('23505', 'duplicate key'), {
    detail: 'Key (a)=(1)',
    table: 't',
    constraint: 'c',
  })
  const error = ErrorUtils.wrap(cause, { mayHaveExecuted: false, attempts: 3 })
  assert(error instanceof PgParallelError && error instanceof Error)
  assert.equal(error.cause, cause)
  assert.deepEqual(
    [error.code, error.sqlState, error.detail, error.table, error.constraint, error.attempts],
    ['23505', '23505', 'Key (a)=(1)', 't', 'c', 3],
  )
  assert.equal(ErrorUtils.wrap(error), error)
  assert.equal(ErrorUtils.wrap('text').message, 'text')
})

test('retryable means safe and sensible', () => {
  assert.equal(ErrorUtils.wrap(withCode('ECONNRESET')).retryable, true)
  assert.equal(ErrorUtils.wrap(withCode('ECONNRESET'), { mayHaveExecuted: true }).retryable, false)
  assert.equal(ErrorUtils.wrap(withCode('23505')).retryable, false)
})

test('what OpenSSL and Node say of certificates is TLS, and trying again changes nothing', () => {
  for (const code of [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'CERT_HAS_EXPIRED',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'EPROTO',
  ]) {
    const error = ErrorUtils.wrap(Object.assign(new Error('x'), { code }))
    assert.deepEqual([error.category, error.retryable], ['tls', false], code)
  }
  assert.equal(ErrorUtils.category(new Error('The server does not support SSL connections')), 'tls')
})
