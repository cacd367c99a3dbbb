/**
 * A PostgreSQL server in this process, for unit tests: it speaks the protocol and knows no SQL. What a statement comes
 * to is said by the test, and every message that a client sent can be looked at afterwards.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { message } from './message'

/** What a statement comes to. */
export interface Answer {
  /** Columns with their values as text; a column whose name starts with `n` is an int4, and `can` a bool. */
  rows?: readonly Readonly<Record<string, string>>[]
  /** SQLSTATE of an error; one that starts with `57P` ends the session. */
  error?: string
  /** The error is that of Bind: the statement is not there, or has no plan. */
  unbound?: boolean
  /** No answer before a cancel request arrives. */
  hang?: boolean
  /** The connection is closed instead of an answer. */
  cut?: boolean
  copy?: 'in' | 'out'
  /** Bytes instead of an answer, and nothing after them. */
  raw?: Buffer
}

/** A message of these parts: texts end with a NUL, numbers have four bytes. */
const messageOf = (type: string, ...parts: (string | number | Buffer)[]): Buffer =>
  message(
    type,
    Buffer.concat(
      parts.map((part) => {
        if (typeof part === 'string') return Buffer.from(`${part}\0`)
        if (typeof part !== 'number') return part
        const four = Buffer.alloc(4)
        four.writeInt32BE(part)
        return four
      }),
    ),
  )

const short = (value: number): Buffer => Buffer.from([(value >> 8) & 255, value & 255])

/** One connection of a client. */
export class FakeSession {
  readonly #server: FakeServer
  readonly socket: Socket
  readonly pid: number
  /** Messages of the client, as `Type detail`. */
  readonly heard: string[] = []
  status: 'I' | 'T' | 'E' = 'I'
  #buffered = Buffer.alloc(0)
  #startup = true
  /** An error came: everything is skipped until Sync. */
  #skipping = false
  #statements = new Map<string, string>()
  #portals = new Map<string, { text: string; answer: Answer; at: number; formats: readonly number[] }>()
  #hanging: (() => void) | undefined
  #copying: 'simple' | 'extended' | undefined

