/** From nothing to a session that is ready: the socket, TLS, authentication. */
import { createHash } from 'node:crypto'
import { connect as connectSocket, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { PgParallelError } from '../errors'
import type { Login } from './login'
import { readError } from './notice'
import { MessageReader, protocolError } from './reader'
import { certificateHash, Scram } from './scram'
import { Session, strings, type SessionEvents, type SessionOptions, type Status } from './session'
import { MessageWriter } from './writer'

/** One buffer for what all sockets receive: each chunk is read to its end before the next arrives. */
let receiveBuffer: Buffer | undefined

/** A socket before there is a session on it. */
export interface Opening {
  /** Gives it up. */
  destroy(error?: Error): void
}

/** What the server said when the session began. */
export interface Opened {
  readonly session: Session
  readonly socket: Duplex
  readonly processID: number | undefined
  readonly secretKey: Buffer | undefined
}

const authError = (message: string): PgParallelError =>
  new PgParallelError(message, {
    category: 'authentication',
    transient: false,
    infrastructure: false,
    connectionDead: true,
  })

/** A socket whose bytes go to whoever is set as its receiver. */
class Line implements Opening {
  socket: Duplex
  readonly reader = new MessageReader(() => {})
  /** The socket ended or failed. */
  onEnd: (error: Error) => void = () => {}
  onClose: () => void = () => {}
  #closed = false

  constructor(login: Login) {
    const given = typeof login.stream === 'function' ? login.stream() : login.stream
    this.socket = given ?? this.#open(login)
    if (given) {
      given.on('data', (chunk: Buffer) => {
        this.receive(chunk)
      })
      connectGiven(given as Socket, login)
    }
    this.follow(this.socket)
  }

  #open(login: Login): Socket {
    const place = login.host.startsWith('/')
      ? { path: `${login.host}/.s.PGSQL.${login.port}` }
      : { host: login.host, port: login.port }
    receiveBuffer ??= Buffer.allocUnsafeSlow(65_536)
    // TLS takes the bytes from the socket by itself.
    const onread = login.tls
      ? {}
      : {
          onread: {
            buffer: receiveBuffer,
            callback: (length: number, bytes: Uint8Array): boolean => {
              this.receive((bytes as Buffer).subarray(0, length))
              return true
            },
          },
        }
    const socket = connectSocket({
      ...place,
      ...onread,
      noDelay: true,
      keepAlive: login.keepAlive,
      keepAliveInitialDelay: login.keepAliveDelayMs,
    })
    return socket
  }

  receive(chunk: Buffer): void {
    try {
      this.reader.push(chunk)
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  follow(socket: Duplex): void {
    socket.on('error', (error: Error) => {
      this.onEnd(error)
    })
    socket.on('end', () => {
      this.onEnd(new Error('Connection terminated unexpectedly'))
    })
    socket.on('close', () => {
      if (this.#closed) return
      this.#closed = true
      this.onEnd(new Error('Connection terminated unexpectedly'))
      this.onClose()
    })
  }

  /** Goes on over TLS. */
  encrypt(login: Login): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const plain = this.socket
      const named = isIP(login.host) === 0 && !login.host.startsWith('/')
      const secure = connectTls({
        ...(named ? { servername: login.host } : {}),
        host: login.host,
        ...login.tls,
        ...(login.direct ? { ALPNProtocols: ['postgresql'] } : {}),
        socket: plain,
      })
      this.socket = secure
      secure.on('data', (chunk: Buffer) => {
        this.receive(chunk)
      })
      this.onEnd = reject
      this.follow(secure)
      secure.once('secureConnect', () => {
        // Who does not speak of PostgreSQL in the handshake may be a server of something else, or know nothing of this way.
        if (login.direct && secure.alpnProtocol !== 'postgresql') {
          reject(protocolError('the server does not take TLS from the first byte (sslnegotiation=direct)'))
        } else resolve(secure)
      })
    })
  }

  destroy(error?: Error): void {
    this.onEnd(error ?? new Error('Connection terminated'))
    this.socket.destroy()
  }
}

/** A socket of the caller's own that is not connected yet. */
function connectGiven(socket: Socket, login: Login): void {
  if (typeof socket.connect !== 'function' || !socket.pending) return
  if (login.host.startsWith('/')) socket.connect(`${login.host}/.s.PGSQL.${login.port}`)
  else socket.connect(login.port, login.host)
}

