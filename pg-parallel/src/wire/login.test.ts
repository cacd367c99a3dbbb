import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, test } from 'node:test'
import { resolveLogin, type LoginOptions } from './login'

const NAMES = ['PGUSER', 'PGDATABASE', 'PGPASSWORD', 'PGHOST', 'PGPORT', 'PGSSLMODE', 'PGAPPNAME', 'PGPASSFILE']
const before = NAMES.map((name) => process.env[name])
const reset = (): void => {
  for (const [index, name] of NAMES.entries()) {
    if (before[index] === undefined) delete process.env[name]
    else process.env[name] = before[index]
  }
}
afterEach(reset)

const me: LoginOptions = { user: 'me' }

test('options go before the environment, and that before the defaults', async () => {
  const plain = resolveLogin(me, {})
  assert.deepEqual([plain.host, plain.port, plain.database, plain.tls], ['localhost', 5432, 'me', undefined])
  Object.assign(process.env, {
    PGUSER: 'you',
    PGDATABASE: 'd',
    PGHOST: 'h',
    PGPORT: '7',
    PGPASSWORD: 'p',
    PGAPPNAME: 'a',
  })
  const login = resolveLogin({}, {})
  assert.deepEqual([login.user, login.database, login.host, login.port], ['you', 'd', 'h', 7])
  assert.equal(login.parameters['application_name'], 'a')
  assert.equal(await login.password(), 'p')
  const given = resolveLogin(
    { user: 'me', database: 'e', password: () => Promise.resolve('q') },
    { host: 'i', port: 8 },
  )
  assert.deepEqual([given.user, given.database, given.host, given.port], ['me', 'e', 'i', 8])
  assert.equal(await given.password(), 'q')
})

test('settings of the session are sent with the startup message', () => {
  const { parameters } = resolveLogin({ ...me, statement_timeout: 5, lock_timeout: 6, options: '-c a=b' }, {})
  assert.deepEqual(parameters, {
    user: 'me',
    database: 'me',
    client_encoding: 'UTF8',
    options: '-c a=b',
    statement_timeout: '5',
    lock_timeout: '6',
  })
})

test('TLS: what the option and PGSSLMODE say', () => {
  process.env['PGSSLMODE'] = 'require'
  assert.deepEqual(resolveLogin(me, {}).tls, {})
  assert.equal(resolveLogin({ ...me, ssl: false }, {}).tls, undefined)
  assert.deepEqual(resolveLogin({ ...me, ssl: 'no-verify' }, {}).tls, { rejectUnauthorized: false })
  assert.equal(resolveLogin({ ...me, sslnegotiation: 'direct' }, {}).direct, true)
})

test('requireAuth is a list of what is accepted, or of what is not', () => {
  assert(resolveLogin(me, {}).accepts('password'))
  const { accepts } = resolveLogin({ ...me, requireAuth: 'scram-sha-256,md5' }, {})
  assert.deepEqual(
    (['scram-sha-256', 'md5', 'password', 'none'] as const).map((method) => accepts(method)),
    [true, true, false, false],
  )
  const { accepts: other } = resolveLogin({ ...me, requireAuth: '!password' }, {})
  assert.deepEqual([other('password'), other('none')], [false, true])
})

test('what makes no sense is refused by name', () => {
  for (const [options, pattern] of [
    [{ sslnegotiation: 'direct' }, /sslnegotiation/],
    [{ sslnegotiation: 'quick' }, /sslnegotiation/],
    [{ channelBinding: 'perhaps' }, /channelBinding/],
    [{ protocolVersion: '4.0' }, /protocolVersion/],
    [{ requireAuth: 'guess' }, /requireAuth/],
    [{ requireAuth: 'md5,!password' }, /requireAuth/],
    [{ database: 'a\0b' }, /NUL/],
  ] as const) {
    assert.throws(() => resolveLogin({ ...me, ...(options as object) }, {}), pattern)
  }
})

test('the password file is asked last', { skip: process.platform === 'win32' }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pg-parallel-pass-'))
  const file = join(folder, 'pgpass')
  writeFileSync(file, 'h:5432:*:me:from the file\n', { mode: 0o600 })
  process.env['PGPASSFILE'] = file
  try {
    assert.equal(await resolveLogin(me, { host: 'h' }).password(), 'from the file')
    assert.equal(await resolveLogin(me, { host: 'other' }).password(), undefined)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