  constructor(server: FakeServer, socket: Socket, pid: number) {
    this.#server = server
    this.socket = socket
    this.pid = pid
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      this.#buffered = Buffer.concat([this.#buffered, chunk])
      this.#read()
    })
  }

  /** SQL texts, in the order in which they were to be run. */
  readonly texts: string[] = []

  #read(): void {
    while (!this.#hanging) {
      const head = this.#startup ? 0 : 1
      if (this.#buffered.length < head + 4) return
      const length = this.#buffered.readInt32BE(head) + head
      if (this.#buffered.length < length) return
      const whole = this.#buffered.subarray(0, length)
      this.#buffered = this.#buffered.subarray(length)
      if (this.#startup) this.#start(whole)
      else this.#hear(String.fromCharCode(whole[0] ?? 0), whole.subarray(5))
    }
  }

  #start(body: Buffer): void {
    if (body.readInt32BE(4) === 80_877_102) {
      const pid = body.readInt32BE(8)
      this.#server.cancels.push(pid)
      this.#server.sessions.find((session) => session.pid === pid)?.cancel()
      this.socket.end()
      return
    }
    this.#startup = false
    this.#server.sessions.push(this)
    const refused = this.#server.refuse
    if (refused !== undefined) {
      this.#error(refused, 'FATAL')
      this.socket.end()
      return
    }
    this.#say(messageOf('R', 0))
    for (const [name, value] of Object.entries(this.#server.parameters)) this.#say(messageOf('S', name, value))
    this.#say(messageOf('K', this.pid, 4711))
    this.#ready()
  }

  /** A cancel request has arrived. */
  cancel(): void {
    const end = this.#hanging
    this.#hanging = undefined
    end?.()
  }

  #say(bytes: Buffer): void {
    if (this.socket.writable) this.socket.write(bytes)
  }

  #ready(): void {
    this.#skipping = false
    this.#say(messageOf('Z', Buffer.from(this.status)))
  }

  #error(code: string, severity = 'ERROR'): void {
    if (this.status === 'T') this.status = 'E'
    this.#say(messageOf('E', `S${severity}`, `V${severity}`, `C${code}`, `Mfake ${code}`, Buffer.from([0])))
  }

  #hear(type: string, body: Buffer): void {
    const strings = body.toString('latin1').split('\0')
    switch (type) {
      case 'Q':
        this.heard.push(`Query ${strings[0] ?? ''}`)
        this.texts.push(strings[0] ?? '')
        this.#run(strings[0] ?? '', () => {
          this.#ready()
        })
        return
      case 'P':
        this.heard.push(`Parse ${strings[1] ?? ''}`)
        this.#statements.set(strings[0] ?? '', strings[1] ?? '')
        if (!this.#skipping) this.#say(messageOf('1'))
        return
      case 'B': {
        const [portal = '', statement = ''] = strings
        this.heard.push(`Bind ${portal}`.trim())
        const text = this.#statements.get(statement) ?? ''
        this.texts.push(text)
        if (this.#skipping) return
        const answer = this.#server.answer(text, this)
        if (answer.unbound && answer.error !== undefined) {
          this.#error(answer.error)
          this.#skipping = true
          return
        }
        this.#portals.set(portal, { text, answer, at: 0, formats: formatsOf(body) })
        this.#say(messageOf('2'))
        return
      }
      case 'D': {
        this.heard.push('Describe')
        const portal = this.#portals.get(strings[0]?.slice(1) ?? '')
        if (this.#skipping) return
        if (portal?.answer.rows?.[0]) this.#describe(portal.answer)
        else this.#say(messageOf('n'))
        return
      }
      case 'E': {
        const portal = this.#portals.get(strings[0] ?? '')
        const most = body.readInt32BE(body.length - 4)
        this.heard.push(`Execute ${strings[0] ?? ''} ${most}`.replace('  ', ' '))
        if (this.#skipping || !portal) return
        const rows = portal.answer.rows ?? []
        const until = most > 0 ? Math.min(rows.length, portal.at + most) : rows.length
        const from = portal.at
        portal.at = until
        // As PostgreSQL: a full batch is suspended also where it happens to be the last.
        const suspended = most > 0 && until - from === most
        const batch = { ...portal.answer, rows: rows.slice(from, until) }
        this.#perform(portal.text, batch, suspended, 'extended', undefined, portal.formats)
        return
      }
      case 'C':
        this.heard.push(`Close ${strings[0] ?? ''}`)
        this.#portals.delete(strings[0]?.slice(1) ?? '')
        this.#say(messageOf('3'))
        return
      case 'H':
        this.heard.push('Flush')
        return
      case 'S':
        this.heard.push('Sync')
        if (this.#copying) return // part of the data, as PostgreSQL has it
        if (this.status === 'I') this.#portals.clear()
        this.#ready()
        return
      case 'f': {
        this.heard.push('CopyFail')
        const how = this.#copying
        this.#copying = undefined
        this.#error('57014')
        this.#skipping = true
        if (how === 'simple') this.#ready()
        return
      }
      case 'd':
        return
      case 'c': {
        const how = this.#copying
        this.#copying = undefined
        this.#say(messageOf('C', 'COPY 1'))
        if (how === 'simple') this.#ready()
        return
      }
      case 'X':
        this.heard.push('Terminate')
        this.socket.end()
        return
      default:
        throw new Error(`the fake server does not know message ${type}`)
    }
  }

  #describe(answer: Answer): void {
    const [first] = answer.rows ?? []
    if (!first) return
    const names = Object.keys(first)
    const columns = names.map((name) =>
      Buffer.concat([
        Buffer.from(`${name}\0`),
        Buffer.alloc(6),
        Buffer.from([0, 0, 0, name === 'can' ? 16 : name.startsWith('n') ? 23 : 25]),
        Buffer.alloc(8),
      ]),
    )
    this.#say(messageOf('T', short(names.length), ...columns))
  }

  #run(text: string, then: () => void): void {
    const answer = this.#server.answer(text, this)
    this.#describe(answer)
    this.#perform(text, answer, false, 'simple', then)
  }

  #perform(
    text: string,
    answer: Answer,
    suspended: boolean,
    how: 'simple' | 'extended',
    then = (): void => {},
    formats: readonly number[] = [],
  ): void {
    if (answer.raw) {
      this.#say(answer.raw)
      this.#hanging = (): void => {}
      return
    }
    if (answer.cut) {
      this.socket.destroy()
      return
    }
    if (answer.hang) {
      this.#hanging = (): void => {
        this.#error('57014')
        this.#skipping = true
        then()
        this.#read()
      }
      return
    }
    if (answer.error !== undefined) {
      const fatal = answer.error.startsWith('57P')
      this.#error(answer.error, fatal ? 'FATAL' : 'ERROR')
      this.#skipping = true
      if (fatal) this.socket.end()
      else then()
      return
    }
    if (answer.copy === 'in') {
      this.#copying = how
      this.#say(messageOf('G', Buffer.from([0]), short(0)))
      return
    }
    if (answer.copy === 'out') {
      this.#say(messageOf('H', Buffer.from([0]), short(0)))
      this.#say(messageOf('d', Buffer.from('data\n')))
      this.#say(messageOf('c'))
    }
    for (const row of answer.rows ?? []) {
      const values = Object.values(row).map((value, index) => {
        // Of the types that it has, int4 is the one that may be asked for in binary format.
        const binary = formats[formats.length === 1 ? 0 : index] === 1 && Object.keys(row)[index]?.startsWith('n')
        const bytes = binary ? int4(Number(value)) : Buffer.from(value)
        const length = Buffer.alloc(4)
        length.writeInt32BE(bytes.length)
        return Buffer.concat([length, bytes])
      })
      this.#say(messageOf('D', short(values.length), ...values))
    }
    const verb = /^\s*(\w*)/.exec(text)?.[1]?.toUpperCase() ?? ''
    let tag = verb
    if (verb === 'BEGIN') this.status = 'T'
    if (verb === 'COMMIT' && this.status === 'E') tag = 'ROLLBACK'
    if (verb === 'COMMIT' || (verb === 'ROLLBACK' && !/ROLLBACK TO/.test(text))) this.status = 'I'
    if (/ROLLBACK TO/.test(text)) this.status = 'T'
    if (suspended) this.#say(messageOf('s'))
    else if (text === '') this.#say(messageOf('I'))
    else this.#say(messageOf('C', tag === 'SELECT' ? `SELECT ${answer.rows?.length ?? 0}` : tag))
    then()
  }
}

