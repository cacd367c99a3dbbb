/** What a {@link PgParallel} is told: the options, their defaults, and the checks on them. */
import { pathToFileURL } from 'node:url'
import { availableParallelism } from 'node:os'
import type { ResourceLimits } from 'node:worker_threads'
import type { HeldClient } from './pool/held'
import type { CustomTypes } from './types'
import { camelCase, chosenTypes, type DateChoice, type Int8Choice } from './wire/choices'
import type { LoginOptions } from './wire/login'
import { SeenTexts } from './wire/prepared'
import type { SessionOptions } from './wire/session'
import { PgParallelError } from './errors'
import type { CircuitBreakerOptions } from './policy/breaker'
import type { DeadlineOptions } from './policy/deadline'
import { RetryUtils, type RetryOptions } from './policy/retry'
import { checkedThreadPath } from './workers/files'
import { resolveHosts, type HostAddress, type HostPlan, type TargetSessionAttrs } from './pool/hosts'

/** Where messages for the operator go. `console` fits. */
export interface Logger {
  info(message: string, details?: unknown): void
  warn(message: string, details?: unknown): void
  error(message: string, details?: unknown): void
}

/** How many statements may be under way on one connection. */
export interface PipelineOptions {
  /** Statements sent on one connection before the first of them is answered. */
  depth: number
}

/** What `pg.Pool` takes. */
export interface PoolOptions extends LoginOptions {
  /**
   * `postgres://user:password@host:port/database?option=value`, or libpq's `host=… dbname=…`; it goes before the other
   * options.
   */
  connectionString?: string | undefined
  /** A section of libpq's service file (`~/.pg_service.conf`) that has what is not said otherwise. */
  service?: string | undefined
  /** A name, an address, a folder with a Unix socket, or a list of them separated by commas. */
  host?: string | undefined
  port?: number | undefined
  /** Most connections. */
  max?: number | undefined
  /** Idle connections are closed down to this number. */
  min?: number | undefined
  /** An idle connection is closed after this time; 0 for never. */
  idleTimeoutMillis?: number | null | undefined
  /** The time for one attempt to connect. */
  connectionTimeoutMillis?: number | undefined
  /** A connection is closed after so many statements. */
  maxUses?: number | undefined
  /** A connection is closed after this time; 0 for never. */
  maxLifetimeSeconds?: number | undefined
  /** Idle connections do not keep the process alive. */
  allowExitOnIdle?: boolean | undefined
  /** Time limit of statements that set none of their own. */
  query_timeout?: number | undefined
  /** Where parsers of values come from, in place of `pg-types`. */
  types?: CustomTypes | undefined
  /** What int8 is read as. Default: `string`, as in `pg`. `number` is an error where it would not be exact. */
  int8?: Int8Choice | undefined
  /** What date, time, timestamp and timestamptz are read as. Default: `date`, which leaves time a string, as in `pg`. */
  dates?: DateChoice | undefined
  /** Names of columns in rows: `first_name` becomes `firstName`. */
  camelCase?: boolean | undefined
  /** Results in binary format. */
  binary?: boolean | undefined
  /** Called with every new connection before anybody gets it. */
  onConnect?: ((client: HeldClient) => unknown) | undefined
  /** As `onConnect`, with a callback. */
  verify?: ((client: HeldClient, callback: (error?: Error) => void) => void) | undefined
  log?: ((...messages: unknown[]) => void) | undefined
  Promise?: PromiseConstructorLike | undefined
}

