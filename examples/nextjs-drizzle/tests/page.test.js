// The built application in a process of its own, on a migrated database.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';

const pool = new pg.Pool();
let origin, next;

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

before(async () => {
  await migrate(drizzle(pool), { migrationsFolder: 'drizzle' });
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  next = spawn(process.execPath, ['node_modules/next/dist/bin/next', 'start', '-H', '127.0.0.1', '-p', String(port)], { stdio: 'inherit' });
  for (let tries = 0; ; tries++) {
    try {
      await fetch(origin);
      return;
    } catch (error) {
      if (tries === 600 || next.exitCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
});

after(async () => {
  if (next.exitCode === null && next.kill()) await once(next, 'exit');
  await pool.end();
});

// A browser without JavaScript sends a server action's form with its hidden fields.
async function send(title, author) {
  const page = await (await fetch(origin)).text();
  const form = new FormData();
  for (const [, name] of page.matchAll(/<input type="hidden" name="([^"]+)"/g)) form.set(name, '');
  form.set('title', title);
  form.set('author', author);
  const answer = await fetch(origin, { method: 'POST', body: form, headers: { origin } });
  assert.equal(answer.status, 200);
  return answer.text();
}

test('the page shows what the form has sent', async () => {
  assert.doesNotMatch(await (await fetch(origin)).text(), /Letters/);
  assert.match(await send('Letters', 'Ada'), /Letters, by Ada/);
  assert.match(await send('Notes', 'Ada'), /Letters, by Ada.*Notes, by Ada/s);
  await send('Notes', 'Ada');
  const { rows } = await pool.query('SELECT count(*)::int AS books, count(DISTINCT author_id)::int AS authors FROM books');
  assert.deepEqual(rows, [{ books: 2, authors: 1 }]);
});
