import { asc, eq } from 'drizzle-orm';
import { db } from '../lib/database';
import { authors, books } from '../lib/schema';
import { add } from './actions';

// The page shows what is in the database now, not what was there when it was built.
export const dynamic = 'force-dynamic';

export default async function Page() {
  const rows = await db
    .select({ id: books.id, title: books.title, author: authors.name })
    .from(books)
    .innerJoin(authors, eq(books.authorId, authors.id))
    .orderBy(asc(books.title));
  return (
    <main>
      <h1>Books</h1>
      <ul>
        {rows.map((row) => (
          <li key={row.id}>{`${row.title}, by ${row.author}`}</li>
        ))}
      </ul>
      <form action={add}>
        <input name="title" placeholder="Title" required />
        <input name="author" placeholder="Author" required />
        <button type="submit">Add</button>
      </form>
    </main>
  );
}
