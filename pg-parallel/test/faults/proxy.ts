/**
 * A TCP proxy between client and server that fails on demand: it delays, cuts before or after a message, half-closes,
 * or swallows everything. It understands message boundaries of the PostgreSQL protocol from the client's side, so that
 * "after the statement was sent, before it was answered" is an exact place and not a moment to be guessed.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

/** What the proxy sees. */
export interface Link {
  /** Counts from 1 in order of connecting. */
  readonly number: number
  readonly client: Socket
  readonly server: Socket
  /** SQL texts that went through, each as often as it was run. */
  readonly statements: string[]
  /** Prepared statements by name. */
  readonly prepared: Map<string, { text: string; again: boolean }>
  /** It is a cancel request, not a session. */
  cancel: boolean
  /** Swallow everything in both directions. */
  blackHole: boolean
  /** Swallow what the server says. */
  deaf: boolean
}

/** What to do with a statement. */
export type Action =
  | 'pass'
  /** Close both sides before the server gets it. */
  | 'cut-before'
  /** Let the server have it, and close both sides before the client gets an answer. */
  | 'cut-after'
  /** Let the server have it; the client's side is closed when the answer has arrived, and thrown away. */
  | 'cut-answer'
  /** Tell the client that the server has finished writing, and nothing more. */
  | 'half-close'
  /** From here on nothing gets through in either direction. */
  | 'black-hole'

/**
 * Resets a connection, or just closes it where its end is on the way already: a reset in the middle of a shutdown fails
 * (EINVAL), and Node 20 then loses the socket and does not end any more.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

/** See the top of the file. */
export class FaultProxy {
  readonly #server: Server
  readonly #target: { host: string; port: number }
  readonly links = new Set<Link>()
  /** All links, also closed ones. */
  readonly history: Link[] = []
  /** Asked for every statement before it goes on. */
  onStatement: (text: string, link: Link) => Action = () => 'pass'
  /** Milliseconds by which every packet from the server is late. */
  delayMs = 0
  /** Milliseconds by which cancel requests are late. */
  cancelDelayMs = 0
  /** New connections are closed at once. */
  refuse = false
  /** New connections are accepted and nothing more. */
  swallowNew = false

  private constructor(target: { host: string; port: number }) {
    this.#target = target
    // With half-open sockets a closed side says nothing about the other.
    this.#server = createServer({ allowHalfOpen: true }, (socket) => {
      this.#accept(socket)
    })
  }

  static async to(target: { host: string; port: number }): Promise<FaultProxy> {
    const proxy = new FaultProxy(target)
    await new Promise<void>((done) => proxy.#server.listen(0, '127.0.0.1', done))
    return proxy
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  #accept(client: Socket): void {
    client.on('error', () => {})
    if (this.refuse) {
      client.destroy()
      return
    }
    const server = connect({ ...this.#target, allowHalfOpen: true })
    server.on('error', () => {})
    const link: Link = {
      number: this.history.length + 1,
      client,
      server,
      statements: [],
      prepared: new Map(),
      cancel: false,
      blackHole: this.swallowNew,
      deaf: false,
    }
    this.links.add(link)
    this.history.push(link)
    const gone = (): void => {
      this.links.delete(link)
      client.destroy()
      server.destroy()
    }
    let startup = true
    let buffered = Buffer.alloc(0)
    client.on('data', (chunk: Buffer) => {
      if (link.blackHole) return
      buffered = Buffer.concat([buffered, chunk])
      // What goes to the server in one piece: all messages up to the first fault.
      let from = 0
      for (;;) {
        const head = startup ? 0 : 1
        if (buffered.length < from + head + 4) break
        const length = buffered.readInt32BE(from + head) + head
        if (buffered.length < from + length) break
        const message = buffered.subarray(from, from + length)
        if (startup) {
          link.cancel = length === 16 && message.readInt32BE(4) === 80_877_102
          startup = false
        } else {
          const action = this.#judge(message, link)
          if (action !== 'pass') {
            const after = action === 'cut-after' || action === 'cut-answer'
            // The whole round trip goes on, so that the server does its part.
            server.write(after ? buffered : buffered.subarray(0, from))
            buffered = Buffer.alloc(0)
            this.#fault(action, link)
            return
          }
        }
        from += length
      }
      if (from > 0) {
        const ready = buffered.subarray(0, from)
        if (link.cancel && this.cancelDelayMs > 0) setTimeout(() => server.write(ready), this.cancelDelayMs)
        else server.write(ready)
      }
      buffered = buffered.subarray(from)
    })
    server.on('data', (chunk: Buffer) => {
      if (link.blackHole || link.deaf) return
      if (this.delayMs === 0) client.write(chunk)
      else setTimeout(() => client.write(chunk), this.delayMs)
    })
    client.on('end', () => {
      if (!link.blackHole) server.end()
    })
    server.on('end', () => {
      if (!link.blackHole) client.end()
    })
    client.on('close', gone)
    server.on('close', () => {
      if (!link.blackHole) gone()
    })
  }

  #judge(message: Buffer, link: Link): Action {
    const type = String.fromCharCode(message[0] ?? 0)
    let text: string | undefined
    if (type === 'Q') text = message.subarray(5, -1).toString()
    if (type === 'P') {
      const nameEnd = message.indexOf(0, 5)
      text = message.subarray(nameEnd + 1, message.indexOf(0, nameEnd + 1)).toString()
      link.prepared.set(message.subarray(5, nameEnd).toString(), { text, again: false })
    }
    if (type === 'B') {
      // A prepared statement that is run again comes without its text; the first time its Parse stands for it.
      const nameStart = message.indexOf(0, 5) + 1
      const known = link.prepared.get(message.subarray(nameStart, message.indexOf(0, nameStart)).toString())
      if (known?.again) ({ text } = known)
      else if (known) known.again = true
    }
    if (text === undefined) return 'pass'
    link.statements.push(text)
    return this.onStatement(text, link)
  }

  #fault(action: Action, link: Link): void {
    switch (action) {
      case 'cut-before':
        link.client.destroy()
        link.server.destroy()
        return
      case 'cut-after':
        link.deaf = true
        reset(link.client)
        // The server is told in its own time: it has work to do first.
        link.server.end()
        return
      case 'cut-answer':
        link.deaf = true
        link.server.once('data', () => {
          reset(link.client)
          link.server.end()
        })
        return
      case 'half-close':
        link.client.end()
        return
      case 'black-hole':
        link.blackHole = true
        return
      case 'pass':
    }
  }

  /** Closes every connection that is open now. */
  cutAll(): void {
    for (const link of this.links) {
      reset(link.client)
      link.server.destroy()
    }
  }

  /** From now on, nothing gets through on the connections that are open now. */
  blackHoleAll(): void {
    for (const link of this.links) link.blackHole = true
  }

  async close(): Promise<void> {
    for (const link of this.links) {
      link.client.destroy()
      link.server.destroy()
    }
    await new Promise<void>((done) =>
      this.#server.close(() => {
        done()
      }),
    )
  }
}
