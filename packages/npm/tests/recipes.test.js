// Recipes: a database for each test, with the libraries that people use.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { count } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import knexOf from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { useDatabase } from 'pgsqlite/node-test';
import { DataSource, EntitySchema } from 'typeorm';

const database = useDatabase({
  migrate: (db) => db.execute("CREATE TABLE books (id serial PRIMARY KEY, title text NOT NULL); INSERT INTO books (title) VALUES ('first')"),
});

test('pg', async () => {
  const pool = new pg.Pool({ connectionString: database().url, max: 4 });
  await Promise.all([1, 2, 3].map((i) => pool.query('INSERT INTO books (title) VALUES ($1)', [`book ${i}`])));
  assert.equal((await pool.query('SELECT count(*)::int AS n FROM books')).rows[0].n, 4);
  await pool.end();
});

test('Drizzle', async () => {
  const books = pgTable('books', { id: integer().primaryKey(), title: text().notNull() });
  const pool = new pg.Pool({ connectionString: database().url });
  const db = drizzle(pool);
  await db.insert(books).values({ id: 2, title: 'second' });
  assert.deepEqual(await db.select({ n: count() }).from(books), [{ n: 2 }]);
  await pool.end();
});

test('Kysely', async () => {
  const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: database().url }) }) });
  await db.insertInto('books').values({ title: 'second' }).execute();
  assert.deepEqual((await db.selectFrom('books').select('title').orderBy('id').execute()).map((row) => row.title), ['first', 'second']);
  await db.destroy();
});

test('Knex', async () => {
  const knex = knexOf({ client: 'pg', connection: database().config });
  await knex('books').insert({ title: 'second' });
  assert.deepEqual(await knex('books').count({ n: '*' }), [{ n: '2' }]);
  await knex.destroy();
});

test('TypeORM', async () => {
  const Book = new EntitySchema({
    name: 'Book',
    tableName: 'books',
    columns: { id: { type: Number, primary: true, generated: true }, title: { type: 'text' } },
  });
  const { user: username, ...where } = database().config;
  const source = await new DataSource({ type: 'postgres', ...where, username, entities: [Book] }).initialize();
  await source.getRepository('Book').save({ title: 'second' });
  assert.equal(await source.getRepository('Book').count(), 2);
  await source.destroy();
});
