import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Events } from './events'

test('listeners get what happened, once or always, and no longer than they want', () => {
  const seen: string[] = []
  const events = new Events(() => assert.fail('nobody threw'))
  const always = ({ timeoutMs }: { timeoutMs: number }): unknown => seen.push(`always ${timeoutMs}`)
  events.on('shutdown', always)
  events.once('shutdown', ({ timeoutMs }) => seen.push(`once ${timeoutMs}`))
  events.emit('shutdown', { timeoutMs: 1 })
  events.emit('shutdown', { timeoutMs: 2 })
  events.off('shutdown', always)
  events.emit('shutdown', { timeoutMs: 3 })
  events.emit('closed')
  assert.deepEqual(seen, ['always 1', 'once 1', 'always 2'])
})

test('what a listener throws goes to the reporter, and the others still hear', () => {
  const reported: unknown[] = []
  let heard = 0
  const events = new Events((error) => reported.push(error))
  const mine = new Error('mine')
  events.on('closed', () => {
    throw mine
  })
  events.on('closed', () => heard++)
  events.emit('closed')
  assert.deepEqual(reported, [mine])
  assert.equal(heard, 1)
})