/** Connects up to the point where messages can be exchanged, over TLS where it is wanted. */
async function reach(line: Line, login: Login): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    line.onEnd = reject
    const socket = line.socket as Socket
    if (socket.connecting || socket.pending) socket.once('connect', resolve)
    else resolve()
  })
  if (!login.tls) return
  if (!login.direct) {
    const plain = line.socket as Socket
    const answer = await new Promise<Buffer>((resolve, reject) => {
      line.onEnd = reject
      plain.once('data', (chunk: Buffer) => {
        plain.pause()
        resolve(chunk)
      })
      const writer = new MessageWriter()
      writer.sslRequest()
      plain.write(writer.take())
    })
    // More than one byte, in the clear, before TLS: somebody in between speaks for the server.
    if (answer.length !== 1) throw protocolError('the server said more than yes or no to the request for TLS')
    if (answer[0] === 0x4e) throw new Error('The server does not support SSL connections')
    if (answer[0] !== 0x53) throw new Error('There was an error establishing an SSL connection')
  }
  await line.encrypt(login)
}

/** Opens a session. `opening` gets what can be destroyed meanwhile. */
export async function openSession(
  login: Login,
  options: SessionOptions,
  events: SessionEvents,
  timeoutMs: number,
  opening: (line: Opening) => void,
): Promise<Opened> {
  const line = new Line(login)
  opening(line)
  const timer = setTimeout(() => {
    line.destroy(new Error('timeout expired'))
  }, timeoutMs)
  try {
    await reach(line, login)
    const greeting = new Greeting(line, login)
    const { parameters, status, processID, secretKey } = await greeting.done
    const { socket } = line
    const session = new Session(socket, options, parameters, status, events)
    line.reader.onMessage = session.hear
    line.onEnd = (error) => {
      session.lost(error)
    }
    line.onClose = () => {
      session.closed()
    }
    return { session, socket, processID, secretKey }
  } catch (error) {
    line.onEnd = () => {}
    line.socket.destroy()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** What the server says before it is ready for the first time. */
interface Welcome {
  readonly parameters: Map<string, string>
  readonly status: Status
  readonly processID: number | undefined
  readonly secretKey: Buffer | undefined
}

/** Startup message, authentication, parameters: until ReadyForQuery. */
class Greeting {
  readonly done: Promise<Welcome>
  readonly #line: Line
  readonly #login: Login
  readonly #parameters = new Map<string, string>()
  #processID: number | undefined
  #secretKey: Buffer | undefined
  #scram: Scram | undefined
  #scramOver = false
  #authenticated = false
  /** A way of authentication was gone through, so that "none" was not all. */
  #asked = false
  #resolve!: (welcome: Welcome) => void
  #reject!: (error: unknown) => void

  constructor(line: Line, login: Login) {
    this.#line = line
    this.#login = login
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    line.onEnd = this.#reject
    line.reader.onMessage = (type, bytes, start, end) => {
      this.#hear(type, bytes, start, end)
    }
    this.#say((writer) => {
      writer.startup(login.version, login.parameters)
    })
  }

  #say(what: (writer: MessageWriter) => void): void {
    const writer = new MessageWriter()
    what(writer)
    this.#line.socket.write(writer.take())
  }

  #hear(type: number, bytes: Buffer, start: number, end: number): void {
    switch (type) {
      case 0x52: // Authentication…
        this.#authenticate(bytes.readInt32BE(start), Buffer.from(bytes.subarray(start + 4, end))).catch(this.#reject)
        return
      case 0x53: {
        const [name, value] = strings(bytes, start, end)
        if (this.#parameters.size > 1_000) throw protocolError('the server reports more than a thousand parameters')
        this.#parameters.set(name ?? '', value ?? '')
        return
      }
      case 0x4b: // BackendKeyData
        if (end - start < 8 || end - start > 260) throw protocolError('a cancel key of a wrong length')
        this.#processID = bytes.readInt32BE(start)
        this.#secretKey = Buffer.from(bytes.subarray(start + 4, end))
        return
      case 0x45:
        throw readError(bytes, start, end)
      case 0x4e: // NoticeResponse
      case 0x76: // NegotiateProtocolVersion: an older version or fewer options, which is all right
        return
      case 0x5a: {
        if (!this.#authenticated) {
          // Why it is not authenticated may be on its way to be said.
          queueMicrotask(() => {
            this.#reject(protocolError('the server is ready without having authenticated anybody'))
          })
          return
        }
        const status = String.fromCharCode(bytes[start] ?? 0)
        if (status !== 'I' && status !== 'T' && status !== 'E') throw protocolError('ReadyForQuery has no status')
        this.#resolve({
          parameters: this.#parameters,
          status,
          processID: this.#processID,
          secretKey: this.#secretKey,
        })
        return
      }
      default:
        throw protocolError(`a message of type ${type} before the session began`)
    }
  }

  #accept(method: Parameters<Login['accepts']>[0]): void {
    this.#asked = true
    if (!this.#login.accepts(method)) throw authError(`the server asks for ${method}, which requireAuth does not allow`)
    if (this.#login.channelBinding === 'require' && method !== 'scram-sha-256') {
      throw authError('channel binding is required, and the server does not offer it')
    }
  }

  async #password(): Promise<string> {
    const password = await this.#login.password()
    if (password === undefined) throw authError('the server asks for a password, and none was given')
    return password
  }

  async #authenticate(kind: number, rest: Buffer): Promise<void> {
    switch (kind) {
      case 0:
        if (!this.#asked) this.#accept('none')
        if (this.#scram && !this.#scramOver) throw authError('the server ended SCRAM without showing its signature')
        this.#authenticated = true
        return
      case 3: {
        this.#accept('password')
        const password = await this.#password()
        this.#say((writer) => {
          writer.password(password)
        })
        return
      }
      case 5: {
        this.#accept('md5')
        const md5 = (...parts: (string | Buffer)[]): string =>
          parts.reduce((hash, part) => hash.update(part), createHash('md5')).digest('hex')
        const inner = md5(await this.#password(), this.#login.user)
        this.#say((writer) => {
          writer.password(`md5${md5(inner, rest.subarray(0, 4))}`)
        })
        return
      }
      case 10:
        await this.#beginScram(rest)
        return
      case 11: {
        const answer = await this.#scram?.final(rest.toString('utf8'), await this.#password())
        if (answer === undefined) throw protocolError('SCRAM goes on without having begun')
        this.#say((writer) => {
          writer.saslResponse(answer)
        })
        return
      }
      case 12:
        if (!this.#scram) throw protocolError('SCRAM ends without having begun')
        this.#scram.verify(rest.toString('utf8'))
        this.#scramOver = true
        return
      default:
        throw authError(`the server asks for a way of authentication that is not supported (${kind})`)
    }
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async #beginScram(rest: Buffer): Promise<void> {
    this.#accept('scram-sha-256')
    const mechanisms = rest.toString('latin1').split('\0').filter(Boolean)
    const { channelBinding, tls } = this.#login
    let binding: Buffer | undefined
    if (tls && channelBinding !== 'disable') {
      binding = certificateHash((this.#line.socket as TLSSocket).getPeerCertificate(true).raw)
    }
    const scram = new Scram(mechanisms, binding)
    if (channelBinding === 'require' && scram.mechanism !== 'SCRAM-SHA-256-PLUS') {
      throw authError('channel binding is required, and the server does not offer it')
    }
    this.#scram = scram
    this.#say((writer) => {
      writer.saslInitial(scram.mechanism, scram.first)
    })
  }
}

