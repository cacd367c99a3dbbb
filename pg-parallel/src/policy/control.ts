/**
 * Statements that make sense only where the caller has the connection for itself. On a pool, `BEGIN` and `LISTEN` would
 * be undone before the caller's next statement, without a word; so they are refused with a sentence that says what to
 * use.
 */
import { PgParallelError } from '../errors'
import { natureOf } from './replay'

const TRANSACTION = new Set(['begin', 'start', 'commit', 'end', 'rollback', 'abort'])
const SAVEPOINT = new Set(['savepoint', 'release'])
const CHANNEL = new Set(['listen', 'unlisten'])
const CONTROL = new Set([...TRANSACTION, ...SAVEPOINT, ...CHANNEL, 'prepare'])

const refusal = (message: string): PgParallelError => new PgParallelError(message, { category: 'configuration' })

/** Why a text must not be sent as a statement that stands alone; undefined where it may. */
export function refusedAlone(text: string | undefined): PgParallelError | undefined {
  if (text === undefined) return undefined
  const { first, second } = natureOf(text)
  // Most statements end here.
  if (first === undefined || !CONTROL.has(first)) return undefined
  if (second === 'prepared') return undefined // COMMIT PREPARED stands alone
  if (TRANSACTION.has(first) || SAVEPOINT.has(first) || (first === 'prepare' && second === 'transaction')) {
    return refusal(
      `${first.toUpperCase()} has no effect on a pool, where the next statement may run on another connection: ` +
        `use transaction(), whose function gets the connection for itself`,
    )
  }
  if (CHANNEL.has(first)) {
    return refusal(
      `${first.toUpperCase()} has no effect on a pool, whose connections are not listened to: use listen()`,
    )
  }
  return undefined
}

/** Why a text must not be sent inside `transaction()`, which begins and ends the transaction itself. */
export function refusedInTransaction(text: string | undefined): PgParallelError | undefined {
  if (text === undefined) return undefined
  const { first, second, third } = natureOf(text)
  if (first === undefined) return undefined
  const toSavepoint =
    first === 'rollback' && (second === 'to' || (['work', 'transaction'].includes(second ?? '') && third === 'to'))
  const prepares = first === 'prepare' && second === 'transaction'
  const finishesPrepared = ['commit', 'rollback'].includes(first) && second === 'prepared'
  if (!prepares && (!TRANSACTION.has(first) || toSavepoint || finishesPrepared)) return undefined
  return refusal(
    `${first.toUpperCase()} is not taken inside transaction(), which begins and ends the transaction itself: ` +
      'return to commit, throw to roll back, and use savepoint() for a part',
  )
}
