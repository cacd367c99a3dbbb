/**
 * COPY as Node streams: `copyFrom` gives a stream to write to, `copyTo` one to read from. Both ways wait for the slower
 * side: a server that does not keep up stops the writer, a reader that does not keep up stops the server.
 *
 * Once data has begun to flow nothing is tried again. A COPY FROM whose end was not sent yet has left no trace when it
 * fails; after that only the server's answer tells.
 */
import { Readable, Writable } from 'node:stream'
import type { Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import type { CallOptions } from './options'
import type { Deadline, DeadlineOptions } from './policy/deadline'
import { tokensOf } from './policy/lexer'
import { natureOf, type StatementNature } from './policy/replay'
import { RetryUtils } from './policy/retry'
import { judge, verdictError } from './policy/verdict'
import type { Connection } from './pool/connection'
import { checkSendable, refusedBy } from './query'
import { Sql } from './sql'
import { Copy, type CopyDirection, type CopyEvents } from './wire/copy'

/** Where a COPY runs: on a connection of the pool, or on that of a transaction. */
export interface CopyPlace {
  readonly text: string
  readonly cancelTimeoutMs: number
  /** Called once before everything else; the first deadline to pass ends the COPY. */
  begin(): readonly (Deadline | undefined)[]
  /** A connection, for this COPY alone until it is released. */
  lease(attempt: number): Promise<Connection>
  release(connection: Connection, error: PgParallelError | undefined): void
  /** After a failure before any data: resolves when the next attempt is to be made, rejects where there is to be none. */
  again(error: PgParallelError, attempt: number): Promise<void>
  /** Called once after everything else. */
  finish(error: PgParallelError | undefined, attempts: number): void
}

/** The text of a COPY statement, which takes no parameters. */
export function copyText(query: string | Sql<object>): string {
  const text = query instanceof Sql ? query.text : query
  if (query instanceof Sql && query.values.length > 0) {
    throw new PgParallelError('COPY takes no parameters: use sql.unsafe() for a part that is no identifier', {
      category: 'configuration',
    })
  }
  checkSendable(text, undefined, undefined)
  if (typeof text !== 'string' || !isCopy(text)) {
    throw new PgParallelError('copyFrom() and copyTo() take one COPY statement', { category: 'configuration' })
  }
  return text
}

function isCopy(text: string): boolean {
  const tokens = tokensOf(text)
  // Where it cannot be told how the server reads the text, the server tells.
  if (!tokens) return /^\s*copy\b/i.test(text)
  const end = tokens.findIndex((token) => token.text === ';')
  return tokens[0]?.text === 'copy' && (end < 0 || tokens.slice(end).every((token) => token.text === ';'))
}

/** A place in the pool. */
export function copyPlace(core: Core, text: string, options: CallOptions | undefined): CopyPlace {
  const { cancelTimeoutMs } = core.settings
  const retry = core.retryOf(options)
  const backoff = RetryUtils.backoff(retry)
  let deadline: Deadline | undefined
  let followed: ReturnType<typeof core.observer.begin>
  return {
    text,
    cancelTimeoutMs,
    begin: () => {
      core.begin()
      try {
        deadline = core.deadlineOf(options)
      } catch (error) {
        core.finish(false)
        throw error
      }
      followed = core.observer.begin('copy', text)
      return [deadline]
    },
    lease: async (attempt) => {
      const pass = core.enter()
      try {
        return await core.lease(deadline, retry.maxAttempts - attempt + 1)
      } catch (error) {
        throw refusedBy(error, attempt - 1) ?? error
      } finally {
        pass.release()
      }
    },
    release: (connection, error) => {
      if (error?.class.infrastructure) core.breaker?.recordFailure(error)
      core.pool.release(connection)
    },
    again: async (error, attempt) => {
      if (attempt >= retry.maxAttempts || core.stopped) throw error
      const delay = Math.max(backoff.next(), error.retryAfterMs ?? 0)
      core.retrying('copy', error, attempt, delay)
      await core.pause(delay, deadline)
    },
    finish: (error, attempts) => {
      deadline?.dispose()
      if (error) followed?.fail(error, attempts)
      else followed?.end(attempts)
      core.finish(error === undefined)
    },
  }
}

/** `COPY t TO STDOUT` only reads; a query in its place may do anything. */
function natureOfCopy(text: string, direction: CopyDirection): StatementNature {
  const nature = natureOf(text)
  const reads = direction === 'out' && nature.first === 'copy' && nature.second !== '('
  return reads ? { ...nature, readOnly: true } : nature
}

/** One COPY from its start to its end, whatever happens on the way. */
class CopyRun {
  readonly #place: CopyPlace
  readonly #direction: CopyDirection
  readonly #onData: CopyEvents['data']
  /** Called once with how it ended. */
  readonly #onEnd: (error: PgParallelError | undefined, rowCount: number | null) => void
  #connection: Connection | undefined
  #attempts = 0
  #over = false
  #begun = false
  copy: Copy | undefined

  constructor(
    place: CopyPlace,
    direction: CopyDirection,
    onData: CopyEvents['data'],
    onEnd: (error: PgParallelError | undefined, rowCount: number | null) => void,
  ) {
    this.#place = place
    this.#direction = direction
    this.#onData = onData
    this.#onEnd = onEnd
  }

  /** Resolves when data can flow; rejects where it cannot, and is over then. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#refuse = reject
      this.#start().then(resolve, reject)
    })
  }

  #refuse: (error: PgParallelError) => void = () => {}

  async #start(): Promise<void> {
    const place = this.#place
    let deadlines: readonly (Deadline | undefined)[]
    try {
      deadlines = place.begin()
    } catch (error) {
      // It has not begun, and so does not end either.
      this.#over = true
      throw error
    }
    const stops = deadlines.map((deadline) =>
      deadline?.onEnd((reason) => {
        this.abort(reason)
      }),
    )
    this.#forget = () => {
      for (const stop of stops) stop?.()
    }
    try {
      for (;;) {
        this.#attempts++
        try {
          for (const deadline of deadlines) deadline?.check()
          await this.#begin(await place.lease(this.#attempts))
          return
        } catch (error) {
          const known = ErrorUtils.wrap(error)
          if (this.#over || !known.retryable) throw known
          await place.again(known, this.#attempts)
        }
      }
    } catch (error) {
      const known = ErrorUtils.wrap(error)
      this.#end(known, null)
      throw known
    }
  }

  #forget: () => void = () => {}

  #begin(connection: Connection): Promise<void> {
    return new Promise((resolve, reject) => {
      const copy = new Copy(this.#place.text, this.#direction, {
        begun: () => {
          this.#begun = true
          resolve()
        },
        data: this.#onData,
        ended: (error, rowCount) => {
          this.#connection = undefined
          const known = error && this.#known(error, connection, copy)
          this.#place.release(connection, known)
          if (this.#begun) this.#end(known, rowCount)
          else reject(known ?? new Error('COPY ended before it had begun'))
        },
      })
      if (this.#over) {
        this.#place.release(connection, undefined)
        reject(new Error('it was given up'))
        return
      }
      this.#connection = connection
      this.copy = copy
      connection.send(copy)
    })
  }

  #known(error: Error, connection: Connection, copy: Copy): PgParallelError {
    const verdict = judge(error, {
      nature: natureOfCopy(this.#place.text, this.#direction),
      idempotent: undefined,
      sent: copy.sent,
      answered: false,
      wantsWritable: false,
    })
    if (verdict.class.connectionDead) connection.fail(error)
    // Where data has flowed, it is the caller who would have to send it again.
    const repeat = verdict.repeat && !this.#begun
    return verdictError(error, { ...verdict, repeat }, this.#attempts)
  }

  #end(error: PgParallelError | undefined, rowCount: number | null): void {
    if (this.#over) return
    this.#over = true
    this.#forget()
    this.#place.finish(error, this.#attempts)
    if (this.#begun) this.#onEnd(error, rowCount)
    else if (error) this.#refuse(error)
  }

  /** Ends it before its time: the caller has enough, or its time is up. */
  abort(reason: Error): void {
    const connection = this.#connection
    const copy = this.copy
    if (this.#over) return
    if (connection && copy) {
      const mayHaveExecuted = copy.sent && !natureOfCopy(this.#place.text, this.#direction).readOnly
      copy.giveUp(reason)
      // A server that is at work hears of CopyFail only when it looks for more data.
      connection.cancel(this.#place.cancelTimeoutMs)
      this.#end(ErrorUtils.wrap(reason, { mayHaveExecuted, retryable: false }), null)
    } else {
      this.#end(ErrorUtils.wrap(reason, { retryable: false }), null)
    }
  }
}

const gaveUp = (): PgParallelError =>
  new PgParallelError('the stream was destroyed before the COPY was over', { category: 'aborted' })

/** Most data in one message; a longer piece is sent in several, each when there is room for it. */
const LARGEST_PIECE = 1 << 20

/** Takes the data of a `COPY … FROM STDIN`, in whatever format the statement names. */
export class CopyFrom extends Writable {
  readonly #run: CopyRun
  #count: number | undefined
  #onFinal: ((error?: Error | null) => void) | undefined

  /** @internal */
  constructor(place: CopyPlace) {
    super({ highWaterMark: 65_536 })
    this.#run = new CopyRun(
      place,
      'in',
      () => {},
      (error, rowCount) => {
        this.#count = rowCount ?? undefined
        const final = this.#onFinal
        this.#onFinal = undefined
        if (error) this.destroy(error)
        else if (final) final()
        else this.destroy(new PgParallelError('the server ended the COPY before its data was sent'))
      },
    )
  }

  /** How many rows were copied, once the stream has finished. */
  get rowCount(): number | undefined {
    return this.#count
  }

  /** @internal */
  override _construct(then: (error?: Error | null) => void): void {
    this.#run.start().then(() => {
      then()
    }, then)
  }

  /** @internal */
  override _write(chunk: Buffer, _encoding: BufferEncoding, then: (error?: Error | null) => void): void {
    this.#send([chunk], then)
  }

  /** @internal */
  override _writev(chunks: { chunk: unknown }[], then: (error?: Error | null) => void): void {
    this.#send(
      chunks.map(({ chunk }) => chunk as Buffer),
      then,
    )
  }

  #send(chunks: Buffer[], then: () => void): void {
    const [first] = chunks
    if (first && first.length > LARGEST_PIECE) {
      this.#run.copy?.send([first.subarray(0, LARGEST_PIECE)], () => {
        this.#send([first.subarray(LARGEST_PIECE), ...chunks.slice(1)], then)
      })
      return
    }
    const until = chunks.findIndex((chunk) => chunk.length > LARGEST_PIECE)
    const now = until < 0 ? chunks : chunks.slice(0, until)
    this.#run.copy?.send(now, () => {
      if (until < 0) then()
      else this.#send(chunks.slice(until), then)
    })
  }

  /** @internal */
  override _final(then: (error?: Error | null) => void): void {
    this.#onFinal = then
    this.#run.copy?.finish()
  }

  /** @internal */
  override _destroy(error: Error | null, then: (error?: Error | null) => void): void {
    this.#run.abort(error ?? gaveUp())
    then(error)
  }
}

