import pg from 'pg';
import { useDatabase } from 'pgsqlite/vitest';
import { expect, test } from 'vitest';

const database = useDatabase({ migrate: (db) => db.execute('CREATE TABLE t (i serial)') });

test.each([1, 2, 3])('each test has a copy (%i)', async () => {
  const client = new pg.Client({ connectionString: database().url });
  await client.connect();
  expect((await client.query('INSERT INTO t DEFAULT VALUES RETURNING i')).rows).toEqual([{ i: 1 }]);
  await client.end();
});
