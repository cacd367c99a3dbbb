import assert from 'node:assert/strict'
import { PgParallelError } from '../../src/errors'

/** The error that a call rejects with. */
export async function failure(promise: Promise<unknown>): Promise<PgParallelError> {
  try {
    await promise
  } catch (error) {
    assert(error instanceof PgParallelError, `not a PgParallelError: ${String(error)}`)
    return error
  }
  assert.fail('it should have failed')
}
