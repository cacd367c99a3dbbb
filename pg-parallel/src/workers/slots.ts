/**
 * The connection pool's slots that threads hold: a thread asks for one before it connects, and is asked to give it back
 * when others wait.
 */
import type { Core } from '../core'
import { ErrorUtils } from '../errors'
import type { PgParallelOptions } from '../options'
import type { ThreadHandle } from './handle'
import { toPlain } from './protocol'

/** See the top of the file. */
export class ThreadSlots {
  readonly #core: Core
  readonly #password: PgParallelOptions['password']
  #onReturned: (() => void) | undefined

  constructor(core: Core, password: PgParallelOptions['password']) {
    this.#core = core
    this.#password = password
  }

  /** The thread wants to connect. */
  request(thread: ThreadHandle): void {
    thread.waiter = {
      kind: 'slot',
      patience: this.#core.settings.retry.maxAttempts,
      serve: () => {
        thread.waiter = undefined
        thread.slots++
        thread.reclaiming = false
        void this.#grant(thread)
      },
      refuse: (error) => {
        thread.waiter = undefined
        thread.tell({ type: 'denied', error: toPlain(error) })
      },
    }
    this.#core.pool.acquire(thread.waiter)
  }

  /** The thread may connect. A password that is asked for each time is asked for here: a function cannot be sent. */
  async #grant(thread: ThreadHandle): Promise<void> {
    const password = this.#password
    try {
      thread.tell({ type: 'granted', password: typeof password === 'function' ? await password() : password })
    } catch (error) {
      this.giveBack(thread)
      thread.tell({ type: 'denied', error: toPlain(ErrorUtils.wrap(error, { category: 'authentication' })) })
    }
  }

  /** The thread has no connection any more. */
  giveBack(thread: ThreadHandle): void {
    thread.key = undefined
    thread.reclaiming = false
    for (; thread.slots > 0; thread.slots--) this.#core.pool.returnSlot()
    this.#onReturned?.()
  }

  /** The thread is gone, and what it had or waited for is for others. */
  release(thread: ThreadHandle): void {
    if (thread.waiter) this.#core.pool.withdraw(thread.waiter)
    this.giveBack(thread)
  }

  /** Somebody waits for a connection: a thread whose connection is idle is asked for it. */
  reclaim(threads: Iterable<ThreadHandle>): void {
    for (const thread of threads) {
      if (
        thread.slots === 0 ||
        thread.reclaiming ||
        (thread.entry && thread.entry.job.kind !== 'task' && thread.entry.job.kind !== 'warm')
      )
        continue
      thread.reclaiming = true
      thread.tell({ type: 'reclaim' })
      return
    }
  }

  /** Idle threads close their connections, so that the server need not find out that they are gone. */
  async goodbye(threads: ReadonlySet<ThreadHandle>, limitMs: number): Promise<void> {
    const connected = (): boolean => [...threads].some((thread) => thread.slots > 0)
    if (!connected()) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs)
      this.#onReturned = (): void => {
        if (connected()) return
        clearTimeout(timer)
        resolve()
      }
      for (const thread of threads) thread.tell({ type: 'reclaim' })
    })
    this.#onReturned = undefined
  }
}
