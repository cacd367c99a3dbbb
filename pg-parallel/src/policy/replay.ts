/**
 * May this text be sent twice? Two questions, answered conservatively from the text alone, because a wrong "yes"
 * writes a row twice and a wrong "no" only costs a retry.
 */

/** What the text tells about a statement. */
export interface StatementNature {
  /** Reads and nothing else: sending it again changes nothing. */
  readonly readOnly: boolean
  /**
   * It runs in one transaction as a whole: when the server reports an error for it, it has left no trace. Not so for
   * `CALL`, `DO`, `VACUUM`, `… CONCURRENTLY` or several statements in one text, which may commit on the way.
   */
  readonly atomic: boolean
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

const TOKEN =
  /\s+|--[^\n]*|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$\d+|([A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|\d[\w.]*|[^\s]/gy

const WRITES: StatementNature = { readOnly: false, atomic: false }

/** Cached, because services send the same texts again and again; bounded, because some build them. */
const cache = new Map<string, StatementNature>()
const CACHE_LIMIT = 2_000

/** Reads the nature off the text. */
export function natureOf(text: string): StatementNature {
  const known = cache.get(text)
  if (known) return known
  const nature = read(text)
  if (cache.size >= CACHE_LIMIT) cache.clear()
  cache.set(text, nature)
  return nature
}

function read(text: string): StatementNature {
  // Escape strings, backslashes, dollar quoting and nested comments hide text from a tokenizer this small: assume the worst.
  if (/\$[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*\$|\$\$|\/\*|\\|[eEuU]&?'/.test(text))
    return { readOnly: false, atomic: plainlyAtomic(text) }
  let first: string | undefined
  let readOnly = true
  let atomic = true
  let ended = false
  let lastWord: string | undefined
  /** The word before a dot: `schema` of `schema.function(`. */
  let qualifier: string | undefined
  let before = ''
  TOKEN.lastIndex = 0
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
    const token = match[0]
    if (/^\s|^--/.test(token)) continue
    if (ended) return WRITES // a second statement
    if (token === ';') {
      ended = true
      continue
    }
    const word = match[1]?.toLowerCase()
    if (token === '(') {
      if (before.startsWith('"'))
        readOnly = false // a quoted name that is called
      else if (lastWord !== undefined && !PURE_FUNCTIONS.has(lastWord)) readOnly = false
      // Somebody's own function may have a built-in's name.
      else if (lastWord !== undefined && qualifier !== undefined && qualifier !== 'pg_catalog') readOnly = false
    }
    if (word !== undefined) {
      first ??= word
      if (WRITING_WORDS.has(word)) readOnly = false
      if (NOT_ATOMIC_WORDS.has(word)) atomic = false
    } else if (first === undefined && token !== '(') {
      return WRITES
    }
    if (token === '.') {
      qualifier = lastWord ?? ''
    } else if (before !== '.') {
      qualifier = undefined
    }
    lastWord = word
    before = token
  }
  if (first === undefined) return { readOnly: true, atomic: true } // an empty text does nothing
  if (!['select', 'values', 'table', 'show', 'with'].includes(first)) readOnly = false
  if (!ATOMIC_FIRST.has(first)) atomic = false
  return { readOnly, atomic }
}

/** For texts the tokenizer does not read: one plain data statement without a semicolon anywhere. */
function plainlyAtomic(text: string): boolean {
  return /^\s*(select|insert|update|delete|merge|values)\b/i.test(text) && !text.includes(';')
}
