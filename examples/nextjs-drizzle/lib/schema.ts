import { integer, jsonb, pgTable, text, timestamp, unique } from 'drizzle-orm/pg-core';

export const authors = pgTable('authors', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  name: text().notNull().unique(),
});

export const books = pgTable(
  'books',
  {
    id: integer().primaryKey().generatedAlwaysAsIdentity(),
    title: text().notNull(),
    authorId: integer('author_id').notNull().references(() => authors.id, { onDelete: 'cascade' }),
    details: jsonb().$type<{ pages?: number }>().notNull().default({}),
    added: timestamp({ withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [unique().on(table.title, table.authorId)],
);
