/** ErrorResponse and NoticeResponse: what the server says in words. */
import type { ServerErrorFields } from '../errors'
import { protocolError } from './reader'

/** The fields of an error or a notice, by their letters in the protocol, under the names that `pg`'s users know. */
const FIELDS: Readonly<Record<string, keyof ServerFields>> = {
  S: 'severity',
  C: 'code',
  D: 'detail',
  H: 'hint',
  P: 'position',
  p: 'internalPosition',
  q: 'internalQuery',
  W: 'where',
  s: 'schema',
  t: 'table',
  c: 'column',
  d: 'dataType',
  n: 'constraint',
  F: 'file',
  L: 'line',
  R: 'routine',
}

/** What an error or a notice may carry. */
export interface ServerFields extends ServerErrorFields {
  code?: string
}

/** A notice. */
export interface Notice extends ServerFields {
  readonly message: string
}

/** An error that the server reported. */
export class DatabaseError extends Error implements ServerFields {
  override readonly name = 'error'
  declare severity?: string
  declare code?: string
  declare detail?: string
  declare hint?: string
  declare position?: string
  declare internalPosition?: string
  declare internalQuery?: string
  declare where?: string
  declare schema?: string
  declare table?: string
  declare column?: string
  declare dataType?: string
  declare constraint?: string
  declare file?: string
  declare line?: string
  declare routine?: string

  constructor(notice: Notice) {
    super(notice.message)
    for (const [name, value] of Object.entries(notice)) {
      if (name !== 'message') this[name as keyof ServerFields] = value as string
    }
  }
}

/** Reads an ErrorResponse's or NoticeResponse's content. */
export function readNotice(bytes: Buffer, start: number, end: number): Notice {
  const notice: ServerFields & { message: string } = { message: '' }
  let at = start
  while (at < end && bytes[at] !== 0) {
    const letter = String.fromCharCode(bytes[at]!)
    const close = bytes.indexOf(0, at + 1)
    if (close < 0 || close >= end) throw protocolError('an error of the server has no end')
    const text = bytes.toString('utf8', at + 1, close)
    const name = FIELDS[letter]
    if (letter === 'M') notice.message = text
    else if (name) notice[name] = text
    at = close + 1
  }
  return notice
}

/** The error that an ErrorResponse reports. */
export const readError = (bytes: Buffer, start: number, end: number): DatabaseError => {
  const { stackTraceLimit } = Error
  // Where a message was read leads nowhere; the caller's own stack is put on later.
  Error.stackTraceLimit = 0
  const error = new DatabaseError(readNotice(bytes, start, end))
  Error.stackTraceLimit = stackTraceLimit
  return error
}
