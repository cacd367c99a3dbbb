/**
 * The thread's side: what runs on every worker thread. It takes {@link Job}s from one port and answers on another, one
 * job at a time.
 *
 * Database code is loaded with the first job that needs it, so that a thread for CPU work stays small.
 */
import { createRequire } from 'node:module'
import { getPriority, setPriority } from 'node:os'
import { join } from 'node:path'
import { threadId, workerData } from 'node:worker_threads'
import { serialize } from 'node:v8'
import { constants, Script } from 'node:vm'
import { PgParallelError } from '../errors'
import {
  moved,
  toPlain,
  wrapPlain,
  type Job,
  type JobResult,
  type MainMessage,
  type ThreadData,
  type ThreadMessage,
} from './protocol'
import type { ThreadDatabase } from './database'

// On Linux, process 0 means the calling thread; elsewhere it would be the whole process.
const { nice, options, orders, answers, job: current } = workerData as ThreadData
if (process.platform === 'linux' && nice > 0) setPriority(0, Math.min(19, getPriority(0) + nice))

const say = (message: ThreadMessage): void => {
  answers.postMessage(message, moved(message))
}

let database: ThreadDatabase | undefined
let password: string | undefined
/** Requests for a connection slot that the main thread has not answered yet. */
const requests: { resolve: () => void; reject: (error: unknown) => void }[] = []

// This port is also what keeps the thread alive.
orders.on('message', (message: MainMessage) => {
  switch (message.type) {
    case 'job':
      void perform(message.job)
      return
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

/** Calls the job's function; what it returns is put into a form that is known to arrive. */
async function call(job: Job, ...before: unknown[]): Promise<JobResult> {
  const fn =
    job.source === undefined
      ? await load(job.module ?? '', job.name ?? 'default')
      : compile(job.source, job.base ?? process.cwd())
  const value: unknown = await fn(...before, ...job.args)
  const simple =
    (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol') || value === null
  return simple ? { ok: true, value } : { ok: true, data: serialize(value) }
}

/** Work with a connection. */
async function callWithClient(job: Job): Promise<JobResult> {
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
  return database.use((client) => call(job, client))
}

const KINDS: Readonly<Record<Job['kind'], (job: Job) => Promise<JobResult>>> = {
  task: (job) => call(job),
  worker: callWithClient,
  warm: () => Promise.resolve({ ok: true, value: threadId }),
}

/** Whatever happens, the answer can be sent. */
async function perform(job: Job): Promise<void> {
  Atomics.store(current, 0, job.id)
  let result: JobResult
  try {
    result = await KINDS[job.kind](job)
  } catch (error) {
    result = { ok: false, error: toPlain(error) }
  }
  say({ type: 'result', id: job.id, result })
}

say({ type: 'ready' })