/** Enough to ask a server to cancel what a session is doing, from anywhere. */
export interface CancelKey {
  readonly processID: number
  readonly secretKey: Uint8Array
  readonly host: string
  readonly port: number
}

/**
 * Sends a cancel request on a connection of its own. Resolves when the server has closed that connection, and so has
 * passed the request on; rejects when it could not be delivered in time.
 */
export async function sendCancelRequest(key: CancelKey, login: Login, timeoutMs: number): Promise<void> {
  const line = new Line({ ...login, host: key.host, port: key.port })
  const timer = setTimeout(() => {
    line.destroy(new Error(`cancel request was not answered within ${timeoutMs} ms`))
  }, timeoutMs)
  try {
    await reach(line, login)
    await new Promise<void>((resolve, reject) => {
      let failure: Error | undefined
      line.onEnd = (error) => {
        // An end is what a cancel request is answered with.
        if (!error.message.startsWith('Connection terminated')) failure ??= error
      }
      line.onClose = () => {
        if (failure) reject(failure)
        else resolve()
      }
      const writer = new MessageWriter()
      writer.cancelRequest(key.processID, Buffer.from(key.secretKey))
      line.socket.write(writer.take())
      line.socket.resume()
    })
  } finally {
    clearTimeout(timer)
    line.onEnd = () => {}
    line.socket.destroy()
  }
}
