import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorUtils, PgParallelError } from '../errors'
import { fromPlain, taskError, toPlain } from './protocol'

const there = (error: unknown): unknown => fromPlain(structuredClone(toPlain(error)))

test('an error survives the way between threads', () => {
  const error = there(Object.assign(new TypeError('no', { cause: new Error('why') }), { code: 'E_X', list: [1], n: 3 }))
  assert(error instanceof Error)
  assert.equal(error.name, 'TypeError')
  assert.equal(error.message, 'no')
  assert.equal((error as { code?: unknown }).code, 'E_X')
  assert.equal((error.cause as Error).message, 'why')
})

test('a database error keeps its verdict and its fields', () => {
  const cause = Object.assign(new Error('duplicate'), { code: '23505', severity: 'ERROR', table: 't' })
  const error = there(ErrorUtils.wrap(cause, { mayHaveExecuted: false }))
  assert(error instanceof PgParallelError)
  assert.equal(error.category, 'constraint')
  assert.equal(error.sqlState, '23505')
  assert.equal(error.table, 't')
  assert.equal(ErrorUtils.isInfrastructure(error), false)
  const line = there(
    ErrorUtils.wrap(Object.assign(new Error('reset'), { code: 'ECONNRESET' }), { mayHaveExecuted: true }),
  )
  assert(line instanceof PgParallelError)
  assert.equal(line.mayHaveExecuted, true)
  assert.equal(line.retryable, false)
  assert.equal(ErrorUtils.isInfrastructure(line), true)
})

test('anything can be thrown', () => {
  assert.equal(there('text'), 'text')
  assert.equal(there(undefined), undefined)
  assert.equal(there({ a: 1 }), '{"a":1}')
  const circle: { self?: unknown } = {}
  circle.self = circle
  assert.equal(there(circle), '[object Object]')
  assert.equal(taskError(toPlain(7)).cause, 7)
})
