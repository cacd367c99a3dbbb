/** JavaScript values as parameters of a statement, by the same rules as in `pg`. */
import { types } from 'node:util'
import type { WireValue } from './writer'

/** Something that says itself what it is in a statement, as in `pg`. */
interface ToPostgres {
  toPostgres(prepare: (value: unknown) => unknown): unknown
}

/** The text, or the bytes, that a value is sent as. */
export function toWire(value: unknown, seen?: unknown[]): WireValue {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(value)
    case 'undefined':
      return null
    case 'object':
      break
    default:
      return (value as { toString(): string }).toString()
  }
  if (value === null) return null
  if (value instanceof Buffer) return value
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (types.isDate(value)) return dateText(value)
  if (Array.isArray(value)) return arrayText(value)
  const kind = (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag]
  if (typeof kind === 'string' && kind.startsWith('Temporal.')) return temporalText(value, kind)
  if (typeof (value as ToPostgres).toPostgres === 'function') {
    const before = seen ?? []
    if (before.includes(value)) throw new Error('a circular reference was found while a parameter was prepared')
    return toWire(
      (value as ToPostgres).toPostgres((inner) => toWire(inner)),
      [...before, value],
    )
  }
  // JSON.stringify of an object whose toJSON returns undefined is undefined.
  const text: unknown = JSON.stringify(value)
  return typeof text === 'string' ? text : null
}

/** An array literal; its elements are separated as all built-in types but `box` have it. */
function arrayText(values: readonly unknown[]): string {
  const items = values.map((item) => {
    if (item === null || item === undefined) return 'NULL'
    if (Array.isArray(item)) return arrayText(item)
    const prepared = toWire(item)
    if (prepared === null) return 'NULL'
    if (typeof prepared !== 'string') return `"\\\\x${prepared.toString('hex')}"`
    return `"${prepared.replace(/[\\"]/g, '\\$&')}"`
  })
  return `{${items.join(',')}}`
}

/** A Temporal value as PostgreSQL reads it: no names of zones and calendars, and years before 1 as BC. */
function temporalText(value: { toString(): string }, kind: string): string {
  const moment =
    kind === 'Temporal.ZonedDateTime' ? (value as { toInstant(): { toString(): string } }).toInstant() : value
  const text = moment.toString().replace(/\[.*$/, '')
  if (text.startsWith('0000-')) return `0001${text.slice(4)} BC`
  const [, sign, digits, rest] = /^([+-])(\d{6})(-.*)$/.exec(text) ?? []
  if (sign === undefined || digits === undefined || rest === undefined) return text
  const year = sign === '-' ? 1 + Number(digits) : Number(digits)
  return `${String(year).padStart(4, '0')}${rest}${sign === '-' ? ' BC' : ''}`
}

const two = (value: number): string => (value < 10 ? `0${value}` : String(value))

/** A moment in local time with its offset, so that it is right for `timestamp`, `date` and `timestamptz`. */
function dateText(date: Date): string {
  if (Number.isNaN(date.getTime())) throw new TypeError('an invalid Date cannot be sent as a parameter')
  const year = date.getFullYear()
  const offset = -date.getTimezoneOffset()
  const size = Math.abs(offset)
  // Year 0 is 1 BC.
  const shown = String(year < 1 ? 1 - year : year).padStart(4, '0')
  return (
    `${shown}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}:` +
    `${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}` +
    `${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}${year < 1 ? ' BC' : ''}`
  )
}
