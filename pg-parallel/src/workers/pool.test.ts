import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeServer } from '../../test/support/fake'
import { closed, stops } from '../../test/support/stops'
import { Core } from '../core'
import { resolveSettings, type PgParallelOptions } from '../options'
import { Deadline } from '../policy/deadline'
import { WorkerPool } from './pool'
import type { Job } from './protocol'

function setup(options: PgParallelOptions = {}): { core: Core; workers: WorkerPool } {
  const given: PgParallelOptions = { host: '127.0.0.1', port: 1, maxWorkers: 1, ...options }
  const core = new Core(resolveSettings(given), {})
  const workers = new WorkerPool(core, given)
  stops.push(() => workers.destroy(closed))
  return { core, workers }
}

const task = (source: string, ...args: unknown[]): Omit<Job, 'id'> => ({ kind: 'task', source, args })
const LOOP = task('() => { for (;;); }')

test('jobs wait for a thread, in order, and no more of them than maxQueue', async () => {
  const { workers } = setup({ maxQueue: 2 })
  const order: unknown[] = []
  const jobs = [1, 2, 3].map(async (n) => order.push(await workers.run(task('(n) => n', n))))
  await assert.rejects(workers.run(task('() => 4')), { category: 'overload' })
  assert.deepEqual([workers.stats.running, workers.stats.waiting], [1, 2])
  await Promise.all(jobs)
  assert.deepEqual(order, [1, 2, 3])
  assert.deepEqual([workers.stats.threads, workers.stats.completed, workers.stats.crashed], [1, 3, 0])
})

test('a job that never began cannot have had an effect; one that did may have', async () => {
  const { workers } = setup()
  await workers.warmup(1, 0)
  const stop = new AbortController()
  const began = new Int32Array(new SharedArrayBuffer(4))
  const loop = task('(began) => { Atomics.store(began, 0, 1); for (;;); }', began)
  const running = workers.run(loop, { deadline: Deadline.from({ signal: stop.signal }) })
  const waiting = workers.run(task('() => 1'), { deadline: Deadline.from({ signal: stop.signal }) })
  while (Atomics.load(began, 0) === 0) await new Promise((done) => setTimeout(done, 5))
  stop.abort()
  await assert.rejects(running, { category: 'aborted', mayHaveExecuted: true })
  await assert.rejects(waiting, { category: 'aborted', mayHaveExecuted: false })
  assert.equal(await workers.run(task('() => 2')), 2)
})

test('a crash is the job’s, and a new thread takes over', async () => {
  const { workers } = setup()
  await assert.rejects(workers.run(task('() => process.exit(1)')), {
    category: 'worker',
    mayHaveExecuted: true,
  })
  assert.equal(await workers.run(task('() => 2')), 2)
  assert.equal(workers.stats.crashed, 1)
})

test('arguments that cannot be sent are no crash', async () => {
  const { workers } = setup()
  await workers.warmup(1, 0)
  await assert.rejects(workers.run(task('(f) => f', Symbol('x'))), { category: 'task' })
  assert.equal(workers.stats.crashed, 0)
})

test('threads start and end with events, and destroy rejects what is left', async () => {
  const { core, workers } = setup({ maxWorkers: 2 })
  const told: string[] = []
  core.events.on('workerStarted', () => told.push('started'))
  core.events.on('workerEnded', () => told.push('ended'))
  assert.deepEqual(await workers.warmup(5, 0), [])
  assert.deepEqual(await workers.warmup(0, 0), [])
  const left = assert.rejects(workers.run(LOOP), { category: 'closed' })
  await workers.destroy(closed)
  await left
  assert.deepEqual(told, ['started', 'started', 'ended', 'ended'])
})

test('a worker needs options that can be sent, a task does not', async () => {
  const { workers } = setup({ onConnect: () => {} })
  assert.equal(await workers.run(task('() => 1')), 1)
  await assert.rejects(workers.run({ kind: 'worker', source: '() => 1', args: [] }), /onConnect/)
})

test('a job that a dying thread never took up is done by the next one, once', async () => {
  const { workers } = setup()
  // The thread ends between two jobs, and its end is not known here yet when it gets the second.
  const blocked = workers.run(task("() => { setImmediate(() => process.exit(3)); return 'done' }"))
  assert.equal(await blocked, 'done')
  assert.equal(await workers.run(task('() => 2')), 2)
  assert.equal(workers.stats.crashed, 0)
})

test('a thread with nothing to do ends after idleWorkerTimeoutMs, and not before', async () => {
  const { core, workers } = setup({ maxWorkers: 2, idleWorkerTimeoutMs: 100 })
  const ended = new Promise((resolve) => core.events.once('workerEnded', resolve))
  await workers.run(task('() => new Promise((done) => setTimeout(done, 200))'))
  assert.equal(workers.stats.threads, 1)
  await ended
  assert.equal(workers.stats.threads, 0)
  assert.equal(await workers.run(task('() => 3')), 3)
})

test('a thread that cannot start is an error of its job', async () => {
  const { workers } = setup({ workerResourceLimits: { maxOldGenerationSizeMb: 1, maxYoungGenerationSizeMb: 1 } })
  await assert.rejects(workers.run(task('() => 1')), { category: 'worker', mayHaveExecuted: false })
  const [error] = await workers.warmup(1, 0)
  assert.equal(error?.category, 'worker')
})

test(
  'what a thread that stands back says takes the way of one that does not',
  { skip: process.platform !== 'linux' },
  async () => {
    let started = 0
    process.on('worker', () => started++)
    const threadsFor = async (workerNice: number): Promise<number> => {
      started = 0
      await setup({ workerNice }).workers.warmup(1, 0)
      return started
    }
    assert.deepEqual([await threadsFor(0), await threadsFor(19)], [1, 2])
  },
)

test('a limit that passes while the thread starts does not cost the thread', async () => {
  const { workers } = setup()
  const brief = Deadline.from({ timeoutMs: 1 })
  const late = assert.rejects(workers.run(task('() => 1'), { deadline: brief }), {
    category: 'timeout',
    mayHaveExecuted: false,
  })
  await late
  assert.equal(await workers.run(task('() => 2')), 2)
  assert.deepEqual([workers.stats.threads, workers.stats.crashed], [1, 0])
})

test('the slot of a thread that dies with a connection is free again', async () => {
  const fake = await FakeServer.start()
  stops.push(() => fake.stop())
  const { core, workers } = setup({ ...fake.options })
  for (let round = 0; round < 3; round++) {
    const crash = workers.run({ kind: 'worker', source: '() => process.exit(3)', args: [] })
    await assert.rejects(crash, { category: 'worker', mayHaveExecuted: true })
    assert.equal(core.pool.stats.lent, 0)
  }
})
