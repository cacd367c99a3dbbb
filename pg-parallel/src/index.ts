/**
 * A PostgreSQL client for Node that keeps the event loop free and survives faults. Public names only.
 *
 * @packageDocumentation
 */
export {
  PgParallel,
  type FileTask,
  type PgParallelStats,
  type TaskOptions,
  type WarmupOptions,
  type WarmupReport,
} from './client'
export type { CallStats } from './core'
export { ErrorUtils, PgParallelError } from './errors'
export type { ErrorCategory, ErrorClass, PgParallelErrorInit, ServerErrorFields } from './errors'
export type { CallKind, PgParallelEvents } from './observe/events'
export type { CallMessage } from './observe/observer'
export type { CallOptions, Logger, PgParallelOptions, PipelineOptions } from './options'
export { CircuitBreaker, CircuitBreakerUtils } from './policy/breaker'
export type { BreakerPass, BreakerState, BreakerStats, CircuitBreakerOptions } from './policy/breaker'
export type { Deadline, DeadlineOptions } from './policy/deadline'
export { RetryUtils, type RetryOptions } from './policy/retry'
export type { HostAddress, TargetSessionAttrs } from './pool/hosts'
export type { PoolStats } from './pool/pool'
export type { QueryArrayCallConfig, QueryCallConfig } from './query'
export type { StreamOptions } from './stream'
export type { IsolationLevel, Transaction, TransactionOptions } from './transaction'
export type { WorkerClient } from './workers/database'
export type { WorkerStats } from './workers/pool'
