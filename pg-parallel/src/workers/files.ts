/** Which file a thread begins with: the package's own, or where that is bundled, the one that the option names. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PgParallelError } from '../errors'

/** What the relay's thread gets, so that a file that serves both kinds of thread knows which one it is. */
export const RELAY_DATA = { relay: true } as const

/** A thread's data is that of the relay. */
export function isRelay(data: unknown): boolean {
  return (data as { relay?: unknown } | null)?.relay === true
}

/** The folder of this file; undefined where a bundler has left none. */
const folder = typeof __dirname === 'string' ? __dirname : undefined

/**
 * The path of a thread's file. A file that is not there is an error at once: a bundle has the package's code but not its
 * files, and the thread's own failure would not say what to do.
 *
 * @param own - the package's file
 * @param threadPath - the option
 */
export function threadFile(own: 'thread.js' | 'relayThread.js', threadPath: string | undefined): string {
  const path = threadPath ?? join(folder ?? '', own)
  if (existsSync(path)) return path
  throw new PgParallelError(
    threadPath === undefined
      ? `the threads’ file ${path} is missing: where pg-parallel is bundled, bundle pg-parallel/thread too and give its path as threadPath`
      : `there is no file ${path} (threadPath)`,
    { category: 'configuration' },
  )
}

/** The path that the option names: a path, which starts from the working directory if it is relative, or a `file:` URL. */
export function checkedThreadPath(given: unknown): string | undefined {
  if (given === undefined) return undefined
  const text = given instanceof URL ? given.href : given
  if (typeof text !== 'string' || text === '' || (given instanceof URL && given.protocol !== 'file:')) {
    throw new PgParallelError('threadPath must be the path or file: URL of a bundle of pg-parallel/thread', {
      category: 'configuration',
    })
  }
  return text.startsWith('file:') ? fileURLToPath(text) : resolve(text)
}
