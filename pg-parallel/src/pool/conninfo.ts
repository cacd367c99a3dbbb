/**
 * libpq's other way to write a connection string, `host=db1 dbname='my data'`, and the services that such strings, URLs
 * and PGSERVICE name: sections of `~/.pg_service.conf` and of the file in PGSYSCONFDIR (libpq's manual, "Connection
 * Strings" and "The Connection Service File").
 */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { PgParallelError } from '../errors'

const refuse = (message: string): never => {
  throw new PgParallelError(message, { category: 'configuration' })
}

/** Is it a URL, and so read elsewhere? What begins with `/` is the folder of a socket, as `pg` has it. */
export const isKeywords = (text: string): boolean => !text.startsWith('/') && /^\s*[\w-]+\s*=/.test(text)

const ESCAPE = /\\(.)/gs
const PAIR = /\s*([\w-]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?=\s|$)/gsy

/** Keywords and values. A value in quotes may be empty or have spaces in it; `\\'` and `\\\\` stand for themselves. */
export function readKeywords(text: string): Record<string, string> {
  const found: Record<string, string> = {}
  const whole = text.trimEnd()
  let at = 0
  while (at < whole.length) {
    PAIR.lastIndex = at
    const match = PAIR.exec(whole)
    // The text itself is not shown: it may have a password in it.
    if (!match) return refuse(`the connection string cannot be read from its character ${at + 1} on`)
    const [all, name = '', quoted, plain] = match
    found[name] = (quoted ?? plain ?? '').replace(ESCAPE, '$1')
    at += all.length
  }
  return found
}

/** The files in the order in which libpq looks at them. */
function serviceFiles(): string[] {
  const { env } = process
  const own = env['PGSERVICEFILE'] ?? join(homedir(), '.pg_service.conf')
  const systems = env['PGSYSCONFDIR']
  return systems === undefined ? [own] : [own, join(systems, 'pg_service.conf')]
}

/** The section of a name in the text of a service file; undefined where there is none. */
export function readService(text: string, name: string): Record<string, string> | undefined {
  let found: Record<string, string> | undefined
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim()
    if (line === '' || line.startsWith('#')) continue
    if (line.startsWith('[')) {
      if (found) break
      if (line === `[${name}]`) found = {}
      continue
    }
    if (!found) continue
    const equals = line.indexOf('=')
    if (equals < 1) return refuse(`line ${index + 1} of the service file is no "name=value"`)
    const key = line.slice(0, equals).trim()
    if (key === 'service') return refuse('a service cannot name another service')
    found[key] = line.slice(equals + 1).trim()
  }
  return found
}

/** What a service stands for. */
export function serviceOptions(name: string): Record<string, string> {
  for (const file of serviceFiles()) {
    let text: string
    try {
      text = readFileSync(file, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
      throw new PgParallelError(`the service file ${file} cannot be read`, { category: 'configuration', cause: error })
    }
    const found = readService(text, name)
    if (found) return found
  }
  return refuse(`there is no definition of service "${name}"`)
}

/** libpq's names where `pg` has others, and what `pg` takes as they are. */
const NAMES: Readonly<Record<string, string>> = {
  dbname: 'database',
  hostaddr: 'host',
  require_auth: 'requireAuth',
  channel_binding: 'channelBinding',
}
const PLAIN = new Set(
  (
    'host port user password database options application_name fallback_application_name replication ' +
    'sslnegotiation target_session_attrs sslmode sslcert sslkey sslrootcert service client_encoding ' +
    'connect_timeout requireAuth channelBinding statement_timeout lock_timeout ' +
    'idle_in_transaction_session_timeout query_timeout'
  ).split(' '),
)

/** libpq's settings as a URL's parameters would give them, with libpq's names made ours. */
export function optionsOf(settings: Readonly<Record<string, string>>): Record<string, string> {
  const options: Record<string, string> = {}
  // hostaddr goes before host, which libpq then only compares certificates with.
  if (settings['hostaddr'] !== undefined && settings['host'] !== undefined) {
    refuse('hostaddr together with host is not supported: use one of them')
  }
  for (const [name, value] of Object.entries(settings)) {
    const key = NAMES[name] ?? name
    if (!PLAIN.has(key)) refuse(`the connection option "${name}" is not supported`)
    options[key] = value
  }
  return options
}
