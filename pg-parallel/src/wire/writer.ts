/**
 * Messages to the server, written one after the other into a buffer that is sent as a whole: one write for everything
 * that a tick has to say.
 */
import { randomBytes } from 'node:crypto'

const FIRST_SIZE = 4_096
/** A buffer that has grown beyond this is not kept. */
const LARGEST_KEPT = 1 << 20
/** Texts up to this length are written without leaving JavaScript, as long as they are ASCII. */
const SHORT = 48

/** A parameter as it is sent: null, a text, or bytes in the type's binary format. */
export type WireValue = string | Buffer | null

const EXECUTE_AND_SYNC = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4])

/** See the top of the file. */
export class MessageWriter {
  #bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  #at = 0

  /** Bytes that wait to be sent. */
  get length(): number {
    return this.#at
  }

  /** A place to come back to with {@link MessageWriter.undo}. */
  get mark(): number {
    return this.#at
  }

  /** Forgets what was written since `mark`. */
  undo(mark: number): void {
    this.#at = mark
  }

  /** What is to be sent now. The bytes stay as they are until {@link MessageWriter.reuse} is called, or a new buffer taken. */
  take(): Buffer {
    return this.#bytes.subarray(0, this.#at)
  }

  /** Begins anew; `sent` says that the bytes taken are no longer needed. */
  reuse(sent: boolean): void {
    this.#at = 0
    if (!sent || this.#bytes.length > LARGEST_KEPT) this.#bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  }

  #room(more: number): void {
    const needed = this.#at + more
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }

  /** Begins a message; returns the place of its length. */
  #begin(type: number): number {
    this.#room(64)
    this.#bytes[this.#at] = type
    const place = this.#at + 1
    this.#at += 5
    return place
  }

