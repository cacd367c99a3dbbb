// Applies the SQL of all migrations, in their order.
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';

export async function migrate(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const folders = (await readdir('prisma/migrations', { withFileTypes: true })).filter((entry) => entry.isDirectory());
  for (const { name } of folders.sort((a, b) => a.name.localeCompare(b.name))) {
    await client.query(await readFile(`prisma/migrations/${name}/migration.sql`, 'utf8'));
  }
  await client.end();
}
