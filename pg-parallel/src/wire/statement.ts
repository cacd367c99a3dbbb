/** One statement: by the simple protocol where it is a text alone, by the extended one where it has values or a name. */
import { ErrorUtils, PgParallelError } from '../errors'
import { natureOf } from '../policy/replay'
import type { DatabaseError } from './notice'
import { lazyRows, RowPacker, unpack } from './packed'
import type { Prepared } from './prepared'
import { protocolError } from './reader'
import { addTag, emptyResult, type Result } from './result'
import type { Exchange, Session } from './session'
import { readFields, Shape, type TypeSource } from './shape'
import { toWire } from './values'
import type { WireValue } from './writer'

/** What is to be run. */
export interface StatementConfig {
  readonly text?: string | undefined
  /** A prepared statement's name. */
  readonly name?: string | undefined
  readonly values?: readonly unknown[] | undefined
  readonly rowMode?: string | undefined
  readonly types?: TypeSource | undefined
  readonly binary?: boolean | undefined
  /** As in pg: the extended protocol also without values. */
  readonly queryMode?: string | undefined
  /** False: this statement is not prepared, however often it comes. */
  readonly prepare?: boolean | undefined
  readonly packed?: Packing | undefined
}

/** Rows are kept as they came, to be made when they are looked at. */
export interface Packing {
  /** The types to ask for in binary format. */
  readonly oids: ReadonlySet<number>
  /** The reader reads them by its own parsers. Else only rows are kept that every thread of the instance reads alike, and not just a few. */
  readonly always: boolean
}

/** Called once with how a statement ended: a result, or one for each statement of a script. */
export type StatementEnd = (error: Error | null, result?: Result | Result[]) => void

/** COPY needs a stream of data on this side, which neither a query nor a portal has. Nothing was written by it. */
export function copyRefusal(direction: 'FROM STDIN' | 'TO STDOUT', cause?: unknown): PgParallelError {
  return new PgParallelError(
    `COPY ${direction} is not supported: there is nowhere for its data to come from or go to`,
    {
      category: 'statement',
      // The server's own word for it is "canceled by the user", which would count as a time limit.
      transient: false,
      infrastructure: false,
      connectionDead: false,
      cause,
    },
  )
}

/** The result is larger than the caller is ready to hold. */
const tooLarge = (what: string): PgParallelError =>
  new PgParallelError(`the result is larger than ${what}: the connection is closed`, {
    category: 'resource',
    transient: false,
    infrastructure: false,
    connectionDead: true,
    retryable: false,
  })

const TEXT: readonly number[] = []
const BINARY: readonly number[] = [1]
/** The first words of a single statement that only has rows to give. */
/** Fewer rows are not worth being kept packed. */
const FEW_ROWS = 50
const QUERIES = new Set(['select', 'values', 'table', 'with'])

/** See the top of the file. */
export class Statement implements Exchange {
  readonly #config: StatementConfig
  readonly #values: readonly unknown[] | undefined
  readonly #done: StatementEnd
  readonly #partOfBatch: boolean
  readonly #mayBeginAnew: boolean
  /** False as long as nothing that could take effect was sent. */
  sent = false
  /** The server did its part, and reading the answer failed on this side. */
  answered = false
  /** The server does not have the prepared statement, has another one of that name, or no plan for it: nothing of it has run. */
  lostStatement = false
  #over = false
  #error: Error | undefined
  #copying = false
  #result = emptyResult()
  /** A script's results before this one. */
  #results: Result[] | undefined
  /** The result is complete: what comes belongs to the script's next one. */
  #complete = false
  #shape: Shape | undefined
  #prepared: Prepared | undefined
  /** It is prepared for the first time. */
  #parsing = false
  /** It goes by the extended protocol. */
  #extended = false
  /** The server has found the prepared statement, taken the values and made a plan: what fails now has been running. */
  #bound = false
  #bytes = 0
  #packer: RowPacker | undefined

  /**
   * @param partOfBatch - it is one of several before a Sync, by the extended protocol
   * @param mayBeginAnew - its sender sends it again where a prepared statement’s plan has gone stale
   */
  constructor(
    config: StatementConfig,
    values: readonly unknown[] | undefined,
    done: StatementEnd,
    partOfBatch = false,
    mayBeginAnew = false,
  ) {
    this.#mayBeginAnew = mayBeginAnew
    this.#partOfBatch = partOfBatch
    this.#config = config
    this.#values = values ?? config.values
    this.#done = done
  }

