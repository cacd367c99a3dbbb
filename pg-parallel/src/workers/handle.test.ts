import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { stops } from '../../test/support/stops'
import type { CallObserver, Followed } from '../observe/observer'
import { resolveSettings, type PgParallelOptions } from '../options'
import { ThreadHandle, type Entry } from './handle'
import type { CallNews, Job, JobResult, ThreadMessage } from './protocol'
import { Relay } from './relay'

// No thread keeps a process alive.
const alive = setInterval(() => {}, 1_000)
after(() => {
  clearInterval(alive)
})

interface HandleUnderTest {
  thread: ThreadHandle
  /** What was heard, and `gone` when it had ended. */
  heard: (ThreadMessage | 'gone')[]
  relays: number
  /** Resolves when `heard` has what is looked for. */
  hears(what: (message: ThreadMessage | 'gone') => boolean): Promise<void>
}

function start(options: PgParallelOptions = {}): HandleUnderTest {
  const heard: (ThreadMessage | 'gone')[] = []
  let news = (): void => {}
  const hear = (message: ThreadMessage | 'gone'): void => {
    heard.push(message)
    news()
  }
  const started = performance.now()
  const relay = (): Relay => {
    under.relays++
    const one = new Relay((error) => assert.fail(String(error)))
    stops.push(() => one.close())
    return one
  }
  const under: Omit<HandleUnderTest, 'thread'> = {
    heard,
    relays: 0,
    async hears(what) {
      while (!heard.some(what)) {
        assert(performance.now() - started < 60_000, 'it was not heard')
        await new Promise<void>((done) => (news = done))
      }
    },
  }
  const settings = resolveSettings({
    host: '127.0.0.1',
    port: 1,
    workerNice: 0,
    idleWorkerTimeoutMs: 60_000,
    ...options,
  })
  const thread = new ThreadHandle(settings, { kept: {}, missing: [] }, relay, {
    message: (from, message) => {
      assert.equal(from, thread)
      hear(message)
    },
    gone: (which) => {
      assert.equal(which, thread)
      hear('gone')
    },
  })
  stops.push(() => {
    thread.end()
  })
  return Object.assign(under, { thread })
}

/** A job, and the entry that carries it. */
function entryOf(id: number, source: string, args: unknown[] = [], more: Partial<Entry> = {}): Entry {
  const job: Job = { id, kind: 'task', source, args }
  return {
    ...{ job, deadline: undefined, followed: undefined, resolve: () => {}, reject: () => {}, read: undefined },
    ...{ onItem: undefined, transferList: undefined, thread: undefined, sentInVain: false, over: false, ...more },
  }
}

const isResult = (message: ThreadMessage | 'gone'): message is ThreadMessage & { type: 'result'; result: JobResult } =>
  message !== 'gone' && message.type === 'result'

for (const workerNice of [0, 1]) {
  test(`at nice ${workerNice} a job goes to the thread, and its answer comes back`, async () => {
    const under = start({ workerNice })
    const { thread } = under
    const bytes = new Uint8Array(8).fill(7)
    const entry = entryOf(5, '(bytes) => bytes[3]', [bytes], { transferList: [bytes.buffer] })
    thread.give(entry)
    assert.equal(thread.entry, entry)
    assert.equal(entry.thread, thread)
    assert.equal(bytes.length, 0, 'it was copied')
    await under.hears(isResult)
    assert.deepEqual(under.heard, [{ type: 'ready' }, { type: 'result', id: 5, result: { ok: true, value: 7 } }])
    assert.equal(thread.hasBegun(entry.job), true)
    assert.equal(thread.takeBack(entry.job), false)
    // Who stands back is heard by way of a thread that does not.
    assert.equal(under.relays, workerNice > 0 && process.platform === 'linux' ? 1 : 0)
  })
}

test('a job that was not taken up is taken back, once, and never runs', async () => {
  const under = start()
  const { thread } = under
  const words = new Int32Array(new SharedArrayBuffer(8))
  const first = entryOf(1, '(words) => { Atomics.wait(words, 0, 0) }', [words])
  thread.give(first)
  while (!thread.hasBegun(first.job)) await new Promise(setImmediate)
  const second = entryOf(2, '(words) => { words[1] = 1 }', [words])
  thread.give(second)
  assert.equal(thread.hasBegun(second.job), false)
  assert.equal(thread.takeBack(second.job), true)
  assert.equal(thread.takeBack(second.job), false)
  Atomics.store(words, 0, 1)
  Atomics.notify(words, 0)
  await under.hears((message) => isResult(message) && message.id === 2)
  assert.equal(words[1], 0)
  assert.equal(thread.hasBegun(second.job), false)
})

