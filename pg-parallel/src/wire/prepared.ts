/**
 * The statements that a session has prepared: those that the application named, and those that are prepared because
 * their text came more than once. The latter are kept up to a number, the one used longest ago goes first.
 */
import type { Shape } from './shape'
import { newPrefix } from './writer'

/** A prepared statement. */
export interface Prepared {
  readonly name: string
  /** The name with the NUL at its end. */
  readonly wireName: Buffer
  readonly text: string
  /** What its rows look like; null where it has none, undefined where that is not known yet. */
  shape: Shape | null | undefined
  /** Its Parse failed: whoever came behind it finds no statement, and that is no pooler's doing. */
  failed?: boolean
}

/** How many texts are remembered to find those that come again. */
const MOST_SEEN = 2_000

/** Texts that were seen once, by all sessions of an instance. */
export class SeenTexts {
  #now = new Set<string>()
  #before = new Set<string>()

  /** True from the second time on. */
  again(text: string): boolean {
    if (this.#now.has(text) || this.#before.has(text)) return true
    if (this.#now.size >= MOST_SEEN) {
      this.#before = this.#now
      this.#now = new Set()
    }
    this.#now.add(text)
    return false
  }
}

/** See the top of the file. */
export class PreparedStatements {
  readonly #most: number
  readonly #prefix = newPrefix()
  #lastId = 0
  /** Oldest use first. */
  readonly #byText = new Map<string, Prepared>()
  readonly #byName = new Map<string, Prepared>()
  /** Statements that the server may have and nobody will use again. */
  #leftOver: string[] = []

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#byText.size
  }

  /** The statement for a text that the application did not name. */
  ofText(text: string): Prepared | undefined {
    const found = this.#byText.get(text)
    if (found && this.#byText.size > this.#most / 2) {
      this.#byText.delete(text)
      this.#byText.set(text, found)
    }
    return found
  }

  /** A statement of the application's name; it is being parsed from now on. */
  addNamed(name: string, text: string): Prepared {
    const statement = newStatement(name, text)
    this.#byName.set(name, statement)
    return statement
  }

  /** A statement with a name of ours; it is being parsed from now on. */
  addText(text: string): Prepared {
    const statement = newStatement(`${this.#prefix}${++this.#lastId}`, text)
    this.#byText.set(text, statement)
    for (const [text, oldest] of this.#byText) {
      if (this.#byText.size <= this.#most) break
      this.#byText.delete(text)
      this.#leftOver.push(oldest.name)
    }
    return statement
  }

  /** The statement of the application's name. */
  ofName(name: string): Prepared | undefined {
    return this.#byName.get(name)
  }

  /** It is not there any more, or not as it was. */
  drop(statement: Prepared): void {
    if (this.#byName.get(statement.name) === statement) this.#byName.delete(statement.name)
    if (this.#byText.get(statement.text) === statement) this.#byText.delete(statement.text)
    this.#leftOver.push(statement.name)
  }

  /** Nothing is prepared any more as far as this side knows. */
  clear(): void {
    for (const { name } of this.#byName.values()) this.#leftOver.push(name)
    for (const { name } of this.#byText.values()) this.#leftOver.push(name)
    this.#byName.clear()
    this.#byText.clear()
  }

  /** Names to be closed with the next message. */
  takeLeftOver(): string[] {
    if (this.#leftOver.length === 0) return NONE
    const names = this.#leftOver
    this.#leftOver = []
    return names
  }
}

const newStatement = (name: string, text: string): Prepared => ({
  name,
  wireName: Buffer.from(`${name}\0`),
  text,
  shape: undefined,
})

const NONE: string[] = []
