import assert from 'node:assert/strict'
import { test } from 'node:test'
import types from 'pg-types'
import { interpreted, readFields, Shape, type Field } from './shape'

const field = (name: string, dataTypeID: number, format: 'text' | 'binary' = 'text'): Field => ({
  name,
  tableID: 0,
  columnID: 0,
  dataTypeID,
  dataTypeSize: -1,
  dataTypeModifier: -1,
  format,
})

function row(...values: (string | Buffer | null)[]): Buffer {
  const parts: Buffer[] = [Buffer.from([0, values.length])]
  for (const value of values) {
    const length = Buffer.alloc(4)
    const bytes = value === null ? undefined : Buffer.from(value)
    length.writeInt32BE(bytes ? bytes.length : -1)
    parts.push(length, bytes ?? Buffer.alloc(0))
  }
  return Buffer.concat(parts)
}

const FIELDS = [
  field('i', 23),
  field('f', 701),
  field('t', 25),
  field('b', 16),
  field('d', 1184),
  field('big', 20),
  field('n', 1700),
  field('j', 3802),
  field('l', 1007),
  field('x', 999_999),
]
const VALUES: (string | null)[][] = [
  ['-12', '1.5', 'é', 't', '2024-01-02 03:04:05.678+00', '9007199254740993', '1.10', '{"a": 1}', '{1,2}', 'y'],
  ['2147483647', 'NaN', '', 'f', 'infinity', '1', '0', 'null', '{}', ''],
  [null, '-Infinity', null, null, null, null, null, null, null, null],
  ['0', '1e-300', 'x'.repeat(100), 't', '1900-01-01 00:00:00+00', '-5', 'NaN', '[]', '{NULL}', ' '],
]

test('rows are what pg-types makes of them, by generated code and without', () => {
  const parsers = FIELDS.map((one) => types.getTypeParser(one.dataTypeID, 'text') as (value: unknown) => unknown)
  for (const asArray of [false, true]) {
    const shape = Shape.of(FIELDS, undefined, asArray)
    const plain = interpreted(FIELDS, parsers, asArray)
    for (let round = 0; round < 3; round++) {
      for (const values of VALUES) {
        const bytes = row(...values)
        const parsed = values.map((value, index) => (value === null ? null : parsers[index]?.(value)))
        const expected = asArray ? parsed : Object.fromEntries(FIELDS.map(({ name }, index) => [name, parsed[index]]))
        assert.deepEqual(shape.row(bytes, 0, bytes.length), expected)
        assert.deepEqual(plain(bytes, 2, bytes.length), expected)
      }
    }
  }
})

test('names of columns are names and nothing else', () => {
  const names = ['__proto__', 'constructor', 'a"]: 1, [("', '`${1}`', "it's", 'line\u2028end', '', 'a', 'a', '1']
  const shape = Shape.of(
    names.map((name) => field(name, 25)),
    undefined,
    false,
  )
  const bytes = row(...names.map((_, index) => String(index)))
  for (let round = 0; round < 4; round++) {
    const read = shape.row(bytes, 0, bytes.length) as Record<string, string>
    assert.equal(Object.getPrototypeOf(read), Object.prototype)
    assert.equal(Object.getOwnPropertyDescriptor(read, '__proto__')?.value, '0')
    assert.equal(read['a'], '8')
    assert.deepEqual(new Set(Object.keys(read)), new Set(names))
  }
})

test('another parser is used from the next result on', () => {
  const shape = Shape.of([field('i', 23)], undefined, false)
  assert(shape.fits(undefined, false))
  assert(!shape.fits(undefined, true))
  const own = { getTypeParser: () => () => 'mine' }
  assert(!shape.fits(own, false))
  const before: unknown = types.getTypeParser(23, 'text')
  types.setTypeParser(23, () => 'set')
  try {
    assert(!shape.fits(undefined, false))
    const bytes = row('1')
    const other = Shape.of([field('i', 23)], undefined, false)
    for (let round = 0; round < 4; round++) assert.deepEqual(other.row(bytes, 0, bytes.length), { i: 'set' })
  } finally {
    types.setTypeParser(23, before as never)
  }
})

test('binary values go to binary parsers, as bytes of their own', () => {
  const kept: Buffer[] = []
  const source = { getTypeParser: () => (value: Buffer) => kept.push(value) }
  const shape = Shape.of([field('b', 17, 'binary')], source, false)
  const bytes = row(Buffer.from([1, 2]))
  for (let round = 0; round < 4; round++) shape.row(bytes, 0, bytes.length)
  bytes.fill(0)
  assert.deepEqual(
    kept,
    Array.from({ length: 4 }, () => Buffer.from([1, 2])),
  )
})

test('rows and descriptions that are cut or twisted are refused and never read beyond', () => {
  const fields = [field('i', 23), field('t', 25)]
  const good = row('1', 'text')
  const shape = Shape.of(fields, undefined, false)
  for (let round = 0; round < 4; round++) shape.row(good, 0, good.length)
  const bad = [good.subarray(0, good.length - 1), Buffer.concat([good, Buffer.from([0])]), row('1'), row('1', '2', '3')]
  const negative = Buffer.from(good)
  negative.writeInt32BE(-2, 2)
  const long = Buffer.from(good)
  long.writeInt32BE(0x7fffffff, 2)
  for (const bytes of [...bad, negative, long, Buffer.alloc(0), Buffer.from([0, 2])]) {
    assert.throws(() => shape.row(bytes, 0, bytes.length), { category: 'protocol' })
    assert.throws(() => Shape.of(fields, undefined, true).row(bytes, 0, bytes.length), { category: 'protocol' })
  }
  for (const bytes of [Buffer.alloc(0), Buffer.from([0, 1]), Buffer.from('\0\x01name'), Buffer.from([0, 0, 1])]) {
    assert.throws(() => readFields(bytes, 0, bytes.length), { category: 'protocol' })
  }
})

test('columns that are cheaper in binary format are asked for so, and read the same', () => {
  const shape = Shape.of(FIELDS, undefined, false).compacted
  assert.deepEqual(shape.formats, [1, 1, 0, 1, 1, 0, 0, 0, 1, 0])
  assert.equal(shape.fields[0]?.format, 'text', 'the fields are as pg has them')
  const bytes = row(
    Buffer.from('fffffff4', 'hex'),
    Buffer.from('3ff8000000000000', 'hex'),
    'é',
    Buffer.from([1]),
    Buffer.from('0002b0ec85204bb0', 'hex'),
    ...VALUES[0]!.slice(5, 8),
    Buffer.from('0000000100000000000000170000000200000001000000040000000100000004' + '00000002', 'hex'),
    ...VALUES[0]!.slice(9),
  )
  const parsers = FIELDS.map((one) => types.getTypeParser(one.dataTypeID, 'text') as (value: unknown) => unknown)
  const parsed = VALUES[0]!.map((value, index) => parsers[index]?.(value))
  const expected = Object.fromEntries(FIELDS.map(({ name }, index) => [name, parsed[index]]))
  for (let round = 0; round < 5; round++) assert.deepEqual(shape.row(bytes, 0, bytes.length), expected)
  const short = row(Buffer.from('fffff4', 'hex'), ...VALUES[2]!.slice(1))
  assert.throws(() => shape.row(short, 0, short.length), { category: 'protocol' })
  const texts = Shape.of([field('t', 25), field('n', 1700), field('f4', 700)], undefined, false)
  assert.equal(texts.compacted, texts)
  const own = { getTypeParser: () => (value: unknown) => value }
  assert.equal(Shape.of([field('i', 23)], own as never, false).compacted.formats.length, 0, 'a parser of one’s own')
})
