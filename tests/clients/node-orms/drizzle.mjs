// Drizzle: its migrator on generated SQL, typed tables, relational queries (lateral joins and json), prepared statements.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { and, asc, count, desc, eq, gt, ilike, inArray, relations, sql, sum } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import * as d from 'drizzle-orm/pg-core';
import pg from 'pg';

const role = d.pgEnum('role', ['admin', 'user']);
const users = d.pgTable('users', {
  id: d.serial('id').primaryKey(), name: d.varchar('name', { length: 60 }).notNull(), role: role('role').default('user').notNull(), age: d.integer('age'), meta: d.jsonb('meta'), tags: d.text('tags').array(),
  at: d.timestamp('at', { withTimezone: true, mode: 'date' }).defaultNow().notNull(), born: d.date('born'), uid: d.uuid('uid').defaultRandom(), price: d.numeric('price', { precision: 8, scale: 2 }), big: d.bigint('big', { mode: 'bigint' }), ok: d.boolean('ok').default(false),
}, (t) => [d.uniqueIndex('users_lower_name').on(sql`lower(${t.name})`), d.index('users_age').on(t.age.desc())]);
const posts = d.pgTable('posts', { id: d.integer('id').primaryKey().generatedAlwaysAsIdentity(), title: d.text('title').notNull(), author: d.integer('author').references(() => users.id, { onDelete: 'cascade' }) });
const comments = d.pgTable('comments', { id: d.bigserial('id', { mode: 'number' }).primaryKey(), text: d.text('text'), post: d.integer('post').references(() => posts.id) });
const schema = {
  users, posts, comments,
  usersRelations: relations(users, ({ many }) => ({ posts: many(posts) })),
  postsRelations: relations(posts, ({ one, many }) => ({ author: one(users, { fields: [posts.author], references: [users.id] }), comments: many(comments) })),
  commentsRelations: relations(comments, ({ one }) => ({ post: one(posts, { fields: [comments.post], references: [posts.id] }) })),
};
// as drizzle-kit writes them
const steps = [
  `CREATE TYPE "public"."role" AS ENUM('admin', 'user');--> statement-breakpoint
CREATE TABLE "comments" ("id" bigserial PRIMARY KEY NOT NULL, "text" text, "post" integer);--> statement-breakpoint
CREATE TABLE "posts" ("id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "posts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1), "title" text NOT NULL, "author" integer);--> statement-breakpoint
CREATE TABLE "users" ("id" serial PRIMARY KEY NOT NULL, "name" varchar(30) NOT NULL, "role" "role" DEFAULT 'user' NOT NULL, "age" integer, "meta" jsonb, "tags" text[], "at" timestamp with time zone DEFAULT now() NOT NULL, "born" date, "uid" uuid DEFAULT gen_random_uuid(), "price" numeric(8, 2), "big" bigint);--> statement-breakpoint
ALTER TABLE "comments" ADD CONSTRAINT "comments_post_posts_id_fk" FOREIGN KEY ("post") REFERENCES "public"."posts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "posts" ADD CONSTRAINT "posts_author_users_id_fk" FOREIGN KEY ("author") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "users_lower_name" ON "users" USING btree (lower("name"));--> statement-breakpoint
CREATE INDEX "users_age" ON "users" USING btree ("age" DESC NULLS LAST);`,
  `ALTER TABLE "users" ALTER COLUMN "name" SET DATA TYPE varchar(60);--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "ok" boolean DEFAULT false;--> statement-breakpoint
ALTER TYPE "public"."role" ADD VALUE 'guest' BEFORE 'user';`,
];
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'drizzle-'));
fs.mkdirSync(path.join(folder, 'meta'));
steps.forEach((s, i) => fs.writeFileSync(path.join(folder, `000${i}.sql`), s));
fs.writeFileSync(path.join(folder, 'meta', '_journal.json'), JSON.stringify({ version: '7', dialect: 'postgresql', entries: steps.map((_, i) => ({ idx: i, version: '7', when: 1700000000000 + i, tag: `000${i}`, breakpoints: true })) }));

const pool = new pg.Pool({ max: 3 });
const db = drizzle(pool, { schema });
await migrate(db, { migrationsFolder: folder });
await migrate(db, { migrationsFolder: folder });
fs.rmSync(folder, { recursive: true });
assert.equal((await db.execute(sql`select count(*) as n from drizzle.__drizzle_migrations`)).rows[0].n, '2');

