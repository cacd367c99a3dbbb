/**
 * A session on an open socket: what is asked goes out in order, what comes in belongs to the oldest question that is
 * not answered. Several may be under way; each ends with the server's ReadyForQuery.
 */
import type { Duplex } from 'node:stream'
import { protocolError, type OnMessage } from './reader'
import { readError, readNotice, type DatabaseError, type Notice } from './notice'
import { PreparedStatements, type SeenTexts } from './prepared'
import type { TypeSource } from './shape'
import { MessageWriter } from './writer'

/** Transaction status: idle, in a transaction, in one that failed. */
export type Status = 'I' | 'T' | 'E'

/** A question to the server, and who gets its answer. */
export interface Exchange {
  /** Puts it on the wire. What it throws is its own end: nothing of it was sent. */
  write(session: Session): void
  /** A message that belongs to it; `type` is none of those that end it. */
  message(type: number, bytes: Buffer, start: number, end: number, session: Session): void
  /** The server reports an error, whose message is in `bytes`; ReadyForQuery follows. */
  error(error: DatabaseError, session: Session, bytes: Buffer, start: number, end: number): void
  /** ReadyForQuery: it is over. */
  ready(session: Session): void
  /** The connection is gone before that. */
  lost(error: Error): void
}

/** What a session may use. */
export interface SessionOptions {
  readonly types?: TypeSource | undefined
  /** What a column is called in rows. */
  readonly rename?: ((name: string) => string) | undefined
  /** Results in binary format, for parsers that want them so. */
  readonly binary: boolean
  /** Statements that are prepared because they come again; 0 for none. */
  readonly maxPrepared: number
  readonly seen: SeenTexts
  readonly maxResultBytes: number
  readonly maxRows: number
  /** How long after an error the server may take to be ready again. */
  readonly errorTimeoutMs: number
}

/** Who wants to hear of what belongs to no question. */
export interface SessionEvents {
  /** The session cannot be used any more; called once. */
  failed(error: Error): void
  /** The socket is closed; called once, after `failed`. */
  gone(): void
  notice?: ((notice: Notice) => void) | undefined
  notification?: ((channel: string, payload: string, processID: number) => void) | undefined
}

/** 1 at the types of messages that there are. */
const EXPECTED = new Uint8Array(256)
for (const type of Buffer.from('123nstTDCIGHWdcVZ')) EXPECTED[type] = 1

/** What ReadyForQuery says; undefined where that is nothing known. */
const statusOf = (byte: number | undefined): Status | undefined =>
  byte === 0x49 ? 'I' : byte === 0x54 ? 'T' : byte === 0x45 ? 'E' : undefined

/** See the top of the file. */
export class Session {
  readonly writer = new MessageWriter()
  readonly prepared: PreparedStatements
  readonly options: SessionOptions
  readonly parameters: Map<string, string>
  /** The server forgets statements between two of ours, as a pooler in transaction mode does: none is prepared. */
  forgetful = false
  readonly #socket: Duplex
  readonly #events: SessionEvents
  /** Questions under way, the oldest at `#first`. */
  #queue: Exchange[] = []
  #first = 0
  #status: Status = 'I'
  #failure: Error | undefined
  /** What the server said before it closed the connection. */
  #lastWord: Error | undefined
  #gone = false
  #scheduled = false
  #ending = false
  #errorTimer: NodeJS.Timeout | undefined
  #onSettled: (() => void)[] = []

  constructor(
    socket: Duplex,
    options: SessionOptions,
    parameters: Map<string, string>,
    status: Status,
    events: SessionEvents,
  ) {
    this.#socket = socket
    this.options = options
    this.parameters = parameters
    this.#status = status
    this.#events = events
    this.prepared = new PreparedStatements(options.maxPrepared)
  }

  get status(): Status {
    return this.#status
  }

  get failure(): Error | undefined {
    return this.#failure
  }

  get gone(): boolean {
    return this.#gone
  }

  /** Something may be sent. */
  get usable(): boolean {
    return this.#failure === undefined && !this.#ending && this.#socket.writable
  }

  /** Something was written that is sent at the end of the tick. */
  get speaking(): boolean {
    return this.#scheduled
  }

  /** Nothing is under way. */
  get settled(): boolean {
    return this.#first === this.#queue.length
  }

  /** The question that the server is answering. */
  get current(): Exchange | undefined {
    return this.#queue[this.#first]
  }

  /** Asks something. The answer goes to the exchange. */
  submit(exchange: Exchange): void {
    if (!this.usable) {
      const error = this.#failure ?? new Error('Connection terminated')
      process.nextTick(() => {
        exchange.lost(error)
      })
      return
    }
    for (const name of this.prepared.takeLeftOver()) this.writer.close('S', name)
    const mark = this.writer.mark
    try {
      exchange.write(this)
    } catch (error) {
      this.writer.undo(mark)
      process.nextTick(() => {
        exchange.lost(error as Error)
      })
      return
    }
    this.#queue.push(exchange)
    this.flush()
  }

