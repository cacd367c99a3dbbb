/**
 * Statements of somebody else's making, as `pg` takes them: objects with a `submit` method that speak the protocol by
 * themselves, such as those of `pg-cursor`, `pg-query-stream` and `pg-copy-streams`. They get a {@link WireFace} in
 * place of `pg`'s connection, and hear what the server says to them until ReadyForQuery.
 */
import { EventEmitter } from 'node:events'
import { Duplex } from 'node:stream'
import { PgParallelError } from '../errors'
import { readError, type DatabaseError } from './notice'
import { MessageReader, protocolError } from './reader'
import type { Exchange, Session } from './session'
import { readFields } from './shape'
import type { FieldDef } from '../types'
import { toWire } from './values'
import type { MessageWriter } from './writer'

/** What `pg` asks of such an object; a message that it has no method for is not for it. */
export interface Submittable {
  submit(connection: WireFace): unknown
  handleRowDescription?(message: { fields: FieldDef[] }): void
  handleDataRow?(message: { fields: (string | Buffer | null)[] }): void
  handlePortalSuspended?(connection: WireFace): void
  handleCommandComplete?(message: { text: string }, connection: WireFace): void
  handleEmptyQuery?(connection: WireFace): void
  handleCopyInResponse?(connection: WireFace): void
  handleCopyData?(message: { chunk: Buffer }, connection: WireFace): void
  handleReadyForQuery?(connection: WireFace): void
  handleError(error: Error, connection: WireFace): void
}

/** Is it one? */
export const isSubmittable = (value: unknown): value is Submittable =>
  typeof value === 'object' && value !== null && typeof (value as { submit?: unknown }).submit === 'function'

/** The events of `pg`'s connection, by the types of the messages. */
const EVENTS: Readonly<Record<number, string>> = {
  0x31: 'parseComplete',
  0x32: 'bindComplete',
  0x43: 'commandComplete',
  0x44: 'dataRow',
  0x45: 'errorMessage',
  0x47: 'copyInResponse',
  0x48: 'copyOutResponse',
  0x49: 'emptyQuery',
  0x54: 'rowDescription',
  0x5a: 'readyForQuery',
  0x63: 'copyDone',
  0x64: 'copyData',
  0x6e: 'noData',
  0x73: 'portalSuspended',
}

/**
 * The bytes of the connection that belong to the statement, in both directions: what the server says to it can be read
 * here, and what is written here goes to the server. `pg-copy-streams` takes them without the messages' handlers.
 */
class ByteFace extends Duplex {
  readonly #session: Session
  readonly #isOpen: () => boolean

  constructor(session: Session, isOpen: () => boolean) {
    super({ allowHalfOpen: true })
    this.#session = session
    this.#isOpen = isOpen
  }

  /** Hands over a message; the server waits where nobody reads. */
  deliver(type: number, bytes: Buffer, start: number, end: number): void {
    const whole = Buffer.allocUnsafe(5 + end - start)
    whole[0] = type
    whole.writeInt32BE(4 + end - start, 1)
    bytes.copy(whole, 5, start, end)
    if (!this.push(whole)) this.#session.pause()
  }

  override _read(): void {
    this.#session.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, then: (error?: Error | null) => void): void {
    if (!this.#isOpen()) {
      // What is said after the end would be taken for the next statement's.
      then()
      return
    }
    this.#session.writer.raw(chunk)
    this.#session.drained(then)
  }
}

/** `pg`'s connection, as far as such objects use it: what it is told goes to the server, and its events are `pg`'s. */
export class WireFace extends EventEmitter {
  readonly stream: Duplex
  readonly #session: Session
  readonly #isOpen: () => boolean

  /** @internal */
  constructor(session: Session, isOpen: () => boolean, stream: Duplex) {
    super()
    this.#session = session
    this.#isOpen = isOpen
    this.stream = stream
  }

  /** What is said after the end would be taken for the next statement's: it is dropped, and nothing answers it. */
  #say(what: (writer: MessageWriter) => void): void {
    if (!this.#isOpen()) return
    what(this.#session.writer)
    this.#session.flush()
  }

  query(text: string): void {
    this.#say((writer) => {
      writer.query(text)
    })
  }

  parse({ text, name = '' }: { text: string; name?: string }): void {
    this.#say((writer) => {
      writer.parse(name, text)
    })
  }

  bind(config: BindConfig): void {
    const { portal = '', statement = '', values, binary, valueMapper } = config
    const wire = (values ?? []).map((value, index) => toWire(valueMapper ? valueMapper(value, index) : value))
    this.#say((writer) => {
      writer.bind(portal, statement, wire, binary ? [1] : [])
    })
  }

  describe({ type, name = '' }: { type: 'S' | 'P'; name?: string }): void {
    this.#say((writer) => {
      writer.describe(type, name)
    })
  }

  execute({ portal = '', rows = 0 }: { portal?: string; rows?: number }): void {
    this.#say((writer) => {
      writer.execute(portal, rows)
    })
  }

  close({ type, name = '' }: { type: 'S' | 'P'; name?: string }): void {
    this.#say((writer) => {
      writer.close(type, name)
    })
  }

  flush(): void {
    this.#say((writer) => {
      writer.flush()
    })
  }

  sync(): void {
    this.#say((writer) => {
      writer.sync()
    })
  }

  sendCopyFromChunk(chunk: Buffer): void {
    this.#say((writer) => {
      writer.copyData(chunk)
    })
  }

  endCopyFrom(): void {
    this.#say((writer) => {
      writer.copyDone()
    })
  }

  sendCopyFail(reason: string): void {
    this.#say((writer) => {
      writer.copyFail(reason)
    })
  }
}

