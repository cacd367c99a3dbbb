/**
 * Errors: one table says what every SQLSTATE and socket code means to the policies, and one class carries the answer.
 *
 * Nothing else in the package looks at an error code to decide whether to retry, to count a failure or to drop a
 * connection: it asks this file.
 */

/** Who has to act on an error, and what kind of trouble it is. */
export type ErrorCategory =
  /** The connection could not be made or was lost. */
  | 'connection'
  /** A deadline passed, here or on the server. */
  | 'timeout'
  /** One side broke the protocol: the connection is closed, and trying again changes nothing. */
  | 'protocol'
  /** The TLS connection could not be made: certificate, host name, protocol version. */
  | 'tls'
  /** The server has no room: too many connections, memory, disk. */
  | 'resource'
  /** The server is shutting down, starting up, or ended this session. */
  | 'shutdown'
  /** The server is not of the kind asked for: a standby where a primary is needed. */
  | 'read-only'
  /** Serialization failure or deadlock: the transaction was rolled back and may succeed if run again. */
  | 'serialization'
  /** A cached plan or prepared statement is no longer valid. */
  | 'plan'
  /** The circuit breaker is open: nothing was sent. */
  | 'circuit-open'
  /** The waiting queue is full: nothing was sent. */
  | 'overload'
  /** The caller's signal was aborted. */
  | 'aborted'
  /** The instance is shut down or shutting down. */
  | 'closed'
  /** A worker thread crashed or was stopped. */
  | 'worker'
  /** A function given to `task` or `worker` threw, or cannot run on a thread. */
  | 'task'
  /** User, password or permission to connect is wrong. */
  | 'authentication'
  /** The options given make no sense. */
  | 'configuration'
  /** Integrity constraint violation (class 23). */
  | 'constraint'
  /** The rows are not as many as the caller asked for, or not what the schema asks for. */
  | 'rows'
  /** Anything else that the statement itself did wrong. */
  | 'statement'

/** One row of the table: what a code means. */
export interface ErrorClass {
  readonly category: ErrorCategory
  /** Trying again later may succeed without anybody changing anything. */
  readonly transient: boolean
  /** Counts for the circuit breaker. */
  readonly infrastructure: boolean
  /** The connection that reported it must not be used again. */
  readonly connectionDead: boolean
}

const row = (category: ErrorCategory, flags: string): ErrorClass => ({
  category,
  transient: flags.includes('t'),
  infrastructure: flags.includes('i'),
  connectionDead: flags.includes('d'),
})

/**
 * Codes and prefixes of codes. The longest match wins. Flags: t transient, i infrastructure, d connection dead.
 */
const TABLE: Readonly<Record<string, ErrorClass>> = {
  // SQLSTATE classes and codes
  '08': row('connection', 'tid'),
  '08004': row('authentication', 'id'), // the server rejected the connection: trying again changes nothing
  '08P01': row('protocol', 'id'), // a defect on one side, never cured by repetition
  '0A000': row('statement', ''), // refined by message: see isStalePlan
  '23': row('constraint', ''),
  '25006': row('read-only', 'd'), // refined by the executor: transient only where a writable server was asked for
  '25P02': row('statement', ''),
  '25P03': row('timeout', 'd'), // idle_in_transaction_session_timeout ended the session
  '26000': row('plan', 't'),
  '28': row('authentication', 'd'),
  '3D000': row('configuration', 'd'),
  '40001': row('serialization', 't'),
  '40P01': row('serialization', 't'),
  '53': row('resource', 'ti'),
  '53300': row('resource', 'tid'),
  '57014': row('timeout', 'i'), // query_canceled: statement_timeout, an administrator, or our own cancel request
  '57P': row('shutdown', 'tid'),
  '57P04': row('configuration', 'd'), // the database was dropped
  '57P05': row('timeout', 'tid'), // idle_session_timeout
  '58': row('resource', ''), // the server's own trouble with its files, not with being reached: it answered
  XX: row('statement', ''),
  // Node's socket and resolver codes
  ECONNREFUSED: row('connection', 'tid'),
  ECONNRESET: row('connection', 'tid'),
  ECONNABORTED: row('connection', 'tid'),
  EPIPE: row('connection', 'tid'),
  ETIMEDOUT: row('connection', 'tid'),
  EHOSTUNREACH: row('connection', 'tid'),
  EHOSTDOWN: row('connection', 'tid'),
  ENETUNREACH: row('connection', 'tid'),
  ENETDOWN: row('connection', 'tid'),
  ENETRESET: row('connection', 'tid'),
  EADDRNOTAVAIL: row('connection', 'tid'), // local ports used up
  EAI_AGAIN: row('connection', 'tid'),
  ENOTFOUND: row('connection', 'tid'), // names come and go during a failover
  ENOENT: row('connection', 'tid'), // the Unix socket is not there while the server restarts
  EPROTO: row('tls', 'd'), // the other side does not speak TLS, or another version of it
  EMFILE: row('resource', 'tid'),
  ENFILE: row('resource', 'tid'),
  ENOBUFS: row('resource', 'tid'),
}

