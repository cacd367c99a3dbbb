import assert from 'node:assert/strict'
import { test } from 'node:test'
import types from 'pg-types'
import { COMPACT, COMPACT_BIGINT } from './compact'

const read = (oid: number, hex: string): unknown => {
  const bytes = Buffer.from(`ff${hex.replaceAll(' ', '')}`, 'hex')
  const { width, read: reader } = COMPACT.get(oid)!
  if (width >= 0) assert.equal(bytes.length - 1, width)
  return reader(bytes, 1, bytes.length)
}
const parsed = (oid: number, text: string): unknown =>
  (types.getTypeParser(oid, 'text') as (text: string) => unknown)(text)

// Bytes as PostgreSQL 15 sends them: SELECT encode(timestamptz_send('…'), 'hex') and so on, in UTC.
const SENT: [number, string, string][] = [
  [16, '01', 't'],
  [16, '00', 'f'],
  [17, '00ff', '\\x00ff'],
  [21, '8000', '-32768'],
  [21, '7fff', '32767'],
  [21, 'ffff', '-1'],
  [23, '80000000', '-2147483648'],
  [23, '00000102', '258'],
  [26, 'ffffffff', '4294967295'],
  [701, '3ff8000000000000', '1.5'],
  [701, '7ff8000000000000', 'NaN'],
  [701, 'fff0000000000000', '-Infinity'],
  [701, '8000000000000000', '-0'],
  [1082, '00000000', '2000-01-01'],
  [1082, '7fffffff', 'infinity'],
  [1082, '80000000', '-infinity'],
  [1082, 'ffffffff', '1999-12-31'],
  [1114, '0000000000000001', '2000-01-01 00:00:00.000001'],
  [1114, 'ffffffffffffffff', '1999-12-31 23:59:59.999999'],
  [1184, '00000000000f423f', '2000-01-01 00:00:00.999999+00'],
  [1184, 'fffffffffffffc18', '1999-12-31 23:59:59.999+00'],
  [1184, '7fffffffffffffff', 'infinity'],
  [1184, '8000000000000000', '-infinity'],
]

const ELEMENT: Record<number, string> = { 1000: '10', 1005: '15', 1007: '17', 1009: '19', 1015: '0413', 1022: '02bd' }

/** An array's head as array_send has it: dimensions with their lower bounds. */
const head = (oid: number, ...dimensions: number[]): string => {
  const int4 = (value: number): string => value.toString(16).padStart(8, '0')
  return (
    int4(dimensions.length) +
    int4(0) +
    (ELEMENT[oid] ?? '').padStart(8, '0') +
    dimensions.map((count) => int4(count) + int4(1)).join('')
  )
}

test('arrays in binary format are what pg-types makes of their texts', () => {
  for (const [oid, hex, text] of [
    [1007, head(1007), '{}'],
    [1007, `${head(1007, 3)} 00000004 00000007 ffffffff 00000004 ffffffff`, '{7,NULL,-1}'],
    [1007, `${head(1007, 2, 1)} 00000004 00000007 00000004 00000008`, '{{7},{8}}'],
    [1005, `${head(1005, 1)} 00000002 8000`, '{-32768}'],
    [1000, `${head(1000, 2)} 00000001 01 00000001 00`, '{t,f}'],
    [1009, `${head(1009, 3)} 00000003 612c22 00000000 00000004 4e554c4c`, '{"a,\\"","","NULL"}'],
    [1015, `${head(1015, 1)} 00000002 c3a4`, '{ä}'],
    [1022, `${head(1022, 2)} 00000008 7ff8000000000000 00000008 3ff8000000000000`, '{NaN,1.5}'],
  ] as const) {
    assert.deepEqual(read(oid, hex), parsed(oid, text), text)
  }
})

test('an array that is cut or twisted is refused and never read beyond', () => {
  const whole = `${head(1007, 2)} 00000004 00000007 00000004 00000008`.replaceAll(' ', '')
  for (let cut = 2; cut <= whole.length; cut += 2) {
    assert.throws(() => read(1007, whole.slice(0, -cut)), { category: 'protocol' }, `${cut / 2} bytes`)
  }
  for (const twisted of [
    `${whole}00`,
    `${head(1009, 1)} 00000000`,
    `${head(1007, 0x7fffffff)} 00000004 00000007`,
    `${head(1007, 1)} 00000003 000007`,
    `${head(1007, 1)} fffffffe`,
    `00000007${whole.slice(8)}`,
  ]) {
    assert.throws(() => read(1007, twisted), { category: 'protocol' }, twisted)
  }
})

test('values in binary format are what pg-types makes of their texts', () => {
  for (const [oid, hex, text] of SENT) {
    assert.deepEqual(read(oid, hex), parsed(oid, text), `${oid} ${text}`)
  }
})

test('moments too far away for an exact number of microseconds', () => {
  const micros = (text: string, more: bigint): string => {
    const since = BigInt(Date.parse(text)) - BigInt(Date.UTC(2000, 0, 1))
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(since * 1_000n + more)
    return bytes.toString('hex')
  }
  for (const text of [
    '2500-06-07T08:09:10.123Z',
    '9999-12-31T23:59:59.999Z',
    '-004000-01-01T00:00:00.001Z',
    '0050-02-03T00:00:00Z',
  ]) {
    assert.deepEqual(read(1184, micros(text, 999n)), new Date(text), text)
  }
  const old = read(1114, micros('0050-02-03T04:05:06.007Z', 0n)) as Date
  assert.deepEqual([old.getFullYear(), old.getMonth(), old.getDate(), old.getHours()], [50, 1, 3, 4])
})

test('int8 as a bigint', () => {
  const bytes = Buffer.from('7fffffffffffffff', 'hex')
  assert.equal(COMPACT_BIGINT.read(bytes, 0, 8), 9_223_372_036_854_775_807n)
})
