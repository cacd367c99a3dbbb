/**
 * May this text be sent twice? Two questions, answered conservatively from the text alone, because a wrong "yes"
 * writes a row twice and a wrong "no" only costs a retry.
 */
import { tokensOf, type Token } from './lexer'

/** What the text tells about a statement. */
export interface StatementNature {
  /** Reads and nothing else: sending it again changes nothing. */
  readonly readOnly: boolean
  /**
   * It runs in one transaction as a whole: when the server reports an error for it, it has left no trace. Not so for
   * `CALL`, `DO`, `VACUUM`, `… CONCURRENTLY` or several statements in one text, which may commit on the way.
   */
  readonly atomic: boolean
  /** Functions that are not known here; it only reads if all of them do. Undefined where something else speaks against that. */
  readonly calls?: readonly string[] | undefined
  /** The first words of a text with one statement; undefined where it cannot be told, empty where there is none. */
  readonly first: string | undefined
  readonly second: string | undefined
  readonly third: string | undefined
}

/**
 * Built-in functions that neither write nor depend on having been called before. Any other function call makes a
 * statement count as writing: `SELECT book_seat(7)` looks like a read and is not.
 */
const PURE_FUNCTIONS = new Set(
  (
    'count sum avg min max every bool_and bool_or string_agg array_agg json_agg jsonb_agg json_object_agg ' +
    'jsonb_object_agg coalesce nullif greatest least now current_timestamp transaction_timestamp ' +
    'statement_timestamp clock_timestamp date_trunc date_part extract age to_char to_date to_timestamp to_number ' +
    'length char_length octet_length lower upper initcap trim btrim ltrim rtrim substring substr left right lpad rpad ' +
    'replace repeat reverse concat concat_ws format position strpos split_part md5 encode decode ascii chr overlay ' +
    'regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table translate quote_ident ' +
    'quote_literal abs ceil ceiling floor round trunc sign sqrt cbrt power exp ln log mod div random generate_series ' +
    'unnest array_length array_to_string string_to_array array_position cardinality array_append array_cat ' +
    'row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value ' +
    'json_build_object jsonb_build_object json_build_array jsonb_build_array to_json to_jsonb row_to_json ' +
    'jsonb_array_elements json_array_elements jsonb_array_elements_text jsonb_each jsonb_each_text jsonb_typeof ' +
    'jsonb_array_length jsonb_object_keys jsonb_extract_path jsonb_extract_path_text version current_database ' +
    'current_schema current_user session_user current_setting pg_backend_pid pg_is_in_recovery pg_sleep ' +
    'make_date make_interval make_timestamp make_timestamptz justify_interval isfinite width_bucket percentile_cont ' +
    'percentile_disc mode stddev stddev_pop stddev_samp variance var_pop var_samp corr gen_random_uuid ' +
    'exists in any all some array row values cast over filter within using as and or not on when then else case ' +
    'where select from union intersect except having by limit offset with materialized lateral distinct between ' +
    'like ilike is returning interval numeric decimal varchar char character bit timestamp timestamptz time timetz ' +
    'float precision if to similar window partition range rows groups recursive rollup cube sets grouping join'
  ).split(' '),
)

/** Words that write, lock, or make a SELECT do more than read, wherever they stand. */
const WRITING_WORDS = new Set(
  'insert update delete merge into truncate create alter drop grant revoke copy call do lock listen notify set reset execute prepare deallocate nextval setval share'.split(
    ' ',
  ),
)

const ATOMIC_FIRST = new Set(
  'select insert update delete merge with values table copy show set create alter drop truncate comment grant revoke begin start commit end rollback savepoint release deallocate'.split(
    ' ',
  ),
)
const NOT_ATOMIC_WORDS = new Set(['concurrently', 'database', 'tablespace', 'system', 'subscription'])

const WRITES: StatementNature = {
  readOnly: false,
  atomic: false,
  first: undefined,
  second: undefined,
  third: undefined,
}

/** The same statement, taken for one that writes. */
export const writing = (nature: StatementNature): StatementNature =>
  nature.readOnly || nature.calls ? { ...nature, readOnly: false, calls: undefined } : nature

/** Statements that run in one transaction, one after the other. */
export const natureOfAll = (texts: readonly string[]): StatementNature => {
  const natures = texts.map(natureOf)
  const calls = natures.flatMap((nature) => nature.calls ?? [])
  const atomic = natures.every((nature) => nature.atomic)
  if (!natures.every((nature) => nature.readOnly || nature.calls)) return { ...WRITES, atomic }
  return { ...WRITES, atomic, readOnly: calls.length === 0, ...(calls.length > 0 ? { calls } : {}) }
}

