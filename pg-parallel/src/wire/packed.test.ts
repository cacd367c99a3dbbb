import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buffersOf, lazyRows, plainRows, RowPacker, unpack, untouchedRows } from './packed'
import { Shape, type Field } from './shape'

const field = (name: string, dataTypeID: number): Field => ({
  name,
  tableID: 0,
  columnID: 0,
  dataTypeID,
  dataTypeSize: -1,
  dataTypeModifier: -1,
  format: 'text',
})
const SHAPE = Shape.of([field('n', 23), field('t', 25)], undefined, false)

function row(...values: (string | null)[]): Buffer {
  const parts: Buffer[] = [Buffer.from([0, values.length])]
  for (const value of values) {
    const length = Buffer.alloc(4)
    length.writeInt32BE(value === null ? -1 : Buffer.byteLength(value))
    parts.push(length, Buffer.from(value ?? ''))
  }
  return Buffer.concat(parts)
}

/** Long rows too, so that there are several segments. */
const expected = Array.from({ length: 3_000 }, (_, n) => ({
  n,
  t: n % 500 === 0 ? 'x'.repeat(100_000) : n % 7 === 0 ? null : `row ${n}`,
}))
function packer(): RowPacker {
  const made = new RowPacker()
  for (const { n, t } of expected) {
    const bytes = Buffer.concat([Buffer.from('before'), row(String(n), t)])
    made.add(bytes, 6, bytes.length, 2)
  }
  return made
}

test('rows that were packed are the rows that came', () => {
  const packed = packer().finish(SHAPE)
  assert(packed.segments.length > 2)
  assert.equal(packed.count, expected.length)
  assert.deepEqual(unpack(packed, SHAPE), expected)
  // As they are after they have changed hands.
  const moved = structuredClone(packed, { transfer: buffersOf(packed) })
  assert.equal(packed.segments[0]?.bytes.length, 0)
  assert.deepEqual(Array.from(lazyRows(moved, SHAPE)), expected)
})

test('an array of rows that are made when they are looked at is an array to everybody', () => {
  const rows = lazyRows(packer().finish(SHAPE), SHAPE) as { n: number; t: string | null }[]
  assert(Array.isArray(rows))
  assert.equal(rows.length, 3_000)
  assert(untouchedRows(rows), 'its length is known without a row')
  assert.deepEqual(rows[2_999], expected[2_999])
  assert.equal(untouchedRows(rows), undefined)
  assert.equal(rows[2_999], rows[2_999], 'a row is made once')
  assert.deepEqual(rows[1], expected[1])
  assert.equal(rows[3_000], undefined)
  assert.equal((rows as unknown as Record<string, unknown>)['-1'], undefined)
  assert(1_500 in rows && !(3_000 in rows))
  assert.deepEqual(
    rows.map(({ n }) => n),
    expected.map(({ n }) => n),
  )
  assert.deepEqual(rows.slice(10, 12), expected.slice(10, 12))
  assert.deepEqual([...rows], expected)
  assert.equal(JSON.stringify(rows), JSON.stringify(expected))
  assert.deepEqual(rows, expected)
})

test('it can be changed as any array', () => {
  const rows = lazyRows(packer().finish(SHAPE), SHAPE) as ({ n: number } | undefined)[]
  rows[5] = { n: -5 }
  rows.push({ n: 7 })
  assert.deepEqual([rows[5], rows.length, rows[3_000], rows[4]?.n], [{ n: -5 }, 3_001, { n: 7 }, 4])
  rows.length = 2
  assert.deepEqual(rows, expected.slice(0, 2))
  const sorted = lazyRows(packer().finish(SHAPE), SHAPE) as { n: number }[]
  sorted.sort((a, b) => b.n - a.n)
  assert.equal(sorted[0]?.n, 2_999)
  assert.deepEqual(Object.keys(lazyRows(packer().finish(SHAPE), SHAPE)).length, 3_000)
  assert.deepEqual(structuredClone(plainRows(lazyRows(packer().finish(SHAPE), SHAPE))), expected)
  Reflect.deleteProperty(rows, 0)
  assert.equal(0 in rows, false)
})

test('rows whose columns do not fill their messages are refused before they are kept', () => {
  const bytes = row('1', 'x')
  for (const [start, end, columns] of [
    [0, bytes.length, 3],
    [0, bytes.length - 1, 2],
    [0, 1, 0],
  ] as const) {
    assert.throws(
      () => {
        new RowPacker().add(bytes, start, end, columns)
      },
      { category: 'protocol' },
    )
  }
  const long = Buffer.concat([bytes, Buffer.from('x')])
  assert.throws(
    () => {
      new RowPacker().add(long, 0, long.length, 2)
    },
    { category: 'protocol' },
  )
})
