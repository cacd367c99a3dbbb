import express from 'express';

/** Returns the application on a Prisma client. */
export function application(prisma) {
  const app = express();
  app.use(express.json());

  app.get('/books', async (request, response) => {
    const { tag } = request.query;
    const found = await prisma.book.findMany({
      where: tag ? { tags: { has: String(tag) } } : {},
      include: { author: true },
      orderBy: { title: 'asc' },
    });
    response.json(found.map(({ id, title, tags, author }) => ({ id, title, tags, author: author.name })));
  });

  app.post('/books', async (request, response) => {
    const { title, author, tags = [] } = request.body;
    try {
      const book = await prisma.book.create({
        data: { title, tags, author: { connectOrCreate: { where: { name: author }, create: { name: author } } } },
      });
      response.status(201).json({ id: book.id });
    } catch (error) {
      // a unique key is violated
      if (error.code !== 'P2002') throw error;
      response.status(409).json({ error: 'the author has this book already' });
    }
  });

  app.delete('/authors/:name', async (request, response) => {
    const [books] = await prisma.$transaction([
      prisma.book.count({ where: { author: { name: request.params.name } } }),
      prisma.author.delete({ where: { name: request.params.name } }),
    ]);
    response.json({ books });
  });

  return app;
}
