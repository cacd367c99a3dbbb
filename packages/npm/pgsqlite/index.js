import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { constants, copyFile, mkdir, mkdtemp, readFile, rename, rm, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { findProgram } from './program.js';
import { DatabaseError, Session } from './wire.js';

export { DatabaseError, Session, findProgram };

const USER = 'postgres';
const OLD_SYSTEM =
  '\nThe C library of this system is older than the one that the program was built with: build the program here (cargo install pgsqlite) and name it in PGSQLITE_BIN, or use a container image of a newer system.';
let number = 0;

/** A database of a server. */
export class Database {
  #held;

  constructor(server, name, held) {
    this.server = server;
    this.name = name;
    this.#held = held;
  }

  get url() {
    return this.server.url(this.name);
  }

  /** What `pg.Client` and other drivers take. */
  get config() {
    return { host: this.server.host, port: this.server.port, user: USER, database: this.name };
  }

  /** Runs statements in a session of their own, and returns their rows, as texts. */
  execute(statements) {
    return this.server.execute(statements, this.name);
  }

  /** Removes the database. A copy is gone once the sessions that others have on it are. */
  async drop() {
    if (this.#held) await this.#held.close();
    else await this.server.execute(`DROP DATABASE ${quoted(this.name)}`);
  }

  [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
    return this.drop();
  }
}

/** A running server with databases of its own. */
export class Server {
  #process;
  #folder;

  constructor(process, folder, databases, host, port, tcp) {
    this.#process = process;
    this.#folder = folder;
    Object.assign(this, { databases, host, port, tcp, user: USER });
  }

  /** The URL of a database. */
  url(database = 'postgres') {
    const name = encodeURIComponent(database);
    if (this.tcp) return `postgresql://${USER}@127.0.0.1:${this.port}/${name}`;
    // (no host before the path: a client that overlooks the parameter must not come to another server)
    return `postgresql://${USER}@/${name}?host=${encodeURIComponent(this.host)}&port=${this.port}`;
  }

  /** Opens a session, for statements without parameters. */
  session(database = 'postgres', options = {}) {
    return Session.open(join(this.#folder, `.s.PGSQL.${this.port}`), { user: USER, database, ...options });
  }

  /** Runs statements in a session of their own, and returns their rows, as texts. */
  async execute(statements, database = 'postgres') {
    const session = await this.session(database);
    try {
      return await session.execute(statements);
    } finally {
      await session.close();
    }
  }

  /** Makes an empty database, or (`template`) a private copy of one, in memory. */
  async createDatabase({ name, template } = {}) {
    const called = name ?? `${template ?? 'database'}_${process.pid}_${++number}`;
    if (template === undefined) {
      await this.execute(`CREATE DATABASE ${quoted(called)}`);
      return new Database(this, called);
    }
    const held = await this.session(called, { 'pgsqlite.clone': template });
    held.unref();
    return new Database(this, called, held);
  }

  /**
   * Makes the database `name` by `migrate`, or from the copy that was kept while the contents of `files` are the same.
   */
  async createTemplate({ name = 'template', files = [], migrate, cache = join('node_modules', '.cache', 'pgsqlite') } = {}) {
    const target = join(this.databases, `${name}.db`);
    const kept = files.length ? join(cache, `${await hash(files, migrate)}.db`) : undefined;
    if (kept && (await copied(kept, target))) return new Database(this, name);
    const database = await this.createDatabase({ name });
    await migrate?.(database);
    if (kept) await this.#keep(name, kept, cache);
    return database;
  }

  /** Keeps a database's file. Its copy is one that nobody has open. */
  async #keep(name, kept, cache) {
    const copy = `${name}_to_keep`;
    await this.execute(`CREATE DATABASE ${quoted(copy)} TEMPLATE ${quoted(name)}`);
    await mkdir(cache, { recursive: true });
    const making = `${kept}.${process.pid}`;
    await copyFile(join(this.databases, `${copy}.db`), making);
    // (of two that do the same at once, each replaces the other's by an equal file)
    await rename(making, kept);
    await this.execute(`DROP DATABASE ${quoted(copy)}`);
  }

  /** Stops the server and removes its folder. */
  async stop() {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit');
      this.#process.ref();
      this.#process.stdin.end();
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
    return this.stop();
  }
}

/** Starts a server. It ends with `stop()`, or with this process. */
export async function startServer({ databases, tcp = false, flags = [] } = {}) {
  const folder = await mkdtemp(join(await memoryFolder(), 'pgsqlite-'));
  const folderOfDatabases = databases ?? join(folder, 'databases');
  await mkdir(folderOfDatabases, { recursive: true });
  const port = tcp ? await freePort() : 5432;
  const where = tcp ? ['--host', '127.0.0.1', '--port', `${port}`] : ['--no-tcp'];
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PGSQLITE_')));
  const child = spawn(
    findProgram(),
    ['--data-dir', folderOfDatabases, '--socket-dir', folder, '--auth', 'trust', ...where, '--superuser', USER, '--stop-with-input', ...flags],
    { stdio: ['pipe', 'pipe', 'pipe'], env: environment },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (said = (said + text).slice(-4000)));
  child.stdin.on('error', () => {});
  try {
    await new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', () => reject(new Error(`pgsqlite did not start: ${said.trim()}${/GLIBC_.* not found/.test(said) ? OLD_SYSTEM : ''}`)));
      // (the first output comes when it listens)
      child.stdout.once('data', resolve);
    });
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  child.removeAllListeners('exit');
  child.stdout.resume();
  // a server that was forgotten keeps no process alive, and ends with its input
  for (const handle of [child, child.stdin, child.stdout, child.stderr]) handle.unref();
  return new Server(child, folder, folderOfDatabases, tcp ? '127.0.0.1' : folder, port, tcp);
}

/** A folder in memory, if there is one with room. */
async function memoryFolder() {
  try {
    const found = await statfs('/dev/shm');
    if (found.bavail * found.bsize >= 2 ** 30) return '/dev/shm';
  } catch {
    // there is none
  }
  return tmpdir();
}

async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return port;
}

async function hash(files, migrate) {
  const found = createHash('sha256').update(findProgram()).update(`${migrate}`);
  for (const file of files) {
    const content = await readFile(file);
    found.update(`${basename(`${file}`)}\0${content.length}\0`).update(content);
  }
  return found.digest('hex').slice(0, 32);
}

async function copied(from, to) {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    return true;
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

function quoted(name) {
  return `"${name.replaceAll('"', '""')}"`;
}
