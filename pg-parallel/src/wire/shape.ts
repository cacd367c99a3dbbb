/**
 * The shape of a result's rows, and a decoder made for it: a function that reads a row where it lies in the receive
 * buffer and returns the object, without anything in between.
 *
 * Parsers are `pg-types`', so that what an application sets there (`pg.types.setTypeParser`) holds here. Where the
 * parser is the one that the package came with, the decoder does the same without making a text first.
 */
import types from 'pg-types'
import { init } from 'pg-types/lib/textParsers'
import type { CustomTypes as TypeSource, FieldDef as Field } from '../types'
import { toBigInt, type ChosenTypes } from './choices'
import { COMPACT, COMPACT_BIGINT, type Compact } from './compact'
import { protocolError } from './reader'

export type { CustomTypes as TypeSource, FieldDef as Field } from '../types'

type Parser = (value: unknown) => unknown

/** Reads the row whose first column's length is at `at`. */
type Decoder = (bytes: Buffer, at: number, end: number) => unknown

const DEFAULTS = types as unknown as TypeSource
/** What `pg-types` registers by itself. */
const ORIGINAL = new Map<number, unknown>()
init((oid, parser) => ORIGINAL.set(Number(oid), parser))
/** The parser of types that have none. */
const AS_TEXT = DEFAULTS.getTypeParser(-1, 'text') as Parser

const parserOf = (source: TypeSource, field: Field): Parser =>
  source.getTypeParser(field.dataTypeID, field.format) as Parser

/** Digits, with a sign perhaps; everything else as parseInt has it. */
function readInteger(bytes: Buffer, start: number, end: number): number {
  if (end - start > 15) return Number.parseInt(bytes.toString('latin1', start, end), 10)
  let at = start
  const negative = bytes[at] === 45
  if (negative) at++
  let value = 0
  for (; at < end; at++) {
    const digit = bytes[at]! - 48
    if (digit < 0 || digit > 9) return Number.parseInt(bytes.toString('latin1', start, end), 10)
    value = value * 10 + digit
  }
  return negative ? -value : value
}

const readFloat = (bytes: Buffer, start: number, end: number): number =>
  Number.parseFloat(bytes.toString('latin1', start, end))

/** How a column is read in binary format at less cost than as a text, with the same outcome; undefined where there is no such way. */
function compactOf(field: Field, parser: Parser): Compact | undefined {
  if (field.format !== 'text') return undefined
  if (field.dataTypeID === 20) return parser === toBigInt ? COMPACT_BIGINT : undefined
  return ORIGINAL.get(field.dataTypeID) === parser ? COMPACT.get(field.dataTypeID) : undefined
}

const byNumber = (oid: number): Compact | undefined => (oid === 20 ? COMPACT_BIGINT : COMPACT.get(oid))

/** The types that are read in binary format where their parser is this source's. */
export function compactOids(source: TypeSource = DEFAULTS): number[] {
  const fieldOf = (dataTypeID: number): Field => ({ dataTypeID, format: 'text' }) as Field
  return [20, ...COMPACT.keys()].filter((oid) => compactOf(fieldOf(oid), parserOf(source, fieldOf(oid))))
}

/** `pg-types` as the package came, whatever an application has set there. */
export const ORIGINAL_TYPES: TypeSource = {
  getTypeParser: (oid, format) =>
    format === 'text' ? ((ORIGINAL.get(oid) ?? AS_TEXT) as never) : DEFAULTS.getTypeParser(oid, format),
}

/** How a column is read: by one of the functions here, or by its parser from a text or from bytes. */
function wayOf(field: Field, parser: Parser): string {
  if (field.format === 'binary') return 'parse(Buffer.from(bytes.subarray(at, next)))'
  if (parser === AS_TEXT) return "bytes.toString('utf8', at, next)"
  if (ORIGINAL.get(field.dataTypeID) === parser) {
    switch (field.dataTypeID) {
      case 21:
      case 23:
      case 26:
        return 'readInteger(bytes, at, next)'
      case 700:
      case 701:
        return 'readFloat(bytes, at, next)'
    }
  }
  return "parse(bytes.toString('utf8', at, next))"
}

/** A row ended before or after its message did. */
function badRow(): never {
  throw protocolError('a row’s columns do not fill its message')
}

