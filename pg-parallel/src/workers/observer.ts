/** Tells the main thread of the calls on this thread, because that is where those who listen are. */
import type { CallKind } from '../observe/events'
import type { CallObserver, Followed } from '../observe/observer'
import { toPlain, type CallNews } from './protocol'

/** A followed call that knows its number. */
interface Numbered extends Followed {
  readonly id: number
}

/** See the top of the file. */
export class ThreadObserver implements CallObserver {
  readonly #say: (news: CallNews) => void
  #lastId = 0
  /** Set for the time of a job whose statements somebody wants to hear of. */
  listening = false

  constructor(say: (news: CallNews) => void) {
    this.#say = say
  }

  begin(kind: CallKind, text: string | undefined, name?: string, within?: Followed): Followed | undefined {
    if (!this.listening) return undefined
    const id = ++this.#lastId
    const outer = (within as Numbered | undefined)?.id
    const started = performance.now()
    this.#say({ type: 'call', id, within: outer, begun: { kind, text, name } })
    const end = (attempts: number, error?: unknown): void => {
      const durationMs = performance.now() - started
      const failure = error === undefined ? {} : { error: toPlain(error) }
      this.#say({ type: 'call', id, within: outer, ended: { attempts, durationMs, ...failure } })
    }
    const followed: Numbered = {
      id,
      end,
      fail: (error, attempts) => {
        end(attempts, error)
      },
    }
    return followed
  }
}
