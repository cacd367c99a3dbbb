/**
 * What became of a transaction whose COMMIT was not answered: the server says so by the transaction's id.
 *
 * The id is asked for together with the first statement that writes, in the same round trip. It is good only as long as
 * the server that gave it lives: after a crash, or on a standby that was promoted, the same id may be somebody else's.
 * So the id comes with the server's epoch, which is the time of the postmaster's start and the time of the last reset of
 * the statistics, which a recovery after a crash resets; an answer from another epoch is none. Asked by functions that
 * everybody may call, so that no statement here can fail within the caller's transaction; PostgreSQL 15 or newer, where
 * they cost nothing. pgsqlite's record of its transactions survives a crash, so the start time alone is its epoch: it
 * tells one server from another. See "Transaction ID and Snapshot Information Functions" in PostgreSQL's manual.
 */
import type { Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import type { Deadline } from './policy/deadline'
import { RetryUtils } from './policy/retry'
import type { Connection } from './pool/connection'
import type { Result } from './wire/result'

/** A transaction, and the server's epoch that its id belongs to. */
export interface TransactionIdentity {
  /** Null while it has written nothing. */
  readonly id: string | null
  readonly epoch: string
  /** How the server is asked for its fate. */
  readonly question: string
}

/** `unknown`: the server cannot say, or not in time. */
export type Fate = 'committed' | 'aborted' | 'unknown'

const POSTGRES_EPOCH =
  'EXTRACT(epoch FROM pg_catalog.pg_postmaster_start_time())::text AS started, ' +
  'EXTRACT(epoch FROM pg_catalog.pg_stat_get_bgwriter_stat_reset_time())::text AS recovered'

const PGSQLITE_EPOCH =
  "CASE WHEN pg_catalog.version() LIKE '%(pgsqlite %' " +
  'THEN EXTRACT(epoch FROM pg_catalog.pg_postmaster_start_time())::text END AS started, ' +
  "'pgsqlite' AS recovered"

/** How a kind of server is asked. */
interface Teller {
  /** Does it work here? Fails where it does not: only within a transaction that would matter. */
  readonly can: string
  readonly identity: string
  readonly fate: string
}

const FUNCTIONS = [
  'pg_current_xact_id_if_assigned()',
  'pg_xact_status(xid8)',
  'pg_postmaster_start_time()',
  'pg_stat_get_bgwriter_stat_reset_time()',
]

const teller = (functions: readonly string[], epoch: string): Teller => ({
  can:
    'SELECT ' +
    functions
      .map((name) => `pg_catalog.has_function_privilege('public', 'pg_catalog.${name}', 'execute')`)
      .join(' AND ') +
    ` AS can, pg_catalog.pg_current_xact_id_if_assigned()::text AS id, pg_catalog.pg_xact_status('3'::xid8) AS fate, ${epoch}`,
  identity: `SELECT pg_catalog.pg_current_xact_id_if_assigned()::text AS id, ${epoch}`,
  fate: `SELECT pg_catalog.pg_xact_status($1::xid8) AS fate, ${epoch}`,
})

const TELLERS = [teller(FUNCTIONS, POSTGRES_EPOCH), teller(FUNCTIONS.slice(0, 3), PGSQLITE_EPOCH)]
const LEAST_VERSION = 15

type TextRow = Record<string, string | null>

const epochOf = (row: TextRow): string | undefined =>
  row['started'] && row['recovered'] ? `${row['started']} ${row['recovered']}` : undefined

/** Which servers can tell, by address and version; kept per instance. */
export class FateTellers {
  readonly #known = new Map<string, Teller | undefined>()

  /** Can this connection's server tell? */
  can(connection: Connection): boolean {
    return this.#of(connection) !== undefined
  }

  #of(connection: Connection): Teller | undefined {
    return this.#known.get(keyOf(connection) ?? '')
  }

  /** Asks the server, unless it was asked before; the answers are there before that to whatever is sent next. */
  ask(connection: Connection): void {
    const key = keyOf(connection)
    if (key === undefined || this.#known.has(key)) return
    for (const teller of TELLERS) {
      connection.submit({ text: teller.can, prepare: false }, undefined, (error, result) => {
        if (error && !ErrorUtils.isServerError(error)) return
        const [row] = error ? [] : (result as Result).rows
        const can = (row as { can?: unknown } | undefined)?.can === true && epochOf(row as TextRow) !== undefined
        this.#known.set(key, this.#known.get(key) ?? (can ? teller : undefined))
      })
    }
  }

  /** Asks for the running transaction's identity, behind what was sent last. In a failed transaction there is no answer. */
  identity(connection: Connection): Promise<TransactionIdentity | undefined> {
    const teller = this.#of(connection)
    if (!teller) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      // Behind a pooler a prepared statement may not be there, and that error would be the transaction's.
      connection.submit({ text: teller.identity, prepare: false }, undefined, (error, result) => {
        const row = error ? undefined : ((result as Result).rows as TextRow[])[0]
        const epoch = row && epochOf(row)
        resolve(epoch === undefined ? undefined : { id: row?.['id'] ?? null, epoch, question: teller.fate })
      })
    })
  }
}

/** Undefined for servers that are known not to be able to. */
function keyOf({ session, address }: Connection): string | undefined {
  const version = session.parameters.get('server_version')
  if (version === undefined || !(Number.parseInt(version, 10) >= LEAST_VERSION)) return undefined
  return `${address.host ?? ''}:${address.port ?? ''} ${version}`
}

/** What became of it. Waits while the server is still at it, as far as the instance's pauses and the deadline allow. */
export async function fateOf(core: Core, identity: TransactionIdentity, deadline: Deadline | undefined): Promise<Fate> {
  const { id, epoch, question } = identity
  if (id === null) return 'aborted' // nothing was written
  const { retry } = core.settings
  const backoff = RetryUtils.backoff(retry)
  for (let tries = 1; ; tries++) {
    try {
      const told = await ask(core, { id, epoch, question }, deadline)
      if (told) return told
    } catch (error) {
      if (!(error instanceof PgParallelError) || !error.class.transient) return 'unknown'
    }
    if (tries >= retry.maxAttempts || core.stopped || deadline?.reason) return 'unknown'
    try {
      await core.pause(backoff.next(), deadline)
    } catch {
      return 'unknown'
    }
  }
}

/** Undefined while the transaction is in progress. */
async function ask(
  core: Core,
  { id, epoch, question }: TransactionIdentity & { id: string },
  deadline: Deadline | undefined,
): Promise<Fate | undefined> {
  const connection = await core.lease(deadline, 1).catch((error: unknown) => {
    throw ErrorUtils.wrap((error as { error?: unknown }).error ?? error)
  })
  try {
    const row = await new Promise<TextRow | undefined>((resolve, reject) => {
      connection.submit({ text: question, prepare: false }, [id], (error, result) => {
        if (error) reject(ErrorUtils.wrap(error))
        else resolve(((result as Result).rows as TextRow[])[0])
      })
    })
    if (!row || epochOf(row) !== epoch) return 'unknown'
    const { fate } = row
    if (fate === 'in progress') return undefined
    return fate === 'committed' || fate === 'aborted' ? fate : 'unknown'
  } catch (error) {
    if (ErrorUtils.isConnectionDead(error)) connection.fail(error as Error)
    throw error
  } finally {
    core.pool.release(connection)
  }
}
