import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ThreadObserver } from './observer'
import type { CallNews } from './protocol'

test('calls are told of, with the call that they are a part of, as long as somebody listens', () => {
  const told: CallNews[] = []
  const observer = new ThreadObserver((news) => told.push(news))
  assert.equal(observer.begin('query', 'SELECT 1'), undefined)
  observer.listening = true
  const outer = observer.begin('transaction', 'BEGIN')
  observer.begin('query', 'SELECT 2', 'name', outer)?.fail(new Error('no'), 1)
  outer?.end(2)
  assert.deepEqual(
    told.map(({ id, within, begun, ended }) => [id, within, begun?.text ?? ended?.error?.message ?? ended?.attempts]),
    [
      [1, undefined, 'BEGIN'],
      [2, 1, 'SELECT 2'],
      [2, 1, 'no'],
      [1, undefined, 2],
    ],
  )
  assert((told[3]?.ended?.durationMs ?? -1) >= 0)
})
