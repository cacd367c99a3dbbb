import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import type { FieldDef, QueryConfig, QueryResult } from './types'

test('statements and results go where pg’s go', () => {
  const asked: pg.QueryConfig = { text: 'SELECT 1', values: [1], name: 'one' }
  const ours: QueryConfig = { text: asked.text, values: asked.values as unknown[], name: asked.name }
  const result: QueryResult<{ n: number }> = { command: 'SELECT', rowCount: 1, oid: null, fields: [], rows: [{ n: 1 }] }
  const fields: FieldDef[] = result.fields
  const theirs: Omit<pg.QueryResult<{ n: number }>, 'oid'> = { ...result, fields }
  assert.deepEqual([ours.text, theirs.rows], ['SELECT 1', [{ n: 1 }]])
})
