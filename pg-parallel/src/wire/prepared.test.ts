import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PreparedStatements, SeenTexts } from './prepared'

test('a text counts as coming again from its second time on, and not for ever', () => {
  const seen = new SeenTexts()
  assert.deepEqual([seen.again('a'), seen.again('a'), seen.again('b')], [false, true, false])
  for (let n = 0; n < 4_100; n++) seen.again(`text ${n}`)
  assert.equal(seen.again('a'), false)
})

test('the statement used longest ago goes first, and is closed', () => {
  const prepared = new PreparedStatements(2)
  const one = prepared.addText('one')
  const two = prepared.addText('two')
  assert.equal(prepared.ofText('one'), one)
  prepared.addText('three')
  assert.deepEqual(prepared.takeLeftOver(), [two.name])
  assert.deepEqual([prepared.size, prepared.ofText('two')], [2, undefined])
  assert.deepEqual(prepared.takeLeftOver(), [])
})

test('what is dropped or forgotten is closed, by whatever name', () => {
  const prepared = new PreparedStatements(5)
  const named = prepared.addNamed('mine', 'one')
  const own = prepared.addText('one')
  assert.equal(prepared.ofName('mine'), named)
  assert.equal(prepared.ofText('one'), own)
  prepared.drop(named)
  assert.equal(prepared.ofName('mine'), undefined)
  prepared.clear()
  assert.deepEqual(prepared.takeLeftOver(), ['mine', own.name])
  assert.equal(prepared.ofText('one'), undefined)
})
