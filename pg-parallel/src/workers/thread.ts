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
import { constants, Script } from 'node:vm'
import { PgParallelError } from '../errors'
import type { PgParallelOptions } from '../options'
import { pack } from './parcels'
import {
  moved,
  READ_AHEAD,
  toPlain,
  wrapPlain,
  type Job,
  type JobResult,
  type MainMessage,
  type RemoteStatement,
  type ThreadData,
  type ThreadMessage,
} from './protocol'
import type { ThreadDatabase } from './database'

// On Linux, process 0 means the calling thread; elsewhere it would be the whole process.
const { nice, options, orders, answers, job: current, setup, missing } = workerData as ThreadData
if (process.platform === 'linux' && nice > 0) setPriority(0, Math.min(19, getPriority(0) + nice))

const say = (message: ThreadMessage): void => {
  answers.postMessage(message, moved(message))
}

/** What the module that is loaded first gives to be used in place of options that cannot be sent. */
async function loadSetup(): Promise<Partial<PgParallelOptions>> {
  if (setup === undefined) return {}
  let module: Record<string, unknown>
  try {
    module = (await import(setup)) as Record<string, unknown>
  } catch (error) {
    throw new PgParallelError(`the setup module ${setup} cannot be loaded: ${(error as Error).message}`, {
      category: 'configuration',
      cause: error,
    })
  }
  const inner = module['default']
  const all = { ...(typeof inner === 'object' ? inner : {}), ...module } as Record<string, unknown>
  for (const name of missing) {
    if (all[name] !== undefined) continue
    throw new PgParallelError(`option ${name} cannot be sent to a thread: the setup module must export it`, {
      category: 'configuration',
    })
  }
  const given = ['types', 'onConnect', 'verify', 'ssl', 'stream'].filter((name) => all[name] !== undefined)
  return Object.fromEntries(given.map((name) => [name, all[name]]))
}
const ready = loadSetup()
// Whoever awaits it gets the error.
ready.catch(() => {})

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
    case 'more':
      if (message.id === running.id) running.more()
      return
    case 'abort':
      if (message.id === running.id) running.controller.abort()
      return
    case 'reclaim':
      database?.giveUpIdle()
  }
})

/** The job of this moment: how many more of its values its reader takes, and the word that nobody wants it any more. */
class Running {
  readonly id: number
  readonly controller = new AbortController()
  #credit = READ_AHEAD
  #wake: (() => void) | undefined

  constructor(id: number) {
    this.id = id
    this.controller.signal.addEventListener('abort', () => this.#wake?.())
  }

  more(): void {
    this.#credit++
    this.#wake?.()
  }

  /** Waits until another value is wanted; false where none will be. */
  async wanted(): Promise<boolean> {
    const { signal } = this.controller
    while (this.#credit === 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    this.#credit--
    return !signal.aborted
  }
}
let running = new Running(0)

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
  const made = fn(...before, ...job.args)
  if (job.yields) return handOut(await made)
  return { ok: true, ...pack(await made) }
}

/** Hands over one by one what can be iterated, as far ahead as its reader allows. */
async function handOut(source: unknown): Promise<JobResult> {
  const { [Symbol.asyncIterator]: asynchronous, [Symbol.iterator]: synchronous } = (source ?? {}) as Partial<
    AsyncIterable<unknown> & Iterable<unknown>
  >
  const begin = (asynchronous ?? synchronous) as (() => AsyncIterator<unknown> | Iterator<unknown>) | undefined
  const iterator = begin?.call(source)
  if (!iterator) throw new PgParallelError('the function returned nothing that can be iterated', { category: 'task' })
  for (;;) {
    if (!(await running.wanted())) {
      await iterator.return?.()
      break
    }
    const next: IteratorResult<unknown, unknown> = await iterator.next()
    if (next.done === true) break
    say({ type: 'item', id: running.id, parcel: pack(next.value) })
  }
  return { ok: true, value: undefined }
}

/** Loads the database code and connects, so that a job's own time begins with its function. */
async function connected(): Promise<ThreadDatabase> {
  const { ThreadDatabase: Database } = await import('./database.js')
  const given = await ready
  database ??= new Database(
    { ...options, ...given },
    {
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
      tell: say,
    },
  )
  await database.connect()
  return database
}

/** What a job comes to, once it has been taken up. */
async function outcome(job: Job, withConnection: ThreadDatabase | undefined): Promise<JobResult> {
  if (job.kind === 'task') return call(job)
  if (job.kind === 'worker') {
    const database = withConnection as ThreadDatabase
    database.observer.listening = job.observed === true
    return database.use((client) => call(job, client))
  }
  if (job.kind === 'query' || job.kind === 'stream') {
    const database = withConnection as ThreadDatabase
    const [statement] = job.args as [RemoteStatement]
    const { signal } = running.controller
    if (job.kind === 'stream') return handOut(database.batches(statement, signal))
    return { ok: true, ...pack(await database.query(statement, signal)) }
  }
  return { ok: true, value: threadId }
}

/** Whatever happens, the answer can be sent. */
async function perform(job: Job): Promise<void> {
  let result: JobResult
  try {
    running = new Running(job.id)
    await ready
    const withConnection = job.kind === 'task' || job.kind === 'warm' ? undefined : await connected()
    // Up to here nothing of the job has happened, and the main thread may have withdrawn it: its time was over.
    const takenUp = Atomics.compareExchange(current, 0, -job.id, job.id) === -job.id
    result = takenUp ? await outcome(job, withConnection) : { ok: true, value: undefined }
  } catch (error) {
    result = { ok: false, error: toPlain(error) }
  }
  say({ type: 'result', id: job.id, result })
}

say({ type: 'ready' })
