/** Who connects, to what and how: from the options, the environment, and the password file, as libpq and `pg` do. */
import { userInfo } from 'node:os'
import type { ConnectionOptions } from 'node:tls'
import type { Duplex } from 'node:stream'
import { PgParallelError } from '../errors'
import type { HostAddress } from '../pool/hosts'

/** A password, or where to get one. */
export type Password = string | (() => string | Promise<string>)

/** Options about one connection; the same as `pg`'s, and libpq's where `pg` has none. */
export interface LoginOptions {
  user?: string | undefined
  database?: string | undefined
  password?: Password | undefined
  /** True for the system's certificates, or options for Node's `tls.connect`. */
  ssl?: boolean | string | ConnectionOptions | undefined
  /** `direct`: TLS from the first byte, as PostgreSQL 17 takes it. */
  sslnegotiation?: 'postgres' | 'direct' | undefined
  /** What binds the password exchange to the TLS connection: `prefer` uses it where the server offers it. */
  channelBinding?: 'disable' | 'prefer' | 'require' | undefined
  /** The ways of authentication that are accepted, as libpq's `require_auth`: `scram-sha-256`, `md5`, `password`, `none`. */
  requireAuth?: string | undefined
  /** The highest version of the protocol to ask for. Default: 3.0. */
  protocolVersion?: '3.0' | '3.2' | undefined
  application_name?: string | undefined
  fallback_application_name?: string | undefined
  options?: string | undefined
  statement_timeout?: number | false | undefined
  lock_timeout?: number | undefined
  idle_in_transaction_session_timeout?: number | undefined
  replication?: string | undefined
  keepAlive?: boolean | undefined
  keepAliveInitialDelayMillis?: number | undefined
  /** The socket to use, or what makes one. */
  stream?: (() => Duplex) | Duplex | undefined
}

/** What a connection is made with. */
export interface Login {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
  readonly parameters: Readonly<Record<string, string>>
  readonly tls: ConnectionOptions | undefined
  readonly direct: boolean
  readonly channelBinding: 'disable' | 'prefer' | 'require'
  readonly accepts: (method: AuthMethod) => boolean
  readonly version: number
  readonly keepAlive: boolean
  readonly keepAliveDelayMs: number
  readonly stream: (() => Duplex) | Duplex | undefined
  readonly password: () => Promise<string | undefined>
}

/** Ways of authentication, by libpq's names. */
export type AuthMethod = 'none' | 'password' | 'md5' | 'scram-sha-256'
const METHODS: readonly string[] = ['none', 'password', 'md5', 'scram-sha-256']

const refuse = (message: string): PgParallelError => new PgParallelError(message, { category: 'configuration' })

/** The options that were given, completed. */
export function resolveLogin(options: LoginOptions, address: HostAddress): Login {
  const { env } = process
  const host = address.host ?? env['PGHOST'] ?? 'localhost'
  const port = address.port ?? Number(env['PGPORT'] ?? 5432)
  const user = options.user ?? env['PGUSER'] ?? systemUser()
  const database = options.database ?? env['PGDATABASE'] ?? user
  const parameters: Record<string, string> = { user, database, client_encoding: 'UTF8' }
  const set = (name: string, value: unknown): void => {
    if (value !== undefined && value !== null && value !== false && value !== '') {
      parameters[name] = String(value)
    }
  }
  set('application_name', options.application_name ?? env['PGAPPNAME'] ?? options.fallback_application_name)
  set('options', options.options ?? env['PGOPTIONS'])
  set('replication', options.replication)
  set('statement_timeout', options.statement_timeout)
  set('lock_timeout', options.lock_timeout)
  set('idle_in_transaction_session_timeout', options.idle_in_transaction_session_timeout)
  for (const [name, value] of Object.entries(parameters)) {
    if (value.includes('\0')) throw refuse(`${name} cannot have a NUL character in it`)
  }
  const negotiation = options.sslnegotiation ?? env['PGSSLNEGOTIATION'] ?? 'postgres'
  if (negotiation !== 'postgres' && negotiation !== 'direct') throw refuse(`invalid sslnegotiation: "${negotiation}"`)
  const tls = tlsOptions(options.ssl ?? tlsOfEnvironment())
  if (negotiation === 'direct' && !tls) throw refuse('sslnegotiation "direct" needs ssl')
  const binding = options.channelBinding ?? env['PGCHANNELBINDING'] ?? 'prefer'
  if (binding !== 'disable' && binding !== 'prefer' && binding !== 'require') {
    throw refuse(`invalid channelBinding: "${binding}"`)
  }
  const asked: string = options.protocolVersion ?? '3.0'
  if (asked !== '3.0' && asked !== '3.2') throw refuse(`invalid protocolVersion: "${asked}"`)
  const { password } = options
  return {
    host,
    port,
    user,
    database,
    parameters,
    tls,
    direct: negotiation === 'direct',
    channelBinding: binding,
    accepts: acceptedMethods(options.requireAuth ?? env['PGREQUIREAUTH']),
    version: asked === '3.2' ? 0x3_0002 : 0x3_0000,
    keepAlive: options.keepAlive ?? true,
    keepAliveDelayMs: options.keepAliveInitialDelayMillis ?? 0,
    stream: options.stream,
    password: async () => {
      const given: unknown = typeof password === 'function' ? await password() : (password ?? env['PGPASSWORD'])
      if (typeof given === 'string') return given
      if (given !== undefined && given !== null) throw new TypeError('Password must be a string')
      return fromPasswordFile(host, port, database, user)
    },
  }
}

function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    throw refuse('user is not given, and the system’s user has no name')
  }
}

/** PGSSLMODE, as pg reads it. */
function tlsOfEnvironment(): boolean | string {
  switch (process.env['PGSSLMODE']) {
    case 'prefer':
    case 'require':
    case 'verify-ca':
    case 'verify-full':
      return true
    case 'no-verify':
      return 'no-verify'
    default:
      return false
  }
}

function tlsOptions(ssl: boolean | string | ConnectionOptions): ConnectionOptions | undefined {
  if (ssl === true || ssl === 'true') return {}
  if (ssl === 'no-verify') return { rejectUnauthorized: false }
  return typeof ssl === 'object' ? ssl : undefined
}

/** libpq's `require_auth`: a list of what is accepted, or, with "!", of what is not. */
function acceptedMethods(list: string | undefined): (method: AuthMethod) => boolean {
  if (list === undefined || list === '') return () => true
  const names = list.split(',').map((name) => name.trim())
  const negated = names.every((name) => name.startsWith('!'))
  if (!negated && names.some((name) => name.startsWith('!')))
    throw refuse('requireAuth mixes methods with and without "!"')
  const plain = new Set(names.map((name) => name.replace('!', '')))
  for (const name of plain) if (!METHODS.includes(name)) throw refuse(`requireAuth names an unknown method: "${name}"`)
  return (method) => plain.has(method) !== negated
}

/** ~/.pgpass, or what PGPASSFILE says. */
async function fromPasswordFile(
  host: string,
  port: number,
  database: string,
  user: string,
): Promise<string | undefined> {
  const { default: pgpass } = await import('pgpass')
  return new Promise((resolve) => {
    pgpass({ host, port, database, user }, resolve)
  })
}
