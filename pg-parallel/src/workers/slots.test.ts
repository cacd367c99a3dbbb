import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onFake } from '../../test/support/core'
import type { ThreadHandle } from './handle'
import { ThreadSlots } from './slots'

/** A thread that does nothing but hold slots. */
function thread(fields: Partial<ThreadHandle>): { handle: ThreadHandle; told: string[] } {
  const told: string[] = []
  const tell = ({ type }: { type: string }): void => {
    told.push(type)
  }
  return { handle: { slots: 1, reclaiming: false, tell, ...fields } as unknown as ThreadHandle, told }
}

test('a thread gets a slot, and whoever waits gets it when the thread is gone', async () => {
  const { core } = await onFake(undefined, { max: 1 })
  const slots = new ThreadSlots(core, () => Promise.resolve('secret'))
  const first = thread({ slots: 0 })
  const second = thread({ slots: 0 })
  slots.request(first.handle)
  slots.request(second.handle)
  await new Promise(setImmediate)
  assert.deepEqual([first.handle.slots, first.told], [1, ['granted']])
  assert.equal(second.handle.slots, 0)
  slots.release(first.handle)
  await new Promise(setImmediate)
  assert.equal(first.handle.slots, 0)
  assert.deepEqual([second.handle.slots, second.told], [1, ['granted']])
  slots.release(second.handle)
})

test('a slot whose password cannot be had is given back', async () => {
  const { core } = await onFake(undefined, { max: 1 })
  const slots = new ThreadSlots(core, () => Promise.reject(new Error('no')))
  const { handle, told } = thread({ slots: 0 })
  slots.request(handle)
  await new Promise(setImmediate)
  assert.deepEqual([handle.slots, told], [0, ['denied']])
})

test('one idle connection at a time is asked for, and none of a thread that works with it', async () => {
  const { core } = await onFake()
  const slots = new ThreadSlots(core, undefined)
  const busy = thread({ entry: { job: { kind: 'worker' } } as ThreadHandle['entry'] })
  const none = thread({ slots: 0 })
  const computing = thread({ entry: { job: { kind: 'task' } } as ThreadHandle['entry'] })
  const idle = thread({})
  const all = [busy, none, computing, idle]
  slots.reclaim(all.map(({ handle }) => handle))
  slots.reclaim(all.map(({ handle }) => handle))
  slots.reclaim(all.map(({ handle }) => handle))
  assert.deepEqual(
    all.map(({ told }) => told),
    [[], [], ['reclaim'], ['reclaim']],
  )
})

test('shutdown waits until idle threads have closed their connections, and no longer than it may', async () => {
  const { core } = await onFake()
  const slots = new ThreadSlots(core, undefined)
  await slots.goodbye(new Set([thread({ slots: 0 }).handle]), 60_000)
  const kept = thread({})
  await slots.goodbye(new Set([kept.handle]), 5)
  assert.deepEqual(kept.told, ['reclaim'])
})
