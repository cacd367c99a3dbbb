'use server';

import { eq } from 'drizzle-orm';
import { revalidatePath } from 'next/cache';
import { db } from '../lib/database';
import { authors, books } from '../lib/schema';

export async function add(form: FormData): Promise<void> {
  const name = String(form.get('author'));
  const title = String(form.get('title'));
  await db.transaction(async (tx) => {
    await tx.insert(authors).values({ name }).onConflictDoNothing();
    const [author] = await tx.select().from(authors).where(eq(authors.name, name));
    await tx.insert(books).values({ title, authorId: author.id }).onConflictDoNothing();
  });
  revalidatePath('/');
}
