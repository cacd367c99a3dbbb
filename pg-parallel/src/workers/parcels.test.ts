import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lazyRows, RowPacker, untouchedRows, type PackedRows } from '../wire/packed'
import { Shape } from '../wire/shape'
import { movedWith, open, pack } from './parcels'

const SHAPE = Shape.of(
  [{ name: 't', tableID: 0, columnID: 0, dataTypeID: 25, dataTypeSize: -1, dataTypeModifier: -1, format: 'text' }],
  undefined,
  false,
)
function lazy(): unknown[] {
  const packer = new RowPacker()
  for (const letter of 'abc') packer.add(Buffer.from(`\0\x01\0\0\0\x01${letter}`), 0, 7, 1)
  return lazyRows(packer.finish(SHAPE), SHAPE)
}
const ROWS = [{ t: 'a' }, { t: 'b' }, { t: 'c' }]
const read = (packed: PackedRows): unknown[] => lazyRows(packed, SHAPE)
/** There and, with everything moved, here. */
function sent(value: unknown): { value: unknown; moved: number } {
  const parcel = pack(value)
  const moved = movedWith(parcel)
  return { value: open(structuredClone(parcel, { transfer: moved }), read), moved: moved.length }
}

test('anything that can be cloned comes out as it went in', () => {
  for (const value of [1, 'x', null, undefined, 10n, [1, { a: new Map([[1, new Date(0)]]) }], new Uint8Array([1, 2])]) {
    assert.deepEqual(sent(value).value, value)
  }
  assert.throws(() => pack({ f: () => {} }), /could not be cloned/)
  assert.throws(() => pack(Symbol('x')), /could not be cloned/)
})

test('packed rows are moved from wherever they are, and what held them is as before', () => {
  const rows = lazy()
  assert.deepEqual(sent(rows), { value: ROWS, moved: 3 })
  const same = lazy()
  const result = { command: 'SELECT', rows: lazy(), again: [{ deep: same }, same] }
  const circle = result as typeof result & { self?: unknown }
  circle.self = circle
  const { value, moved } = sent(circle)
  assert.equal(moved, 5)
  const { rows: first, again, self } = value as typeof circle
  assert.deepEqual([first, again], [ROWS, [{ deep: ROWS }, ROWS]])
  assert.equal(self, value)
  assert(untouchedRows(result.rows) && untouchedRows(same))
})

test('rows that were looked at, and perhaps changed, are sent as they are', () => {
  const rows = lazy() as { t: string }[]
  rows[1]!.t = 'changed'
  const expected = [{ t: 'a' }, { t: 'changed' }, { t: 'c' }]
  assert.deepEqual(sent(rows), { value: expected, moved: 1 })
  assert.deepEqual(sent({ rows }).value, { rows: expected })
  assert.deepEqual(sent(new Map([['rows', lazy()]])).value, new Map([['rows', ROWS]]))
})
