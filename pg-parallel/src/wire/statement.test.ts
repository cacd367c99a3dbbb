import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeServer, type Answer } from '../../test/support/fake'
import { ErrorUtils, type PgParallelError } from '../errors'
import { resolveSettings } from '../options'
import { Connection } from '../pool/connection'
import type { Result } from './result'
import type { Statement, StatementConfig } from './statement'

interface End {
  statement: Statement
  error: Error | null
  rows: unknown[] | undefined
  ends: number
}

/** Runs one statement on a fresh connection. */
async function run(answer: Answer, asked: StatementConfig, values?: unknown[]): Promise<End & { heard: string[] }> {
  const fake = await FakeServer.start(() => answer)
  const { client, session } = resolveSettings(fake.options)
  const config = { ...client, session, connectionTimeoutMillis: 5_000 }
  const connection = await Connection.open(config, fake.address, new Set())
  let ends = 0
  const end = await new Promise<End>((resolve) => {
    const statement = connection.submit(asked, values, (error, result) => {
      ends++
      setImmediate(() => {
        resolve({ statement, error, rows: (result as Result | undefined)?.rows, ends })
      })
    })
  })
  if (connection.usable) await new Promise<void>((done) => connection.settled(done, 5_000))
  connection.destroy()
  await fake.stop()
  return { ...end, heard: fake.sessions[0]?.heard ?? [] }
}

test('a text alone goes by the simple protocol, values by the extended one', async () => {
  const simple = await run({ rows: [{ n: '1' }] }, { text: 'SELECT 1' })
  assert.deepEqual(simple.rows, [{ n: 1 }])
  assert.equal(simple.statement.sent, true)
  assert.equal(simple.statement.answered, false)
  assert.deepEqual(simple.heard, ['Query SELECT 1'])
  const extended = await run({ rows: [{ n: '1' }] }, { text: 'SELECT $1' }, [1])
  assert.deepEqual(extended.heard, ['Parse SELECT $1', 'Bind', 'Describe', 'Execute 0', 'Sync'])
})

test('what cannot be sent was not sent, and is reported once', async () => {
  const refused = await run({}, { text: 'SELECT $1', values: 'no array' as never })
  assert.equal(refused.statement.sent, false)
  assert.equal(refused.ends, 1)
  assert.deepEqual(refused.heard, [])
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const unreadable = await run({}, { text: 'SELECT $1' }, [circle])
  assert.match(String(unreadable.error), /circular/)
  assert.equal(unreadable.ends, 1)
})

test('an answer that cannot be read here is told apart from one that failed there', async () => {
  const types = {
    getTypeParser: () => () => {
      throw new Error('unreadable')
    },
  }
  const here = await run({ rows: [{ n: '1' }] }, { text: 'SELECT 1', types })
  assert.equal(here.statement.answered, true)
  const there = await run({ error: '22012' }, { text: 'SELECT 1/0' })
  assert.equal(there.statement.answered, false)
  assert.equal(ErrorUtils.sqlState(there.error), '22012')
})

for (const name of [undefined, 'named']) {
  test(`COPY is refused in the ${name === undefined ? 'simple' : 'extended'} protocol, and the round trip ends`, async () => {
    const config = { text: 'COPY t', ...(name === undefined ? {} : { name }) }
    const into = await run({ copy: 'in' }, config)
    assert.match(String(into.error), /COPY FROM STDIN is not supported/)
    assert.equal((into.error as PgParallelError).category, 'statement')
    assert.equal(ErrorUtils.isInfrastructure(into.error), false)
    assert(into.heard.includes('CopyFail'))
    assert.equal(into.heard.filter((one) => one === 'Sync').length, name === undefined ? 0 : 2)
    const from = await run({ copy: 'out' }, config)
    assert.match(String(from.error), /COPY TO STDOUT is not supported/)
  })
}
