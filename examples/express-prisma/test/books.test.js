import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { application } from '../src/app.js';
import { connect } from '../src/database.js';
import { migrate } from './migrate.js';

const prisma = connect();
let server, origin;

before(async () => {
  await migrate(process.env.DATABASE_URL);
  server = application(prisma).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${server.address().port}`;
});

after(async () => {
  server.close();
  await prisma.$disconnect();
});

async function call(method, path, body) {
  const answer = await fetch(origin + path, { method, headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body) });
  return [answer.status, await answer.json()];
}

test('a book is added once', async () => {
  const letters = { title: 'Letters', author: 'Ada', tags: ['poetry'] };
  assert.deepEqual(await call('POST', '/books', letters), [201, { id: 1 }]);
  assert.equal((await call('POST', '/books', letters))[0], 409);
  assert.deepEqual(await call('GET', '/books?tag=poetry'), [200, [{ id: 1, ...letters }]]);
  assert.deepEqual(await call('GET', '/books?tag=cooking'), [200, []]);
});

test('an author goes with the books', async () => {
  await Promise.all([1, 2, 3].map((n) => call('POST', '/books', { title: `Volume ${n}`, author: 'Grace' })));
  const volumes = await prisma.book.count({ where: { author: { name: 'Grace' } } });
  assert.deepEqual(await call('DELETE', '/authors/Grace'), [200, { books: volumes }]);
  assert.equal(await prisma.book.count(), 1);
});

test('an interactive transaction is rolled back', async () => {
  const failing = prisma.$transaction(async (tx) => {
    await tx.author.create({ data: { name: 'Nobody' } });
    throw new Error('no');
  });
  await assert.rejects(failing, /no/);
  assert.equal(await prisma.author.findUnique({ where: { name: 'Nobody' } }), null);
  assert.deepEqual(await prisma.$queryRaw`SELECT name FROM "Author" ORDER BY name`, [{ name: 'Ada' }]);
});
