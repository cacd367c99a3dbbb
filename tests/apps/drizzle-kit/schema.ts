import { sql } from "drizzle-orm";
import { boolean, check, index, integer, jsonb, numeric, pgEnum, pgTable, serial, text, timestamp, uniqueIndex, varchar } from "drizzle-orm/pg-core";

export const mood = pgEnum("mood", ["ok", "bad"]);
export const author = pgTable(
  "author",
  {
    id: serial().primaryKey(),
    name: varchar({ length: 50 }).notNull().unique(),
    mood: mood().default("ok"),
    data: jsonb().default({}),
    tags: text().array(),
    price: numeric({ precision: 10, scale: 2 }),
    alive: boolean().default(true),
    made: timestamp({ withTimezone: true }).defaultNow(),
  },
  (t) => [index("author_lower").on(sql`lower(${t.name})`), check("named", sql`${t.name} not in ('', '-')`)],
);
export const book = pgTable(
  "book",
  {
    id: integer().primaryKey().generatedAlwaysAsIdentity(),
    author: integer().notNull().references(() => author.id, { onDelete: "cascade" }),
    title: text(),
  },
  (t) => [uniqueIndex("book_once").on(t.author, t.title)],
);
