/**
 * `sql`: a tagged template whose values become parameters. What is put into it is never read as SQL, unless it was
 * made by `sql` itself: a fragment, a list, an identifier.
 */
import { PgParallelError } from './errors'
import type { StandardSchema } from './rows'

const refusal = (message: string): PgParallelError => new PgParallelError(message, { category: 'configuration' })

/** Pieces of a statement: SQL as it stands, or a value that becomes a parameter. */
type Piece = { readonly code: string } | { readonly value: unknown }

/**
 * A statement, or a part of one, with its values. It has `text` and `values` as `pg`'s query objects do, and so goes
 * wherever one of those goes.
 */
export class Sql<R extends object = Record<string, unknown>> {
  readonly #pieces: readonly Piece[]
  #text: string | undefined
  #values: unknown[] | undefined
  /** Every row of the result is checked, and typed, by this. */
  readonly schema: StandardSchema<unknown, R> | undefined

  /** @internal */
  constructor(pieces: readonly Piece[], schema?: StandardSchema<unknown, R>) {
    this.#pieces = pieces
    this.schema = schema
  }

  #render(): void {
    let text = ''
    const values: unknown[] = []
    for (const piece of this.#pieces) {
      if ('code' in piece) text += piece.code
      else text += `$${values.push(piece.value)}`
    }
    this.#text = text
    this.#values = values
  }

  /** The SQL text, with `$1`, `$2`, … where the values are. */
  get text(): string {
    if (this.#text === undefined) this.#render()
    return this.#text!
  }

  /** The values, in the order of their parameters. */
  get values(): unknown[] {
    if (this.#values === undefined) this.#render()
    return this.#values!
  }

  /** @internal */
  get pieces(): readonly Piece[] {
    return this.#pieces
  }
}

const code = (text: string): Sql => new Sql([{ code: text }])

/** Puts fragments one after the other, with `between` between them. */
function joined(parts: readonly Sql<object>[], between: string): Sql {
  const pieces: Piece[] = []
  for (const [index, part] of parts.entries()) {
    if (index > 0) pieces.push({ code: between })
    pieces.push(...part.pieces)
  }
  return new Sql(pieces)
}

/** What was put in: fragments as they are, values as parameters. */
function asFragment(value: unknown): Sql<object> {
  if (value instanceof Sql) return value as Sql<object>
  if (value === undefined) throw refusal('a value in sql is undefined: null is what NULL is called')
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw refusal(`a value in sql is a ${typeof value}, which cannot be sent`)
  }
  return new Sql([{ value }])
}

function fromTemplate<R extends object>(
  texts: readonly string[],
  values: readonly unknown[],
  schema?: StandardSchema<unknown, R>,
): Sql<R> {
  const pieces: Piece[] = []
  for (const [index, text] of texts.entries()) {
    if (text !== '') pieces.push({ code: text })
    if (index < values.length) pieces.push(...asFragment(values[index]).pieces)
  }
  return new Sql(pieces, schema)
}

const isTemplate = (texts: unknown): texts is TemplateStringsArray => Array.isArray(texts) && 'raw' in texts

/** A name in double quotes. */
export const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** A name in double quotes, each of its parts, so that it is a name whatever is in it. */
function identifier(...names: string[]): Sql {
  if (names.length === 0) throw refusal('sql.id needs a name')
  const quoted = names.map((name) => {
    if (typeof name !== 'string' || name === '' || name.includes('\0')) {
      throw refusal(`${JSON.stringify(name)} cannot be the name of anything in SQL`)
    }
    return quotedName(name)
  })
  return code(quoted.join('.'))
}

/** Values, each a parameter of its own, separated by commas: for `IN (…)` and arguments. Fragments are taken too. */
function list(values: Iterable<unknown>): Sql {
  const parts = [...values].map(asFragment)
  // `IN ()` is a syntax error, and what an empty list means depends on where it stands.
  if (parts.length === 0)
    throw refusal('sql.list needs at least one value: use "= ANY(${array})" where it may be empty')
  return joined(parts, ', ')
}

