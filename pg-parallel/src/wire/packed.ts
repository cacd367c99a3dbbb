/**
 * Rows that are kept as they came, and made when they are looked at. What they consist of are ArrayBuffers, which can
 * change hands between threads without being copied.
 */
import type { FieldDef } from '../types'
import { protocolError } from './reader'
import type { Shape } from './shape'

/** Rows one behind the other, each as in its DataRow. */
export interface Segment {
  readonly bytes: Uint8Array
  /** Where each row ends; the first begins at 0. */
  readonly ends: Uint32Array
}

/** Rows that came as messages, and what is needed to read them. */
export interface PackedRows {
  readonly segments: readonly Segment[]
  readonly count: number
  readonly fields: readonly FieldDef[]
  /** The columns' formats: 0 text, 1 binary; none where all are texts. */
  readonly formats: readonly number[]
  readonly asArray: boolean
}

const FIRST_BYTES = 16_384
const MOST_BYTES = 1 << 22
const FIRST_ROWS = 256

/** Takes rows out of messages, whose bytes are good during the call only. */
export class RowPacker {
  readonly #segments: Segment[] = []
  #bytes = new Uint8Array(FIRST_BYTES)
  #at = 0
  #ends = new Uint32Array(FIRST_ROWS)
  #rows = 0
  #before = 0

  get count(): number {
    return this.#before + this.#rows
  }

  /** Adds a DataRow's content, which must consist of `columns` columns that fill it. */
  add(bytes: Buffer, start: number, end: number, columns: number): void {
    let at = start + 2
    if (end < at || ((bytes[start]! << 8) | bytes[start + 1]!) !== columns) {
      throw protocolError('a row has another number of columns than its description')
    }
    for (let index = 0; index < columns; index++) {
      const length = at + 4 <= end ? bytes.readInt32BE(at) : -2
      at += length > 0 ? 4 + length : 4
      if (length < -1 || at > end) throw protocolError('a row’s columns do not fill its message')
    }
    if (at !== end) throw protocolError('a row’s columns do not fill its message')
    const size = end - start
    if (this.#at + size > this.#bytes.length) this.#close(size)
    if (this.#rows === this.#ends.length) {
      const more = new Uint32Array(this.#rows * 2)
      more.set(this.#ends)
      this.#ends = more
    }
    bytes.copy(this.#bytes, this.#at, start, end)
    this.#at += size
    this.#ends[this.#rows++] = this.#at
  }

  /** Begins another segment, with room for so many bytes. */
  #close(room: number): void {
    if (this.#rows > 0) {
      this.#segments.push({ bytes: this.#bytes, ends: this.#ends.slice(0, this.#rows) })
      this.#before += this.#rows
    }
    this.#bytes = new Uint8Array(Math.max(room, Math.min(this.#bytes.length * 2, MOST_BYTES)))
    this.#at = 0
    this.#ends = new Uint32Array(FIRST_ROWS)
    this.#rows = 0
  }

  /** All rows. */
  finish(shape: Shape): PackedRows {
    const { count } = this
    if (this.#rows > 0) this.#segments.push({ bytes: this.#bytes, ends: this.#ends.slice(0, this.#rows) })
    const { fields, formats, asArray } = shape
    return { segments: this.#segments, count, fields, formats, asArray }
  }
}

/** What of packed rows changes hands instead of being copied. */
export const buffersOf = ({ segments }: PackedRows): ArrayBuffer[] =>
  segments.flatMap(({ bytes, ends }) => [bytes.buffer as ArrayBuffer, ends.buffer as ArrayBuffer])

/** All rows, made at once. */
export function unpack(packed: PackedRows, shape: Shape): unknown[] {
  const rows: unknown[] = []
  for (const { bytes, ends } of packed.segments) {
    const buffer = asBuffer(bytes)
    let start = 0
    for (const end of ends) {
      rows.push(shape.row(buffer, start, end))
      start = end
    }
  }
  return rows
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The packed rows behind arrays of {@link lazyRows}, and what has been looked at. */
interface Behind {
  readonly packed: PackedRows
  /** No row was made yet. */
  untouched: boolean
  readonly all: () => unknown[]
}
const behind = new WeakMap<object, Behind>()

/** Packed rows of which nobody has looked at one; undefined for anything else. */
export function untouchedRows(value: object): PackedRows | undefined {
  const known = behind.get(value)
  return known?.untouched ? known.packed : undefined
}

/** Is it an array of {@link lazyRows}? As a plain array then, which can be cloned. */
export const plainRows = (value: object): unknown[] | undefined => behind.get(value)?.all()

const INDEX = /^(?:0|[1-9]\d{0,9})$/

/**
 * An array of rows, each of which is made when it is looked at first, and kept. It is an array to everybody
 * (`Array.isArray`, `map`, `for … of`, JSON) but to `structuredClone`, which takes no proxies: `Array.from` makes a plain
 * one.
 */
export function lazyRows(packed: PackedRows, shape: Shape): unknown[] {
  const { segments, count } = packed
  const buffers = segments.map(({ bytes }) => asBuffer(bytes))
  const target = new Array<unknown>(count)
  /** Rows that are still to be made; 0 when everything is in `target` and the array is like any other. */
  let left = count
  /** The first row of the segment that was looked into last, and its number. */
  let place = 0
  let first = 0
  const make = (index: number): unknown => {
    if (index < first) place = first = 0
    while (index - first >= segments[place]!.ends.length) first += segments[place++]!.ends.length
    const { ends } = segments[place]!
    const at = index - first
    const row = shape.row(buffers[place]!, at === 0 ? 0 : ends[at - 1]!, ends[at]!)
    known.untouched = false
    target[index] = row
    left--
    return row
  }
  const all = (): unknown[] => {
    if (left > 0) for (let index = 0; index < count; index++) if (target[index] === undefined) make(index)
    return target
  }
  const isRow = (key: string | symbol): key is string =>
    left > 0 && typeof key === 'string' && INDEX.test(key) && Number(key) < count
  const known: Behind = { packed, untouched: true, all }
  const changing = (): void => {
    all()
    known.untouched = false
  }
  const rows = new Proxy(target, {
    get(array, key, receiver) {
      if (isRow(key)) return array[Number(key)] ?? make(Number(key))
      return Reflect.get(array, key, receiver) as unknown
    },
    has: (array, key) => isRow(key) || Reflect.has(array, key),
    set(array, key, value) {
      changing()
      return Reflect.set(array, key, value)
    },
    defineProperty(array, key, descriptor) {
      changing()
      return Reflect.defineProperty(array, key, descriptor)
    },
    deleteProperty(array, key) {
      changing()
      return Reflect.deleteProperty(array, key)
    },
    ownKeys(array) {
      all()
      return Reflect.ownKeys(array)
    },
    getOwnPropertyDescriptor(array, key) {
      if (isRow(key)) all()
      return Reflect.getOwnPropertyDescriptor(array, key)
    },
  })
  behind.set(rows, known)
  return rows
}
