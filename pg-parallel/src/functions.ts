/**
 * Which functions only read: the server knows, and is asked once per database, after the first statement that calls a
 * function which is not on the list of `policy/replay.ts`.
 *
 * Only functions of the system and of extensions count whose every overload is declared IMMUTABLE or STABLE: such a
 * function cannot write (CREATE FUNCTION in PostgreSQL's manual). The application's own do not, for it may replace
 * them at any time, and nobody would say so here.
 */
import type { Core } from './core'
import type { StatementNature } from './policy/replay'

const QUESTION = `SELECT p.proname::text AS fn FROM pg_catalog.pg_proc AS p GROUP BY 1 HAVING pg_catalog.bool_and(
  p.provolatile <> 'v' AND p.prokind <> 'p' AND (p.pronamespace = 'pg_catalog'::regnamespace OR EXISTS (
    SELECT 1 FROM pg_catalog.pg_depend AS d
    WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')))`

/** See the top of the file. */
export class ReadFunctions {
  #names: Set<string> | undefined
  #asking: Promise<void> | undefined

  /** The nature, with what the database has said of the functions that the text calls. */
  judge(nature: StatementNature): StatementNature {
    const { calls } = nature
    if (!calls || !this.#names) return nature
    const names = this.#names
    return calls.every((name) => names.has(name)) ? { ...nature, readOnly: true } : nature
  }

  /** Asks the database in the background, unless it was asked before. Where it does not answer, nothing changes. */
  learn(core: Core): Promise<void> {
    return (this.#asking ??= this.#ask(core).catch(() => {}))
  }

  async #ask(core: Core): Promise<void> {
    const connection = await core.lease(undefined, 1)
    try {
      const { rows } = await connection.query(QUESTION)
      this.#names = new Set((rows as Record<string, unknown>[]).map(({ fn }) => String(fn)))
    } finally {
      core.pool.release(connection)
    }
  }
}