/** Cached, because services send the same texts again and again; bounded, because some build them. */
const cache = new Map<string, StatementNature>()
const CACHE_LIMIT = 2_000
/** Whoever asks about a text mostly asks again. */
let lastText: string | undefined
let lastNature: StatementNature = WRITES

/** Reads the nature off the text. */
export function natureOf(text: string): StatementNature {
  // A named statement without its text may be anything.
  if (typeof text !== 'string') return WRITES
  if (text === lastText) return lastNature
  let nature = cache.get(text)
  if (!nature) {
    nature = read(text)
    if (cache.size >= CACHE_LIMIT) cache.clear()
    cache.set(text, nature)
  }
  lastText = text
  lastNature = nature
  return nature
}

/** The place of the parenthesis that closes the one at `open`. */
function closing(tokens: readonly Token[], open: number): number {
  let depth = 0
  for (let at = open; at < tokens.length; at++) {
    const { text } = tokens[at]!
    if (text === '(') depth++
    else if (text === ')' && --depth === 0) return at
  }
  return tokens.length
}

/** The place of the parenthesis that the one at `close` closes. */
function opening(tokens: readonly Token[], close: number): number {
  let depth = 0
  for (let at = close; at > 0; at--) {
    const { text } = tokens[at]!
    if (text === ')') depth++
    else if (text === '(' && --depth === 0) return at
  }
  return 0
}

/** Words that a query may begin with, which nothing else in parentheses does. */
const QUERY_FIRST = new Set(['select', 'values', 'table', 'with', 'insert', 'update', 'delete', 'merge'])

/** Is the name before the parenthesis at `open` one of a relation whose columns are named there, and no function? */
function namesColumns(tokens: readonly Token[], open: number): boolean {
  const before = tokens[open - 2]
  // `AS t(a, b)`, and `f(x) t(a, b)`: no call follows a closing parenthesis, except that of `DISTINCT ON (a) f(b)`.
  if (before?.text === 'as') return true
  if (before?.text === ')') return tokens[opening(tokens, open - 2) - 1]?.text !== 'on'
  // `WITH r(n) AS (SELECT`, also after another one.
  const close = closing(tokens, open)
  if (tokens[close + 1]?.text !== 'as') return false
  let next = close + 2
  while (['not', 'materialized'].includes(tokens[next]?.text ?? '')) next++
  return tokens[next]?.text === '(' && QUERY_FIRST.has(tokens[next + 1]?.text ?? '')
}

function read(text: string): StatementNature {
  const tokens = tokensOf(text)
  if (!tokens)
    return { readOnly: false, atomic: plainlyAtomic(text), first: undefined, second: undefined, third: undefined }
  const end = tokens.findIndex((token) => token.kind === 'other' && token.text === ';')
  const first = tokens.find((token) => token.kind === 'word' || token.text !== '(')
  if (end >= 0 && tokens.slice(end).some((token) => token.text !== ';')) return WRITES // a second statement
  if (!first || first.text === ';')
    return { readOnly: true, atomic: true, first: '', second: undefined, third: undefined } // an empty text does nothing
  if (first.kind !== 'word') return WRITES
  let readOnly = QUERY_FIRST.has(first.text) || first.text === 'show'
  let atomic = ATOMIC_FIRST.has(first.text)
  const calls = new Set<string>()
  for (const [at, token] of tokens.entries()) {
    if (token.kind === 'word') {
      if (WRITING_WORDS.has(token.text) && tokens[at - 1]?.text !== '.') readOnly = false
      if (NOT_ATOMIC_WORDS.has(token.text)) atomic = false
    }
    if (token.text !== '(' || token.kind !== 'other') continue
    const called = tokens[at - 1]
    if (!called || (called.kind !== 'word' && called.kind !== 'name') || namesColumns(tokens, at)) continue
    const qualifier = tokens[at - 2]?.text === '.' ? tokens[at - 3]?.text : undefined
    // A quoted name, or somebody's own function, which may have a built-in's name.
    if (called.kind === 'name' || (qualifier !== undefined && qualifier !== 'pg_catalog')) readOnly = false
    else if (!PURE_FUNCTIONS.has(called.text)) calls.add(called.text)
  }
  const place = tokens.indexOf(first)
  const words = { first: first.text, second: tokens[place + 1]?.text, third: tokens[place + 2]?.text }
  if (calls.size === 0 || !readOnly) return { readOnly: readOnly && calls.size === 0, atomic, ...words }
  return { readOnly: false, atomic, calls: [...calls], ...words }
}

/** For texts that cannot be taken apart: one plain data statement without a semicolon anywhere. */
function plainlyAtomic(text: string): boolean {
  return /^\s*(select|insert|update|delete|merge|values)\b/i.test(text) && !text.includes(';')
}
