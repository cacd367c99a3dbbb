/**
 * What an instance makes of types for which JavaScript has more than one answer: int8, and dates and times. The choice
 * is one of names, so that it holds on threads too; where none is made, `pg-types` decides, as in `pg`.
 */
import types from 'pg-types'
import { PgParallelError } from '../errors'
import type { CustomTypes } from '../types'

/** What int8 is read as. `number`: an error where it would not be exact. */
export type Int8Choice = 'string' | 'bigint' | 'number'
/** What date, time, timestamp and timestamptz are read as. */
export type DateChoice = 'date' | 'string' | 'temporal'

/** The choices of an instance. */
export interface Choices {
  readonly int8?: Int8Choice | undefined
  readonly dates?: DateChoice | undefined
}

type Parser = (value: unknown) => unknown

const refusal = (message: string): PgParallelError => new PgParallelError(message, { category: 'configuration' })

const asText: Parser = (value) => value

/** int8 as a bigint. */
export const toBigInt: Parser = (value) => BigInt(value as string)

const INT8: Readonly<Record<Int8Choice, Parser>> = {
  string: asText,
  bigint: toBigInt,
  number: (value) => {
    const number = Number(value)
    if (!Number.isSafeInteger(number)) throw new RangeError(`${String(value)} is not exact as a number`)
    return number
  },
}

/** As much of Temporal as is needed. */
interface TemporalApi {
  readonly Instant: { from(text: string): unknown }
  readonly PlainDateTime: { from(text: string): unknown }
  readonly PlainDate: { from(text: string): unknown }
  readonly PlainTime: { from(text: string): unknown }
}

function temporal(): TemporalApi {
  const { Temporal } = globalThis as { Temporal?: TemporalApi }
  if (!Temporal) {
    throw refusal('dates: "temporal" needs globalThis.Temporal: a newer Node, or a polyfill that is loaded before')
  }
  return Temporal
}

const STAMP = /^(\d{4,})-(\d\d)-(\d\d)(?:[ T](\d\d:\d\d:\d\d(?:\.\d+)?))?([+-]\d\d(?::\d\d(?::\d\d)?)?)?( BC)?$/

/** PostgreSQL's way to write a moment (DateStyle ISO) as Temporal reads it; undefined for infinity. */
function isoOf(text: string): string | undefined {
  if (text === 'infinity' || text === '-infinity') return undefined
  const parts = STAMP.exec(text)
  if (!parts) throw new TypeError(`${JSON.stringify(text)} is no date that can be read: DateStyle must be ISO`)
  const [, digits, month, day, time, offset, bc] = parts
  // Year 0 is 1 BC.
  const year = bc ? 1 - Number(digits) : Number(digits)
  const shown =
    year >= 0 && year <= 9_999
      ? String(year).padStart(4, '0')
      : `${year < 0 ? '-' : '+'}${String(Math.abs(year)).padStart(6, '0')}`
  return `${shown}-${month}-${day}${time === undefined ? '' : `T${time}`}${offset ?? ''}`
}

/** Infinity is a number here, as it is in `pg`: Temporal has none. */
const byTemporal =
  (kind: keyof TemporalApi): Parser =>
  (value) => {
    const text = value as string
    const iso = isoOf(text)
    return iso === undefined ? (text.startsWith('-') ? -Infinity : Infinity) : temporal()[kind].from(iso)
  }

/** A time of 24:00:00, the end of the day, is not known to Temporal. */
const timeByTemporal: Parser = (value) => {
  if (String(value).startsWith('24:')) throw new RangeError('24:00:00 is no PlainTime')
  return temporal().PlainTime.from(value as string)
}

const TEMPORAL: ReadonlyMap<number, Parser> = new Map<number, Parser>([
  [1082, byTemporal('PlainDate')],
  [1083, timeByTemporal],
  [1114, byTemporal('PlainDateTime')],
  [1184, byTemporal('Instant')],
])
const DATES: readonly number[] = [1082, 1083, 1114, 1184]
/** Array types, and what is in them. */
const ARRAYS: ReadonlyMap<number, number> = new Map([
  [1016, 20],
  [1182, 1082],
  [1183, 1083],
  [1115, 1114],
  [1185, 1184],
])

interface ArrayParser {
  create(text: string, parse: (item: string | null) => unknown): { parse(): unknown }
}
const { create: createArray } = (types as unknown as { arrayParser: ArrayParser }).arrayParser

const asArray =
  (parser: Parser): Parser =>
  (value) =>
    createArray(value as string, (item) => (item === null ? null : parser(item))).parse()

/** The parsers that the choices ask for, by type. */
function parsersOf({ int8, dates }: Choices): Map<number, Parser> {
  const parsers = new Map<number, Parser>()
  if (int8 !== undefined) parsers.set(20, INT8[int8])
  if (dates === 'string') for (const oid of DATES) parsers.set(oid, asText)
  if (dates === 'temporal') for (const [oid, parser] of TEMPORAL) parsers.set(oid, parser)
  for (const [array, element] of ARRAYS) {
    const parser = parsers.get(element)
    if (parser) parsers.set(array, asArray(parser))
  }
  return parsers
}

/** The source of parsers that the choices have made. */
export interface ChosenTypes extends CustomTypes {
  /** The type is one that a choice concerns; undefined where other types than `pg-types`' stand behind them. */
  readonly isChosen?: ((oid: number) => boolean) | undefined
}

/** A statement of its own may still ask for binary format. */
const inBinary = (): never => {
  throw refusal('int8 and dates are about results in text format, which binary switches off')
}

/** Where parsers come from once the choices are made; `others` for all types that they do not concern. */
export function chosenTypes(choices: Choices, others: CustomTypes | undefined): ChosenTypes | undefined {
  const { int8, dates } = choices
  if (int8 !== undefined && !(int8 in INT8)) throw refusal(`int8 must be string, bigint or number, not ${String(int8)}`)
  if (dates !== undefined && !['date', 'string', 'temporal'].includes(dates)) {
    throw refusal(`dates must be date, string or temporal, not ${String(dates)}`)
  }
  if (dates === 'temporal') temporal()
  const parsers = parsersOf(choices)
  if (parsers.size === 0) return others
  const base: CustomTypes = others ?? types
  return {
    isChosen: others ? undefined : (oid) => parsers.has(oid),
    getTypeParser: (oid, format) => {
      const chosen = parsers.get(oid)
      if (!chosen) return base.getTypeParser(oid, format)
      return format === 'text' ? chosen : inBinary
    },
  }
}

/** `first_name` as `firstName`. What begins with underscores keeps them. */
export const camelCase = (name: string): string =>
  name.replace(/(?<=[^_])_+([a-z\d])/g, (_, letter: string) => letter.toUpperCase())
