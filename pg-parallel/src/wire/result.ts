/** What a statement comes to, as `pg` has it. It is plain data, so that it can be sent to another thread. */
import type { Field } from './shape'

/** See the top of the file. */
export interface Result {
  command: string | null
  rowCount: number | null
  oid: number | null
  rows: unknown[]
  fields: Field[]
}

export const emptyResult = (): Result => ({ command: null, rowCount: null, oid: null, rows: [], fields: [] })

const TAG = /^([A-Za-z]+)(?: (\d+))?(?: (\d+))?/
/** Tags are few: "SELECT 1" comes again and again. */
const known = new Map<string, RegExpExecArray | null>()

/** The tag that came last, with its bytes: mostly the next one is the same. */
let lastBytes = Buffer.alloc(0)
let lastCommand: string | null = null
let lastCount: number | null = null

/** Puts a CommandComplete's tag into a result. */
export function addTag(result: Result, bytes: Buffer, start: number, end: number): void {
  if (isLast(bytes, start, end)) {
    result.command = lastCommand
    result.rowCount = lastCount
    return
  }
  readTag(result, bytes, start, end)
  if (result.oid !== null) return
  lastBytes = Buffer.from(bytes.subarray(start, end))
  lastCommand = result.command
  lastCount = result.rowCount
}

function isLast(bytes: Buffer, start: number, end: number): boolean {
  const { length } = lastBytes
  if (length !== end - start) return false
  for (let at = 0; at < length; at++) if (bytes[start + at] !== lastBytes[at]) return false
  return length > 0
}

function readTag(result: Result, bytes: Buffer, start: number, end: number): void {
  const tag = bytes.toString('latin1', start, end - 1)
  let match = known.get(tag)
  if (match === undefined) {
    match = TAG.exec(tag)
    if (known.size > 1_000) known.clear()
    known.set(tag, match)
  }
  if (!match) return
  const [, command, first, second] = match
  result.command = command ?? null
  if (second !== undefined) {
    result.oid = Number(first)
    result.rowCount = Number(second)
  } else if (first !== undefined) {
    result.rowCount = Number(first)
  }
}
