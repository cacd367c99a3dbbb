/**
 * As much of PostgreSQL's protocol as starting tests takes: a session, and statements without parameters.
 * Source: the chapter "Frontend/Backend Protocol" of PostgreSQL's manual.
 */
import { connect } from 'node:net';
import { once } from 'node:events';

/** An error that the server reports. `code` is its SQLSTATE. */
export class DatabaseError extends Error {
  constructor(fields) {
    super(fields.M ?? 'an error without a message');
    this.name = 'DatabaseError';
    this.code = fields.C;
  }
}

/** A connection, held until it is closed. */
export class Session {
  #socket;
  #input = Buffer.alloc(0);
  #waiting = null;
  #rows = [];
  #error = null;

  /** Connects to a Unix socket. `parameters`: of the start-up packet. */
  static async open(path, parameters) {
    const session = new Session();
    session.#socket = connect(path);
    await once(session.#socket, 'connect');
    session.#socket.on('data', (data) => session.#receive(data));
    const gone = () => session.#settle(new Error('the server has closed the connection'));
    session.#socket.on('error', gone).on('close', gone);
    const body = Buffer.from(`${Object.entries(parameters).flat().join('\0')}\0\0`);
    const head = Buffer.alloc(8);
    head.writeUInt32BE(body.length + 8, 0);
    head.writeUInt32BE(196608, 4);
    try {
      await session.#ask(Buffer.concat([head, body]));
    } catch (error) {
      session.#socket.destroy();
      throw error;
    }
    return session;
  }

  /** Runs statements, and returns the rows of them all, as texts. */
  execute(statements) {
    const body = Buffer.from(`${statements}\0`);
    const head = Buffer.alloc(5);
    head.write('Q');
    head.writeUInt32BE(body.length + 4, 1);
    return this.#ask(Buffer.concat([head, body]));
  }

  /** Ends the session, and waits until the server has ended it. */
  async close() {
    if (this.#socket.closed) return;
    const closed = once(this.#socket, 'close');
    this.#socket.ref();
    this.#socket.end(Buffer.from([0x58, 0, 0, 0, 4]));
    await closed;
  }

  /** A session that is only held keeps no process alive. */
  unref() {
    this.#socket.unref();
  }

  #ask(message) {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error('the session is closed'));
      this.#waiting = { resolve, reject };
      this.#socket.ref();
      this.#socket.write(message);
    });
  }

  #settle(error) {
    const waiting = this.#waiting;
    const [rows, told] = [this.#rows, this.#error ?? error];
    [this.#waiting, this.#rows, this.#error] = [null, [], null];
    if (told) waiting?.reject(told);
    else waiting?.resolve(rows);
  }

  #receive(data) {
    this.#input = Buffer.concat([this.#input, data]);
    while (this.#input.length >= 5) {
      const length = this.#input.readUInt32BE(1) + 1;
      if (this.#input.length < length) return;
      this.#message(String.fromCharCode(this.#input[0]), this.#input.subarray(5, length));
      this.#input = this.#input.subarray(length);
    }
  }

  #message(kind, body) {
    if (kind === 'Z') this.#settle(null);
    else if (kind === 'D') this.#rows.push(values(body));
    else if (kind === 'E') {
      const parts = body.toString().split('\0').filter(Boolean);
      this.#error ??= new DatabaseError(Object.fromEntries(parts.map((part) => [part[0], part.slice(1)])));
    } else if (kind === 'R' && body.readUInt32BE(0) !== 0) {
      this.#error ??= new Error('the server asks for a password, which this client does not know');
      this.#socket.destroy();
    }
  }
}

function values(body) {
  const found = [];
  for (let at = 2, n = body.readUInt16BE(0); n > 0; n--) {
    const length = body.readInt32BE(at);
    at += 4;
    found.push(length < 0 ? null : body.toString('utf8', at, at + length));
    at += Math.max(length, 0);
  }
  return found;
}