/** See the top of the file. */
export class FakeServer {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Connections that got as far as a startup message, in order. */
  readonly sessions: FakeSession[] = []
  /** Process ids of the cancel requests. */
  readonly cancels: number[] = []
  /** What is reported when a session starts. */
  parameters: Record<string, string> = { server_version: '14.0' }
  /** SQLSTATE that new sessions get instead of a welcome. */
  refuse: string | undefined
  #answer: (text: string, session: FakeSession) => Answer | undefined

  private constructor(answer: (text: string, session: FakeSession) => Answer | undefined) {
    this.#answer = answer
    let pid = 0
    this.#server = createServer((socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      new FakeSession(this, socket, ++pid)
    })
  }

  static async start(
    answer: (text: string, session: FakeSession) => Answer | undefined = () => undefined,
  ): Promise<FakeServer> {
    const fake = new FakeServer(answer)
    await new Promise<void>((done) => fake.#server.listen(0, '127.0.0.1', done))
    return fake
  }

  /** Nothing said: the statement succeeds without rows. */
  answer(text: string, session: FakeSession): Answer {
    return this.#answer(text, session) ?? {}
  }

  get address(): { host: string; port: number } {
    return { host: '127.0.0.1', port: (this.#server.address() as { port: number }).port }
  }

  /** Options for a client. */
  get options(): { host: string; port: number; user: string; database: string } {
    return { ...this.address, user: 'me', database: 'mine' }
  }

  /** SQL texts of all sessions, in order of the sessions. */
  get texts(): string[] {
    return this.sessions.flatMap((session) => session.texts)
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((done) => this.#server.close(done))
  }
}

const int4 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** The formats of results at the end of a Bind. */
function formatsOf(bind: Buffer): number[] {
  let at = bind.indexOf(0, bind.indexOf(0) + 1) + 1
  at += 2 + 2 * bind.readUInt16BE(at)
  const values = bind.readUInt16BE(at)
  at += 2
  for (let index = 0; index < values; index++) at += 4 + Math.max(0, bind.readInt32BE(at))
  return Array.from({ length: bind.readUInt16BE(at) }, (_, index) => bind.readUInt16BE(at + 2 + 2 * index))
}