test('what cannot be cloned is an error of the giver, and the thread takes the next job', async () => {
  const under = start()
  assert.throws(() => {
    under.thread.give(entryOf(1, '() => 1', [() => {}]))
  }, /could not be cloned/)
  under.thread.give(entryOf(2, '() => 2'))
  await under.hears(isResult)
  assert.deepEqual(under.heard.at(-1), { type: 'result', id: 2, result: { ok: true, value: 2 } })
})

for (const workerNice of [0, 1]) {
  test(`at nice ${workerNice} the end of a thread is heard once, after all that it said`, async () => {
    const under = start({ workerNice })
    under.thread.give(entryOf(1, '() => 1'))
    await under.hears(isResult)
    under.thread.give(entryOf(2, '() => { process.exit(3) }'))
    await under.hears((message) => message === 'gone')
    assert.deepEqual(
      under.heard.map((message) => (message === 'gone' ? message : message.type)),
      ['ready', 'result', 'gone'],
    )
    assert.match(String(under.thread.failure), /exit code 3/)
    await new Promise((done) => setTimeout(done, 20))
    assert.equal(under.heard.filter((message) => message === 'gone').length, 1)
  })
}

test('why a thread failed is what it threw, and not the exit code that comes after', async () => {
  const under = start()
  under.thread.give(
    entryOf(1, '() => { setImmediate(() => { throw new Error("mine") }); return new Promise(() => {}) }'),
  )
  await under.hears((message) => message === 'gone')
  assert.match(String(under.thread.failure), /mine/)
})

test('a thread at rest ends after its time, unless a job comes first', async () => {
  const quick = start({ idleWorkerTimeoutMs: 1 })
  await quick.hears((message) => message !== 'gone' && message.type === 'ready')
  quick.thread.rest()
  await quick.hears((message) => message === 'gone')
  assert.equal(quick.thread.ending, true)

  const busy = start({ idleWorkerTimeoutMs: 200 })
  await busy.hears((message) => message !== 'gone' && message.type === 'ready')
  busy.thread.rest()
  busy.thread.give(entryOf(1, '() => new Promise((done) => setTimeout(done, 400))'))
  await busy.hears(isResult)
  assert.equal(busy.thread.ending, false)
})

test('a thread that is ending, or that never ends of itself, gets no timer', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((what) => what === 'Timeout').length
  const kept = start({ idleWorkerTimeoutMs: Infinity })
  const ending = start()
  ending.thread.end()
  assert.equal(ending.thread.ending, true)
  const before = timers()
  kept.thread.rest()
  ending.thread.rest()
  assert.equal(timers(), before)
  await ending.hears((message) => message === 'gone')
})

test('calls on the thread are followed within the call that they are a part of', () => {
  const { thread } = start()
  const told: unknown[] = []
  const followedAs = (name: string): Followed => ({
    end: (attempts: number, durationMs: number) => told.push([name, 'end', attempts, durationMs]),
    fail: (error: Error, attempts: number, durationMs: number) =>
      told.push([name, error.message, attempts, durationMs]),
  })
  const names = new Map<Followed | undefined, string>()
  const observer: CallObserver = {
    listening: true,
    begin: (kind, text, name, within) => {
      told.push([kind, text, name, within && names.get(within)])
      if (text === 'unwatched') return undefined
      const followed = followedAs(String(text))
      names.set(followed, String(text))
      return followed
    },
  }
  const job = followedAs('job')
  names.set(job, 'job')
  thread.entry = entryOf(1, '', [], { followed: job })
  const say = (news: Omit<CallNews, 'type'>): void => {
    thread.observe({ type: 'call', ...news }, observer)
  }
  say({ id: 1, within: undefined, begun: { kind: 'transaction', text: 'BEGIN', name: undefined } })
  say({ id: 2, within: 1, begun: { kind: 'query', text: 'SELECT 1', name: 'one' } })
  say({ id: 3, within: 1, begun: { kind: 'query', text: 'unwatched', name: undefined } })
  say({ id: 3, within: 1, ended: { attempts: 1, durationMs: 1 } })
  const error = { name: 'Error', message: 'no', stack: undefined, fields: {} }
  say({ id: 2, within: 1, ended: { attempts: 2, durationMs: 5, error } })
  say({ id: 2, within: 1, ended: { attempts: 9, durationMs: 9 } })
  say({ id: 1, within: undefined, ended: { attempts: 1, durationMs: 7 } })
  assert.deepEqual(told, [
    ['transaction', 'BEGIN', undefined, 'job'],
    ['query', 'SELECT 1', 'one', 'BEGIN'],
    ['query', 'unwatched', undefined, 'BEGIN'],
    ['SELECT 1', 'no', 2, 5],
    ['BEGIN', 'end', 1, 7],
  ])
})
