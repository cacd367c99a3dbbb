// PostGraphile: introspection, the schema that it makes, queries and mutations.
const { createPostGraphileSchema, withPostGraphileContext } = require("postgraphile");
const { graphql, printSchema } = require("graphql");
const { Pool } = require("pg");

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
const setup = `
  CREATE TYPE mood AS ENUM ('ok', 'bad');
  CREATE TYPE point2 AS (x int, y int);
  CREATE DOMAIN email AS text CHECK (value LIKE '%@%');
  CREATE TABLE author (id serial PRIMARY KEY, name text NOT NULL UNIQUE, mail email, m mood DEFAULT 'ok', at point2);
  CREATE TABLE book (id serial PRIMARY KEY, author_id int NOT NULL REFERENCES author, title text, pages int, tags text[]);
  CREATE INDEX ON book (author_id);
  COMMENT ON TABLE author IS 'who writes';
  CREATE FUNCTION author_books_total(author) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM book WHERE author_id = $1.id';
  CREATE FUNCTION add(a int, b int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT a + b';
  CREATE FUNCTION rename_author(id int, name text) RETURNS author LANGUAGE sql VOLATILE AS
    'UPDATE author SET name = $2 WHERE id = $1 RETURNING *';`;
const asked = [
  `mutation { createAuthor(input: {author: {name: "Ann", mail: "a@x", m: BAD, at: {x: 1, y: 2}}}) { author { id name m at { x y } } } }`,
  `mutation { createBook(input: {book: {authorId: 1, title: "T", pages: 10, tags: ["a", "b"]}}) { book { id tags authorByAuthorId { name } } } }`,
  `mutation { createBook(input: {book: {authorId: 99, title: "T"}}) { book { id } } }`,
  `mutation { createAuthor(input: {author: {name: "Bob", mail: "nomail"}}) { author { id } } }`,
  `mutation { createAuthor(input: {author: {name: "Ann"}}) { author { id } } }`,
  `{ allAuthors(orderBy: NAME_ASC, first: 5) { totalCount nodes { name booksTotal booksByAuthorId { nodes { title } } } pageInfo { hasNextPage } } }`,
  `{ add(a: 2, b: 3) authorByName(name: "Ann") { id } }`,
  `mutation { renameAuthor(input: {id: 1, name: "Carl"}) { author { name } } }`,
  `mutation { updateBookById(input: {id: 1, bookPatch: {pages: 11}}) { book { pages } } }`,
  `mutation { deleteAuthorById(input: {id: 1}) { author { id } } }`,
  `mutation { deleteBookById(input: {id: 1}) { book { title } } }`,
];
(async () => {
  await pool.query(setup);
  const schema = await createPostGraphileSchema(pool, "public");
  const text = printSchema(schema);
  console.log("schema:", text.length, require("crypto").createHash("sha1").update(text).digest("hex"));
  for (const source of asked) {
    const result = await withPostGraphileContext({ pgPool: pool }, (contextValue) => graphql(schema, source, null, { ...contextValue }));
    console.log(JSON.stringify(result.data), (result.errors || []).map((e) => e.message));
  }
  await pool.end();
})().catch((e) => { console.log("failed:", e.message); process.exit(1); });
