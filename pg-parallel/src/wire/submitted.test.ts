import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onFake } from '../../test/support/core'
import { isSubmittable, Submitted, type Submittable, type WireFace } from './submitted'

/** Reads one statement by two batches, and notes what it hears. */
class Reader implements Submittable {
  readonly heard: string[] = []
  readonly text: string
  #face: WireFace | undefined

  constructor(text: string) {
    this.text = text
  }

  submit(face: WireFace): void {
    this.#face = face
    for (const name of ['parseComplete', 'noData', 'readyForQuery']) face.on(name, () => this.heard.push(name))
    face.parse({ text: this.text })
    face.bind({ portal: 'p', values: [1], valueMapper: (value) => value })
    face.describe({ type: 'P', name: 'p' })
    face.execute({ portal: 'p', rows: 2 })
    face.flush()
  }

  handleRowDescription({ fields }: { fields: { name: string }[] }): void {
    this.heard.push(`fields ${fields.map(({ name }) => name).join()}`)
  }

  handleDataRow({ fields }: { fields: unknown[] }): void {
    this.heard.push(`row ${fields.join()}`)
  }

  handlePortalSuspended(face: WireFace): void {
    this.heard.push('suspended')
    face.execute({ portal: 'p', rows: 2 })
    face.flush()
  }

  handleCommandComplete({ text }: { text: string }, face: WireFace): void {
    this.heard.push(text)
    face.close({ type: 'P', name: 'p' })
    face.sync()
  }

  handleReadyForQuery(): void {
    this.heard.push('ready')
    // Too late to be heard by anybody.
    this.#face?.sync()
  }

  handleError(error: Error, face?: WireFace): void {
    this.heard.push(`error ${(error as { code?: string }).code ?? error.message}`)
    face?.sync()
  }
}

const run = async (
  text: string,
  answer: Parameters<typeof onFake>[0],
): Promise<{ heard: string[]; error: Error | undefined; texts: string[] }> => {
  const { fake, core } = await onFake(answer)
  const connection = await core.lease(undefined, 1)
  const reader = new Reader(text)
  const error = await new Promise<Error | undefined>((resolve) => {
    connection.send(new Submitted(reader, resolve))
  })
  if (connection.usable) await connection.query('SELECT 1')
  core.pool.release(connection)
  return { heard: reader.heard, error, texts: fake.texts }
}

test('a statement of its own hears what pg would tell it', async () => {
  const rows = ['1', '2', '3'].map((n) => ({ n, t: `t${n}` }))
  const { heard, error, texts } = await run('SELECT rows', () => ({ rows }))
  assert.equal(error, undefined)
  assert.deepEqual(heard, [
    'parseComplete',
    'fields n,t',
    'row 1,t1',
    'row 2,t2',
    'suspended',
    'row 3,t3',
    'SELECT 1',
    'ready',
    'readyForQuery',
  ])
  assert.deepEqual(texts, ['SELECT rows', 'SELECT 1'])
})

test('an error is told once, and the connection goes on', async () => {
  const { heard, error, texts } = await run('bad', (text) => (text === 'bad' ? { error: '22012' } : {}))
  assert.equal((error as { code?: string } | undefined)?.code, '22012')
  assert.deepEqual(heard, ['parseComplete', 'noData', 'error 22012', 'readyForQuery'])
  assert.deepEqual(texts, ['bad', 'SELECT 1'])
})

test('a lost connection is an error too', async () => {
  const { heard, error } = await run('cut', () => ({ cut: true }))
  assert.match(String(error), /terminated/)
  assert.match(heard.at(-1) ?? '', /^error Connection terminated/)
})

test('what is one', () => {
  assert(isSubmittable(new Reader('')))
  for (const other of [null, 'x', { text: 'x' }, { submit: 1 }]) assert(!isSubmittable(other))
})
