/** What a {@link PgParallel} is told: the options, their defaults, and the checks on them. */
import { availableParallelism } from 'node:os'
import type { ResourceLimits } from 'node:worker_threads'
import type { PoolConfig } from 'pg'
import { PgParallelError } from './errors'
import type { CircuitBreakerOptions } from './policy/breaker'
import type { DeadlineOptions } from './policy/deadline'
import { RetryUtils, type RetryOptions } from './policy/retry'
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

/** Options of {@link PgParallel}; everything that `pg.Pool` takes is taken too. */
export interface PgParallelOptions extends Omit<PoolConfig, 'pipeline'> {
  /** Most worker threads. 0 switches `task` and `worker` off. Default: the machine's parallelism, 4 at most. */
  maxWorkers?: number | undefined
  /** How failures that may pass are met; `false` tries everything once. */
  retry?: Partial<RetryOptions> | false | undefined
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
  /** Send statements before earlier ones are answered. Default: off. */
  pipeline?: boolean | Partial<PipelineOptions> | undefined
  /** A connection idle for longer is asked for a sign of life before a statement that must not be sent twice. */
  validateAfterIdleMs?: number | undefined
  /** After a cancel request, the connection is given up when its statement has not ended by then. */
  cancelTimeoutMs?: number | undefined
  /** A thread with nothing to do for this long ends. Default: never. */
  idleWorkerTimeoutMs?: number | undefined
  /** Limits on each thread's memory; a task that exceeds them is rejected and its thread replaced. */
  workerResourceLimits?: ResourceLimits | undefined
  /**
   * How far threads stand back behind the event loop and everything else on the machine, as by `nice`: 0 (not at all)
   * to 19. Where cores are scarce this is what keeps the event loop free. Linux only. Default: 19, so that threads get
   * what nobody else wants; lower it on a machine that other work keeps busy all the time, or tasks take very long.
   */
  workerNice?: number | undefined
  /** Make OpenTelemetry spans where `@opentelemetry/api` is installed. Default: true. */
  tracing?: boolean | undefined
}

/** What every call takes. */
export interface CallOptions extends DeadlineOptions {
  /** Running it twice does the same as once, so it may be sent again after its answer was lost. */
  idempotent?: boolean | undefined
  /** Overrides the instance's retry settings for this call. */
  retry?: Partial<RetryOptions> | false | undefined
}

/** Options with every default filled in. */
export interface Settings {
  /** Ready for `new Client(...)` once a host is put in. */
  readonly client: PoolConfig
  readonly hosts: HostPlan
  readonly max: number
  readonly min: number
  readonly maxWorkers: number
  readonly maxQueue: number
  readonly retry: RetryOptions
  readonly circuitBreaker: Partial<CircuitBreakerOptions> | false
  readonly logger: Logger
  readonly timeoutMs: number | undefined
  readonly pipelineDepth: number
  readonly validateAfterIdleMs: number
  readonly cancelTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly idleWorkerTimeoutMs: number
  readonly workerResourceLimits: ResourceLimits | undefined
  readonly workerNice: number
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

/** Fills in defaults and refuses what makes no sense. */
export function resolveSettings(options: PgParallelOptions = {}): Settings {
  const {
    max,
    min,
    maxWorkers,
    retry,
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
    maxUses,
    maxLifetimeSeconds,
    allowExitOnIdle,
    tracing,
    query_timeout: queryTimeout,
    log,
    Promise: promise,
    connectionTimeoutMillis,
    ...rest
  } = options
  if (promise !== undefined && promise !== Promise) {
    throw new PgParallelError('another Promise than the built-in one is not supported', { category: 'configuration' })
  }
  const resolved = resolveHosts(rest, hosts, targetSessionAttrs)
  const most = whole('max', max, 10, 1)
  const depth = typeof pipeline === 'object' ? pipeline.depth : undefined
  // A connection string may carry query_timeout as text.
  const fromString: unknown = (resolved.client as { query_timeout?: unknown }).query_timeout
  delete (resolved.client as { query_timeout?: unknown }).query_timeout
  const connectTimeoutMs = whole('connectionTimeoutMillis', connectionTimeoutMillis, 5_000, 0)
  return {
    client: { keepAlive: true, ...resolved.client },
    hosts: resolved.plan,
    max: most,
    min: Math.min(whole('min', min, 0, 0), most),
    maxWorkers: whole('maxWorkers', maxWorkers, Math.min(4, availableParallelism()), 0),
    maxQueue: whole('maxQueue', maxQueue, 100_000, 0),
    retry: RetryUtils.resolve(retry),
    circuitBreaker: circuitBreaker ?? {},
    logger: logger ?? (log ? { info: log, warn: log, error: log } : SILENT),
    timeoutMs: timeoutMs ?? queryTimeout ?? (fromString === undefined ? undefined : Number(fromString)),
    pipelineDepth: pipeline === undefined || pipeline === false ? 1 : whole('pipeline.depth', depth, 16, 1),
    validateAfterIdleMs: whole('validateAfterIdleMs', validateAfterIdleMs, 500, 0),
    cancelTimeoutMs: whole('cancelTimeoutMs', cancelTimeoutMs, 2_000, 0),
    // 0 means "no limit" in pg; here a connection attempt must end, or one black hole would hold its slot for ever.
    connectTimeoutMs: connectTimeoutMs === 0 ? 60_000 : connectTimeoutMs,
    // pg: 0 or null switches the idle timer off.
    idleTimeoutMs:
      idleTimeoutMillis === null ? Infinity : whole('idleTimeoutMillis', idleTimeoutMillis, 10_000, 0) || Infinity,
    idleWorkerTimeoutMs: whole('idleWorkerTimeoutMs', idleWorkerTimeoutMs, Infinity, 0),
    workerResourceLimits,
    workerNice: Math.min(whole('workerNice', workerNice, 19, 0), 19),
    maxLifetimeMs: whole('maxLifetimeSeconds', maxLifetimeSeconds, 0, 0) * 1_000 || Infinity,
    maxUses: whole('maxUses', maxUses, Infinity, 1),
    allowExitOnIdle: allowExitOnIdle ?? false,
    tracing: tracing ?? true,
  }
}