/** Options of {@link PgParallel}; everything that `pg.Pool` takes is taken too, but no other `Client` and `Promise`. */
export interface PgParallelOptions extends PoolOptions {
  /**
   * Statements with parameters that come again are prepared, so many per connection at most; the one used longest ago
   * goes first. 0, or false, for none. Default: 256.
   */
  prepare?: number | boolean | undefined
  /** A statement whose rows take more bytes fails, and its connection is closed. Default: no limit. */
  maxResultBytes?: number | undefined
  /** A statement with more rows fails, and its connection is closed. Default: no limit. */
  maxRows?: number | undefined
  /** Most worker threads. 0 switches `task` and `worker` off. Default: the machine's parallelism, 4 at most. */
  maxWorkers?: number | undefined
  /** How failures that may pass are met; `false` tries everything once. */
  retry?: Partial<RetryOptions> | false | undefined
  /**
   * Which statements are sent again after they may have run: `reads`, those that only read by their text and by what the
   * database says of their functions, and those marked `idempotent`; `marked`, the latter alone. Default: `reads`.
   */
  replay?: ReplayChoice | undefined
  /** When a server in trouble is left alone; `false` never opens the circuit. */
  circuitBreaker?: Partial<CircuitBreakerOptions> | false | undefined
  /** Where messages go. Default: nowhere. */
  logger?: Logger | undefined
  /** Calls that may wait for a connection, and tasks that may wait for a thread. More are refused at once. */
  maxQueue?: number | undefined
  /** Time limit of every call that sets none of its own. Default: `query_timeout`, else none. */
  timeoutMs?: number | undefined
  /** Servers to try in this order, instead of `host` and `port`. */
  hosts?: readonly HostAddress[] | undefined
  /** What a connection must offer, as libpq's `target_session_attrs`. */
  targetSessionAttrs?: TargetSessionAttrs | undefined
  /**
   * Send statements before earlier ones are answered. Default: those that only read; `true` for all, so that more of
   * them may have run when a connection is lost; `false` for none.
   */
  pipeline?: boolean | Partial<PipelineOptions> | undefined
  /** A connection idle for longer is asked for a sign of life before a statement that must not be sent twice. */
  validateAfterIdleMs?: number | undefined
  /** After a cancel request, the connection is given up when its statement has not ended by then. */
  cancelTimeoutMs?: number | undefined
  /** A thread with nothing to do for this long ends. Default: never. */
  idleWorkerTimeoutMs?: number | undefined
  /**
   * A module (a path or a `file:` URL) that each thread loads before anything else, to set type parsers there. What it
   * exports as `types`, `onConnect`, `verify`, `ssl` or `stream` is used for the thread's connection in place of the option
   * of that name, which `worker` needs where the option cannot be sent to a thread.
   */
  setup?: string | undefined
  /**
   * The threads' file (a path or a `file:` URL), for applications that are bundled: `pg-parallel/thread`, bundled as an
   * entry of its own. Default: the package's own file.
   */
  threadPath?: string | URL | undefined
  /** Limits on each thread's memory; a task that exceeds them is rejected and its thread replaced. */
  workerResourceLimits?: ResourceLimits | undefined
  /**
   * How far threads stand back behind the event loop and everything else on the machine, as by `nice`: 0 (not at all)
   * to 19. Where cores are scarce this is what keeps the event loop free. Linux only. Default: 5, a third of the time
   * that the event loop gets where both want the same core. At 19 threads get what nobody else wants, and on a machine
   * that other work keeps busy all the time tasks take very long, with whatever locks they hold in the database.
   */
  workerNice?: number | undefined
  /** Make OpenTelemetry spans where `@opentelemetry/api` is installed. Default: true. */
  tracing?: boolean | undefined
}

/** What is sent again after it may have run. */
export type ReplayChoice = 'reads' | 'marked'

/** What every call takes. */
export interface CallOptions extends DeadlineOptions {
  /** Running it twice does the same as once, so it may be sent again after its answer was lost. */
  idempotent?: boolean | undefined
  /** Overrides the instance's retry settings for this call. */
  retry?: Partial<RetryOptions> | false | undefined
}

/** Options with every default filled in. */
export interface Settings {
  /** How to log in, but for the address. */
  readonly client: PoolOptions
  /** What every session may use. */
  readonly session: SessionOptions
  readonly hosts: HostPlan
  readonly max: number
  readonly min: number
  readonly maxWorkers: number
  readonly maxQueue: number
  readonly retry: RetryOptions
  readonly replay: ReplayChoice
  readonly circuitBreaker: Partial<CircuitBreakerOptions> | false
  readonly logger: Logger
  readonly timeoutMs: number | undefined
  readonly pipelineDepth: number
  readonly pipelineWrites: boolean
  readonly validateAfterIdleMs: number
  readonly cancelTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly idleWorkerTimeoutMs: number
  readonly workerResourceLimits: ResourceLimits | undefined
  readonly workerNice: number
  readonly setup: string | undefined
  readonly threadPath: string | undefined
  readonly maxLifetimeMs: number
  readonly maxUses: number
  readonly allowExitOnIdle: boolean
  readonly tracing: boolean
}

const SILENT: Logger = { info: () => {}, warn: () => {}, error: () => {} }

/** A whole number within limits, or an error that names the option. */
function whole(name: string, value: unknown, fallback: number, least: number): number {
  if (value === undefined || value === null) return fallback
  if (typeof value !== 'number' || !(value >= least) || (value !== Infinity && !Number.isInteger(value))) {
    throw new PgParallelError(`${name} must be a whole number of at least ${least}, not ${String(value)}`, {
      category: 'configuration',
    })
  }
  return value
}

/** The URL of the threads' first module; a relative path starts from the working directory. */
function checkedSetup(setup: unknown): string | undefined {
  if (setup === undefined) return undefined
  if (typeof setup !== 'string' || setup === '') {
    throw new PgParallelError('setup must be the path or file: URL of a module', { category: 'configuration' })
  }
  return setup.startsWith('file:') ? setup : pathToFileURL(setup).href
}

function checkedReplay(replay: unknown): ReplayChoice {
  if (replay === undefined || replay === 'reads') return 'reads'
  if (replay === 'marked') return 'marked'
  throw new PgParallelError(`replay must be "reads" or "marked", not ${String(replay)}`, { category: 'configuration' })
}

