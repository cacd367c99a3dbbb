/**
 * What a thread hands over: values in V8's own format, but for packed rows, which are taken out of them, change hands
 * without being copied, and are put back in their places on the other side.
 */
import { deserialize, serialize } from 'node:v8'
import { buffersOf, lazyRows, plainRows, untouchedRows, type PackedRows } from '../wire/packed'
import { Shape, type TypeSource } from '../wire/shape'

/** Packed rows, and the keys that lead to their place in the value; none where they are the value. */
export interface PackedPlace {
  readonly path: readonly (string | number)[]
  readonly rows: PackedRows
}

/** A value on its way. */
export type Parcel =
  | { readonly value: unknown }
  /** In V8's own format: it refuses what cannot be cloned while the thread can still say so. */
  | { readonly data: Uint8Array; readonly packed?: readonly PackedPlace[] }

type Holder = Record<string | number, unknown>

/** Takes packed rows out of a value; the returned function puts everything back. */
function takeOut(value: unknown, found: PackedPlace[]): () => void {
  const undo: (() => void)[] = []
  const seen = new Set<object>()
  const visit = (holder: Holder, key: string | number, path: readonly (string | number)[]): void => {
    const inner = holder[key]
    if (typeof inner !== 'object' || inner === null || ArrayBuffer.isView(inner)) return
    const rows = untouchedRows(inner)
    const plain = rows ? undefined : plainRows(inner)
    if (rows || plain) {
      if (rows) found.push({ path: [...path, key], rows })
      undo.push(() => {
        holder[key] = inner
      })
      holder[key] = plain ?? null
      return
    }
    if (seen.has(inner)) return
    seen.add(inner)
    if (inner instanceof Map || inner instanceof Set) {
      within(inner)
      return
    }
    for (const next of Array.isArray(inner) ? inner.keys() : Object.keys(inner))
      visit(inner as Holder, next, [...path, key])
  }
  /** There are no keys that lead into these: what is packed there becomes plain. */
  const within = (inner: Map<unknown, unknown> | Set<unknown>): void => {
    if (inner instanceof Set) return
    for (const [key, one] of inner) {
      const plain = typeof one === 'object' && one !== null ? plainRows(one) : undefined
      if (!plain) continue
      undo.push(() => inner.set(key, one))
      inner.set(key, plain)
    }
  }
  const root = { value }
  visit(root, 'value', [])
  if (root.value !== value) {
    const [place] = found
    if (place) found[0] = { ...place, path: [] }
  } else {
    for (const [at, place] of found.entries()) found[at] = { ...place, path: place.path.slice(1) }
  }
  return () => {
    for (const one of undo) one()
  }
}

/** Makes a parcel of anything. */
export function pack(value: unknown): Parcel {
  const simple =
    (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol') || value === null
  if (simple) return { value }
  const packed: PackedPlace[] = []
  const root = untouchedRows(value as object) ? value : (plainRows(value as object) ?? value)
  const putBack = takeOut(root, packed)
  try {
    const alone = packed[0]?.path.length === 0
    const data = serialize(alone ? null : root)
    return packed.length === 0 ? { data } : { data, packed }
  } finally {
    putBack()
  }
}

/** Opens a parcel; `read` makes an array of packed rows. */
export function open(parcel: Parcel, read: (rows: PackedRows) => unknown[]): unknown {
  if (!('data' in parcel)) return parcel.value
  const root = { value: deserialize(parcel.data) as unknown }
  for (const { path, rows } of parcel.packed ?? []) {
    let holder = root as Holder
    let key: string | number = 'value'
    for (const next of path) {
      holder = holder[key] as Holder
      key = next
    }
    holder[key] = read(rows)
  }
  return root.value
}

/** What of a parcel changes hands instead of being copied; each once, for the same rows may be in several places. */
export const movedWith = (parcel: Parcel): ArrayBuffer[] =>
  'data' in parcel
    ? [...new Set([parcel.data.buffer as ArrayBuffer, ...(parcel.packed ?? []).flatMap(({ rows }) => buffersOf(rows))])]
    : []

/** Makes an array of packed rows. */
export type RowReader = (rows: PackedRows) => unknown[]

/** Makes rows by these parsers, when they are looked at. */
export const readerBy =
  (source: TypeSource | undefined, rename: ((name: string) => string) | undefined): RowReader =>
  (packed) =>
    lazyRows(packed, Shape.of(packed.fields, source, packed.asArray, rename).withFormats(packed.formats))
