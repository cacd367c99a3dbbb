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
export type { DriverClient, DriverClientConfig, PgParallelDriver } from './asDriver'
export { PgParallelPool, PooledClient, type ConnectCallback } from './asPool'
export type { BatchItem } from './batch'
export { CopyFrom, CopyTo, type CopyOptions } from './copy'
export type { CallStats } from './core'
export { ErrorUtils, PgParallelError } from './errors'
export type { ErrorCategory, ErrorClass, PgParallelErrorInit, ServerErrorFields } from './errors'
export type { CallKind, PgParallelEvents } from './observe/events'
export type { CallMessage } from './observe/observer'
export type { ListenOptions, Notification, Subscription } from './listen'
export type { CallOptions, Logger, PgParallelOptions, PipelineOptions, PoolOptions, ReplayChoice } from './options'
export type { HeldClient, QueryCallback, Submitting } from './pool/held'
export { CircuitBreaker, CircuitBreakerUtils } from './policy/breaker'
export type { BreakerPass, BreakerState, BreakerStats, CircuitBreakerOptions } from './policy/breaker'
export type { Deadline, DeadlineOptions } from './policy/deadline'
export { RetryUtils, type RetryOptions } from './policy/retry'
export type { HostAddress, TargetSessionAttrs } from './pool/hosts'
export type { PoolStats } from './pool/pool'
export type { QueryArrayCallConfig, QueryCallConfig } from './query'
export type { CustomTypes, FieldDef, QueryArrayConfig, QueryArrayResult, QueryConfig, QueryResult } from './types'
export type { SchemaIssue, SchemaOutcome, SchemaOutput, StandardSchema } from './rows'
export { sql, Sql, type SqlTag } from './sql'
export type { StreamOptions } from './stream'
export type {
  IsolationLevel,
  Transaction,
  TransactionOptions,
  TransactionQuery,
  TransactionStreamOptions,
} from './transaction'
export type { WorkerClient } from './workers/database'
export type { WorkerStats } from './workers/pool'
export type { DateChoice, Int8Choice } from './wire/choices'
export type { Notice } from './wire/notice'
export type { LoginOptions, Password } from './wire/login'