/** Fills in defaults and refuses what makes no sense. */
export function resolveSettings(options: PgParallelOptions = {}): Settings {
  const {
    max,
    min,
    maxWorkers,
    retry,
    replay,
    circuitBreaker,
    logger,
    maxQueue,
    timeoutMs,
    hosts,
    targetSessionAttrs,
    pipeline,
    validateAfterIdleMs,
    cancelTimeoutMs,
    idleTimeoutMillis,
    idleWorkerTimeoutMs,
    workerResourceLimits,
    workerNice,
    setup,
    threadPath,
    maxUses,
    maxLifetimeSeconds,
    allowExitOnIdle,
    tracing,
    query_timeout: queryTimeout,
    log,
    Promise: promise,
    connectionTimeoutMillis,
    int8,
    dates,
    camelCase: camels,
    prepare,
    maxResultBytes,
    maxRows,
    ...rest
  } = options
  const { Client: client } = options as { Client?: unknown }
  if (client !== undefined) {
    throw new PgParallelError('Client is not supported: the connections are this package’s own', {
      category: 'configuration',
    })
  }
  if (promise !== undefined && promise !== Promise) {
    throw new PgParallelError('another Promise than the built-in one is not supported', { category: 'configuration' })
  }
  if (options.binary === true && (int8 !== undefined || dates !== undefined)) {
    throw new PgParallelError('int8 and dates are about results in text format, which binary switches off', {
      category: 'configuration',
    })
  }
  const resolved = resolveHosts(rest, hosts, targetSessionAttrs)
  const most = whole('max', max, 10, 1)
  const depth = typeof pipeline === 'object' ? pipeline.depth : undefined
  // A connection string may carry query_timeout as text.
  const fromString: unknown = (resolved.client as { query_timeout?: unknown }).query_timeout
  delete (resolved.client as { query_timeout?: unknown }).query_timeout
  const cancelLimit = whole('cancelTimeoutMs', cancelTimeoutMs, 2_000, 0)
  // libpq's connect_timeout is in seconds.
  const { connect_timeout: seconds } = resolved.client as { connect_timeout?: string }
  delete (resolved.client as { connect_timeout?: unknown }).connect_timeout
  const stringTimeout = seconds === undefined ? undefined : whole('connect_timeout', Number(seconds), 5, 0) * 1_000
  const connectTimeoutMs = whole('connectionTimeoutMillis', connectionTimeoutMillis ?? stringTimeout, 5_000, 0)
  return {
    client: { keepAlive: true, ...resolved.client },
    session: {
      types: chosenTypes({ int8, dates }, resolved.client.types),
      rename: camels === true ? camelCase : undefined,
      binary: resolved.client.binary === true,
      maxPrepared: prepare === false ? 0 : prepare === true ? 256 : whole('prepare', prepare, 256, 0),
      seen: new SeenTexts(),
      maxResultBytes: whole('maxResultBytes', maxResultBytes, Infinity, 1),
      maxRows: whole('maxRows', maxRows, Infinity, 1),
      errorTimeoutMs: cancelLimit,
    },
    hosts: resolved.plan,
    max: most,
    min: Math.min(whole('min', min, 0, 0), most),
    maxWorkers: whole('maxWorkers', maxWorkers, Math.min(4, availableParallelism()), 0),
    maxQueue: whole('maxQueue', maxQueue, 100_000, 0),
    retry: RetryUtils.resolve(retry),
    replay: checkedReplay(replay),
    circuitBreaker: circuitBreaker ?? {},
    logger: logger ?? (log ? { info: log, warn: log, error: log } : SILENT),
    timeoutMs: timeoutMs ?? queryTimeout ?? (fromString === undefined ? undefined : Number(fromString)),
    pipelineDepth: pipeline === false ? 1 : whole('pipeline.depth', depth, 16, 1),
    pipelineWrites: pipeline !== undefined && pipeline !== false,
    validateAfterIdleMs: whole('validateAfterIdleMs', validateAfterIdleMs, 500, 0),
    cancelTimeoutMs: cancelLimit,
    // 0 means "no limit" in pg; here a connection attempt must end, or one black hole would hold its slot for ever.
    connectTimeoutMs: connectTimeoutMs === 0 ? 60_000 : connectTimeoutMs,
    // pg: 0 or null switches the idle timer off.
    idleTimeoutMs:
      idleTimeoutMillis === null ? Infinity : whole('idleTimeoutMillis', idleTimeoutMillis, 10_000, 0) || Infinity,
    idleWorkerTimeoutMs: whole('idleWorkerTimeoutMs', idleWorkerTimeoutMs, Infinity, 0),
    workerResourceLimits,
    setup: checkedSetup(setup),
    threadPath: checkedThreadPath(threadPath),
    workerNice: Math.min(whole('workerNice', workerNice, 5, 0), 19),
    maxLifetimeMs: whole('maxLifetimeSeconds', maxLifetimeSeconds, 0, 0) * 1_000 || Infinity,
    maxUses: whole('maxUses', maxUses, Infinity, 1),
    allowExitOnIdle: allowExitOnIdle ?? false,
    tracing: tracing ?? true,
  }
}