/** node-postgres reports a lost connection with a message and no code. */
const LOST_CONNECTION = [
  'Connection terminated',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'timeout expired',
  'There was an error establishing an SSL connection',
]

/**
 * What OpenSSL and Node call a certificate that does not fit: the names of X509_V_ERR_… without that prefix, and Node's
 * own ERR_TLS_… and ERR_SSL_….
 */
const TLS_CODE =
  /^(ERR_(TLS|SSL)_|CERT_|CRL_|UNABLE_TO_|ERROR_IN_C|DEPTH_ZERO_|SELF_SIGNED_|INVALID_(CA|PURPOSE)|PATH_LENGTH_|HOSTNAME_MISMATCH)/

const LOST = row('connection', 'tid')
const TLS = row('tls', 'd')
const UNKNOWN = row('statement', '')
const STALE_PLAN = row('plan', 't')

/** The fields that node-postgres puts on an error and its users read. */
export interface ServerErrorFields {
  severity?: string
  detail?: string
  hint?: string
  position?: string
  internalPosition?: string
  internalQuery?: string
  where?: string
  schema?: string
  table?: string
  column?: string
  dataType?: string
  constraint?: string
  file?: string
  line?: string
  routine?: string
}

const SERVER_FIELDS = [
  'severity',
  'detail',
  'hint',
  'position',
  'internalPosition',
  'internalQuery',
  'where',
  'schema',
  'table',
  'column',
  'dataType',
  'constraint',
  'file',
  'line',
  'routine',
] as const

const SQLSTATE = /^[0-9A-Z]{5}$/
const NODE_CODE = /^E[A-Z_]{4,}$/

/** The code an error carries, if it carries one. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** `EPIPE` has the shape of a SQLSTATE too; Node's own codes go first. */
function isSqlState(code: string | undefined): code is string {
  return code !== undefined && SQLSTATE.test(code) && !NODE_CODE.test(code)
}

/** True when the error is the server's own word (an ErrorResponse), not something that happened on the way. */
function isServerError(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'severity' in error &&
    typeof error.severity === 'string' &&
    isSqlState(codeOf(error))
  )
}

/**
 * "cached plan must not change result type". The code 0A000 is shared with everything not supported, so the
 * message, or the server's routine name where messages are translated, has to decide.
 */
function isStalePlan(error: unknown): boolean {
  const code = codeOf(error)
  if (code === '26000') return true
  if (code !== '0A000') return false
  const { message, routine } = error as { message?: unknown; routine?: unknown }
  return routine === 'RevalidateCachedQuery' || String(message).includes('cached plan must not change result type')
}

/** Looks an error up in the table. */
function classify(error: unknown): ErrorClass {
  if (error instanceof PgParallelError) return error.class
  const code = codeOf(error)
  if (code !== undefined) {
    if (isStalePlan(error)) return STALE_PLAN
    if (!isSqlState(code)) {
      const known = TABLE[code]
      if (known) return known
      if (TLS_CODE.test(code)) return TLS
    } else {
      for (let length = 5; length >= 2; length--) {
        const found = TABLE[code.slice(0, length)]
        if (found) return found
      }
      return UNKNOWN
    }
  }
  if (error instanceof AggregateError) {
    // Node tries all addresses of a name ("happy eyeballs") and reports them together.
    const first: unknown = error.errors[0]
    if (first !== undefined) return classify(first)
  }
  const message = error instanceof Error ? error.message : ''
  if (message.includes('The server does not support SSL connections')) return TLS
  return LOST_CONNECTION.some((lost) => message.includes(lost)) ? LOST : UNKNOWN
}

/** What a {@link PgParallelError} is made of beside its message. */
export interface PgParallelErrorInit {
  category?: ErrorCategory
  /** See {@link PgParallelError.retryable}. */
  retryable?: boolean
  /** See {@link PgParallelError.mayHaveExecuted}. */
  mayHaveExecuted?: boolean
  /** Set where the table cannot know it. */
  infrastructure?: boolean
  transient?: boolean
  connectionDead?: boolean
  code?: string
  cause?: unknown
  /** Earliest sensible moment of the next try, from now. */
  retryAfterMs?: number
  attempts?: number
}

