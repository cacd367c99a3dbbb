import type { Database, ServerOptions, TemplateOptions } from './index.js';

/** A database for each test of this file. Returns a function that gives the running test's database. */
export function useDatabase(options?: TemplateOptions & { server?: ServerOptions }): () => Database;
