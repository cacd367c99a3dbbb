// The server and its databases, from Node.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DatabaseError, startServer } from 'pgsqlite';

let server;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

test('a system with an old C library is named', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pgsqlite-old-'));
  const program = join(folder, 'pgsqlite');
  await writeFile(program, '#!/bin/sh\necho "pgsqlite: /lib/libc.so.6: version \\`GLIBC_2.99\' not found (required by pgsqlite)" >&2\nexit 1\n', { mode: 0o755 });
  const before = process.env.PGSQLITE_BIN;
  process.env.PGSQLITE_BIN = program;
  try {
    await assert.rejects(startServer(), /GLIBC_2\.99.* not found[^]*older than the one/);
  } finally {
    if (before === undefined) delete process.env.PGSQLITE_BIN;
    else process.env.PGSQLITE_BIN = before;
    await rm(folder, { recursive: true });
  }
});

test('databases and copies', async () => {
  const base = await server.createDatabase({ name: 'base' });
  await base.execute('CREATE TABLE t (i int); INSERT INTO t VALUES (1)');
  const one = await server.createDatabase({ template: 'base' });
  const two = await server.createDatabase({ template: 'base' });
  await one.execute('INSERT INTO t VALUES (2)');
  assert.deepEqual(await one.execute('SELECT i, NULL FROM t ORDER BY i'), [['1', null], ['2', null]]);
  assert.deepEqual(await two.execute('SELECT count(*) FROM t'), [['1']]);
  for (const config of [{ connectionString: one.url }, one.config]) {
    const client = new pg.Client(config);
    await client.connect();
    assert.deepEqual((await client.query('SELECT count(*)::int AS n FROM t WHERE i < $1', [9])).rows, [{ n: 2 }]);
    await client.end();
  }
  await one.drop();
  await two.drop();
  await assert.rejects(one.execute('SELECT 1'), { code: '3D000' });
  await assert.rejects(base.execute('SELEC'), DatabaseError);
  await base.drop();
});

test('a port', async () => {
  const other = await startServer({ tcp: true });
  const client = new pg.Client({ connectionString: other.url() });
  await client.connect();
  assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  await client.end();
  await other.stop();
});

test('a template is kept until its files change', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pgsqlite-template-'));
  const file = join(folder, 'schema.sql');
  let runs = 0;
  const migrate = (database) => {
    runs += 1;
    return database.execute('CREATE TABLE t (i serial)');
  };
  await writeFile(file, 'one');
  for (const expected of [1, 1, 2]) {
    if (expected === 2) await writeFile(file, 'two');
    const own = await startServer();
    await own.createTemplate({ files: [file], migrate, cache: folder });
    const copy = await own.createDatabase({ template: 'template' });
    assert.deepEqual(await copy.execute('INSERT INTO t DEFAULT VALUES RETURNING i'), [['1']]);
    assert.equal(runs, expected);
    await own.stop();
  }
  await rm(folder, { recursive: true });
});

test('a start that fails says why', async () => {
  await assert.rejects(startServer({ flags: ['--pool-size', '0'] }), /pool_size must be at least 1/);
});

test('a server that is forgotten ends with its process', async () => {
  const code = "import { startServer } from 'pgsqlite'; const s = await startServer(); console.log(s.host);";
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const host = String((await once(child.stdout, 'data'))[0]).trim();
  const [exit] = await once(child, 'exit');
  assert.equal(exit, 0);
  for (let i = 0; existsSync(join(host, '.s.PGSQL.5432')); i++) {
    assert.ok(i < 3000, 'the server goes on');
    await sleep(10);
  }
  await rm(host, { recursive: true, force: true });
});
