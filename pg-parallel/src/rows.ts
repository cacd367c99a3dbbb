/**
 * How many rows there must be, and what they must look like: `one`, `maybeOne`, `many`, and the check of each row by a
 * schema of any library that follows Standard Schema (https://standardschema.dev): Zod, Valibot, ArkType and others.
 */
import { PgParallelError } from './errors'
import { natureOf } from './policy/replay'
import type { QueryResult } from './types'

/** What a schema finds wrong. */
export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** What a check comes to: a value, or issues. */
export type SchemaOutcome<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }

/** A schema, as far as rows are checked by it: version 1 of Standard Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaOutcome<Output> | Promise<SchemaOutcome<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** What the schema gives for a row that it accepts. */
export type SchemaOutput<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output']

/** The statement was carried out: an error of its rows comes too late to undo it. */
function rowsError(text: string, message: string, code?: string): PgParallelError {
  return new PgParallelError(message, {
    category: 'rows',
    mayHaveExecuted: !natureOf(text).readOnly,
    retryable: false,
    ...(code === undefined ? {} : { code }),
  })
}

/** Throws where somebody gave something else for a schema. */
export function checkSchema(schema: unknown): void {
  const standard = (schema as Partial<StandardSchema> | undefined)?.['~standard']
  // The version and the function are what the interface promises; everything else is for the type checker.
  if (standard?.version !== 1 || typeof standard.validate !== 'function') {
    throw new PgParallelError('schema is not a Standard Schema of version 1', { category: 'configuration' })
  }
}

const placeOf = ({ path }: SchemaIssue): string => {
  if (!path || path.length === 0) return ''
  return `${path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')}: `
}

/** The row as the schema gives it. `index` counts from 0. */
export async function checkedRow<R>(
  schema: StandardSchema<unknown, R>,
  row: unknown,
  index: number,
  text: string,
): Promise<R> {
  const outcome = await schema['~standard'].validate(row)
  if (outcome.issues === undefined) return outcome.value
  const issues = outcome.issues.map((issue) => `${placeOf(issue)}${issue.message}`).join('; ')
  // The values stay out of the message: logs should not have them.
  throw rowsError(text, `row ${index + 1} is not what its schema asks for: ${issues}`)
}

/** The result with every row as the schema gives it. */
export async function checkedRows(result: QueryResult, schema: StandardSchema, text: string): Promise<QueryResult> {
  if (Array.isArray(result)) {
    throw rowsError(text, 'a schema is for one result, and a text with several statements has several')
  }
  const rows: unknown[] = []
  for (const [index, row] of result.rows.entries()) rows.push(await checkedRow(schema, row, index, text))
  return { ...result, rows: rows as QueryResult['rows'] }
}

/** The rows of one result; a text of several statements has none to speak of. */
function rowsOf<R extends object>(result: QueryResult<R>, text: string): R[] {
  if (Array.isArray(result)) throw rowsError(text, 'a text with several statements has several results')
  return result.rows
}

/** The only row; error P0002 where there is none, P0003 where there are several. */
export function oneOf<R extends object>(result: QueryResult<R>, text: string): R {
  const row = maybeOneOf(result, text)
  if (row === undefined) throw rowsError(text, 'one row was asked for, and there is none', 'P0002')
  return row
}

/** The only row, or undefined; error P0003 where there are several. */
export function maybeOneOf<R extends object>(result: QueryResult<R>, text: string): R | undefined {
  const rows = rowsOf(result, text)
  if (rows.length > 1) throw rowsError(text, `one row was asked for, and there are ${rows.length}`, 'P0003')
  return rows[0]
}

/** All rows; error P0002 where there is none. */
export function manyOf<R extends object>(result: QueryResult<R>, text: string): [R, ...R[]] {
  const rows = rowsOf(result, text)
  if (rows.length === 0) throw rowsError(text, 'at least one row was asked for, and there is none', 'P0002')
  return rows as [R, ...R[]]
}
