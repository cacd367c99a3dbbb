import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WaiterQueue, type Waiter } from './queue'

const waiter = (): Waiter => ({ kind: 'shared', patience: 1, serve: () => {}, refuse: () => {} })

test('first come, first served; whoever leaves, leaves from anywhere', () => {
  const queue = new WaiterQueue()
  const [a, b, c, d] = [waiter(), waiter(), waiter(), waiter()] as const
  for (const one of [a, b, c, d]) queue.push(one)
  assert.equal(queue.size, 4)
  assert(queue.remove(b))
  assert(!queue.remove(b))
  assert(queue.remove(d))
  assert.deepEqual([...queue], [a, c])
  assert.equal(queue.shift(), a)
  queue.push(b)
  assert.deepEqual([queue.shift(), queue.shift(), queue.shift()], [c, b, undefined])
  assert.equal(queue.size, 0)
})

test('it may change while it is walked', () => {
  const queue = new WaiterQueue()
  const all = Array.from({ length: 5 }, waiter)
  for (const one of all) queue.push(one)
  for (const one of queue) queue.remove(one)
  assert.equal(queue.size, 0)
  assert.equal(queue.head, undefined)
})