const at = new Date('2024-01-02T03:04:05.678Z');
const [ann] = await db.insert(users).values({ name: 'Ann', role: 'admin', age: 30, meta: { a: [1] }, tags: ['x', 'y"'], at, born: '2000-02-29', price: '12.50', big: 2n ** 62n }).returning();
assert.deepEqual([ann.id, ann.role, ann.meta, ann.tags, ann.at, ann.born, ann.price, ann.big, ann.ok], [1, 'admin', { a: [1] }, ['x', 'y"'], at, '2000-02-29', '12.50', 2n ** 62n, false]);
await db.insert(users).values(Array.from({ length: 20 }, (_, i) => ({ name: `u${i}`, age: i })));
await db.insert(posts).values([{ title: 'one', author: 1 }, { title: 'two', author: 1 }, { title: 'three', author: 2 }]);
await db.insert(comments).values([{ text: 'c1', post: 1 }, { text: 'c2', post: 1 }, { text: 'c3', post: 3 }]);
const found = await db.query.users.findMany({ where: (u, { lt }) => lt(u.id, 3), orderBy: asc(users.id), columns: { id: true, name: true }, extras: { shout: sql`upper(${users.name})`.as('shout') }, with: { posts: { columns: { title: true }, orderBy: desc(posts.title), with: { comments: { columns: { text: true }, orderBy: asc(comments.id) } } } } });
assert.deepEqual(found, [
  { id: 1, name: 'Ann', shout: 'ANN', posts: [{ title: 'two', comments: [] }, { title: 'one', comments: [{ text: 'c1' }, { text: 'c2' }] }] },
  { id: 2, name: 'u0', shout: 'U0', posts: [{ title: 'three', comments: [{ text: 'c3' }] }] },
]);
assert.equal((await db.query.posts.findFirst({ where: eq(posts.id, 3), with: { author: true } })).author.name, 'u0');
const per = await db.select({ name: users.name, n: count(posts.id), age: sum(users.age) }).from(users).leftJoin(posts, eq(posts.author, users.id)).where(ilike(users.name, '%N%')).groupBy(users.id).orderBy(users.id);
assert.deepEqual(per, [{ name: 'Ann', n: 2, age: '60' }]);
const sq = db.$with('sq').as(db.select({ author: posts.author, n: count().as('n') }).from(posts).groupBy(posts.author));
assert.deepEqual(await db.with(sq).select().from(sq).orderBy(sq.author), [{ author: 1, n: 2 }, { author: 2, n: 1 }]);
assert.deepEqual(await db.select({ t: posts.title }).from(posts).where(inArray(posts.author, db.select({ id: users.id }).from(users).where(gt(users.age, 5)))).orderBy(posts.id), [{ t: 'one' }, { t: 'two' }]);
const p = db.select({ name: users.name }).from(users).where(and(eq(users.id, sql.placeholder('id')), eq(users.ok, false))).prepare('by_id');
for (let i = 0; i < 8; i++) assert.deepEqual(await p.execute({ id: 1 }), [{ name: 'Ann' }]);
assert.deepEqual(await db.insert(users).values({ id: 1, name: 'again', age: 1 }).onConflictDoUpdate({ target: users.id, set: { age: sql`${users.age} + excluded.age` }, setWhere: gt(users.age, 10) }).returning({ age: users.age }), [{ age: 31 }]);
assert.deepEqual(await db.update(users).set({ name: sql`${users.name} || '!'` }).where(eq(users.id, 2)).returning({ name: users.name }), [{ name: 'u0!' }]);
assert.equal((await db.select().from(users).where(sql`${users.tags} @> ${sql`array['x']`}`)).length, 1);
await assert.rejects(db.insert(users).values({ name: 'ANN' }), (e) => (e.cause ?? e).code === '23505' && (e.cause ?? e).constraint === 'users_lower_name');
await assert.rejects(db.transaction(async (t) => { await t.delete(comments); t.rollback(); }));
await db.transaction(async (t) => {
  await assert.rejects(t.transaction(async (n) => { await n.delete(comments); await n.delete(posts); throw new Error('x'); }), /x/);
  await t.delete(comments).where(eq(comments.post, 3));
}, { isolationLevel: 'serializable' });
assert.equal(await db.$count(comments), 2);
await db.delete(comments);
assert.deepEqual(await db.delete(users).where(eq(users.id, 1)).returning({ id: users.id }), [{ id: 1 }]);
assert.equal(await db.$count(posts), 1);
await pool.end();
console.log('ok');
