/**
 * Cuts what arrives into messages and hands each over where it lies: nothing is copied but a message that came in
 * parts. Lengths are checked before anything is believed.
 */
import { PgParallelError } from '../errors'

/** PostgreSQL itself sends no message of a gigabyte or more. */
export const LARGEST_MESSAGE = 0x4000_0000
/** Messages other than rows, copied data and errors are short. */
const LARGEST_OTHER = 1 << 24

/** One side broke the protocol; the connection is given up. */
export const protocolError = (message: string): PgParallelError =>
  new PgParallelError(message, {
    category: 'protocol',
    code: '08P01',
    transient: false,
    infrastructure: true,
    connectionDead: true,
  })

/** Gets a message: its type, and where its content begins and ends in `bytes`. They are good during the call only. */
export type OnMessage = (type: number, bytes: Buffer, start: number, end: number) => void

/** A message may have any length as far as its type goes. */
const mayBeLong = (type: number): boolean =>
  type === 0x44 || type === 0x64 || type === 0x45 || type === 0x4e || type === 0x54 || type === 0x41

/** See the top of the file. */
export class MessageReader {
  /** Who gets the messages: the greeting first, then the session. */
  onMessage: OnMessage
  /** The beginning of a message whose end has not arrived. */
  #rest: Buffer | undefined
  #length = 0

  constructor(onMessage: OnMessage) {
    this.onMessage = onMessage
  }

  /** Takes what has arrived. Throws a protocol error; after that nothing more can be read. */
  push(chunk: Buffer): void {
    let at = 0
    while (this.#rest && at < chunk.length) at = this.#complete(chunk, at)
    if (!this.#rest) this.#read(chunk, at)
  }

  /** Adds to the message that came in parts; returns how far the chunk is used up. */
  #complete(chunk: Buffer, at: number): number {
    let rest = this.#rest!
    const wanted = this.#length < 5 ? 5 : 1 + lengthAt(rest, 0)
    const take = Math.min(wanted - this.#length, chunk.length - at)
    if (this.#length + take > rest.length) {
      // As much as has arrived, doubled: what a length says is no reason to take that much memory.
      const larger = Buffer.allocUnsafe(Math.min(Math.max(wanted, 64), Math.max(rest.length * 2, this.#length + take)))
      rest.copy(larger, 0, 0, this.#length)
      this.#rest = rest = larger
    }
    chunk.copy(rest, this.#length, at, at + take)
    this.#length += take
    if (this.#length >= 5 && this.#length === 1 + lengthAt(rest, 0)) {
      const length = this.#length
      this.#rest = undefined
      this.onMessage(rest[0]!, rest, 5, length)
    }
    return at + take
  }

  #read(chunk: Buffer, from: number): void {
    const end = chunk.length
    let at = from
    while (at + 5 <= end) {
      const next = at + 1 + lengthAt(chunk, at)
      if (next > end) break
      this.onMessage(chunk[at]!, chunk, at + 5, next)
      at = next
    }
    if (at === end) return
    this.#length = end - at
    this.#rest = Buffer.allocUnsafe(Math.max(64, this.#length))
    chunk.copy(this.#rest, 0, at, end)
  }
}

/** The length of the message that begins at `at`, its own four bytes included. */
function lengthAt(bytes: Buffer, at: number): number {
  const length = (bytes[at + 1]! << 24) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 8) | bytes[at + 4]!
  const type = bytes[at]!
  if (length < 4) throw protocolError(`a message of type ${type} has length ${length}`)
  if (length > LARGEST_MESSAGE || (length > LARGEST_OTHER && !mayBeLong(type))) {
    throw protocolError(`a message of type ${type} claims ${length} bytes, which is too long`)
  }
  return length
}
