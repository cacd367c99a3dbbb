// graphile-worker: migrate, jobs, keys, queues, failures, administration.
const { makeWorkerUtils, runOnce, Logger } = require("graphile-worker");
const connectionString = process.env.DATABASE_URL;
const logger = new Logger(() => () => {});
(async () => {
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  console.log("migrated");
  for (let n = 0; n < 60; n++) await utils.addJob("work", { n }, { queueName: n % 2 ? "odd" : undefined });
  await utils.addJob("work", { n: 1000 }, { jobKey: "k" });
  await utils.addJob("work", { n: 1001 }, { jobKey: "k", jobKeyMode: "replace" });
  const failing = await utils.addJob("fail", {}, { maxAttempts: 1 });
  const done = [];
  await runOnce({ connectionString, logger, taskList: { work: (p) => void done.push(p.n), fail: () => { throw new Error("as it should"); } } });
  console.log("done:", done.length, done.includes(1000), done.includes(1001));
  const missing = [...Array(60).keys()].filter((n) => !done.includes(n));
  const twice = done.filter((n, at) => done.indexOf(n) !== at);
  if (missing.length || twice.length) console.log("missing:", missing, "twice:", twice, (await utils.withPgClient((c) => c.query("SELECT * FROM graphile_worker.jobs ORDER BY id"))).rows);
  // (a worker does not wait until what it says of a failed job is stored)
  const held = "SELECT FROM graphile_worker._private_jobs WHERE locked_at IS NOT NULL";
  while ((await utils.withPgClient((c) => c.query(held))).rowCount) await new Promise((r) => setTimeout(r, 10));
  const again = await utils.rescheduleJobs([failing.id], { attempts: 0, maxAttempts: 2 });
  console.log("again:", again.map((j) => [j.attempts, j.max_attempts, j.last_error]));
  console.log("failed for good:", (await utils.permanentlyFailJobs([failing.id], "enough")).map((j) => j.last_error));
  console.log("completed:", (await utils.completeJobs([failing.id])).length);
  await utils.cleanup({ tasks: ["GC_TASK_IDENTIFIERS", "GC_JOB_QUEUES", "DELETE_PERMAFAILED_JOBS"] });
  console.log("left:", await utils.withPgClient(async (c) => (await c.query("SELECT count(*)::int FROM graphile_worker.jobs")).rows[0].count));
  await utils.release();
})().catch((e) => { console.log("failed:", e.message); process.exit(1); });
