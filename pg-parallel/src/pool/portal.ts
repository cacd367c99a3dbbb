/**
 * A portal: a running statement on the server whose rows are asked for batch by batch. To `pg.Client` it is a
 * submittable, like a query.
 *
 * Without a name it lives within one round trip: after each batch a Flush instead of a Sync, and the connection does
 * nothing else until the end. With a name (in a transaction) each batch ends with a Sync, and `read` submits the
 * portal again for the next one.
 */
import type { Connection } from './connection'
import { copyRefusal, PgResult, pgUtils, type ResultBuilder, type WireConnection } from './statement'

/** One row as `pg` makes it. */
export type Row = Record<string, unknown>

/** See the top of the file. */
export class Portal {
  readonly text: string
  readonly #values: readonly unknown[]
  readonly #batchSize: number
  readonly #name: string
  /** `pg.Client` finds the type parsers' place here, and fills it in. */
  readonly _result: ResultBuilder = new PgResult()
  /** Set by `pg.Client` where its option says so. */
  binary = false
  #wire: WireConnection | undefined
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

  constructor(text: string, values: readonly unknown[], batchSize: number, name: string) {
    this.text = text
    this.#values = values
    this.#batchSize = batchSize
    this.#name = name
  }

  // --- called by pg.Client

  submit(wire: WireConnection): Error | null {
    this.#wire = wire
    this.#synced = false
    wire.stream.cork()
    try {
      if (this.#state === 'ending') {
        wire.close({ type: 'P', name: this.#name })
      } else {
        if (this.#state === 'new') this.#open(wire)
        this.#state = 'running'
        wire.execute({ portal: this.#name, rows: this.#batchSize })
      }
      if (this.#name === '') wire.flush()
      else this.#sync(wire)
      this.sent = true
    } catch (error) {
      // A value that cannot be converted: the round trip ends here, and with it the call.
      this.handleError(error, wire)
    } finally {
      wire.stream.uncork()
    }
    return null
  }

  #open(wire: WireConnection): void {
    this.#state = 'running'
    wire.parse({ text: this.text })
    wire.bind({ portal: this.#name, values: this.#values, binary: this.binary, valueMapper: pgUtils.prepareValue })
    wire.describe({ type: 'P', name: this.#name })
  }

  handleRowDescription(message: { fields: unknown }): void {
    this._result.addFields(message.fields)
  }

  handleDataRow(message: { fields: unknown }): void {
    if (this.#error !== undefined) return
    try {
      this.#rows.push(this._result.parseRow(message.fields))
    } catch (error) {
      this.answered = true
      this.#error = error
    }
  }

  handlePortalSuspended(wire: WireConnection): void {
    if (this.#name !== '') {
      this.#state = 'suspended'
      return
    }
    if (this.#error !== undefined || this.#state === 'ending') {
      wire.close({ type: 'P', name: '' })
      this.#sync(wire)
      return
    }
    this.#state = 'suspended'
    this.#deliver()
  }

  handleCommandComplete(_message: unknown, wire: WireConnection): void {
    this.#state = 'ending'
    this.#sync(wire)
  }

  handleEmptyQuery(wire: WireConnection): void {
    this.#state = 'ending'
    this.#sync(wire)
  }

  handleCopyInResponse(wire: WireConnection): void {
    this.#copying = true
    wire.sendCopyFail('there is no source of data')
    // With a name the Sync went out before, and the server has ignored it as part of the data.
    if (this.#name !== '') wire.sync()
  }

  handleCopyData(): void {
    this.answered = true
    this.#error ??= copyRefusal('TO STDOUT')
  }

  handleError(error: unknown, wire: WireConnection): void {
    this.#error ??= this.#copying ? copyRefusal('FROM STDIN', error) : error
    if (this.#state !== 'over') this.#sync(wire)
    // pg tells nobody about the end of a round trip that failed.
    this.#state = 'over'
    this.#deliver()
  }

  handleReadyForQuery(): void {
    if (this.#state === 'over') return
    if (this.#state !== 'suspended' || this.#error !== undefined) this.#state = 'over'
    this.#deliver()
  }

  // --- called by the reader

  /** The next batch; undefined after the last. */
  read(connection: Connection): Promise<Row[] | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      if (this.#state === 'new' || (this.#state === 'suspended' && this.#name !== '')) {
        connection.send(this)
      } else if (this.#state === 'suspended' && this.#rows.length === 0) {
        this.#state = 'running'
        this.#wire?.execute({ portal: '', rows: this.#batchSize })
        this.#wire?.flush()
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
  end(connection: Connection): void {
    const before = this.#state
    if (before === 'new' || before === 'ending') return
    if (this.#name === '') {
      if (before === 'over') return
      this.#state = 'ending'
      if (before !== 'suspended' || !this.#wire) return
      this.#wire.close({ type: 'P', name: '' })
      this.#sync(this.#wire)
    } else if (this.#error === undefined && before !== 'running') {
      // Also one that was read to its end: the server keeps it until the transaction is over.
      this.#state = 'ending'
      connection.send(this)
    }
  }

  /** Ends the round trip: the server answers with ReadyForQuery. */
  #sync(wire: WireConnection): void {
    if (this.#synced) return
    this.#synced = true
    wire.sync()
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
    if (this.#rows.length > 0) {
      this.#waiting = undefined
      const rows = this.#rows
      this.#rows = []
      waiting.resolve(rows)
    } else if (this.#state === 'over') {
      this.#waiting = undefined
      waiting.resolve(undefined)
    }
  }
}
