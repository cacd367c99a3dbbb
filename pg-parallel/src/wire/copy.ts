/** COPY: one statement whose data goes to the server, or comes from it, between its beginning and its end. */
import { PgParallelError } from '../errors'
import type { DatabaseError } from './notice'
import { protocolError } from './reader'
import { addTag, emptyResult } from './result'
import type { Exchange, Session } from './session'

/** `in`: FROM STDIN; `out`: TO STDOUT. */
export type CopyDirection = 'in' | 'out'

/** Who is told how it goes. */
export interface CopyEvents {
  /** The server is ready for data, or about to send it. */
  begun(): void
  /** A piece of what the server sends; the bytes are good during the call only. */
  data(bytes: Buffer, start: number, end: number): void
  /** Called once: it is over, with an error or the number of rows. */
  ended(error: Error | undefined, rowCount: number | null): void
}

const wrong = (message: string): PgParallelError => new PgParallelError(message, { category: 'configuration' })

/** See the top of the file. */
export class Copy implements Exchange {
  readonly #text: string
  readonly #direction: CopyDirection
  readonly #events: CopyEvents
  readonly #result = emptyResult()
  #session: Session | undefined
  /** begun: data may be sent, or comes; done: everything was said on this side. */
  #state: 'new' | 'begun' | 'done' | 'over' = 'new'
  #error: Error | undefined
  /** It can have had an effect: before the end of its data was sent, what came in is not kept. */
  sent = false
  readonly answered = false

  constructor(text: string, direction: CopyDirection, events: CopyEvents) {
    this.#text = text
    this.#direction = direction
    this.#events = events
  }

  // --- called by the session

  write(session: Session): void {
    this.#session = session
    session.writer.query(this.#text)
    this.sent = this.#direction === 'out'
  }

  message(type: number, bytes: Buffer, start: number, end: number, session: Session): void {
    switch (type) {
      case 0x47: // CopyInResponse
        if (this.#direction === 'in' && this.#state === 'new' && !this.#error) {
          this.#begin()
          return
        }
        this.#error ??= wrong('copyTo() is for COPY … TO STDOUT, and one statement: use copyFrom() to send data')
        session.writer.copyFail('there is no source of data')
        session.flush()
        return
      case 0x48: // CopyOutResponse
        if (this.#direction === 'out' && this.#state === 'new' && !this.#error) this.#begin()
        else this.#error ??= wrong('copyFrom() is for COPY … FROM STDIN, and one statement: use copyTo() to get data')
        return
      case 0x64: // CopyData
        if (this.#direction === 'out' && !this.#error) this.#events.data(bytes, start, end)
        return
      case 0x63: // CopyDone
        return
      case 0x43: // CommandComplete
        addTag(this.#result, bytes, start, end)
        if (this.#direction === 'in') this.sent = true
        if (this.#state === 'new') this.#noCopy()
        return
      case 0x54: // RowDescription
      case 0x44: // DataRow
      case 0x49: // EmptyQueryResponse
        this.#noCopy()
        return
      default:
        throw protocolError(`an answer of type ${String.fromCharCode(type)} to COPY`)
    }
  }

  #noCopy(): void {
    this.#error ??= wrong(
      this.#direction === 'in' ? 'the statement is no COPY … FROM STDIN' : 'the statement is no COPY … TO STDOUT',
    )
  }

  #begin(): void {
    this.#state = 'begun'
    this.#events.begun()
  }

  error(error: DatabaseError): void {
    this.#error ??= error
  }

  ready(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#events.ended(this.#error, this.#result.rowCount)
  }

  lost(error: Error): void {
    this.#error ??= error
    this.ready()
  }

  // --- called by whoever has the data

  /** More may be sent, or is still to come. */
  get running(): boolean {
    return this.#state === 'begun'
  }

  /** Sends a piece; `then` is called when there is room for the next one, or the connection is gone. */
  send(pieces: readonly Buffer[], then: () => void): void {
    const session = this.#session
    if (!this.running || !session) {
      then()
      return
    }
    for (const piece of pieces) session.writer.copyData(piece)
    session.drained(then)
  }

  /** All data was sent. */
  finish(): void {
    if (!this.running) return
    this.#state = 'done'
    this.sent = true
    this.#session?.writer.copyDone()
    this.#session?.flush()
  }

  /** Nobody wants it any more: the server is told to undo it, and what it still sends is dropped. */
  giveUp(reason: Error): void {
    this.#error ??= reason
    const session = this.#session
    if (this.#direction === 'in' && this.running && session) {
      this.#state = 'done'
      session.writer.copyFail('the client gave it up')
      session.flush()
    }
    session?.resume()
  }

  /** The server is to send nothing for now; what is on its way still comes. */
  pause(): void {
    this.#session?.pause()
  }

  resume(): void {
    this.#session?.resume()
  }
}
