import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Queryable } from './queryable'
import { sql } from './sql'
import type { QueryResult } from './types'

class Echo extends Queryable<{ text: string }, { timeoutMs: number }> {
  readonly asked: unknown[][] = []

  protected run(...asked: unknown[]): Promise<QueryResult> {
    this.asked.push(asked)
    return Promise.resolve({ command: 'SELECT', rowCount: 1, oid: null, fields: [], rows: [{ n: 1 }] })
  }
}

test('the short forms pass on what they get, and return rows', async () => {
  const echo = new Echo()
  assert.deepEqual(await echo.one('SELECT $1', [1], { timeoutMs: 5 }), { n: 1 })
  const query = sql`SELECT ${1}`
  assert.deepEqual(await echo.maybeOne(query, { timeoutMs: 6 }), { n: 1 })
  assert.deepEqual(await echo.many({ text: 'SELECT' }), [{ n: 1 }])
  assert.deepEqual(echo.asked, [
    ['SELECT $1', [1], { timeoutMs: 5 }],
    [query, { timeoutMs: 6 }, undefined],
    [{ text: 'SELECT' }, undefined, undefined],
  ])
})
