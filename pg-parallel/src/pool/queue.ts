/** Callers waiting for a connection, first come, first served; one that gives up leaves from anywhere in constant time. */
import type { PgParallelError } from '../errors'
import type { Connection } from './connection'

/** Somebody who waits. */
export interface Waiter {
  /** `shared`: one statement; `exclusive`: several on the same connection; `slot`: the right to open one elsewhere. */
  readonly kind: 'shared' | 'exclusive' | 'slot'
  /** Failed attempts to connect that it still puts up with. */
  patience: number
  /** Failed attempts to connect that it has seen. */
  tried?: number
  /** Its turn. A waiter for a slot gets no connection. */
  serve(connection: Connection | undefined): void
  /** There will be none. */
  refuse(error: PgParallelError): void
  /** Links of the queue; nobody else touches them. */
  next?: Waiter | undefined
  previous?: Waiter | undefined
  queued?: boolean
}

/** See the top of the file. */
export class WaiterQueue {
  #head: Waiter | undefined
  #tail: Waiter | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get head(): Waiter | undefined {
    return this.#head
  }

  push(waiter: Waiter): void {
    waiter.queued = true
    waiter.next = undefined
    waiter.previous = this.#tail
    if (this.#tail) this.#tail.next = waiter
    else this.#head = waiter
    this.#tail = waiter
    this.#size++
  }

  shift(): Waiter | undefined {
    const first = this.#head
    if (first) this.remove(first)
    return first
  }

  /** False when it was not waiting (any more). */
  remove(waiter: Waiter): boolean {
    if (!waiter.queued) return false
    if (waiter.previous) waiter.previous.next = waiter.next
    else this.#head = waiter.next
    if (waiter.next) waiter.next.previous = waiter.previous
    else this.#tail = waiter.previous
    waiter.queued = false
    waiter.next = waiter.previous = undefined
    this.#size--
    return true
  }

  /** All of them, in order; the list may change while it is walked. */
  *[Symbol.iterator](): IterableIterator<Waiter> {
    for (let waiter = this.#head; waiter;) {
      const { next } = waiter
      yield waiter
      waiter = next
    }
  }
}