const PAGE = 65_536

/** Gives the data of a `COPY … TO STDOUT`, in whatever format the statement names. */
export class CopyTo extends Readable {
  readonly #run: CopyRun
  #count: number | undefined
  /** The rows of one arrival are put together: a piece for each would cost more than what is in it. */
  #page: Buffer | undefined
  #at = 0

  /** @internal */
  constructor(place: CopyPlace) {
    super({ highWaterMark: PAGE })
    this.#run = new CopyRun(
      place,
      'out',
      (bytes, start, end) => {
        this.#take(bytes, start, end)
      },
      (error, rowCount) => {
        if (error) {
          this.destroy(error)
          return
        }
        this.#count = rowCount ?? undefined
        this.#turn()
        this.push(null)
      },
    )
  }

  /** How many rows were copied, once the stream has ended. */
  get rowCount(): number | undefined {
    return this.#count
  }

  #take(bytes: Buffer, start: number, end: number): void {
    const size = end - start
    if (this.#at + size > PAGE) this.#turn()
    if (size > PAGE) {
      this.#give(Buffer.from(bytes.subarray(start, end)))
      return
    }
    if (!this.#page) {
      this.#page = Buffer.allocUnsafeSlow(PAGE)
      process.nextTick(() => {
        this.#turn()
      })
    }
    bytes.copy(this.#page, this.#at, start, end)
    this.#at += size
  }

  /** Hands over what has come together. */
  #turn(): void {
    const page = this.#page
    const length = this.#at
    this.#page = undefined
    this.#at = 0
    if (page && length > 0) this.#give(page.subarray(0, length))
  }

  #give(piece: Buffer): void {
    if (this.destroyed || this.push(piece)) return
    this.#run.copy?.pause()
  }

  /** @internal */
  override _construct(then: (error?: Error | null) => void): void {
    this.#run.start().then(() => {
      then()
    }, then)
  }

  /** @internal */
  override _read(): void {
    this.#run.copy?.resume()
  }

  /** @internal */
  override _destroy(error: Error | null, then: (error?: Error | null) => void): void {
    this.#run.abort(error ?? gaveUp())
    then(error)
  }
}

/** Options of `copyFrom` and `copyTo`; `retry` is about what fails before data flows. */
export type CopyOptions = DeadlineOptions & Pick<CallOptions, 'retry'>