/** The decoder's text. Names of columns get into it as strings only. */
function sourceOf(
  fields: readonly Field[],
  parsers: readonly Parser[],
  asArray: boolean,
  compact: readonly (Compact | undefined)[],
): string {
  const lines = fields.map((field, index) => {
    const width = compact[index]?.width
    const way =
      width === undefined
        ? wayOf(field, parsers[index]!).replace('parse(', `parse${index}(`)
        : `read${index}(bytes, at, next)`
    const check = width === undefined || width < 0 ? 'next > end' : `length !== ${width} || next > end`
    return (
      `length = bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3]\n` +
      `at += 4\n` +
      `let c${index} = null\n` +
      `if (length >= 0) { next = at + length; if (${check}) badRow(); c${index} = ${way}; at = next }\n` +
      `else if (length !== -1) badRow()\n`
    )
  })
  const columns = fields.map(({ name }, index) => (asArray ? `c${index}` : `[${JSON.stringify(name)}]: c${index}`))
  // A computed name for __proto__ only: others make objects of one hidden class.
  const plain = columns.map((column) =>
    column.startsWith('["__proto__"]') ? column : column.replace(/^\[(".*")\]: /, '$1: '),
  )
  const made = asArray ? `[${columns.join(', ')}]` : `{ ${plain.join(', ')} }`
  return `return (bytes, at, end) => {\nlet length, next\n${lines.join('')}if (at !== end) badRow()\nreturn ${made}\n}`
}

/** Above this number of columns a text of code per shape costs more than it gains. */
const MOST_COLUMNS = 200

function generate(
  fields: readonly Field[],
  parsers: readonly Parser[],
  asArray: boolean,
  compact: readonly (Compact | undefined)[],
): Decoder {
  if (fields.length <= MOST_COLUMNS) {
    try {
      const names = [...parsers.map((_, index) => `parse${index}`), ...parsers.map((_, index) => `read${index}`)]
      // eslint-disable-next-line @typescript-eslint/no-implied-eval
      const make = new Function(
        'readInteger',
        'readFloat',
        'badRow',
        'Buffer',
        ...names,
        sourceOf(fields, parsers, asArray, compact),
      )
      const readers = compact.map((one) => one?.read)
      return (make as unknown as (...parts: unknown[]) => Decoder)(
        readInteger,
        readFloat,
        badRow,
        Buffer,
        ...parsers,
        ...readers,
      )
    } catch (error) {
      // --disallow-code-generation-from-strings
      if (!(error instanceof EvalError)) throw error
    }
  }
  return interpreted(fields, parsers, asArray, compact)
}

/** The same without making code. */
export function interpreted(
  fields: readonly Field[],
  parsers: readonly Parser[],
  asArray: boolean,
  compact: readonly (Compact | undefined)[] = [],
): Decoder {
  return (bytes, start, end) => {
    let at = start
    const values: unknown[] = new Array<unknown>(fields.length)
    for (let index = 0; index < fields.length; index++) {
      if (at + 4 > end) badRow()
      const length = bytes.readInt32BE(at)
      at += 4
      if (length === -1) {
        values[index] = null
        continue
      }
      const next = at + length
      if (length < 0 || next > end) badRow()
      const parse = parsers[index]!
      const direct = compact[index]
      if (direct) {
        if (direct.width >= 0 && length !== direct.width) badRow()
        values[index] = direct.read(bytes, at, next)
      } else {
        values[index] =
          fields[index]!.format === 'binary'
            ? parse(Buffer.from(bytes.subarray(at, next)))
            : parse(bytes.toString('utf8', at, next))
      }
      at = next
    }
    if (at !== end) badRow()
    if (asArray) return values
    // fromEntries makes own properties, whatever the name.
    return Object.fromEntries(fields.map(({ name }, index) => [name, values[index]]))
  }
}

const NONE: readonly never[] = []

/** What a shape is made of. */
interface ShapeParts {
  readonly fields: readonly Field[]
  readonly source: TypeSource
  readonly parsers: readonly Parser[]
  readonly asArray: boolean
  /** The columns as rows have them. */
  readonly named: readonly Field[]
  /** The columns that come in binary format although their fields are given as `pg` gives them, and how they are read. */
  readonly compact: readonly (Compact | undefined)[]
}

/** Columns, and how a row of them is read. */
export class Shape {
  readonly #parts: ShapeParts
  #decode: Decoder | undefined
  #rows = 0
  #compacted: Shape | undefined
  /** The columns' formats as Bind asks for them: 0 text, 1 binary; none where all are texts. */
  readonly formats: readonly number[]

  private constructor(parts: ShapeParts) {
    this.#parts = parts
    this.formats = parts.compact.map((one) => (one ? 1 : 0))
  }

