/**
 * Takes a SQL text apart as PostgreSQL's scanner does: comments (nested ones too), quoted names, strings of every kind,
 * dollar quoting. Spaces and comments are left out.
 */

/** One token. */
export interface Token {
  /** `word`: an unquoted name or keyword; `name`: a quoted name; `string`: a constant; `other`: anything else. */
  readonly kind: 'word' | 'name' | 'string' | 'other'
  /** A word in lower case; of a string only its beginning. */
  readonly text: string
}

const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y
const NUMBER = /\$\d+|\d[\w.]*/y
const DOLLAR = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y
const SPACE = /\s+|--[^\n\r]*/y

/** The end of what begins at `at` and is closed by `quote`; -1 where it is not closed. */
function quoteEnd(sql: string, at: number, quote: string, escapes: boolean): number {
  for (let place = at + 1; place < sql.length; place++) {
    const char = sql[place]
    if (escapes && char === '\\') place++
    else if (char === quote) {
      if (sql[place + 1] !== quote) return place + 1
      place++
    }
  }
  return -1
}

/** The end of a comment that begins at `at`; -1 where it is not closed. */
function commentEnd(sql: string, at: number): number {
  let depth = 0
  for (let place = at; place < sql.length - 1; place++) {
    const two = sql[place]! + sql[place + 1]!
    if (two === '/*') {
      depth++
      place++
    } else if (two === '*/') {
      place++
      if (--depth === 0) return place + 1
    }
  }
  return -1
}

/** What `pattern` matches at this place. */
function matchAt(pattern: RegExp, sql: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(sql)?.[0]
}

/**
 * The tokens of a text; undefined where it cannot be told how the server reads it: something is not closed, or a plain
 * string has a backslash in it, which `standard_conforming_strings` gives a meaning or not.
 */
export function tokensOf(sql: string): Token[] | undefined {
  const tokens: Token[] = []
  let at = 0
  const string = (end: number, start = at): boolean => {
    tokens.push({ kind: 'string', text: sql[start]! })
    at = end
    return end >= 0
  }
  while (at < sql.length) {
    const space = matchAt(SPACE, sql, at)
    if (space !== undefined) {
      at += space.length
      continue
    }
    const char = sql[at]!
    if (char === '/' && sql[at + 1] === '*') {
      at = commentEnd(sql, at)
      if (at < 0) return undefined
      continue
    }
    if (char === "'") {
      const end = quoteEnd(sql, at, "'", false)
      if (sql.slice(at, end < 0 ? undefined : end).includes('\\') || !string(end)) return undefined
      continue
    }
    if (char === '"') {
      const end = quoteEnd(sql, at, '"', false)
      if (end < 0) return undefined
      tokens.push({ kind: 'name', text: sql.slice(at, end) })
      at = end
      continue
    }
    if (char === '$') {
      const tag = matchAt(DOLLAR, sql, at)
      if (tag !== undefined) {
        const close = sql.indexOf(tag, at + tag.length)
        if (close < 0 || !string(close + tag.length)) return undefined
        continue
      }
    }
    const next = sql[at + 1]
    if (next === "'" && /[eEbBxXnN]/.test(char)) {
      if (!string(quoteEnd(sql, at + 1, "'", /[eE]/.test(char)))) return undefined
      continue
    }
    // U&'…' and U&"…" with UESCAPE: rare enough to be given up.
    if (/[uU]/.test(char) && next === '&' && /['"]/.test(sql[at + 2] ?? '')) return undefined
    const word = matchAt(WORD, sql, at)
    if (word !== undefined) {
      tokens.push({ kind: 'word', text: word.toLowerCase() })
      at += word.length
      continue
    }
    const number = matchAt(NUMBER, sql, at)
    tokens.push({ kind: 'other', text: number ?? char })
    at += (number ?? char).length
  }
  return tokens
}
