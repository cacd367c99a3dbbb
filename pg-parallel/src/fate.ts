/**
 * What became of a transaction whose COMMIT was not answered: the server says so by the transaction's id.
 *
 * The id is asked for together with the first statement that writes, in the same round trip. It is good only as long as
 * nobody else can get it: after a crash, or on a standby that was promoted, the same id may be another transaction's. So
 * the id comes with the server's epoch, which is the time of the postmaster's start and the time of the last reset of the
 * statistics, which a recovery after a crash resets. An answer of another start counts where it is proved that ids went on
 * from where they were:
 *
 * - PostgreSQL was shut down in the usual way (the statistics are the same) and started from a checkpoint that is later
 *   than the id. A copy of the files from before the id starts from an earlier one.
 * - pgsqlite records ids in the database's file together with what the transaction wrote, and an id is below the start of
 *   a process that cannot have given it. That one has not committed is believed only of a file that knows the last
 *   transaction that this instance has seen committed: another file, or an older copy, does not.
 *
 * Asked by functions that everybody may call, so that no statement here can fail within the caller's transaction;
 * PostgreSQL 15 or newer, where they cost nothing. See "Transaction ID and Snapshot Information Functions" in PostgreSQL's
 * manual.
 */
import type { Core } from './core'
import { ErrorUtils, PgParallelError } from './errors'
import { orDeadline, type Deadline } from './policy/deadline'
import { RetryUtils } from './policy/retry'
import type { Connection } from './pool/connection'
import type { Result } from './wire/result'

/** The server's life that an id belongs to. */
interface Epoch {
  readonly started: string
  readonly recovered: string
}

/** A transaction, and the server's epoch that its id belongs to. */
export interface TransactionIdentity {
  /** Null while it has written nothing. */
  readonly id: string | null
  readonly epoch: Epoch
  /** The server's clock when it gave the id; PostgreSQL only. */
  readonly given: string | null
  /** The last transaction that this instance had seen committed by then. */
  readonly witness: string | null
  /** How the server is asked for its fate. */
  readonly teller: Teller
}

/** `unknown`: the server cannot say, or not in time. */
export type Fate = 'committed' | 'aborted' | 'unknown'

const POSTGRES_EPOCH =
  'EXTRACT(epoch FROM pg_catalog.pg_postmaster_start_time())::text AS started, ' +
  'EXTRACT(epoch FROM pg_catalog.pg_stat_get_bgwriter_stat_reset_time())::text AS recovered, ' +
  'EXTRACT(epoch FROM pg_catalog.clock_timestamp())::text AS given'

const PGSQLITE_EPOCH =
  "CASE WHEN pg_catalog.version() LIKE '%(pgsqlite %' " +
  'THEN EXTRACT(epoch FROM pg_catalog.pg_postmaster_start_time())::text END AS started, ' +
  "'pgsqlite' AS recovered, NULL::text AS given"

// A checkpoint's time has no fractions of a second: one of the second of the start may be later than the start.
const POSTGRES_WENT_ON =
  'SELECT checkpoint_time >= pg_catalog.to_timestamp($1::text::float8) ' +
  "AND checkpoint_time < pg_catalog.date_trunc('second', pg_catalog.pg_postmaster_start_time()) " +
  "AND COALESCE(pg_catalog.pg_xact_status($2::xid8), 'committed') = 'committed' AS can " +
  'FROM pg_catalog.pg_control_checkpoint()'

const PGSQLITE_WENT_ON =
  'SELECT $1::text::numeric < pg_catalog.floor(EXTRACT(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000) ' +
  "AND pg_catalog.pg_xact_status($2::xid8) = 'committed' AS can"

/** How a kind of server is asked. */
export interface Teller {
  /** Does it work here? Fails where it does not: only within a transaction that would matter. */
  readonly can: string
  readonly identity: string
  readonly fate: string
  /** Asks a server that was started since whether ids went on; with {@link Teller.proofs}. */
  readonly wentOn: string
  proofs(identity: TransactionIdentity, fate: Fate): (string | null)[]
}

const FUNCTIONS = [
  'pg_current_xact_id_if_assigned()',
  'pg_xact_status(xid8)',
  'pg_postmaster_start_time()',
  'pg_stat_get_bgwriter_stat_reset_time()',
]

