/** A session for statements without parameters. */
export class Session {
  static open(path: string, parameters: Record<string, string>): Promise<Session>;
  /** Runs statements, and returns the rows of them all, as texts. */
  execute(statements: string): Promise<(string | null)[][]>;
  close(): Promise<void>;
  unref(): void;
}

/** An error that the server reports. */
export class DatabaseError extends Error {
  /** SQLSTATE */
  code?: string;
}

export class Database {
  readonly server: Server;
  readonly name: string;
  readonly url: string;
  /** What `pg.Client` and other drivers take. */
  readonly config: { host: string; port: number; user: string; database: string };
  /** Runs statements in a session of their own, and returns their rows, as texts. */
  execute(statements: string): Promise<(string | null)[][]>;
  /** Removes the database. A copy is gone once the sessions that others have on it are. */
  drop(): Promise<void>;
}

export interface ServerOptions {
  /** A folder of files that are to stay; otherwise the databases are gone with the server. */
  databases?: string;
  /** Listen on a free port of 127.0.0.1, too. */
  tcp?: boolean;
  /** More of the program's flags. */
  flags?: string[];
}

export interface TemplateOptions {
  name?: string;
  /** The template is kept while their contents are the same. */
  files?: string[];
  /** Fills the empty template. */
  migrate?: (database: Database) => unknown;
  /** Where templates are kept. */
  cache?: string;
}

export class Server {
  readonly databases: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  url(database?: string): string;
  session(database?: string, options?: Record<string, string>): Promise<Session>;
  execute(statements: string, database?: string): Promise<(string | null)[][]>;
  /** Makes an empty database, or (`template`) a private copy of one, in memory. */
  createDatabase(options?: { name?: string; template?: string }): Promise<Database>;
  createTemplate(options?: TemplateOptions): Promise<Database>;
  stop(): Promise<void>;
}

/** Starts a server. It ends with `stop()`, or with this process. */
export function startServer(options?: ServerOptions): Promise<Server>;
/** Returns the path of the program. */
export function findProgram(): string;
