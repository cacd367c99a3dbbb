import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { message } from '../../test/support/message'
import { MessageReader } from './reader'
import { SeenTexts } from './prepared'
import { Session, strings, type SessionOptions } from './session'
import { Statement } from './statement'
import type { Result } from './result'

const OPTIONS: SessionOptions = {
  binary: false,
  maxPrepared: 10,
  seen: new SeenTexts(),
  maxResultBytes: Infinity,
  maxRows: Infinity,
  errorTimeoutMs: 1_000,
}

const COLUMN = Buffer.concat([Buffer.from('\0\x01n\0'), Buffer.alloc(6), Buffer.from([0, 0, 0, 23]), Buffer.alloc(8)])
const ROW = message('D', Buffer.from('\0\x01\0\0\0\x017'))
/** The same in binary format, as it is asked for once the description is known. */
const BINARY_ROW = message('D', Buffer.from('\0\x01\0\0\0\x04\0\0\0\x07'))
const READY = message('Z', 'I')

interface Line {
  session: Session
  /** The server says this; false when the session has given the connection up. */
  say: (...bytes: Buffer[]) => boolean
  written: Buffer[]
  told: string[]
}

function line(options: Partial<SessionOptions> = {}): Line {
  const socket = new PassThrough()
  const written: Buffer[] = []
  socket.on('data', (chunk: Buffer) => written.push(Buffer.from(chunk)))
  const told: string[] = []
  const session = new Session(socket, { ...OPTIONS, ...options }, new Map(), 'I', {
    failed: (error) => told.push(error.message),
    gone: () => told.push('gone'),
    notice: (notice) => told.push(`notice ${notice.message}`),
    notification: (channel, payload, pid) => told.push(`${channel} ${payload} ${pid}`),
  })
  const reader = new MessageReader(session.hear)
  const say = (...bytes: Buffer[]): boolean => {
    try {
      reader.push(Buffer.concat(bytes))
    } catch (error) {
      session.destroy(error as Error)
    }
    return session.failure === undefined
  }
  return { session, say, written, told }
}

interface End {
  error: Error | null
  rows: unknown[] | undefined
}

function ask(session: Session, text: string, values?: unknown[]): Promise<End> {
  return new Promise((resolve) => {
    session.submit(
      new Statement({ text }, values, (error, result) => {
        resolve({ error, rows: (result as Result | undefined)?.rows })
      }),
    )
  })
}

const turn = (): Promise<void> => new Promise((done) => setImmediate(done))

test('what a tick asks goes out in one write, and each gets its own answer', async () => {
  const { session, say, written } = line()
  const asked = [ask(session, 'one'), ask(session, 'two'), ask(session, 'three', [1])]
  await turn()
  assert.equal(written.length, 1)
  const failed = message('E', 'SERROR\0C22012\0Mno\0\0')
  say(message('T', COLUMN), ROW, message('C', 'SELECT 1\0'), READY, failed, READY)
  say(message('1'), message('2'), message('n'), message('C', 'INSERT 0 1\0'), READY)
  const [one, two, three] = await Promise.all(asked)
  assert.deepEqual(one?.rows, [{ n: 7 }])
  assert.equal((two?.error as { code?: string } | undefined)?.code, '22012')
  assert.equal(three?.error, null)
  assert(session.settled)
})

test('a text that comes again is prepared once, and its description is asked for once', async () => {
  const { session, say, written } = line()
  const answer = [message('1'), message('2'), message('T', COLUMN), ROW, message('C', 'SELECT 1\0'), READY]
  const types = (): string => {
    let found = ''
    for (let at = 0, all = Buffer.concat(written.splice(0)); at < all.length; at += 1 + all.readInt32BE(at + 1)) {
      found += String.fromCharCode(all[at] ?? 0)
    }
    return found
  }
  const sent: string[] = []
  for (let round = 0; round < 4; round++) {
    const asked = ask(session, 'SELECT $1', [round])
    await turn()
    sent.push(types())
    say(...(round < 2 ? answer : [message('2'), BINARY_ROW, message('C', 'SELECT 1\0'), READY]))
    assert.deepEqual((await asked).rows, [{ n: 7 }])
  }
  assert.deepEqual(sent, ['PBDES', 'PBDES', 'BES', 'BES'])
  const lost = ask(session, 'SELECT $1', [9])
  await turn()
  written.length = 0
  say(message('E', 'SERROR\0C26000\0Mgone\0\0'), READY)
  assert.equal(((await lost).error as { code?: string }).code, '26000')
  assert.equal(session.forgetful, true, 'a pooler is in between: nothing is prepared any more')
  const again = ask(session, 'SELECT $1', [9])
  await turn()
  assert.equal(types(), 'CPBDES')
  say(message('3'), ...answer)
  assert.deepEqual((await again).rows, [{ n: 7 }])
})

