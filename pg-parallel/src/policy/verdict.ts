/** After a statement failed: did it run, may it be sent again, would that help? The one place that decides. */
import { ErrorUtils, PgParallelError, type ErrorClass } from '../errors'
import type { StatementNature } from './replay'

/** What is known about the statement that failed. */
export interface Circumstances {
  /** Undefined for what has no text, such as a named statement. */
  readonly nature: StatementNature | undefined
  readonly idempotent: boolean | undefined
  /** It was put on the wire. */
  readonly sent: boolean
  /** The server did its part, and reading the answer failed here. */
  readonly answered: boolean
  /** The server did not get as far as running it: it lacks the prepared statement, or a plan for it. */
  readonly lostStatement?: boolean
  /** A writable server was asked for (`target_session_attrs`), so that a read-only one is an error of the connection. */
  readonly wantsWritable: boolean
}

/** What follows from it. */
export interface Verdict {
  readonly class: ErrorClass
  /** It may have taken effect. */
  readonly mayHaveExecuted: boolean
  /** Sending it again is safe. */
  readonly safe: boolean
  /** … and sensible. */
  readonly repeat: boolean
  /** Only a fresh plan is needed. */
  readonly stalePlan: boolean
}

/**
 * The server ends a session with one of these before it works on the next statement, or in the middle of one, whose
 * transaction it then rolls back. (Were a commit already done, a server that waits for its standbys sends no error at
 * all but closes the connection.) Not so 57P02: after another backend's crash everything stops wherever it is.
 */
const SESSION_ENDED = new Set(['57P01', '57P05', '25P03'])

/** May the statement have had an effect, given the error it ended with? */
function mayHaveExecuted(error: unknown, known: ErrorClass, about: Circumstances): boolean {
  if (!about.sent || about.lostStatement) return false
  const { nature } = about
  if (nature?.readOnly) return false
  if (about.answered || !ErrorUtils.isServerError(error)) return true
  // A named statement without its text may be anything.
  if (!nature?.atomic) return true
  if (!known.connectionDead) return false
  const code = ErrorUtils.sqlState(error)
  return !(code === '25006' || SESSION_ENDED.has(code ?? ''))
}

/** See the top of the file. */
export function judge(error: unknown, about: Circumstances): Verdict {
  const known = ErrorUtils.classify(error)
  const executed = mayHaveExecuted(error, known, about)
  const safe = !executed || about.idempotent === true
  const wrongServer = known.category === 'read-only' && about.wantsWritable
  return {
    class: known,
    mayHaveExecuted: executed,
    safe,
    repeat: safe && (known.transient || wrongServer) && !about.answered,
    stalePlan: about.lostStatement === true,
  }
}

/** The error that the caller gets. */
export function verdictError(error: unknown, verdict: Verdict, attempts: number): PgParallelError {
  return ErrorUtils.wrap(error, {
    mayHaveExecuted: verdict.mayHaveExecuted,
    retryable: verdict.repeat,
    attempts,
    // A name that is taken is the caller's affair anywhere else, and a plan that a statement itself did not find stays away.
    ...(verdict.stalePlan || verdict.class.category === 'plan'
      ? { category: 'plan', transient: verdict.stalePlan }
      : {}),
  })
}
