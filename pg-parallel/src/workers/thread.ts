/**
 * The thread's side: piscina loads this module on every worker thread and calls its exports with a {@link Job}.
 *
 * Database code is loaded with the first job that needs it, so that a thread for CPU work stays small.
 */
import { createRequire } from 'node:module'
import { getPriority, setPriority } from 'node:os'
import { join } from 'node:path'
import { MessageChannel, parentPort, threadId, workerData } from 'node:worker_threads'
import { serialize } from 'node:v8'
import { constants, Script } from 'node:vm'
import { PgParallelError } from '../errors'
import {
  toPlain,
  wrapPlain,
  type Hello,
  type Job,
  type JobResult,
  type MainMessage,
  type ThreadData,
  type ThreadMessage,
} from './protocol'
import type { ThreadDatabase } from './database'

// On Linux, process 0 means the calling thread; elsewhere it would be the whole process.
const { nice, options } = workerData as ThreadData
if (process.platform === 'linux' && nice > 0) setPriority(0, Math.min(19, getPriority(0) + nice))

const { port1: here, port2: there } = new MessageChannel()
const current = new Int32Array(new SharedArrayBuffer(4))
const hello: Hello = { pgParallelThread: threadId, port: there, job: current }
parentPort?.postMessage(hello, [there])

const say = (message: ThreadMessage): void => {
  here.postMessage(message)
}

let database: ThreadDatabase | undefined
let password: string | undefined
/** Requests for a connection slot that the main thread has not answered yet. */
const requests: { resolve: () => void; reject: (error: unknown) => void }[] = []

here.on('message', (message: MainMessage) => {
  switch (message.type) {
    case 'granted':
      password = message.password
      requests.shift()?.resolve()
      return
    case 'denied':
      requests.shift()?.reject(wrapPlain(message.error))
      return
    case 'reclaim':
      database?.giveUpIdle()
  }
})
// What keeps the thread alive is piscina's port.
here.unref()

/** Asks the main thread for the right to open a connection. */
function reserve(): Promise<void> {
  return new Promise((resolve, reject) => {
    requests.push({ resolve, reject })
    say({ type: 'need' })
  })
}

// Inline functions get the default loader by an interface that Node still calls experimental. Its users did not choose
// it, so they are not warned of it.
const { emitWarning } = process
process.emitWarning = (warning: string | Error, ...rest: never[]) => {
  if (!String(warning).includes('USE_MAIN_CONTEXT_DEFAULT_LOADER')) emitWarning.call(process, warning, ...rest)
}

/** Results of this size are moved to the main thread: below it, loading what that takes costs more than the copy. */
const MOVE_BYTES = 65_536

type Fn = (...args: unknown[]) => unknown

const compiled = new Map<string, Fn>()

/** A function from its text. Not by `eval`: its file name is where `import()` and `require` start from. */
function compile(source: string, base: string): Fn {
  const key = `${base}\0${source}`
  const known = compiled.get(key)
  if (known) return known
  const filename = join(base, '[inline function]')
  // Before Node 20.12 there is no way to give such code the default loader; require still works there.
  const loader = (constants as { USE_MAIN_CONTEXT_DEFAULT_LOADER?: number } | undefined)
    ?.USE_MAIN_CONTEXT_DEFAULT_LOADER
  const script = new Script(`(require) => (${source}\n)`, {
    filename,
    ...(loader === undefined ? {} : { importModuleDynamically: loader as never }),
  })
  const fn = (script.runInThisContext() as (require: NodeJS.Require) => Fn)(createRequire(filename))
  if (compiled.size > 1_000) compiled.clear()
  compiled.set(key, fn)
  return fn
}

/** The export of a module, also where a CommonJS module hides it in its default export. */
async function load(url: string, name: string): Promise<Fn> {
  let found: unknown
  let namespace: Record<string, unknown>
  try {
    namespace = (await import(url)) as Record<string, unknown>
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
      throw new PgParallelError(`this Node (${process.version}) cannot load ${url}: compile it to JavaScript first`, {
        category: 'task',
        cause: error,
      })
    }
    throw error
  }
  found = namespace[name]
  const inner = namespace['default']
  if (typeof found !== 'function' && (typeof inner === 'object' || typeof inner === 'function') && inner !== null) {
    found = (inner as Record<string, unknown>)[name]
  }
  if (typeof found === 'function') return found as Fn
  const names = Object.keys(namespace).concat(typeof inner === 'object' && inner ? Object.keys(inner) : [])
  throw new PgParallelError(
    `${url} exports no function "${name}", but ${[...new Set(names)].join(', ') || 'nothing'}`,
    {
      category: 'task',
    },
  )
}

async function perform(job: Job, ...before: unknown[]): Promise<JobResult> {
  const fn =
    job.source === undefined
      ? await load(job.module ?? '', job.name ?? 'default')
      : compile(job.source, job.base ?? process.cwd())
  const value: unknown = await fn(...before, ...job.args)
  if (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol') return { ok: true, value }
  if (value === null) return { ok: true, value }
  const data = serialize(value)
  const result: JobResult = { ok: true, data }
  if (data.byteLength < MOVE_BYTES) return result
  const { move } = await import('piscina')
  // What is moved is not copied once more. (`move` hides the result in a wrapper that piscina opens.)
  return move({
    get [Symbol.for('Piscina.transferable')]() {
      return [data.buffer]
    },
    get [Symbol.for('Piscina.valueOf')]() {
      return result
    },
  } as never) as never
}

/** Whatever happens, the answer can be sent. */
async function answer(job: Job, work: () => Promise<JobResult>): Promise<JobResult> {
  Atomics.store(current, 0, job.id)
  try {
    return await work()
  } catch (error) {
    return { ok: false, error: toPlain(error) }
  }
}

/** CPU work. */
export function task(job: Job): Promise<JobResult> {
  return answer(job, () => perform(job))
}

/** Work with a connection. */
export function worker(job: Job): Promise<JobResult> {
  return answer(job, async () => {
    const { ThreadDatabase: Database } = await import('./database.js')
    database ??= new Database(options ?? {}, {
      reserve,
      unreserve: () => {
        say({ type: 'closed' })
      },
      password: () => password,
      opened: (key) => {
        say({ type: 'opened', key })
      },
      log: (level, message) => {
        say({ type: 'log', level, message })
      },
    })
    return database.use((client) => perform(job, client))
  })
}

/** Proof that the thread is there. */
export function warm(job: Job): Promise<JobResult> {
  return answer(job, () => Promise.resolve({ ok: true, value: threadId }))
}
