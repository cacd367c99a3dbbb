/**
 * The file that threads begin with where a bundler has put the package into the application's own file:
 * `pg-parallel/thread`, bundled as an entry of its own, whose place is the option `threadPath`. It serves both kinds of
 * thread, and loads the side that is wanted.
 */
import { isMainThread, workerData } from 'node:worker_threads'
import { isRelay } from './files'

if (isMainThread) {
  throw new Error(
    'pg-parallel/thread is the file of pg-parallel’s threads: bundle it by itself and give its path as threadPath',
  )
}
// A failure to load it ends the thread, and is reported there.
void (isRelay(workerData) ? import('./relayThread.js') : import('./thread.js'))
