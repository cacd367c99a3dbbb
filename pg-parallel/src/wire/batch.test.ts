import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onFake } from '../../test/support/core'
import type { Connection } from '../pool/connection'
import { Batch } from './batch'
import type { Result } from './result'

interface End {
  error: Error | null
  results: Result[] | undefined
  index: number | undefined
}

const run = (connection: Connection, texts: string[]): Promise<End> =>
  new Promise((resolve) => {
    const configs = texts.map((text) => ({ text, values: [1] }))
    connection.send(
      new Batch(configs, (error, results, index) => {
        resolve({ error, results, index })
      }),
    )
  })

test('what was to be prepared behind an error is prepared the next time', async () => {
  let fails = true
  const { fake, core } = await onFake((text) => (text === 'first' && fails ? { error: '22012' } : {}))
  const connection = await core.lease(undefined, 1)
  // From the second time on a text is prepared.
  await run(connection, ['other', 'second'])
  const { error, index } = await run(connection, ['first', 'second'])
  assert.equal((error as { code?: string } | null)?.code, '22012')
  assert.equal(index, 0)
  fails = false
  const again = await run(connection, ['first', 'second'])
  assert.equal(again.error, null)
  assert.equal(again.results?.length, 2)
  assert.equal(fake.texts.filter((text) => text === 'second').length, 3)
  core.pool.release(connection)
})

test('COPY FROM STDIN, which the server would read the rest of the batch for, ends the connection', async () => {
  const { core } = await onFake((text) => (text === 'hidden' ? { copy: 'in' } : {}))
  const connection = await core.lease(undefined, 1)
  const { error } = await run(connection, ['SELECT 1', 'hidden'])
  assert.match(String(error), /COPY FROM STDIN/)
  assert(!connection.usable)
  core.pool.release(connection)
})

test('a lost connection is everybody’s end', async () => {
  const { core } = await onFake(() => ({ cut: true }))
  const connection = await core.lease(undefined, 1)
  const { error, index } = await run(connection, ['SELECT 1', 'SELECT 2'])
  assert.match(String(error), /terminated/)
  assert.equal(index, undefined)
  core.pool.release(connection)
})