  get #mustBeExtended(): boolean {
    const { name, text, queryMode } = this.#config
    if (this.#partOfBatch || queryMode === 'extended' || name) return true
    return Boolean(text) && this.#values !== undefined && this.#values.length > 0
  }

  /** A query without values that comes again is worth being prepared, and its rows may come in binary format. */
  #comesAgain(session: Session): boolean {
    const { text, prepare } = this.#config
    const { maxPrepared, seen } = session.options
    if (!this.#mayBeginAnew || prepare === false || maxPrepared === 0 || session.forgetful || !text) return false
    return QUERIES.has(natureOf(text).first ?? '') && seen.again(text)
  }

  get #binary(): boolean {
    return this.#config.binary === true
  }

  write(session: Session): void {
    const { writer } = session
    const { text, name } = this.#config
    const values = this.#values
    if (typeof text !== 'string' && !name) throw new TypeError('A query must have either text or a name.')
    if (values !== undefined && !Array.isArray(values)) throw new TypeError('Query values must be an array')
    this.#extended = this.#mustBeExtended || this.#comesAgain(session)
    if (!this.#extended) {
      writer.query(text!)
      this.sent = true
      return
    }
    const wire: WireValue[] = []
    if (values) for (let index = 0; index < values.length; index++) wire.push(toWire(values[index]))
    let formats = this.#binary || (this.#config.binary === undefined && session.options.binary) ? BINARY : TEXT
    const prepared = this.#prepare(session)
    const statement = prepared?.name ?? ''
    if (this.#parsing || !prepared) writer.parse(statement, text ?? '')
    const shape = prepared?.shape
    const known = !this.#parsing && shape !== undefined && formats === TEXT
    if (known && shape) {
      const fitting = shape.fits(this.#types(session), this.#asArray) ? shape : this.#reshaped(session, shape)
      if (fitting !== shape) prepared.shape = fitting
      const { packed } = this.#config
      this.#shape = packed ? fitting.compactedFor(packed.oids) : fitting.compacted
      formats = this.#shape.formats
      this.#result.fields = this.#shape.fields as never
    }
    if (known && prepared && !this.#partOfBatch) {
      writer.run(prepared.wireName, wire, formats)
      this.sent = true
      return
    }
    writer.bind('', statement, wire, formats)
    // What its rows look like is asked once for a prepared statement, and every time for others.
    if (!known) writer.describe('P', '')
    writer.execute('', 0)
    if (!this.#partOfBatch) writer.sync()
    this.sent = true
  }

  #types(session: Session): TypeSource | undefined {
    return this.#config.types ?? session.options.types
  }

  get #asArray(): boolean {
    return this.#config.rowMode === 'array'
  }

  #reshaped(session: Session, shape: Shape): Shape {
    return Shape.of(shape.fields, this.#types(session), this.#asArray, session.options.rename)
  }

  /** The prepared statement to use, if any; `#parsing` says whether it is to be made now. */
  #prepare(session: Session): Prepared | undefined {
    const { text, name, prepare } = this.#config
    const { prepared, options } = session
    // The name saves the server work, and means nothing to the statement: behind a pooler it goes without.
    if (name && !(session.forgetful && text)) {
      const found = prepared.ofName(name)
      if (found && text && found.text !== text) {
        throw new Error(`Prepared statements must be unique - '${name}' was used for a different statement`)
      }
      if (!found && text === undefined) {
        throw new Error(
          `No statement is prepared as '${name}' on this connection, and the query has no text to prepare`,
        )
      }
      this.#parsing = !found
      return (this.#prepared = found ?? prepared.addNamed(name, text ?? ''))
    }
    if (prepare === false || options.maxPrepared === 0 || session.forgetful) return undefined
    const found = prepared.ofText(text!)
    if (!found && !options.seen.again(text!)) return undefined
    // Those that come behind it use it at once: should its Parse fail, theirs fails with 26000 and begins anew.
    this.#parsing = !found
    return (this.#prepared = found ?? prepared.addText(text!))
  }

  message(type: number, bytes: Buffer, start: number, end: number, session: Session): void {
    switch (type) {
      case 0x44: // DataRow
        this.#row(bytes, start, end, session)
        return
      case 0x43: // CommandComplete
        addTag(this.#begin(), bytes, start, end)
        this.#unpack()
        this.#complete = true
        return
      case 0x31: // ParseComplete
        this.#parsing = false
        return
      case 0x32: // BindComplete
        this.#bound = true
        return
      case 0x54: {
        // RowDescription
        const result = this.#begin()
        const fields = readFields(bytes, start, end)
        try {
          this.#shape = Shape.of(fields, this.#types(session), this.#asArray, session.options.rename)
        } catch (error) {
          this.#unreadable(error)
        }
        result.fields = fields
        if (this.#prepared && this.#shape && fields.every((field) => field.format === 'text'))
          this.#prepared.shape = this.#shape
        return
      }
      case 0x6e: // NoData
        this.#begin()
        if (this.#prepared) this.#prepared.shape = null
        return
      case 0x49: // EmptyQueryResponse
        this.#begin()
        this.#complete = true
        return
      case 0x47: // CopyInResponse
        this.#copying = true
        session.writer.copyFail('there is no source of data')
        // The Sync of the extended protocol went out before, and the server has ignored it as part of the data.
        if (this.#extended) session.writer.sync()
        session.flush()
        return
      case 0x48: // CopyOutResponse
      case 0x64: // CopyData
      case 0x63: // CopyDone
        this.#unreadable(copyRefusal('TO STDOUT'))
        return
      default:
        throw protocolError(`an answer of type ${String.fromCharCode(type)} to a statement`)
    }
  }

  /** The result that what comes belongs to: a script has several. */
  #begin(): Result {
    if (!this.#complete) return this.#result
    this.#complete = false
    this.#results ??= []
    this.#results.push(this.#result)
    this.#result = emptyResult()
    this.#shape = undefined
    return this.#result
  }

  #row(bytes: Buffer, start: number, end: number, session: Session): void {
    const { maxRows, maxResultBytes } = session.options
    this.#bytes += end - start
    const { rows } = this.#result
    if (this.#bytes > maxResultBytes || (this.#packer?.count ?? rows.length) >= maxRows) {
      this.#unreadable(
        tooLarge(
          this.#bytes > maxResultBytes ? `${maxResultBytes} bytes (maxResultBytes)` : `${maxRows} rows (maxRows)`,
        ),
      )
      session.destroy(new Error('Connection terminated: the result before this one was too large'))
      return
    }
    if (!this.#shape) {
      if (this.#error) return
      throw protocolError('a row came without its description')
    }
    if (this.#error) return
    if (this.#config.packed && !this.#binary && !session.options.binary) {
      this.#packer ??= new RowPacker()
      this.#packer.add(bytes, start, end, this.#shape.fields.length)
      return
    }
    try {
      rows.push(this.#shape.row(bytes, start, end))
    } catch (error) {
      if (error instanceof PgParallelError && error.category === 'protocol') throw error
      this.#unreadable(error)
    }
  }

  /** The result's rows are all there. Few of them are made at once. */
  #unpack(): void {
    const packer = this.#packer
    const shape = this.#shape
    if (!packer || !shape || this.#error) return
    this.#packer = undefined
    try {
      const packed = packer.finish(shape)
      const keep = this.#config.packed?.always === true || (packed.count >= FEW_ROWS && shape.portable)
      this.#result.rows = keep ? lazyRows(packed, shape) : unpack(packed, shape)
    } catch (error) {
      this.#unreadable(error)
    }
  }

  #unreadable(error: unknown): void {
    if (this.#error) return
    this.answered = true
    this.#error = error instanceof Error ? error : new Error(String(error))
  }

  error(error: DatabaseError, session: Session): void {
    if (this.#error) return
    this.#error = this.#copying ? copyRefusal('FROM STDIN', error) : error
    const prepared = this.#prepared
    if (!prepared) return
    if (this.#parsing) prepared.failed = true
    // Behind BindComplete the same codes come from what the statement itself did: `EXECUTE`, say.
    this.lostStatement = !this.#bound && (ErrorUtils.isStalePlan(error) || error.code === '42P05')
    if (this.#parsing || this.lostStatement) session.prepared.drop(prepared)
    // A pooler has put another server session behind ours, where our statement is not, or somebody else's is. What was
    // dropped is closed together with the next Parse, so that the name is free then. (A plan that the server has
    // thrown away is no pooler's doing.)
    const pooled = this.lostStatement && error.code !== '0A000'
    if (pooled && !prepared.failed) session.forgetful = true
  }

  /** A statement before it failed, so that the server has not even looked at this one. */
  skipped(session: Session): void {
    if (!this.#prepared || !this.#parsing) return
    this.#prepared.failed = true
    session.prepared.drop(this.#prepared)
  }

  ready(): void {
    if (this.#over) return
    this.#over = true
    if (this.#error) {
      this.#done(this.#error)
      return
    }
    this.#done(null, this.#results ? [...this.#results, this.#result] : this.#result)
  }

  lost(error: Error): void {
    if (this.#over) return
    this.#over = true
    this.#done(this.#error ?? error)
  }
}