/** Every error this package rejects with. The original error is `cause`; the server's fields are copied from it. */
export class PgParallelError extends Error implements ServerErrorFields {
  override readonly name = 'PgParallelError'
  /** What kind of trouble it is, and so who must act. */
  readonly category: ErrorCategory
  /**
   * Sending the same again is safe **and** may succeed. False whenever the statement may have run and was not
   * declared safe to repeat.
   */
  readonly retryable: boolean
  /** The statement may have taken effect on the server although no answer arrived. */
  readonly mayHaveExecuted: boolean
  /** The server's SQLSTATE, where the server spoke. */
  readonly sqlState: string | undefined
  /** As node-postgres has it: the SQLSTATE, or Node's error code. */
  readonly code: string | undefined
  /** How often it was tried before giving up. */
  readonly attempts: number
  /** Not before this many milliseconds is another try sensible. */
  readonly retryAfterMs: number | undefined
  /** Of a batch: the place of the statement that failed, from 0. */
  declare batchIndex?: number
  /** @internal */
  readonly class: ErrorClass

  declare severity?: string
  declare detail?: string
  declare hint?: string
  declare position?: string
  declare internalPosition?: string
  declare internalQuery?: string
  declare where?: string
  declare schema?: string
  declare table?: string
  declare column?: string
  declare dataType?: string
  declare constraint?: string
  declare file?: string
  declare line?: string
  declare routine?: string

  constructor(message: string, init: PgParallelErrorInit = {}) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause })
    const known = init.cause === undefined ? UNKNOWN : classify(init.cause)
    this.category = init.category ?? known.category
    this.mayHaveExecuted = init.mayHaveExecuted ?? false
    this.class = {
      category: this.category,
      transient: init.transient ?? known.transient,
      infrastructure: init.infrastructure ?? known.infrastructure,
      connectionDead: init.connectionDead ?? known.connectionDead,
    }
    this.retryable = init.retryable ?? (this.class.transient && !this.mayHaveExecuted)
    this.code = init.code ?? codeOf(init.cause)
    this.sqlState = isSqlState(this.code) ? this.code : undefined
    this.attempts = init.attempts ?? 1
    this.retryAfterMs = init.retryAfterMs
    if (typeof init.cause === 'object' && init.cause !== null) {
      const fields = init.cause as Record<string, unknown>
      for (const name of SERVER_FIELDS) {
        const value = fields[name]
        if (typeof value === 'string') this[name] = value
      }
    }
  }
}

/** Wraps whatever was thrown; a {@link PgParallelError} passes unless something is to be changed. */
function wrap(error: unknown, init: PgParallelErrorInit = {}): PgParallelError {
  if (error instanceof PgParallelError) {
    if (Object.keys(init).length === 0) return error
    return new PgParallelError(error.message, {
      category: error.category,
      mayHaveExecuted: error.mayHaveExecuted,
      transient: error.class.transient,
      infrastructure: error.class.infrastructure,
      connectionDead: error.class.connectionDead,
      attempts: error.attempts,
      ...(error.code === undefined ? {} : { code: error.code }),
      ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
      cause: error.cause ?? error,
      ...init,
    })
  }
  // An AggregateError of refused addresses has an empty message.
  let message = error instanceof Error ? error.message : String(error)
  if (message === '' && error instanceof AggregateError) message = error.errors.map((e) => String(e)).join('; ')
  return new PgParallelError(message || (codeOf(error) ?? 'unknown error'), { cause: error, ...init })
}

/** Questions about errors, answered from the one table. */
export const ErrorUtils = {
  /** What the table says about an error of any origin. */
  classify,
  /** The category alone. */
  category: (error: unknown): ErrorCategory => classify(error).category,
  /** Trying again later may succeed. Whether it is *safe* depends on the statement: see `mayHaveExecuted`. */
  isTransient: (error: unknown): boolean => classify(error).transient,
  /** Counts for the circuit breaker: connection, timeout, 53xxx, 57P0x, 08xxx. */
  isInfrastructure: (error: unknown): boolean => classify(error).infrastructure,
  /** The connection must not be used again. */
  isConnectionDead: (error: unknown): boolean => classify(error).connectionDead,
  /** The plan or prepared statement is stale; the statement did not run. */
  isStalePlan,
  /** The server itself reported the error. */
  isServerError,
  /** The server's SQLSTATE, if it is one. */
  sqlState: (error: unknown): string | undefined => {
    const code = codeOf(error)
    return isSqlState(code) ? code : undefined
  },
  /** Makes a {@link PgParallelError} of anything. */
  wrap,
} as const