/** Fragments with something between them: `sql.join(conditions, sql` AND `)`. Values become parameters. */
function join(parts: Iterable<unknown>, between: Sql<object> = code(', ')): Sql {
  const glue = between.text
  if (between.values.length > 0) throw refusal('what sql.join puts between fragments cannot have values')
  return joined([...parts].map(asFragment), glue)
}

/** The names that objects of a list have in common; each object must have them all, and no others. */
function namesOf(
  objects: readonly Readonly<Record<string, unknown>>[],
  columns: readonly string[] | undefined,
): string[] {
  const names = columns ? [...columns] : Object.keys(objects[0] ?? {})
  if (names.length === 0) throw refusal('there are no columns')
  for (const object of objects) {
    const missing = names.find((name) => !Object.hasOwn(object, name))
    if (missing !== undefined) throw refusal(`an object has no ${JSON.stringify(missing)}, which is one of the columns`)
    const other = columns ? undefined : Object.keys(object).find((name) => !names.includes(name))
    if (other !== undefined) throw refusal(`an object has ${JSON.stringify(other)}, which the first one has not`)
  }
  return names
}

/** `("a", "b") VALUES ($1, $2), ($3, $4)` for INSERT: the objects' names are the columns unless they are given. */
function insert(
  rows: Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[],
  columns?: readonly string[],
): Sql {
  const objects = (Array.isArray(rows) ? rows : [rows]) as readonly Readonly<Record<string, unknown>>[]
  if (objects.length === 0) throw refusal('sql.insert needs at least one row')
  const names = namesOf(objects, columns)
  const tuple = (parts: readonly Sql<object>[]): Sql => joined([code('('), joined(parts, ', '), code(')')], '')
  const head = tuple(names.map((name) => identifier(name)))
  const tuples = objects.map((object) => tuple(names.map((name) => asFragment(object[name]))))
  return joined([head, code(' VALUES '), joined(tuples, ', ')], '')
}

/** `"a" = $1, "b" = $2` for UPDATE … SET: the object's names are the columns unless they are given. */
function set(object: Readonly<Record<string, unknown>>, columns?: readonly string[]): Sql {
  const names = namesOf([object], columns)
  return joined(
    names.map((name) => joined([identifier(name), code(' = '), asFragment(object[name])], '')),
    ', ',
  )
}

/** SQL from a text, as it stands. The caller answers for it: nothing in it is quoted. */
const unsafe = (text: string): Sql => code(text)

/** A tag whose rows are checked and typed by a Standard Schema: `` sql.type(User)`SELECT …` ``. */
function type<R extends object>(
  schema: StandardSchema<unknown, R>,
): (texts: TemplateStringsArray, ...values: unknown[]) => Sql<R> {
  return (texts, ...values) => fromTemplate(texts, values, schema)
}

/** The tag, and what makes fragments. */
export interface SqlTag {
  /** A statement or fragment; values become parameters, fragments become part of it. */
  <R extends object = Record<string, unknown>>(texts: TemplateStringsArray, ...values: unknown[]): Sql<R>
  id: typeof identifier
  list: typeof list
  join: typeof join
  insert: typeof insert
  set: typeof set
  unsafe: typeof unsafe
  type: typeof type
  /** Nothing: for a part that is left out. */
  readonly empty: Sql
}

function tag(texts: TemplateStringsArray, ...values: unknown[]): Sql {
  if (!isTemplate(texts)) throw refusal('sql is a tag: write sql`SELECT …`, and sql.unsafe(text) for SQL from a text')
  return fromTemplate(texts, values)
}

/** Makes statements of templates: what stands in `${}` becomes a parameter, unless `sql` itself has made it. */
export const sql: SqlTag = Object.assign(tag as SqlTag, {
  id: identifier,
  list,
  join,
  insert,
  set,
  unsafe,
  type,
  empty: code(''),
})