const teller = (functions: readonly string[], epoch: string, wentOn: string, proofs: Teller['proofs']): Teller => ({
  can:
    'SELECT ' +
    functions
      .map((name) => `pg_catalog.has_function_privilege('public', 'pg_catalog.${name}', 'execute')`)
      .join(' AND ') +
    ` AS can, pg_catalog.pg_current_xact_id_if_assigned()::text AS id, pg_catalog.pg_xact_status('3'::xid8) AS fate, ${epoch}`,
  identity: `SELECT pg_catalog.pg_current_xact_id_if_assigned()::text AS id, ${epoch}`,
  fate: `SELECT pg_catalog.pg_xact_status($1::xid8) AS fate, ${epoch}`,
  wentOn,
  proofs,
})

const TELLERS = [
  teller(FUNCTIONS, POSTGRES_EPOCH, POSTGRES_WENT_ON, ({ given, witness }) => [given, witness]),
  // A file that has recorded the transaction itself needs no other witness.
  teller(FUNCTIONS.slice(0, 3), PGSQLITE_EPOCH, PGSQLITE_WENT_ON, ({ id, witness }, fate) => [
    id,
    fate === 'committed' ? id : witness,
  ]),
]
const LEAST_VERSION = 15

type TextRow = Record<string, string | null>

function epochOf({ started, recovered }: TextRow): Epoch | undefined {
  return started && recovered ? { started, recovered } : undefined
}

/** Which servers can tell, by address and version; kept per instance. */
export class FateTellers {
  readonly #known = new Map<string, Teller | undefined>()
  #witness: string | null = null

  /** Can this connection's server tell? */
  can(connection: Connection): boolean {
    return this.#of(connection) !== undefined
  }

  #of(connection: Connection): Teller | undefined {
    return this.#known.get(keyOf(connection) ?? '')
  }

  /** Asks the server, unless its answers are known; they are there before that to whatever is sent next. */
  ask(connection: Connection): void {
    const key = keyOf(connection)
    if (key === undefined || this.#known.has(key)) return
    for (const [index, teller] of TELLERS.entries()) {
      connection.submit({ text: teller.can, prepare: false }, undefined, (error, result) => {
        if (error && !ErrorUtils.isServerError(error)) return
        const [row] = error ? [] : (result as Result).rows
        const can = (row as { can?: unknown } | undefined)?.can === true && epochOf(row as TextRow) !== undefined
        if (this.#known.get(key)) return
        // "It cannot" is known with the last answer only: a connection that is lost before that leaves it open.
        if (can) this.#known.set(key, teller)
        else if (index === TELLERS.length - 1) this.#known.set(key, undefined)
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
        const { id = null, given = null } = row ?? {}
        resolve(epoch && { id, epoch, given, witness: this.#witness, teller })
      })
    })
  }

  /** The server has said itself that this one has committed: the next ones have it for their witness. */
  committed(identity: TransactionIdentity | undefined): void {
    this.#witness = identity?.id ?? this.#witness
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
  if (identity.id === null) return 'aborted' // nothing was written
  const { retry } = core.settings
  const backoff = RetryUtils.backoff(retry)
  for (let tries = 1; ; tries++) {
    try {
      const told = await ask(core, identity, deadline)
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
  identity: TransactionIdentity,
  deadline: Deadline | undefined,
): Promise<Fate | undefined> {
  const { id, epoch, teller } = identity
  const connection = await core.lease(deadline, 1).catch((error: unknown) => {
    throw ErrorUtils.wrap((error as { error?: unknown }).error ?? error)
  })
  try {
    const row = await orDeadline(one(connection, teller.fate, [id]), deadline)
    const now = row && epochOf(row)
    if (now?.recovered !== epoch.recovered) return 'unknown'
    const { fate } = row as TextRow
    if (fate === 'in progress') return undefined
    if (fate !== 'committed' && fate !== 'aborted') return 'unknown'
    if (now.started === epoch.started) return fate
    const proof = await orDeadline(one(connection, teller.wentOn, teller.proofs(identity, fate)), deadline)
    return (proof as { can?: unknown } | undefined)?.can === true ? fate : 'unknown'
  } catch (error) {
    if (ErrorUtils.isConnectionDead(error)) connection.fail(error as Error)
    throw error
  } finally {
    core.pool.release(connection)
  }
}

/** The only row of an answer. */
function one(connection: Connection, text: string, values: (string | null)[]): Promise<TextRow | undefined> {
  return new Promise((resolve, reject) => {
    connection.submit({ text, prepare: false }, values, (error, result) => {
      if (error) reject(ErrorUtils.wrap(error))
      else resolve(((result as Result).rows as TextRow[])[0])
    })
  })
}
