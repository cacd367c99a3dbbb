/** SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, 7677), the client's side. */
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { PgParallelError } from '../errors'

/** More than this is an attempt to keep the client busy, not to keep a password safe. */
const MOST_ITERATIONS = 10_000_000

const refuse = (message: string): PgParallelError =>
  new PgParallelError(`SCRAM: ${message}`, {
    category: 'authentication',
    transient: false,
    infrastructure: false,
    connectionDead: true,
  })

/** RFC 4013 as PostgreSQL has it: other spaces are spaces, what is not seen goes, and the rest is NFKC. */
export function saslprep(password: string): string {
  return password
    .replace(/[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000]/gu, ' ')
    .replace(/\u00ad|\u034f|\u1806|\u180b|\u180c|\u180d|\u200c|\u200d|\u2060|[\ufe00-\ufe0f]|\ufeff/gu, '')
    .normalize('NFKC')
}

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** One exchange: {@link Scram.first} is sent, the server's answer goes to `final`, its last word to `verify`. */
export class Scram {
  readonly mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-256-PLUS'
  readonly #nonce: string
  readonly #header: string
  readonly #binding: Buffer
  #serverSignature: Buffer | undefined

  /**
   * @param mechanisms - what the server offers
   * @param binding - hash of the server's certificate; undefined without TLS
   * @param nonce - random; given in tests only
   */
  constructor(mechanisms: readonly string[], binding: Buffer | undefined, nonce = randomBytes(18).toString('base64')) {
    if (binding && mechanisms.includes('SCRAM-SHA-256-PLUS')) {
      this.mechanism = 'SCRAM-SHA-256-PLUS'
      this.#header = 'p=tls-server-end-point,,'
      this.#binding = binding
    } else if (mechanisms.includes('SCRAM-SHA-256')) {
      this.mechanism = 'SCRAM-SHA-256'
      // "y": this side could bind the channel and saw no offer, so that nobody in between can have removed it.
      this.#header = binding ? 'y,,' : 'n,,'
      this.#binding = Buffer.alloc(0)
    } else {
      throw refuse(`the server offers only ${mechanisms.join(', ') || 'nothing'}`)
    }
    this.#nonce = nonce
  }

  /** The client's first message. PostgreSQL takes the user's name from the startup message. */
  get first(): string {
    return `${this.#header}n=,r=${this.#nonce}`
  }

  /** Answers the server's first message. */
  async final(serverFirst: string, password: string): Promise<string> {
    const { r: nonce = '', s: salt = '', i: rounds = '' } = attributes(serverFirst)
    const iterations = Number(rounds)
    if (!nonce.startsWith(this.#nonce) || nonce === this.#nonce) throw refuse('the server’s nonce is not an answer')
    if (!/^[A-Za-z0-9+/]+=*$/.test(salt)) throw refuse('the server sent no salt')
    if (!(Number.isInteger(iterations) && iterations >= 1 && iterations <= MOST_ITERATIONS)) {
      throw refuse(`the server asks for ${rounds} iterations`)
    }
    const salted = await promisify(pbkdf2)(saslprep(password), Buffer.from(salt, 'base64'), iterations, 32, 'sha256')
    const clientKey = hmac(salted, 'Client Key')
    const storedKey = createHash('sha256').update(clientKey).digest()
    const channel = Buffer.concat([Buffer.from(this.#header), this.#binding]).toString('base64')
    const bare = `c=${channel},r=${nonce}`
    const message = `n=,r=${this.#nonce},${serverFirst},${bare}`
    const proof = hmac(storedKey, message)
    for (let index = 0; index < proof.length; index++) proof[index]! ^= clientKey[index]!
    this.#serverSignature = hmac(hmac(salted, 'Server Key'), message)
    return `${bare},p=${proof.toString('base64')}`
  }

  /** Checks that the server knows the password too. */
  verify(serverFinal: string): void {
    const { v: signature, e: error } = attributes(serverFinal)
    if (error !== undefined) throw refuse(error)
    const given = Buffer.from(signature ?? '', 'base64')
    const expected = this.#serverSignature
    if (expected?.length !== given.length || !timingSafeEqual(expected, given)) {
      throw refuse('the server does not know the password: its signature is wrong')
    }
  }
}

/** `a=1,b=2` taken apart. */
function attributes(message: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const part of message.split(',')) if (part[1] === '=') found[part[0]!] = part.slice(2)
  return found
}

/** Hash functions of the signature algorithms of certificates, by their object identifiers in hexadecimal. */
const HASHES: Readonly<Record<string, string>> = {
  '2a864886f70d010104': 'sha256', // md5WithRSA: RFC 5929 asks for SHA-256 here
  '2a864886f70d010105': 'sha256', // sha1WithRSA
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2a8648ce3d0401': 'sha256', // ecdsa-with-SHA1
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
}

/**
 * `tls-server-end-point` of RFC 5929: the certificate, hashed as its own signature is. Undefined where the signature's
 * algorithm has no hash function of its own.
 */
export function certificateHash(certificate: Buffer): Buffer | undefined {
  try {
    const whole = element(certificate, 0)
    const toBeSigned = element(certificate, whole.content)
    const algorithm = element(certificate, toBeSigned.end)
    const identifier = element(certificate, algorithm.content)
    const hash = HASHES[certificate.toString('hex', identifier.content, identifier.end)]
    return hash === undefined ? undefined : createHash(hash).update(certificate).digest()
  } catch {
    return undefined
  }
}

/** Where a DER element's content begins and ends. */
function element(bytes: Buffer, at: number): { content: number; end: number } {
  const first = bytes.readUInt8(at + 1)
  if (first < 128) return { content: at + 2, end: at + 2 + first }
  const size = first & 127
  return { content: at + 2 + size, end: at + 2 + size + bytes.readUIntBE(at + 2, size) }
}
