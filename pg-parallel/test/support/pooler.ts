/** PgBouncer in transaction mode: a connection's statements go to whichever of the server's connections is free. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { answering, exited, freePort, ids, own, type TestServer } from './servers'

/** The program, or undefined where there is none; `tools/pgbouncer.sh` knows how to bring one. */
export function poolerBin(): string | undefined {
  const named = process.env['PGBOUNCER']
  if (named) return named
  try {
    const found = execFileSync('../tools/pgbouncer.sh', { encoding: 'utf8' }).trim()
    return existsSync(found) ? found : undefined
  } catch {
    return undefined
  }
}

/** A pooler before a server. */
export interface Pooler {
  readonly host: string
  readonly port: number
  readonly url: string
}

const running = new Set<{ child: ChildProcess; dir: string }>()

after(async () => {
  for (const { child, dir } of running) {
    child.kill('SIGKILL')
    await exited(child)
    rmSync(dir, { recursive: true, force: true })
  }
})

/** Starts one that has `size` connections to the server; it ends with the file. */
export async function startPooler(bin: string, server: TestServer, size: number): Promise<Pooler> {
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'pg-parallel-pooler-'))
  own(dir)
  const lines = [
    '[databases]',
    `* = host=${server.host} port=${server.port} user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${size}`,
    'max_client_conn = 200',
  ]
  writeFileSync(join(dir, 'pgbouncer.ini'), `${lines.join('\n')}\n`)
  const child = spawn(bin, [join(dir, 'pgbouncer.ini')], { cwd: dir, stdio: 'ignore', ...(ids() ?? {}) })
  running.add({ child, dir })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  await answering(url, () => child.exitCode === null && child.signalCode === null)
  return { host: '127.0.0.1', port, url }
}
