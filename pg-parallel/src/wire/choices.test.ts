import assert from 'node:assert/strict'
import { test } from 'node:test'
import { camelCase, chosenTypes, type Choices } from './choices'

const read = (choices: Choices, oid: number, text: string): unknown =>
  (chosenTypes(choices, undefined)?.getTypeParser(oid, 'text') as (value: string) => unknown)(text)

test('int8 is what was chosen, in arrays too', () => {
  assert.equal(read({ int8: 'bigint' }, 20, '-9223372036854775808'), -9_223_372_036_854_775_808n)
  assert.equal(read({ int8: 'number' }, 20, '-12'), -12)
  assert.deepEqual(read({ int8: 'number' }, 1016, '{{1,2},{NULL,4}}'), [
    [1, 2],
    [null, 4],
  ])
  assert.throws(() => read({ int8: 'number' }, 20, '9007199254740992'), /not exact/)
  assert.equal(read({ int8: 'bigint' }, 23, '7'), 7, 'other types are as they were')
})

test('dates are what was chosen', () => {
  assert.equal(read({ dates: 'string' }, 1184, '2024-01-02 03:04:05+00'), '2024-01-02 03:04:05+00')
  assert.deepEqual(read({ dates: 'string' }, 1182, '{2024-01-02}'), ['2024-01-02'])
  assert(read({ dates: 'date', int8: 'string' }, 1184, '2024-01-02 03:04:05+00') instanceof Date)
  const had = (globalThis as { Temporal?: unknown }).Temporal
  const kind = (name: string): { from(text: string): string } => ({ from: (text) => `${name} ${text}` })
  Object.assign(globalThis, {
    Temporal: {
      Instant: kind('Instant'),
      PlainDateTime: kind('PlainDateTime'),
      PlainDate: kind('PlainDate'),
      PlainTime: kind('PlainTime'),
    },
  })
  try {
    const temporal: [number, string, unknown][] = [
      [1184, '2024-01-02 03:04:05.6+05:30', 'Instant 2024-01-02T03:04:05.6+05:30'],
      [1184, '12024-01-02 03:04:05+00', 'Instant +012024-01-02T03:04:05+00'],
      [1114, '0001-01-02 03:04:05 BC', 'PlainDateTime 0000-01-02T03:04:05'],
      [1082, '0044-03-15 BC', 'PlainDate -000043-03-15'],
      [1082, '-infinity', -Infinity],
      [1083, '03:04:05', 'PlainTime 03:04:05'],
    ]
    for (const [oid, text, expected] of temporal) assert.equal(read({ dates: 'temporal' }, oid, text), expected)
    assert.throws(() => read({ dates: 'temporal' }, 1082, '02.01.2024'), /DateStyle/)
    assert.throws(() => read({ dates: 'temporal' }, 1083, '24:00:00'), /24:00:00/)
  } finally {
    Object.assign(globalThis, { Temporal: had })
  }
})

test('choices that cannot be kept are refused', () => {
  assert.equal(chosenTypes({}, undefined), undefined)
  assert.throws(() => chosenTypes({ int8: 'float' as never }, undefined), { category: 'configuration' })
  assert.throws(() => chosenTypes({ dates: 'moment' as never }, undefined), { category: 'configuration' })
  const parser = chosenTypes({ int8: 'bigint' }, undefined)?.getTypeParser(20, 'binary') as (value: Buffer) => unknown
  assert.throws(() => parser(Buffer.alloc(8)), { category: 'configuration' })
})

test('names of columns', () => {
  const names = {
    first_name: 'firstName',
    id: 'id',
    _row_number: '_rowNumber',
    a__b: 'aB',
    x_1: 'x1',
    trailing_: 'trailing_',
  }
  for (const [name, expected] of Object.entries(names)) assert.equal(camelCase(name), expected)
})
