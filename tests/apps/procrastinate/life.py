"""procrastinate: its schema, jobs, retries, locks, a periodic task."""

import asyncio
import os

import procrastinate
from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector(conninfo=os.environ["DATABASE_URL"]))
seen: list[str] = []


@app.task(queue="plain")
async def plain(n: int) -> None:
    seen.append(f"plain {n}")


@app.task(queue="retry", retry=2)
async def failing() -> None:
    seen.append("failing")
    raise ValueError("as it should")


@app.periodic(cron="* * * * * */1")
@app.task(queue="clock", pass_context=False)
async def tick(timestamp: int) -> None:
    seen.append("tick")


async def main() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        print("schema applied")
        for n in range(50):
            await plain.defer_async(n=n)
        await plain.configure(lock="one", queueing_lock="only").defer_async(n=100)
        try:
            await plain.configure(queueing_lock="only").defer_async(n=101)
        except procrastinate.exceptions.AlreadyEnqueued:
            print("queueing lock holds")
        await failing.defer_async()
        await app.run_worker_async(queues=["plain", "retry"], wait=False, install_signal_handlers=False)
        try:
            await asyncio.wait_for(app.run_worker_async(queues=["clock"], install_signal_handlers=False), 4)
        except asyncio.TimeoutError:
            pass
        print("plain:", len([s for s in seen if s.startswith("plain")]), "failing:", seen.count("failing"))
        print("ticked:", "tick" in seen)
        rows = await app.job_manager.list_jobs_async(queue="plain")
        print("statuses:", sorted({j.status for j in rows}))
        failed = await app.job_manager.list_jobs_async(queue="retry")
        print("retry:", [(j.status, j.attempts) for j in failed])


asyncio.run(main())