test('limits on rows and bytes end the connection with a clear error for the one who asked', async () => {
  for (const [limit, pattern] of [
    [{ maxRows: 2 }, /2 rows \(maxRows\)/],
    [{ maxResultBytes: 15 }, /15 bytes \(maxResultBytes\)/],
  ] as const) {
    const { session, say } = line(limit)
    const large = ask(session, 'large')
    const next = ask(session, 'next')
    assert.equal(say(message('T', COLUMN), ROW, ROW, ROW, message('C', 'SELECT 3\0'), READY), false)
    assert.match((await large).error?.message ?? '', pattern)
    assert.match((await next).error?.message ?? '', /^Connection terminated/)
  }
})

test('what belongs to no question goes to who listens', () => {
  const { session, say, told } = line()
  say(message('N', 'SNOTICE\0Mwell\0\0'), message('A', Buffer.from('\0\0\0\x09c\0p\0')), message('S', 'a\0b\0'))
  assert.deepEqual(told, ['notice well', 'c p 9'])
  assert.equal(session.parameters.get('a'), 'b')
})

test('a server that breaks the protocol loses the connection, and everybody who waits hears of it', async () => {
  for (const bytes of [
    message('\x7f'),
    message('D', '\0\x01'),
    message('Z', 'X'),
    message('Z'),
    message('E', 'Sno end'),
    message('T', '\0\x05'),
    message('D', Buffer.from('\0\x02\0\0\0\x017')),
    Buffer.from('D\0\0\0\0'),
    Buffer.from('D\x7f\xff\xff\xff'),
    message('R', '\0\0\0\0'),
    message('A', 'x'),
    message('S', 'no end'),
    message('s'),
  ]) {
    const { session, say } = line()
    const asked = ask(session, 'SELECT 1')
    assert.equal(say(bytes), false, JSON.stringify(bytes.toString('latin1')))
    assert.equal(((await asked).error as { category?: string }).category, 'protocol')
  }
  const { say } = line()
  assert.equal(say(READY), false, 'nothing was asked')
})

test('whatever comes, nothing is thrown, nobody waits for ever, and no row is made up', async () => {
  let seed = 7
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff
    return seed % below
  }
  const good = Buffer.concat([
    ...[message('1'), message('2'), message('T', COLUMN), ROW, ROW, message('C', 'SELECT 2\0'), READY],
    ...[message('T', COLUMN), ROW, message('E', 'SERROR\0C22012\0Mno\0\0'), READY],
  ])
  for (let round = 0; round < 3_000; round++) {
    const { session, say } = line()
    const asked = [ask(session, 'one', [1]), ask(session, 'two')]
    const bytes = Buffer.from(good)
    for (let faults = random(4); faults >= 0; faults--) bytes[random(bytes.length)] = random(256)
    const until = random(3) === 0 ? random(bytes.length) : bytes.length
    for (let at = 0; at < until;) {
      const size = 1 + random(40)
      say(bytes.subarray(at, Math.min(until, at + size)))
      at += size
    }
    session.lost(new Error('over'))
    for (const { error, rows } of await Promise.all(asked)) {
      if (error === null) assert((rows?.length ?? 0) <= 2)
    }
  }
})

test('the end: those who wait hear what the server said last', async () => {
  const { session, say, told } = line()
  const asked = ask(session, 'SELECT 1')
  say(message('E', 'SFATAL\0C57P01\0Mterminating\0\0'))
  session.closed()
  assert.equal(((await asked).error as { code?: string }).code, '57P01')
  assert.deepEqual(told, ['terminating', 'gone'])
  assert.equal((await ask(session, 'SELECT 2')).error?.message, 'terminating')
})

test('an error that no ReadyForQuery follows costs the connection after a while', async () => {
  const { session, say } = line({ errorTimeoutMs: 10 })
  const asked = ask(session, 'SELECT 1/0')
  say(message('E', 'SERROR\0C22012\0Mno\0\0'))
  assert.equal(((await asked).error as { code?: string }).code, '22012')
  assert.equal(session.usable, false)
})

test('texts that end with a NUL', () => {
  assert.deepEqual(strings(Buffer.from('a\0bc\0\0'), 0, 6), ['a', 'bc', ''])
  assert.throws(() => strings(Buffer.from('a'), 0, 1), { category: 'protocol' })
})
