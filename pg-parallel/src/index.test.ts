import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as all from './index'

test('what the package exports, and that the tools are the ones the instance uses', () => {
  assert.deepEqual(Object.keys(all).sort(), [
    'CircuitBreaker',
    'CircuitBreakerUtils',
    'CopyFrom',
    'CopyTo',
    'ErrorUtils',
    'PgParallel',
    'PgParallelError',
    'PgParallelPool',
    'PooledClient',
    'RetryUtils',
    'Sql',
    'sql',
  ])
  assert(all.CircuitBreakerUtils.create() instanceof all.CircuitBreaker)
  assert(all.ErrorUtils.wrap(new Error('x')) instanceof all.PgParallelError)
  assert.equal(typeof all.RetryUtils.defaults.maxAttempts, 'number')
})
