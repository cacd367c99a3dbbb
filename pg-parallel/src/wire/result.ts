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

/** Puts a CommandComplete's tag into a result. */
export function addTag(result: Result, bytes: Buffer, start: number, end: number): void {
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
