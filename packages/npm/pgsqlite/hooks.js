import { startServer } from './index.js';

/**
 * A database for each test of a file, by the hooks of a test runner: one server, one template, and a copy of it for each test.
 * Returns a function that gives the running test's database.
 */
export function withHooks({ beforeAll, afterAll, beforeEach, afterEach }, options = {}) {
  let server;
  let database;
  beforeAll(async () => {
    server = await startServer(options.server);
    await server.createTemplate(options);
  });
  beforeEach(async () => {
    database = await server.createDatabase({ template: options.name ?? 'template' });
  });
  afterEach(async () => {
    await database?.drop();
    database = undefined;
  });
  afterAll(async () => {
    await server?.stop();
  });
  return () => {
    if (!database) throw new Error('there is a database only while a test runs');
    return database;
  };
}
