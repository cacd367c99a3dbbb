/**
 * Several statements in one round trip: all are written before the first is answered, and one Sync ends them. The server
 * runs what is before a Sync in one transaction, so that either all of them have an effect or none.
 */
import type { DatabaseError } from './notice'
import type { Result } from './result'
import type { Exchange, Session } from './session'
import { copyRefusal, Statement, type StatementConfig } from './statement'

/** Called once with how a batch ended: the results in order, or the error and which statement it belongs to. */
export type BatchEnd = (error: Error | null, results?: Result[], index?: number) => void

/** See the top of the file. */
export class Batch implements Exchange {
  readonly #statements: readonly Statement[]
  readonly #results: Result[] = []
  readonly #done: BatchEnd
  #at = 0
  #error: Error | undefined
  /** The statement that failed. */
  #failed: number | undefined
  #over = false
  sent = false

  constructor(configs: readonly StatementConfig[], done: BatchEnd) {
    this.#done = done
    this.#statements = configs.map((config, index) => {
      const end = (error: Error | null, result?: Result | Result[]): void => {
        if (error) this.#error ??= error
        if (error) this.#failed ??= index
        else this.#results[index] = result as Result
      }
      return new Statement(config, undefined, end, true)
    })
  }

  /** The server did its part, and reading an answer failed on this side. */
  get answered(): boolean {
    return this.#statements.some(({ answered }) => answered)
  }

  /** The server does not have a prepared statement that was used: nothing has run. */
  get lostStatement(): boolean {
    return this.#statements.some(({ lostStatement }) => lostStatement)
  }

  write(session: Session): void {
    for (const statement of this.#statements) statement.write(session)
    session.writer.sync()
    this.sent = true
  }

  message(type: number, bytes: Buffer, start: number, end: number, session: Session): void {
    if (type === 0x47) {
      // CopyInResponse: the server takes what follows for data. There is no way back into step.
      this.#error ??= copyRefusal('FROM STDIN')
      this.#failed ??= this.#at
      session.destroy(new Error('Connection terminated: a batch had COPY FROM STDIN in it'))
      return
    }
    this.#statements[this.#at]?.message(type, bytes, start, end, session)
    // CommandComplete, EmptyQueryResponse: the next statement's turn.
    if (type === 0x43 || type === 0x49) this.#at++
  }

  error(error: DatabaseError, session: Session): void {
    const [current, ...others] = this.#statements.slice(this.#at)
    current?.error(error, session)
    for (const other of others) other.skipped(session)
    if (this.#error) return
    this.#error = error
    // An error at Sync is that of no statement: a deferred constraint, say.
    this.#failed = current ? this.#at : undefined
  }

  ready(): void {
    if (this.#over) return
    this.#over = true
    for (const statement of this.#statements.slice(0, this.#at + 1)) statement.ready()
    if (this.#error) this.#done(this.#error, undefined, this.#failed)
    else this.#done(null, this.#results)
  }

  lost(error: Error): void {
    if (this.#over) return
    this.#over = true
    this.#done(this.#error ?? error, undefined, this.#failed)
  }
}
