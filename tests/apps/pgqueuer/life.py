"""pgqueuer: install, a hundred jobs, statistics, uninstall."""

import asyncio
import os

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries


async def main() -> None:
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    driver = AsyncpgDriver(connection)
    queries = Queries(driver)
    await queries.install()
    print("installed")
    await queries.upgrade()
    print("upgraded")
    queuer = PgQueuer(driver)
    done: list[bytes] = []

    @queuer.entrypoint("work")
    async def work(job) -> None:
        done.append(job.payload)
        if len(done) == 100:
            queuer.shutdown.set()

    await queries.enqueue(["work"] * 100, [str(n).encode() for n in range(100)], [0] * 100)
    print("queued:", sum(s.count for s in await queries.queue_size()))
    await asyncio.wait_for(queuer.run(), 60)
    print("done:", len(done), "different:", len(set(done)))
    print("left:", sum(s.count for s in await queries.queue_size()))
    await queries.uninstall()
    print("uninstalled")
    await connection.close()


asyncio.run(main())
