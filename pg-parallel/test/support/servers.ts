/**
 * Servers that tests start and stop themselves: PostgreSQL 15 and pgsqlite behind one interface. Ports are free ones,
 * data lives in a temporary folder, and whatever was started is stopped with the process.
 *
 * The environment variable TARGET says which of the two the integration tests run against.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import pg from 'pg'

export type Target = 'postgres' | 'pgsqlite'

/** Against which server this run goes. */
export const TARGET: Target = process.env['TARGET'] === 'pgsqlite' ? 'pgsqlite' : 'postgres'

/** A server under the test's control. */
export interface TestServer {
  readonly target: Target
  readonly host: string
  readonly port: number
  readonly url: string
  /** Folder of its Unix socket. */
  readonly socketDir: string
  start(): Promise<void>
  /** `fast`: sessions are told; `kill`: as a crash. */
  stop(how?: 'fast' | 'kill'): Promise<void>
  /** A promotion to primary; for a server started with `standbyOf`. */
  promote(): Promise<void>
  /** Copies its data while it is stopped, for {@link TestServer.restore}. */
  copy(): void
  /** Puts the copy in the place of its data, while it is stopped. */
  restore(): void
  /** Stops it and removes its data. */
  remove(): Promise<void>
}

export interface ServerOptions {
  maxConnections?: number
  /** Further PostgreSQL settings. */
  settings?: Record<string, string>
  /** Offer TLS, with a certificate made for the occasion. */
  tls?: boolean
  /** Replicate this one. */
  standbyOf?: TestServer
}

const running = new Set<TestServer>()

// A signal ends the process without its exit handlers, and the servers would stay.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

/** Called once per test file. */
export async function stopServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.remove()))
}

/** A port nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const probe = createServer()
    probe.once('error', fail)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => {
        done(port)
      })
    })
  })
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))

/** Waits until the server answers a query. */
export async function answering(url: string, alive: () => boolean): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (!alive()) throw new Error('the server ended while it started')
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('SELECT 1')
      await client.end()
      return
    } catch {
      await client.end().catch(() => {})
      await pause(25)
    }
  }
  throw new Error(`no answer from ${url}`)
}

export const ids = (): { uid: number; gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  // PostgreSQL refuses to run as root.
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

function postgresBin(): string {
  for (const dir of ['/usr/lib/postgresql/15/bin', ...(process.env['PATH'] ?? '').split(':')]) {
    if (existsSync(join(dir, 'initdb'))) return dir
  }
  throw new Error('PostgreSQL 15 is needed for the tests: install your distribution’s postgresql-15')
}

export function own(path: string): void {
  const who = ids()
  if (who) chownSync(path, who.uid, who.gid)
}

/** initdb once per process, and copies of that: it takes a second each time. */
let template: string | undefined
function cluster(dir: string): void {
  template ??= process.env['PG_PARALLEL_TEMPLATE'] ?? makeTemplate()
  execFileSync('cp', ['-r', template, join(dir, 'data')], ids() ?? {})
}

/** Makes the cluster that others are copied from, removed with this process. */
export function makeTemplate(): string {
  const dir = mkdtempSync(join(tmpdir(), 'pg-parallel-template-'))
  own(dir)
  process.once('exit', () => {
    rmSync(dir, { recursive: true, force: true })
  })
  const path = join(dir, 'data')
  execFileSync(
    join(postgresBin(), 'initdb'),
    ['-D', path, '-U', 'postgres', '--auth=trust', '--locale=C.UTF-8', '--encoding=UTF8', '--no-sync'],
    { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, HOME: dir }, ...(ids() ?? {}) },
  )
  return path
}

export function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((done) =>
    child.once('exit', () => {
      done()
    }),
  )
}

