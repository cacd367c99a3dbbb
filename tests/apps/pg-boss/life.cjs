// pg-boss: start, jobs, priorities, retries, a dead letter queue, a schedule, publication.
const PgBoss = require("pg-boss");
const boss = new PgBoss({ connectionString: process.env.DATABASE_URL });
boss.on("error", (e) => console.log("error:", e.message));
(async () => {
  await boss.start();
  console.log("started", await boss.schemaVersion?.());
  await boss.createQueue("dead");
  await boss.createQueue("work", { retryLimit: 0, deadLetter: "dead" });
  for (let n = 0; n < 40; n++) await boss.send("work", { n }, { priority: n % 3 });
  const first = await boss.fetch("work", { batchSize: 5, includeMetadata: true });
  console.log("first:", first.map((j) => [j.data.n, j.priority]).sort((a, b) => a[0] - b[0]));
  await boss.complete("work", first.slice(0, 4).map((j) => j.id));
  await boss.fail("work", first[4].id, { why: "as it should" });
  console.log("size:", await boss.getQueueSize("work"), "dead:", await boss.getQueueSize("dead"));
  await boss.schedule("work", "0 3 * * *", { s: 1 });
  console.log("schedules:", (await boss.getSchedules()).map((s) => [s.name, s.cron]));
  await boss.subscribe("event", "work");
  await boss.publish("event", { p: 1 });
  console.log("size:", await boss.getQueueSize("work"));
  try { await boss.send("nowhere", {}); } catch (e) { console.log("refused:", e.message); }
  await boss.unschedule("work");
  await boss.deleteQueue("dead").catch((e) => console.log("kept:", e.message));
  await boss.purgeQueue("work");
  console.log("size:", await boss.getQueueSize("work"));
  await boss.stop({ graceful: false });
  process.exit(0);
})().catch((e) => { console.log("failed:", e.message); process.exit(1); });
