/**
 * Several servers behind one name: which are there, in which order they are tried, and whether the one that answered
 * is of the kind asked for (`target_session_attrs`, with libpq's names and meanings).
 */
import { parse } from 'pg-connection-string'
import { PgParallelError } from '../errors'
import type { PoolOptions } from '../options'
import { isKeywords, optionsOf, readKeywords, serviceOptions } from './conninfo'

/** One server. A `host` that begins with `/` is the folder of a Unix socket. */
export interface HostAddress {
  readonly host?: string | undefined
  readonly port?: number | undefined
}

/** What a connection must offer. */
export type TargetSessionAttrs = 'any' | 'read-write' | 'read-only' | 'primary' | 'standby' | 'prefer-standby'

const ATTRS: readonly TargetSessionAttrs[] = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby']

/** Where to connect. */
export interface HostPlan {
  readonly addresses: readonly HostAddress[]
  readonly target: TargetSessionAttrs
}

/** What a server tells about itself. */
export interface ServerRole {
  /** It replays another server's changes. */
  readonly standby: boolean
  /** A transaction is read-only unless it says otherwise. */
  readonly readOnly: boolean
}

/** Is this server one that `target` asks for? `prefer-standby` takes any in its second round. */
export function accepts(target: TargetSessionAttrs, role: ServerRole, secondRound: boolean): boolean {
  switch (target) {
    case 'any':
      return true
    case 'read-write':
      return !role.readOnly && !role.standby
    case 'read-only':
      return role.readOnly || role.standby
    case 'primary':
      return !role.standby
    case 'standby':
      return role.standby
    case 'prefer-standby':
      return role.standby || secondRound
  }
}

const refuse = (message: string): never => {
  throw new PgParallelError(message, { category: 'configuration' })
}

/** `a,b` and `5432,5433` as libpq pairs them: one port serves all hosts, else there is one for each. */
function pair(hosts: string, ports: string): HostAddress[] {
  const names = hosts.split(',')
  const numbers = ports === '' ? [] : ports.split(',')
  if (numbers.length > 1 && numbers.length !== names.length) {
    refuse(`could not match ${numbers.length} port numbers to ${names.length} hosts`)
  }
  return names.map((name, index) => address(name, numbers.length > 1 ? numbers[index] : numbers[0]))
}

function address(name: string, port: string | undefined): HostAddress {
  const host = name.trim()
  return { ...(host === '' ? {} : { host }), ...(port === undefined || port === '' ? {} : { port: portNumber(port) }) }
}

function portNumber(text: string): number {
  const port = Number(text)
  if (!(Number.isInteger(port) && port >= 1 && port <= 65_535)) refuse(`invalid port number: "${text}"`)
  return port
}

/** Cuts `h1:p1,h2:p2` out of a URL, because the URL parser knows only one host. */
function splitUrl(url: string): { url: string; addresses: HostAddress[] } | undefined {
  const match = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is.exec(url)
  if (!match?.[2]?.includes(',')) return undefined
  const addresses = match[2].split(',').map((part) => {
    const ends = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(part)
    if (!ends) return refuse(`invalid host in connection string: "${part}"`)
    return address(decodeURIComponent(ends[1] ?? '').replace(/^\[(.*)\]$/, '$1'), ends[2])
  })
  return { url: `${match[1] ?? ''}host${match[3] ?? ''}`, addresses }
}

/** The parameters of a URL that say something. */
function parsedUrl(url: string): Record<string, unknown> {
  let parsed: object
  try {
    parsed = parse(url)
  } catch (cause) {
    throw new PgParallelError('the connection string cannot be read', { category: 'configuration', cause })
  }
  return Object.fromEntries(
    Object.entries(parsed).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  )
}

/** libpq's settings, read as those of a URL are: `sslmode` and certificates mean the same in both. */
function parsedSettings(settings: Readonly<Record<string, string>>): Record<string, unknown> {
  const { database, ...others } = optionsOf(settings)
  const parsed = parsedUrl(`postgres:///?${new URLSearchParams(others).toString()}`)
  return { ...parsed, ...(database === undefined || database === '' ? {} : { database }) }
}

/** Texts are UTF-8 on this side, whatever the connection string says. */
function checkEncoding(encoding: unknown): void {
  const name = typeof encoding === 'string' ? encoding.toLowerCase().replace(/[^a-z0-9]/g, '') : 'utf8'
  if (!['utf8', 'unicode', 'auto'].includes(name)) refuse(`client_encoding must be UTF8, not ${String(encoding)}`)
}

/**
 * Takes the connection string apart and finds the list of servers.
 *
 * @returns `client`: options for `pg.Client` without the address; `plan`: the addresses and the kind of server wanted
 */
export function resolveHosts(
  config: PoolOptions,
  hosts: readonly HostAddress[] | undefined,
  target: TargetSessionAttrs | undefined,
): { client: PoolOptions; plan: HostPlan } {
  const { connectionString, service, ...given } = config
  let fromString: Record<string, unknown> = {}
  let addresses: readonly HostAddress[] | undefined
  if (connectionString !== undefined) {
    if (isKeywords(connectionString)) {
      fromString = parsedSettings(readKeywords(connectionString))
    } else {
      const split = splitUrl(connectionString)
      fromString = parsedUrl(split?.url ?? connectionString)
      addresses = split?.addresses
      if (split) fromString = { ...fromString, host: undefined, port: undefined }
    }
  }
  const named: unknown = fromString['service'] ?? service ?? process.env['PGSERVICE']
  const fromService = typeof named === 'string' && named !== '' ? parsedSettings(serviceOptions(named)) : {}
  // As in pg, the string wins over the other options; as in libpq, both win over the service.
  const merged: Record<string, unknown> = { ...fromService }
  for (const [key, value] of Object.entries(given)) if (value !== undefined) merged[key] = value
  Object.assign(merged, fromString)
  delete merged['service']
  checkEncoding(merged['client_encoding'])
  const wanted =
    target ??
    merged['targetSessionAttrs'] ??
    merged['target_session_attrs'] ??
    process.env['PGTARGETSESSIONATTRS'] ??
    'any'
  const { host, port } = merged
  delete merged['host']
  delete merged['port']
  delete merged['target_session_attrs']
  delete merged['targetSessionAttrs']
  if (hosts !== undefined) {
    if (hosts.length === 0) refuse('hosts must not be empty')
    addresses = hosts
  }
  const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')
  addresses ??= pair(text(host) || (process.env['PGHOST'] ?? ''), text(port) || (process.env['PGPORT'] ?? ''))
  if (!ATTRS.includes(wanted as TargetSessionAttrs)) {
    refuse(`invalid target_session_attrs value: "${text(wanted)}" (one of ${ATTRS.join(', ')})`)
  }
  return { client: merged, plan: { addresses, target: wanted as TargetSessionAttrs } }
}