  #end(place: number): void {
    this.#int32At(place, this.#at - place)
  }

  #int32At(at: number, value: number): void {
    const bytes = this.#bytes
    bytes[at] = value >>> 24
    bytes[at + 1] = value >>> 16
    bytes[at + 2] = value >>> 8
    bytes[at + 3] = value
  }

  #int32(value: number): void {
    this.#room(4)
    this.#int32At(this.#at, value)
    this.#at += 4
  }

  #int16(value: number): void {
    this.#room(2)
    this.#bytes[this.#at++] = value >>> 8
    this.#bytes[this.#at++] = value
  }

  /** A text without its end. */
  #text(text: string): void {
    const { length } = text
    this.#room(length * 3 + 1)
    const start = this.#at
    if (length <= SHORT) {
      const bytes = this.#bytes
      let at = start
      let index = 0
      for (; index < length; index++) {
        const code = text.charCodeAt(index)
        if (code > 127) break
        bytes[at++] = code
      }
      if (index === length) {
        this.#at = at
        return
      }
    }
    this.#at = start + this.#bytes.write(text, start, 'utf8')
  }

  #cstring(text: string): void {
    this.#text(text)
    this.#room(1)
    this.#bytes[this.#at++] = 0
  }

  #empty(type: number): void {
    this.#end(this.#begin(type))
  }

  /** The first message of a session; `version` as two numbers in one. */
  startup(version: number, parameters: Readonly<Record<string, string>>): void {
    const place = this.#at
    this.#int32(0)
    this.#int32(version)
    for (const [name, value] of Object.entries(parameters)) {
      this.#cstring(name)
      this.#cstring(value)
    }
    this.#room(1)
    this.#bytes[this.#at++] = 0
    this.#end(place)
  }

  sslRequest(): void {
    this.#int32(8)
    this.#int32(80_877_103)
  }

  cancelRequest(processID: number, secretKey: Buffer): void {
    this.#int32(12 + secretKey.length)
    this.#int32(80_877_102)
    this.#int32(processID)
    this.raw(secretKey)
  }

  /** Bytes as they are, made by somebody else who knows the protocol. */
  raw(bytes: Buffer): void {
    this.#room(bytes.length)
    bytes.copy(this.#bytes, this.#at)
    this.#at += bytes.length
  }

  password(text: string): void {
    const place = this.#begin(0x70)
    this.#cstring(text)
    this.#end(place)
  }

  saslInitial(mechanism: string, response: string): void {
    const place = this.#begin(0x70)
    this.#cstring(mechanism)
    this.#int32(Buffer.byteLength(response))
    this.#text(response)
    this.#end(place)
  }

  saslResponse(response: string): void {
    const place = this.#begin(0x70)
    this.#text(response)
    this.#end(place)
  }

  query(text: string): void {
    const place = this.#begin(0x51)
    this.#cstring(text)
    this.#end(place)
  }

  parse(name: string, text: string): void {
    const place = this.#begin(0x50)
    this.#cstring(name)
    this.#cstring(text)
    this.#int16(0)
    this.#end(place)
  }

  /** `formats` of the result's columns: none for text, one for all, or one for each. */
  bind(portal: string, statement: string, values: readonly WireValue[], formats: readonly number[]): void {
    const place = this.#begin(0x42)
    this.#cstring(portal)
    this.#cstring(statement)
    this.#values(values)
    this.#int16(formats.length)
    for (const format of formats) this.#int16(format)
    this.#end(place)
  }

  /** Bind's parameters, with their formats. */
  #values(values: readonly WireValue[]): void {
    const count = values.length
    let binary = false
    for (let index = 0; index < count; index++) if (typeof values[index] === 'object' && values[index]) binary = true
    if (binary) {
      this.#int16(count)
      for (let index = 0; index < count; index++) this.#int16(values[index] instanceof Buffer ? 1 : 0)
    } else {
      this.#int16(0)
    }
    this.#int16(count)
    for (let index = 0; index < count; index++) {
      const value = values[index] as WireValue
      if (value === null) {
        this.#int32(-1)
      } else if (typeof value === 'string') {
        this.#int32(0)
        const start = this.#at
        this.#text(value)
        this.#int32At(start - 4, this.#at - start)
      } else {
        this.#int32(value.length)
        this.raw(value)
      }
    }
  }

  /**
   * Bind, Execute for all rows, and Sync, of a statement that comes again: what is the same each time is there as bytes.
   *
   * @param statement - its name, with the NUL at its end
   */
  run(statement: Buffer, values: readonly WireValue[], formats: readonly number[]): void {
    const place = this.#begin(0x42)
    this.#bytes[this.#at++] = 0
    this.#copy(statement)
    this.#values(values)
    this.#int16(formats.length)
    for (let index = 0; index < formats.length; index++) this.#int16(formats[index]!)
    this.#end(place)
    this.#copy(EXECUTE_AND_SYNC)
  }

  /** Few bytes, copied without leaving JavaScript. */
  #copy(few: Buffer): void {
    const { length } = few
    this.#room(length)
    const bytes = this.#bytes
    let at = this.#at
    for (let index = 0; index < length; index++) bytes[at++] = few[index]!
    this.#at = at
  }

  describe(kind: 'S' | 'P', name: string): void {
    this.#named(0x44, kind, name)
  }

  close(kind: 'S' | 'P', name: string): void {
    this.#named(0x43, kind, name)
  }

  #named(type: number, kind: 'S' | 'P', name: string): void {
    const place = this.#begin(type)
    this.#bytes[this.#at++] = kind.charCodeAt(0)
    this.#cstring(name)
    this.#end(place)
  }

  /** `rows`: 0 for all. */
  execute(portal: string, rows: number): void {
    const place = this.#begin(0x45)
    this.#cstring(portal)
    this.#int32(rows)
    this.#end(place)
  }

  sync(): void {
    this.#empty(0x53)
  }

  flush(): void {
    this.#empty(0x48)
  }

  terminate(): void {
    this.#empty(0x58)
  }

  copyData(data: Buffer): void {
    const place = this.#begin(0x64)
    this.raw(data)
    this.#end(place)
  }

  copyDone(): void {
    this.#empty(0x63)
  }

  copyFail(reason: string): void {
    const place = this.#begin(0x66)
    this.#cstring(reason)
    this.#end(place)
  }
}

/** Nobody else's prepared statements have names that begin like this. */
export const newPrefix = (): string => `pgp_${randomBytes(6).toString('hex')}_`
