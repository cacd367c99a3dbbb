import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onFake } from '../../test/support/core'
import { HeldClient, type QueryCallback } from './held'

test('a client answers by promise and by callback, in order', async () => {
  const { fake, core } = await onFake((text) => (text === 'bad' ? { error: '22012' } : { rows: [{ n: '1' }] }))
  const connection = await core.lease(undefined, 1)
  const client = new HeldClient(connection, 1_000)
  assert.equal(client.processID, fake.sessions[0]?.pid)
  assert.deepEqual((await client.query('one', [1])).rows, [{ n: 1 }])
  const back = (call: (callback: QueryCallback) => unknown): Promise<unknown> =>
    new Promise((resolve) => {
      assert.equal(
        call((error, result) => {
          resolve(error ? (error as { code?: string }).code : result?.rows)
        }),
        undefined,
      )
    })
  assert.deepEqual(
    await Promise.all([
      back((callback) => {
        client.query('two', callback)
      }),
      back((callback) => {
        client.query('bad', [1], callback)
      }),
      back((callback) => {
        void client.query({ text: 'three', callback } as never)
      }),
    ]),
    [[{ n: 1 }], '22012', [{ n: 1 }]],
  )
  await assert.rejects(client.query("SELECT '\0'"), { category: 'configuration' })
  assert.equal(fake.sessions.length, 1)
  client.letGo()
  await assert.rejects(client.query('SELECT 1'), { category: 'closed' })
  core.pool.release(connection)
})
