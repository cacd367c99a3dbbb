import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onFake } from '../test/support/core'
import { failure } from '../test/support/failure'
import { PgParallelError } from './errors'
import { Listener } from './listen'

test('one connection for all channels, given back with the last', async () => {
  const { fake, core } = await onFake(undefined, { max: 2 })
  const listener = new Listener(core)
  const told: unknown[] = []
  const first = await listener.listen('a"b', () => {}, { onListen: (info) => told.push(info) })
  const second = await listener.listen('c', () => {})
  assert.deepEqual(told, [{ again: false }])
  await first.unlisten()
  await first.unlisten()
  await second.unlisten()
  assert.deepEqual(fake.texts, ['LISTEN "a""b"', 'LISTEN "c"', 'UNLISTEN "a""b"', 'UNLISTEN *'])
  assert.equal(fake.sessions.length, 1)
  assert.equal(core.pool.stats.idle, 1)
})

test('what cannot be listened to is an error, and is forgotten', async () => {
  let fails = true
  const { fake, core } = await onFake((text) => (text === 'LISTEN "x"' && fails ? { error: '42501' } : {}), { max: 2 })
  const listener = new Listener(core)
  assert.equal((await failure(listener.listen('x', () => {}))).sqlState, '42501')
  fails = false
  await listener.listen('y', () => {})
  assert.deepEqual(fake.texts, ['LISTEN "x"', 'LISTEN "y"'])
  listener.close(new PgParallelError('closed', { category: 'closed' }))
})

test('what a listener throws is logged, and it is told again after a loss', async () => {
  const errors: unknown[] = []
  const logger = { info: () => {}, warn: () => {}, error: (message: string) => errors.push(message) }
  const { fake, core } = await onFake(undefined, { max: 2, logger })
  const listener = new Listener(core)
  let told = 0
  await new Promise<void>((resolve, reject) => {
    const onListen = ({ again }: { again: boolean }): void => {
      told++
      if (again) resolve()
      else throw new Error('mine')
    }
    listener.listen('x', () => {}, { onListen }).then(() => fake.sessions[0]?.socket.destroy(), reject)
  })
  assert.equal(told, 2)
  assert(errors.includes('a listener threw'))
  listener.close(new PgParallelError('closed', { category: 'closed' }))
})