  /** Sends what was written, together with everything else that this tick has to say. */
  flush(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    process.nextTick(this.#send)
  }

  readonly #send = (): void => {
    this.#scheduled = false
    const { writer } = this
    if (writer.length === 0 || this.#gone) return
    if (this.#socket.writable) this.#socket.write(writer.take())
    // Where the kernel has taken everything at once, the buffer is free again.
    writer.reuse(this.#socket.writableLength === 0)
  }

  /** Sends what was written; calls back when the kernel has taken it, or nothing will be taken any more. */
  drained(then: () => void): void {
    this.#send()
    if (!this.#socket.writableNeedDrain || this.#failure) {
      then()
      return
    }
    const over = (): void => {
      this.#socket.off('drain', over)
      this.#socket.off('close', over)
      then()
    }
    this.#socket.on('drain', over)
    this.#socket.on('close', over)
  }

  /** Reads nothing from the socket, so that the server has to wait. */
  pause(): void {
    this.#socket.pause()
  }

  /** Goes on reading. */
  resume(): void {
    this.#socket.resume()
  }

  /** Takes a message. */
  readonly hear: OnMessage = (type, bytes, start, end) => {
    // What still comes on a connection that was given up is nobody's; its error may be the reason, said late.
    if (this.#failure && type !== 0x45) return
    switch (type) {
      case 0x5a: {
        // ReadyForQuery
        if (end - start !== 1) throw protocolError('ReadyForQuery has no status')
        const status = statusOf(bytes[start])
        if (status === undefined) throw protocolError(`transaction status ${bytes[start]}`)
        this.#status = status
        this.#ready()
        return
      }
      case 0x45: {
        const error = readError(bytes, start, end)
        const { current } = this
        if (error.severity === 'FATAL' || error.severity === 'PANIC') this.#lastWord = error
        if (current) {
          this.#errorTimer ??= setTimeout(() => {
            this.destroy(new Error('the failed statement’s round trip did not end in time'))
          }, this.options.errorTimeoutMs)
          current.error(error, this, bytes, start, end)
        }
        return
      }
      case 0x4e:
        this.#events.notice?.(readNotice(bytes, start, end))
        return
      case 0x53: {
        const [name, value] = strings(bytes, start, end)
        if (this.parameters.size > 1_000) throw protocolError('the server reports more than a thousand parameters')
        this.parameters.set(name ?? '', value ?? '')
        return
      }
      case 0x41: {
        if (end - start < 6) throw protocolError('a notification without a channel')
        const [channel, payload] = strings(bytes, start + 4, end)
        this.#events.notification?.(channel ?? '', payload ?? '', bytes.readUInt32BE(start))
        return
      }
      default: {
        const { current } = this
        if (type === 0x33) return // CloseComplete asks nothing of anybody
        if (EXPECTED[type] !== 1) throw protocolError(`a message of unknown type ${type}`)
        if (!current) throw protocolError(`an answer of type ${String.fromCharCode(type)} to nothing that was asked`)
        current.message(type, bytes, start, end, this)
      }
    }
  }

  #ready(): void {
    const { current } = this
    if (!current) throw protocolError('ReadyForQuery without anything that was asked')
    if (this.#errorTimer) {
      clearTimeout(this.#errorTimer)
      this.#errorTimer = undefined
    }
    this.#queue[this.#first] = undefined as never
    if (++this.#first === this.#queue.length) {
      this.#queue.length = this.#first = 0
    } else if (this.#first > 1_024) {
      this.#queue = this.#queue.slice(this.#first)
      this.#first = 0
    }
    current.ready(this)
    if (this.#onSettled.length > 0 && this.settled) for (const then of this.#onSettled.splice(0)) then()
  }

  /** Calls back when nothing is under way any more. */
  whenSettled(then: () => void): void {
    if (this.settled || this.#failure) then()
    else this.#onSettled.push(then)
  }

  /** The socket reports an error, or its end. */
  lost(error: Error): void {
    this.#fail(this.#lastWord ?? error)
    this.#socket.destroy()
  }

  /** The socket is closed. */
  closed(): void {
    if (this.#gone) return
    this.#fail(
      this.#lastWord ?? new Error(this.#ending ? 'Connection terminated' : 'Connection terminated unexpectedly'),
    )
    this.#gone = true
    this.#events.gone()
  }

  #fail(error: Error): void {
    clearTimeout(this.#errorTimer)
    if (!this.#failure) {
      this.#failure = error
      this.#events.failed(error)
    }
    const left = this.#queue.slice(this.#first)
    this.#queue.length = this.#first = 0
    for (const exchange of left) exchange.lost(error)
    for (const then of this.#onSettled.splice(0)) then()
  }

  /** Gives the connection up at once. */
  destroy(error: Error): void {
    this.#fail(error)
    this.#socket.destroy()
  }

  /** Says goodbye; the server closes the socket when it has done what was asked before. */
  end(): void {
    if (this.#ending || this.#gone) return
    this.#ending = true
    this.writer.terminate()
    this.#send()
    this.#socket.end()
  }
}

/** Texts that end with a NUL each. */
export function strings(bytes: Buffer, start: number, end: number): string[] {
  const found: string[] = []
  let at = start
  while (at < end) {
    const close = bytes.indexOf(0, at)
    if (close < 0 || close >= end) throw protocolError('a text has no end')
    found.push(bytes.toString('utf8', at, close))
    at = close + 1
  }
  return found
}