  /** @param rename - what a column is called in rows */
  static of(
    fields: readonly Field[],
    source: TypeSource | undefined,
    asArray: boolean,
    rename?: (name: string) => string,
  ): Shape {
    const from = source ?? DEFAULTS
    return new Shape({
      fields,
      source: from,
      parsers: fields.map((field) => parserOf(from, field)),
      asArray,
      named: rename ? fields.map((field) => ({ ...field, name: rename(field.name) })) : fields,
      compact: NONE,
    })
  }

  get fields(): readonly Field[] {
    return this.#parts.fields
  }

  /** The same columns in the formats of {@link Shape.formats}: the shape itself where texts are as good. */
  get compacted(): Shape {
    if (this.#compacted) return this.#compacted
    const { fields, parsers } = this.#parts
    const compact = fields.map((field, index) => compactOf(field, parsers[index]!))
    this.#compacted = compact.some((one) => one) ? new Shape({ ...this.#parts, compact }) : this
    return this.#compacted
  }

  get asArray(): boolean {
    return this.#parts.asArray
  }

  /** As {@link Shape.compacted}, for a reader elsewhere, who reads these types in binary format. */
  compactedFor(oids: ReadonlySet<number>): Shape {
    const compact = this.fields.map(({ dataTypeID, format }) =>
      format === 'text' && oids.has(dataTypeID) ? byNumber(dataTypeID) : undefined,
    )
    return compact.some((one) => one) ? new Shape({ ...this.#parts, compact }) : this
  }

  /** The same columns in formats that were asked for by somebody else. */
  withFormats(formats: readonly number[]): Shape {
    const compact = this.fields.map(({ dataTypeID }, index) =>
      formats[index] === 1 ? byNumber(dataTypeID) : undefined,
    )
    return compact.some((one) => one) ? new Shape({ ...this.#parts, compact }) : this
  }

  /** Would a reader elsewhere, who has the instance's choices but not what was set here, make the same of its rows? */
  get portable(): boolean {
    const { fields, parsers, source } = this.#parts
    const { isChosen } = source as ChosenTypes
    if (source !== DEFAULTS && !isChosen) return false
    return fields.every(
      ({ dataTypeID, format }, index) =>
        format === 'text' &&
        (isChosen?.(dataTypeID) === true || parsers[index] === (ORIGINAL.get(dataTypeID) ?? AS_TEXT)),
    )
  }

  /** Is it still how rows are to be read? The application may have set another parser, or ask for arrays now. */
  fits(source: TypeSource | undefined, asArray: boolean): boolean {
    const parts = this.#parts
    if ((source ?? DEFAULTS) !== parts.source || asArray !== parts.asArray) return false
    const { fields, parsers } = parts
    for (let index = 0; index < fields.length; index++) {
      if (parserOf(parts.source, fields[index]!) !== parsers[index]) return false
    }
    return true
  }

  /** The row in a DataRow's content. */
  row(bytes: Buffer, start: number, end: number): unknown {
    const { fields, named, parsers, asArray, compact } = this.#parts
    if (end - start < 2 || ((bytes[start]! << 8) | bytes[start + 1]!) !== fields.length) {
      throw protocolError('a row has another number of columns than its description')
    }
    // Code is made where there is more than a row or two to read by it.
    this.#decode ??= ++this.#rows > 2 ? generate(named, parsers, asArray, compact) : undefined
    const decode = this.#decode ?? interpreted(named, parsers, asArray, compact)
    return decode(bytes, start + 2, end)
  }
}

/** Reads a RowDescription's content. */
export function readFields(bytes: Buffer, start: number, end: number): Field[] {
  if (end - start < 2) throw protocolError('a row description has no content')
  const count = bytes.readUInt16BE(start)
  const fields: Field[] = []
  let at = start + 2
  for (let index = 0; index < count; index++) {
    const close = bytes.indexOf(0, at)
    if (close < 0 || close + 19 > end) throw protocolError('a row description ends in the middle of a column')
    fields.push({
      name: bytes.toString('utf8', at, close),
      tableID: bytes.readUInt32BE(close + 1),
      columnID: bytes.readUInt16BE(close + 5),
      dataTypeID: bytes.readUInt32BE(close + 7),
      dataTypeSize: bytes.readInt16BE(close + 11),
      dataTypeModifier: bytes.readInt32BE(close + 13),
      format: bytes.readUInt16BE(close + 17) === 0 ? 'text' : 'binary',
    })
    at = close + 19
  }
  if (at !== end) throw protocolError('a row description is longer than its columns')
  return fields
}
