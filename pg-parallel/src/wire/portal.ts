/**
 * A portal: a running statement on the server whose rows are asked for batch by batch.
 *
 * Without a name it lives within one round trip: after each batch a Flush instead of a Sync, and the connection does
 * nothing else until the end. With a name (in a transaction) each batch ends with a Sync, and `read` submits the
 * portal again for the next one.
 */
import { PgParallelError } from '../errors'
import type { DatabaseError } from './notice'
import { lazyRows, RowPacker } from './packed'
import { protocolError } from './reader'
import type { Exchange, Session } from './session'
import { readFields, Shape } from './shape'
import { copyRefusal } from './statement'
import { toWire } from './values'

/** One row, as an object. */
export type Row = Record<string, unknown>

const BINARY: readonly number[] = [1]
const TEXT: readonly number[] = []

/** See the top of the file. */
export class Portal implements Exchange {
  readonly text: string
  readonly #values: readonly unknown[]
  readonly #batchSize: number
  readonly #name: string
  readonly #packed: boolean
  #packer: RowPacker | undefined
  #shape: Shape | undefined
  #rows: Row[] = []
  #waiting: { resolve: (rows: Row[] | undefined) => void; reject: (error: unknown) => void } | undefined
  /** running: rows are on their way; suspended: the next batch can be asked for; ending: it is being closed. */
  #state: 'new' | 'running' | 'suspended' | 'ending' | 'over' = 'new'
  #error: unknown
  #synced = false
  #copying = false
  sent = false
  /** Rows that cannot be read on this side. */
  answered = false

  /** @param packed - batches are packed rows, to be made when they are looked at */
  constructor(text: string, values: readonly unknown[], batchSize: number, name: string, packed = false) {
    this.#packed = packed
    this.text = text
    this.#values = values
    this.#batchSize = batchSize
    this.#name = name
  }

  // --- called by the session

  write(session: Session): void {
    const { writer } = session
    this.#synced = false
    if (this.#state === 'ending') {
      writer.close('P', this.#name)
    } else {
      if (this.#state === 'new') this.#open(session)
      this.#state = 'running'
      writer.execute(this.#name, this.#batchSize)
    }
    if (this.#name === '') writer.flush()
    else this.#sync(session)
    this.sent = true
  }

  #open({ writer, options }: Session): void {
    const values = this.#values.map((value) => toWire(value))
    writer.parse('', this.text)
    writer.bind(this.#name, '', values, options.binary ? BINARY : TEXT)
    writer.describe('P', this.#name)
  }

  message(type: number, bytes: Buffer, start: number, end: number, session: Session): void {
    switch (type) {
      case 0x44: // DataRow
        this.#row(bytes, start, end)
        return
      case 0x54: // RowDescription
        this.#shape = Shape.of(readFields(bytes, start, end), session.options.types, false, session.options.rename)
        return
      case 0x73: // PortalSuspended
        this.#suspended(session)
        return
      case 0x43: // CommandComplete
      case 0x49: // EmptyQueryResponse
        this.#state = 'ending'
        this.#sync(session)
        return
      case 0x47: // CopyInResponse
        this.#copying = true
        session.writer.copyFail('there is no source of data')
        // With a name the Sync went out before, and the server has ignored it as part of the data.
        if (this.#name !== '') session.writer.sync()
        session.flush()
        return
      case 0x48: // CopyOutResponse
      case 0x64: // CopyData
      case 0x63: // CopyDone
        this.answered = true
        this.#error ??= copyRefusal('TO STDOUT')
        return
      case 0x31: // ParseComplete
      case 0x32: // BindComplete
      case 0x6e: // NoData
        return
      default:
        throw protocolError(`an answer of type ${String.fromCharCode(type)} to a portal`)
    }
  }

  #row(bytes: Buffer, start: number, end: number): void {
    if (this.#error !== undefined) return
    if (!this.#shape) throw protocolError('a row came without its description')
    if (this.#count >= this.#batchSize) throw protocolError('more rows came than were asked for')
    if (this.#packed) {
      this.#packer ??= new RowPacker()
      this.#packer.add(bytes, start, end, this.#shape.fields.length)
      return
    }
    try {
      this.#rows.push(this.#shape.row(bytes, start, end) as Row)
    } catch (error) {
      if (error instanceof PgParallelError && error.category === 'protocol') throw error
      this.answered = true
      this.#error = error
    }
  }

  /** Rows that have arrived and are not handed over. */
  get #count(): number {
    return this.#packer?.count ?? this.#rows.length
  }

  #suspended(session: Session): void {
    if (this.#name !== '') {
      this.#state = 'suspended'
      return
    }
    if (this.#error !== undefined || this.#state === 'ending') {
      session.writer.close('P', '')
      this.#sync(session)
      return
    }
    this.#state = 'suspended'
    this.#deliver()
  }

  error(error: DatabaseError, session: Session): void {
    this.#error ??= this.#copying ? copyRefusal('FROM STDIN', error) : error
    this.#sync(session)
  }

  ready(): void {
    if (this.#state === 'over') return
    if (this.#state !== 'suspended' || this.#error !== undefined) this.#state = 'over'
    this.#deliver()
  }

  lost(error: Error): void {
    this.#error ??= error
    this.#state = 'over'
    this.#deliver()
  }

  // --- called by the reader

  /** The next batch; undefined after the last. */
  read(session: Session): Promise<Row[] | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      if (this.#state === 'new' || (this.#state === 'suspended' && this.#name !== '')) {
        session.submit(this)
      } else if (this.#state === 'suspended' && this.#count === 0) {
        this.#state = 'running'
        session.writer.execute('', this.#batchSize)
        session.writer.flush()
        session.flush()
      } else {
        this.#deliver()
      }
    })
  }

  /** The reader waits no longer; what the server still says is dropped. */
  giveUp(reason: unknown): void {
    this.#error ??= reason
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.reject(reason)
  }

  /** Stops reading: the server is told to close the portal, now or at the end of the running batch. */
  end(session: Session): void {
    const before = this.#state
    if (before === 'new' || before === 'ending') return
    if (this.#name === '') {
      if (before === 'over') return
      this.#state = 'ending'
      if (before !== 'suspended') return
      session.writer.close('P', '')
      this.#sync(session)
    } else if (this.#error === undefined && before !== 'running') {
      // Also one that was read to its end: the server keeps it until the transaction is over.
      this.#state = 'ending'
      session.submit(this)
    }
  }

  /** Ends the round trip: the server answers with ReadyForQuery. */
  #sync(session: Session): void {
    if (this.#synced) return
    this.#synced = true
    session.writer.sync()
    session.flush()
  }

  #deliver(): void {
    const waiting = this.#waiting
    if (!waiting || this.#state === 'running' || this.#state === 'new') return
    // What arrived before an error is still good, but a caller must not take it for everything.
    if (this.#error !== undefined) {
      if (this.#state !== 'over') return
      this.#waiting = undefined
      waiting.reject(this.#error)
      return
    }
    if (this.#count > 0) {
      this.#waiting = undefined
      const shape = this.#shape
      const rows = this.#packer && shape ? (lazyRows(this.#packer.finish(shape), shape) as Row[]) : this.#rows
      this.#rows = []
      this.#packer = undefined
      waiting.resolve(rows)
    } else if (this.#state === 'over') {
      this.#waiting = undefined
      waiting.resolve(undefined)
    }
  }
}