/** What both kinds share. */
abstract class LocalServer implements TestServer {
  abstract readonly target: Target
  abstract readonly url: string
  readonly host = '127.0.0.1'
  readonly port: number
  readonly socketDir: string
  protected readonly options: ServerOptions
  protected child: ChildProcess | undefined
  readonly #stopWithProcess = (): void => {
    this.child?.kill('SIGKILL')
    rmSync(this.socketDir, { recursive: true, force: true })
  }

  constructor(port: number, options: ServerOptions) {
    this.port = port
    this.options = options
    this.socketDir = mkdtempSync(join(tmpdir(), 'pg-parallel-'))
    own(this.socketDir)
    process.once('exit', this.#stopWithProcess)
    running.add(this)
  }

  protected abstract launch(): ChildProcess

  async start(): Promise<void> {
    const child = this.launch()
    this.child = child
    await answering(this.url, () => child.exitCode === null && child.signalCode === null)
  }

  async stop(how: 'fast' | 'kill' = 'fast'): Promise<void> {
    const { child } = this
    if (!child) return
    this.child = undefined
    child.kill(this.signal(how))
    await exited(child)
  }

  /** The signal that stops it in that way. */
  protected abstract signal(how: 'fast' | 'kill'): NodeJS.Signals

  promote(): Promise<void> {
    return Promise.reject(new Error('not a standby'))
  }

  /** Files of its folder that are its data. */
  protected abstract readonly data: string

  copy(): void {
    execFileSync('sh', ['-c', `rm -rf copy && mkdir copy && cp -a ${this.data} copy`], { cwd: this.socketDir })
  }

  restore(): void {
    execFileSync('sh', ['-c', `rm -rf ${this.data} && cp -a copy/* .`], { cwd: this.socketDir })
  }

  async remove(): Promise<void> {
    running.delete(this)
    await this.stop('kill')
    process.removeListener('exit', this.#stopWithProcess)
    rmSync(this.socketDir, { recursive: true, force: true })
  }
}

class Postgres extends LocalServer {
  readonly target = 'postgres'
  readonly url: string
  protected readonly data = 'data'

  constructor(port: number, options: ServerOptions) {
    super(port, options)
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`
    const primary = options.standbyOf
    if (primary) {
      execFileSync(
        join(postgresBin(), 'pg_basebackup'),
        [
          '-h',
          primary.host,
          '-p',
          String(primary.port),
          '-U',
          'postgres',
          '-D',
          join(this.socketDir, 'data'),
          '-R',
          '-c',
          'fast',
          '--no-sync',
        ],
        { ...(ids() ?? {}), cwd: this.socketDir, stdio: 'ignore' },
      )
    } else {
      cluster(this.socketDir)
    }
  }

  protected launch(): ChildProcess {
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: this.socketDir,
      fsync: 'off',
      timezone: 'UTC',
      max_connections: String(this.options.maxConnections ?? 100),
      superuser_reserved_connections: '0',
      shared_buffers: '16MB',
      max_wal_senders: '3',
      ...this.options.settings,
    }
    if (this.options.tls) {
      const files = { cwd: this.socketDir, stdio: 'ignore', ...(ids() ?? {}) } as const
      execFileSync(
        'openssl',
        'req -new -x509 -nodes -days 2 -subj /CN=test -newkey rsa:2048 -keyout server.key -out server.crt'.split(' '),
        files,
      )
      Object.assign(settings, {
        ssl: 'on',
        ssl_key_file: join(this.socketDir, 'server.key'),
        ssl_cert_file: join(this.socketDir, 'server.crt'),
      })
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    return spawn(
      join(postgresBin(), 'postgres'),
      ['-D', join(this.socketDir, 'data'), '-p', String(this.port), ...flags],
      {
        ...(ids() ?? {}),
        cwd: this.socketDir,
        stdio: 'ignore',
      },
    )
  }

  /** SIGQUIT: PostgreSQL's immediate shutdown. SIGKILL would leave its shared memory behind. */
  protected signal(how: 'fast' | 'kill'): NodeJS.Signals {
    return how === 'kill' ? 'SIGQUIT' : 'SIGINT'
  }

  override async promote(): Promise<void> {
    execFileSync(join(postgresBin(), 'pg_ctl'), ['-D', join(this.socketDir, 'data'), '-w', 'promote'], {
      ...(ids() ?? {}),
      cwd: this.socketDir,
      stdio: 'ignore',
    })
    await Promise.resolve()
  }
}

class Pgsqlite extends LocalServer {
  readonly target = 'pgsqlite'
  readonly url: string
  protected readonly data = 'test.db*'

  constructor(port: number, options: ServerOptions) {
    super(port, options)
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`
  }

  protected launch(): ChildProcess {
    const { maxConnections } = this.options
    const flags = ['--database', join(this.socketDir, 'test.db'), '--host', '127.0.0.1', '--port', String(this.port)]
    flags.push('--socket-dir', this.socketDir)
    if (this.options.tls) flags.push('--tls-self-signed')
    if (maxConnections !== undefined) flags.push('--max-connections', String(maxConnections))
    return spawn(pgsqliteBin(), flags, { cwd: this.socketDir, stdio: 'ignore' })
  }

  protected signal(how: 'fast' | 'kill'): NodeJS.Signals {
    return how === 'kill' ? 'SIGKILL' : 'SIGTERM'
  }
}

/** The server's binary: PGSQLITE_BIN, or where the build leaves it. */
export function pgsqliteBin(): string {
  return process.env['PGSQLITE_BIN'] ?? resolve(process.cwd(), '../pgsqlite/target/debug/pgsqlite')
}

/** Starts a server of the run's kind. */
export async function startServer(options: ServerOptions = {}, target: Target = TARGET): Promise<TestServer> {
  const port = await freePort()
  const server = target === 'postgres' ? new Postgres(port, options) : new Pgsqlite(port, options)
  await server.start()
  return server
}

/** Not started yet, on a port that nobody listens on. */
export async function futureServer(options: ServerOptions = {}, target: Target = TARGET): Promise<TestServer> {
  const port = await freePort()
  return target === 'postgres' ? new Postgres(port, options) : new Pgsqlite(port, options)
}
