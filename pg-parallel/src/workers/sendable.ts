/** Which of an instance's options its threads get, and which cannot be sent to them. */
import type { PgParallelOptions } from '../options'

/** Options for a thread. */
export interface ThreadOptions {
  /** What it is told to connect with: everything that can be cloned. */
  readonly kept: PgParallelOptions
  /** What cannot be sent. */
  readonly missing: readonly { readonly name: string; readonly cause: unknown }[]
}

/** Takes options apart. */
export function threadOptions(options: PgParallelOptions): ThreadOptions {
  // The password comes with the permission to connect. Threads start no threads.
  const { log: _log, logger: _logger, Promise: _promise, threadPath: _path, password, ...rest } = options
  const kept: Record<string, unknown> = password === undefined ? {} : { password: '' }
  const missing: { name: string; cause: unknown }[] = []
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined) continue
    try {
      kept[name] = structuredClone(value)
    } catch (cause) {
      missing.push({ name, cause })
    }
  }
  return { kept, missing }
}
