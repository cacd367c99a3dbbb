/**
 * What runs statements: an instance, a transaction, and the client of a function on a thread. All three have the same
 * short forms of `query`, which ask for a number of rows.
 */
import { manyOf, maybeOneOf, oneOf, type SchemaOutput, type StandardSchema } from './rows'
import type { Sql } from './sql'
import type { QueryResult } from './types'

/** The short forms; `C` is the query object and `O` the options that `query` takes there. */
export abstract class Queryable<C extends { text: string }, O> {
  /** @internal Runs any statement that `query` takes. */
  protected abstract run(
    query: string | C,
    values: readonly unknown[] | O | undefined,
    options: O | undefined,
  ): Promise<QueryResult>

  /** The only row. None, or several, are an error (P0002, P0003). */
  one<R extends object>(query: Sql<R>, options?: O): Promise<R>
  one<S extends StandardSchema>(
    query: C & { schema: S },
    values?: readonly unknown[],
    options?: O,
  ): Promise<SchemaOutput<S>>
  one<R extends object = Record<string, unknown>>(
    query: string | C,
    values?: readonly unknown[],
    options?: O,
  ): Promise<R>
  async one(query: string | C | Sql<object>, values?: readonly unknown[] | O, options?: O): Promise<unknown> {
    return oneOf(await this.run(query as string | C, values, options), textOf(query))
  }

  /** The only row, or undefined where there is none. Several are an error (P0003). */
  maybeOne<R extends object>(query: Sql<R>, options?: O): Promise<R | undefined>
  maybeOne<S extends StandardSchema>(
    query: C & { schema: S },
    values?: readonly unknown[],
    options?: O,
  ): Promise<SchemaOutput<S> | undefined>
  maybeOne<R extends object = Record<string, unknown>>(
    query: string | C,
    values?: readonly unknown[],
    options?: O,
  ): Promise<R | undefined>
  async maybeOne(query: string | C | Sql<object>, values?: readonly unknown[] | O, options?: O): Promise<unknown> {
    return maybeOneOf(await this.run(query as string | C, values, options), textOf(query))
  }

  /** All rows, of which there must be at least one (P0002). */
  many<R extends object>(query: Sql<R>, options?: O): Promise<[R, ...R[]]>
  many<S extends StandardSchema>(
    query: C & { schema: S },
    values?: readonly unknown[],
    options?: O,
  ): Promise<[SchemaOutput<S>, ...SchemaOutput<S>[]]>
  many<R extends object = Record<string, unknown>>(
    query: string | C,
    values?: readonly unknown[],
    options?: O,
  ): Promise<[R, ...R[]]>
  async many(query: string | C | Sql<object>, values?: readonly unknown[] | O, options?: O): Promise<unknown> {
    return manyOf(await this.run(query as string | C, values, options), textOf(query))
  }
}

const textOf = (query: string | { text: string }): string => (typeof query === 'string' ? query : query.text)
