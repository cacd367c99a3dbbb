import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { message } from '../../test/support/message'
import { stops } from '../../test/support/stops'
import { openSession, sendCancelRequest } from './connect'
import { resolveLogin, type LoginOptions } from './login'
import { SeenTexts } from './prepared'
import { MessageWriter } from './writer'

const SESSION = {
  binary: false,
  maxPrepared: 0,
  seen: new SeenTexts(),
  maxResultBytes: Infinity,
  maxRows: Infinity,
  errorTimeoutMs: 1_000,
}
const EVENTS = { failed: (): void => {}, gone: (): void => {} }

const AUTHENTICATED = message('R', '\0\0\0\0')
const READY = message('Z', 'I')

/** A server that says this to whatever it hears, one entry at a time. */
async function serve(...answers: Buffer[]): Promise<{ port: number; heard: Buffer[] }> {
  const heard: Buffer[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let next = 0
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      heard.push(chunk)
      const answer = answers[next++]
      if (answer) socket.write(answer)
      else if (answers.length === 0) socket.end()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  stops.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as { port: number }).port, heard }
}

async function open(port: number, options: LoginOptions = {}, timeoutMs = 5_000): Promise<string> {
  const login = resolveLogin({ user: 'me', ...options }, { host: '127.0.0.1', port })
  const { session, processID, secretKey } = await openSession(login, SESSION, EVENTS, timeoutMs, () => {})
  session.destroy(new Error('over'))
  return `${processID ?? 'none'} ${secretKey?.length ?? 'none'} ${session.parameters.get('a') ?? ''}`
}

test('a session begins: parameters, a cancel key of any length, in one piece or in many', async () => {
  const key = message('K', Buffer.concat([Buffer.from([0, 0, 0, 9]), Buffer.alloc(32)]))
  const all = Buffer.concat([AUTHENTICATED, message('S', 'a\0b\0'), message('v', '\0\0\0\0\0\0\0\0'), key, READY])
  const { port, heard } = await serve(all)
  assert.equal(await open(port, { protocolVersion: '3.2' }), '9 32 b')
  assert.equal(heard[0]?.readInt32BE(4), 196_610)
  assert(heard[0].includes('user\0me\0'))
})

test('passwords: in the clear and by MD5, as far as they are allowed', async () => {
  const clear = await serve(message('R', '\0\0\0\x03'), Buffer.concat([AUTHENTICATED, READY]))
  await open(clear.port, { password: 'secret' })
  assert.equal(clear.heard[1]?.toString('latin1'), 'p\0\0\0\x0bsecret\0')
  const md5 = await serve(message('R', '\0\0\0\x05salt'), Buffer.concat([AUTHENTICATED, READY]))
  await open(md5.port, { password: () => 'secret' })
  assert.match(md5.heard[1]?.toString('latin1') ?? '', /^p\0\0\0\x28md5[0-9a-f]{32}\0$/)
  const asks = message('R', '\0\0\0\x03')
  for (const [options, pattern] of [
    [{ password: 'secret', requireAuth: 'scram-sha-256' }, /requireAuth/],
    [{ password: 'secret', channelBinding: 'require' }, /channel binding/],
    [{}, /none was given/],
    [{ password: () => 7 as never }, /must be a string/],
  ] as [LoginOptions, RegExp][]) {
    const { port, heard } = await serve(asks)
    await assert.rejects(open(port, options), pattern)
    assert.equal(heard.length, 1, 'the password stays here')
  }
  const trusting = await serve(Buffer.concat([AUTHENTICATED, READY]))
  await assert.rejects(open(trusting.port, { requireAuth: '!none' }), { category: 'authentication' })
})

test('a server that skips or twists the beginning is refused', async () => {
  for (const bytes of [
    READY,
    message('D', '\0\0'),
    message('R', Buffer.from([0, 0, 0, 12])),
    message('R', Buffer.from([0, 0, 0, 99])),
    Buffer.concat([message('K', 'short')]),
    Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
    Buffer.from([0x52, 0, 0, 0, 0]),
    message('E', 'SFATAL\0C28P01\0Mno\0\0'),
  ]) {
    const { port } = await serve(bytes)
    await assert.rejects(open(port), JSON.stringify(bytes.toString('latin1')))
  }
  const scram = await serve(message('R', '\0\0\0\x0aSCRAM-SHA-256\0\0'), Buffer.concat([AUTHENTICATED, READY]))
  await assert.rejects(open(scram.port, { password: 'x' }), /without showing its signature/)
})

test('TLS: a no is an error, and so is more than an answer', async () => {
  const no = await serve(Buffer.from('N'))
  await assert.rejects(open(no.port, { ssl: true }), /does not support SSL/)
  const stuffed = await serve(Buffer.concat([Buffer.from('S'), message('R', '\0\0\0\0')]))
  await assert.rejects(open(stuffed.port, { ssl: true }), { category: 'protocol' })
})

test('TLS from the first byte, where the server takes it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pg-parallel-tls-'))
  const request = 'req -new -x509 -nodes -days 2 -subj /CN=test -newkey rsa:2048 -keyout key -out cert'
  execFileSync('openssl', request.split(' '), { cwd: folder, stdio: 'ignore' })
  const [key, cert] = ['key', 'cert'].map((name) => readFileSync(join(folder, name)))
  rmSync(folder, { recursive: true })
  const listen = async (ALPNProtocols?: string[]): Promise<{ port: number; heard: Buffer[] }> => {
    const heard: Buffer[] = []
    const server = createTlsServer({ key, cert, ...(ALPNProtocols ? { ALPNProtocols } : {}) }, (socket) => {
      socket.on('error', () => {})
      socket.on('data', (chunk: Buffer) => {
        heard.push(chunk)
        socket.write(Buffer.concat([AUTHENTICATED, READY]))
      })
    })
    server.on('tlsClientError', () => {})
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    stops.push(() => {
      server.close()
    })
    return { port: (server.address() as { port: number }).port, heard }
  }
  const direct = { ssl: { rejectUnauthorized: false }, sslnegotiation: 'direct' } as const
  const { port, heard } = await listen(['postgresql'])
  await open(port, direct)
  assert.equal(heard[0]?.readInt32BE(4), 196_608, 'the first that is said is the startup message')
  const other = await listen()
  await assert.rejects(open(other.port, direct), { category: 'protocol' })
})

test('a server that says nothing is given up in time', async () => {
  const { port } = await serve(Buffer.alloc(0))
  await assert.rejects(open(port, {}, 30), /timeout expired/)
})

test('a cancel request has the key in it, and its end is its answer', async () => {
  const { port, heard } = await serve()
  const login = resolveLogin({ user: 'me' }, { host: '127.0.0.1', port })
  const secretKey = new Uint8Array([1, 2, 3, 4])
  await sendCancelRequest({ processID: 7, secretKey, host: '127.0.0.1', port }, login, 5_000)
  const expected = new MessageWriter()
  expected.cancelRequest(7, Buffer.from(secretKey))
  assert.deepEqual(Buffer.concat(heard), expected.take())
  const silent = await serve(Buffer.alloc(0))
  const key = { processID: 7, secretKey, host: '127.0.0.1', port: silent.port }
  await assert.rejects(sendCancelRequest(key, login, 30), /was not answered/)
})
