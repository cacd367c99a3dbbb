import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { onFake } from '../test/support/core'
import { failure } from '../test/support/failure'
import { copyPlace, CopyFrom, copyText, CopyTo } from './copy'
import { sql } from './sql'

test('only a COPY statement without parameters', () => {
  assert.equal(copyText(sql`COPY ${sql.id('t')} FROM STDIN`), 'COPY "t" FROM STDIN')
  assert.equal(copyText("COPY t FROM STDIN (DELIMITER '\\')"), "COPY t FROM STDIN (DELIMITER '\\')")
  for (const wrong of ['SELECT 1', 'COPY t FROM STDIN; DROP TABLE t', 7 as never, 'COPY a\0b FROM STDIN']) {
    assert.throws(() => copyText(wrong), { category: 'configuration' })
  }
})

test('what fails before any data is tried again', async () => {
  let cuts = 0
  const { fake, core } = await onFake(() => (cuts++ === 0 ? { cut: true } : { copy: 'out' }))
  let text = ''
  for await (const piece of new CopyTo(copyPlace(core, 'COPY t TO STDOUT', undefined))) text += String(piece)
  assert.equal(text, 'data\n')
  assert.deepEqual(fake.texts, ['COPY t TO STDOUT', 'COPY t TO STDOUT'])
  assert.deepEqual(core.calls, { started: 1, succeeded: 1, failed: 0, retried: 1 })
  cuts = 0
  const options = { retry: false } as const
  const once = new CopyFrom(copyPlace(core, 'COPY t FROM STDIN', options))
  const error = await failure(pipeline(Readable.from(['x']), once))
  assert.deepEqual([error.category, error.mayHaveExecuted], ['connection', false])
})

test('a closed instance and a wrong limit are refused, and nothing is left to wait for', async () => {
  const { core } = await onFake()
  const wrong = new CopyTo(copyPlace(core, 'COPY t TO STDOUT', { timeoutMs: -1 }))
  assert.equal((await failure(new Promise((_, reject) => wrong.once('error', reject)))).category, 'configuration')
  await core.idle()
})

test('destroying a stream gives its connection back', async () => {
  const { fake, core } = await onFake((text) => (text.startsWith('COPY') ? { copy: 'in' } : {}))
  const into = new CopyFrom(copyPlace(core, 'COPY t FROM STDIN', undefined))
  await new Promise((resolve) => into.write('never fits', resolve))
  into.destroy()
  await new Promise((resolve) => into.once('close', resolve))
  await core.idle()
  const connection = await core.lease(undefined, 1)
  assert(connection.usable)
  core.pool.release(connection)
  assert.equal(fake.sessions[0]?.heard.filter((one) => one === 'CopyFail').length, 1)
})