/** What `bind` is told. */
export interface BindConfig {
  portal?: string
  statement?: string
  values?: readonly unknown[] | null
  binary?: boolean
  valueMapper?: (value: unknown, index: number) => unknown
}

/** See the top of the file. */
export class Submitted implements Exchange {
  readonly #statement: Submittable
  readonly #over: (error: Error | undefined) => void
  #face: WireFace | undefined
  #bytes: ByteFace | undefined
  #fields: FieldDef[] = []
  /** The server has not said ReadyForQuery. */
  #open = true
  #error: Error | undefined
  /** ReadyForQuery was passed on. */
  #heardAll = false

  /** @param over - called when the statement has heard everything, with the server's error if there was one */
  constructor(statement: Submittable, over: (error: Error | undefined) => void) {
    this.#statement = statement
    this.#over = over
  }

  write(session: Session): void {
    const isOpen = (): boolean => this.#open
    const bytes = new ByteFace(session, isOpen)
    this.#bytes = bytes
    this.#face = new WireFace(session, isOpen, bytes)
    const reader = new MessageReader((type, chunk, start, end) => {
      this.#hear(type, chunk, start, end)
    })
    bytes.on('data', (chunk: Buffer) => {
      try {
        if (chunk.length > 0) reader.push(chunk)
      } catch (error) {
        // What the statement's own code throws is not ours to catch.
        if (!(error instanceof PgParallelError)) throw error
        session.destroy(error)
      }
    })
    const refused = this.#statement.submit(this.#face)
    if (refused instanceof Error) throw refused
  }

  message(type: number, bytes: Buffer, start: number, end: number): void {
    this.#bytes?.deliver(type, bytes, start, end)
  }

  error(error: DatabaseError, _session: Session, bytes: Buffer, start: number, end: number): void {
    this.#error ??= error
    this.#bytes?.deliver(0x45, bytes, start, end)
  }

  ready(session: Session): void {
    this.#open = false
    session.resume()
    this.#bytes?.deliver(0x5a, Buffer.from(session.status), 0, 1)
  }

  lost(error: Error): void {
    this.#open = false
    if (this.#heardAll) return
    this.#heardAll = true
    if (!this.#failed) this.#statement.handleError(error, this.#face as WireFace)
    this.#over(error)
  }

  #hear(type: number, bytes: Buffer, start: number, end: number): void {
    const face = this.#face!
    const statement = this.#statement
    const message = this.#messageOf(type, bytes, start, end)
    switch (type) {
      case 0x54:
        statement.handleRowDescription?.(message as { fields: FieldDef[] })
        break
      case 0x44:
        statement.handleDataRow?.(message as { fields: (string | Buffer | null)[] })
        break
      case 0x73:
        statement.handlePortalSuspended?.(face)
        break
      case 0x43:
        statement.handleCommandComplete?.(message as { text: string }, face)
        break
      case 0x49:
        statement.handleEmptyQuery?.(face)
        break
      case 0x47:
        statement.handleCopyInResponse?.(face)
        break
      case 0x64:
        statement.handleCopyData?.(message as { chunk: Buffer }, face)
        break
      case 0x45:
        // As in pg, the statement hears nothing more of it then.
        if (!this.#failed) statement.handleError(message as Error, face)
        this.#failed = true
        break
      case 0x5a:
        if (!this.#failed) statement.handleReadyForQuery?.(face)
        break
    }
    const event = EVENTS[type]
    if (event !== undefined) face.emit(event, message)
    if (type !== 0x5a || this.#heardAll) return
    this.#heardAll = true
    this.#over(this.#error)
  }

  /** An error was passed on. */
  #failed = false

  /** A message as `pg` parses it. */
  #messageOf(type: number, bytes: Buffer, start: number, end: number): unknown {
    switch (type) {
      case 0x54:
        this.#fields = readFields(bytes, start, end)
        return { fields: this.#fields, fieldCount: this.#fields.length }
      case 0x44:
        return { fields: this.#row(bytes, start, end) }
      case 0x43:
        return { text: bytes.toString('utf8', start, end - 1) }
      case 0x64:
        return { chunk: Buffer.from(bytes.subarray(start, end)) }
      case 0x45:
        return readError(bytes, start, end)
      case 0x5a:
        return { status: String.fromCharCode(bytes[start]!) }
      default:
        return {}
    }
  }

  #row(bytes: Buffer, start: number, end: number): (string | Buffer | null)[] {
    const count = bytes.readUInt16BE(start)
    const values: (string | Buffer | null)[] = []
    let at = start + 2
    for (let index = 0; index < count; index++) {
      const length = at + 4 <= end ? bytes.readInt32BE(at) : -2
      at += 4
      if (length === -1) {
        values.push(null)
        continue
      }
      if (length < 0 || at + length > end) throw protocolError('a row’s columns do not fill its message')
      const binary = this.#fields[index]?.format === 'binary'
      values.push(binary ? Buffer.from(bytes.subarray(at, at + length)) : bytes.toString('utf8', at, at + length))
      at += length
    }
    return values
  }
}
