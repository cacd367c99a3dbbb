import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads'
import type { Job, JobResult, MainMessage, ThreadData, ThreadMessage } from '../../src/workers/protocol'
import { stops } from './stops'

/** What a thread needs to know, as far as a test cares. */
export type ThreadGiven = Partial<Pick<ThreadData, 'nice' | 'options' | 'setup' | 'missing'>>

/** A thread with what it is told and what it says. */
export interface ThreadUnderTest {
  worker: Worker
  orders: MessagePort
  /** The shared word. */
  job: Int32Array
  /** What it says beside results. */
  said: ThreadMessage[]
  run(job: Partial<Job> & Pick<Job, 'kind'>): Promise<JobResult>
}

/** A file on a thread, as the pool starts it; it is stopped after the test. */
export function startThread(file: string, given: ThreadGiven = {}, grant?: () => MainMessage): ThreadUnderTest {
  const orders = new MessageChannel()
  const answers = new MessageChannel()
  const job = new Int32Array(new SharedArrayBuffer(4))
  const data: ThreadData = {
    nice: 0,
    options: undefined,
    setup: undefined,
    missing: [],
    ...given,
    orders: orders.port2,
    answers: answers.port2,
    job,
  }
  const worker = new Worker(file, {
    workerData: data,
    transferList: [data.orders, data.answers],
  })
  stops.push(() => worker.terminate())
  const said: ThreadMessage[] = []
  const results = new Map<number, (result: JobResult) => void>()
  answers.port1.on('message', (message: ThreadMessage) => {
    if (message.type === 'result') results.get(message.id)?.(message.result)
    else said.push(message)
    if (message.type === 'need' && grant) orders.port1.postMessage(grant())
  })
  let id = 0
  return {
    worker,
    orders: orders.port1,
    job,
    said,
    run: (work) =>
      new Promise((resolve) => {
        results.set(++id, resolve)
        Atomics.store(job, 0, -id)
        orders.port1.postMessage({ type: 'job', job: { id, args: [], ...work } } satisfies MainMessage)
      }),
  }
}
