import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { toWire } from './values'

const prepare = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } }).utils.prepareValue

test('values are sent as pg sends them', () => {
  for (const value of [
    null,
    undefined,
    'text',
    '',
    0,
    -0,
    1.5,
    NaN,
    Infinity,
    true,
    false,
    12n,
    new Date(0),
    new Date(-1),
    new Date('2024-07-01T12:34:56.789Z'),
    new Date('0005-01-01T00:00:00Z'),
    new Date(-70_000_000_000_000),
    Buffer.from([1, 2]),
    new Uint8Array([3, 4]),
    { a: [1, 'two'] },
    [],
    [1, null, undefined, 'a "quoted" \\ text', [true, [2]], { x: 1 }, new Date(0)],
    [Buffer.from([255])],
    { toPostgres: () => [1, 2] },
    { toJSON: () => undefined },
  ]) {
    const theirs = prepare(value) ?? null
    const ours = toWire(value)
    if (Array.isArray(value) && value[0] instanceof Buffer) assert.equal(ours, '{"\\\\xff"}')
    else assert.deepEqual(ours, theirs, JSON.stringify(String(value)))
  }
})

test('what cannot be sent is an error', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  assert.throws(() => toWire(circle), /circular/)
  const itself = { toPostgres: (): unknown => itself }
  assert.throws(() => toWire(itself), /circular/)
  assert.throws(() => toWire(new Date(NaN)), TypeError)
})
