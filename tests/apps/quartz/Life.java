// Quartz: its own tables, a clustered store, sixty firings, cron, pause, resume, misfires, deleting.
import java.io.*;
import java.sql.*;
import java.util.*;
import java.util.concurrent.atomic.*;
import org.quartz.*;
import org.quartz.impl.StdSchedulerFactory;
import org.quartz.impl.matchers.GroupMatcher;

public class Life {
    static final AtomicInteger fired = new AtomicInteger();

    public static class Work implements Job {
        public void execute(JobExecutionContext context) {
            fired.incrementAndGet();
        }
    }

    @PersistJobDataAfterExecution
    @DisallowConcurrentExecution
    public static class Counted implements Job {
        public void execute(JobExecutionContext context) {
            JobDataMap data = context.getJobDetail().getJobDataMap();
            data.put("n", data.getInt("n") + 1);
        }
    }

    static void waitFor(String what, java.util.concurrent.Callable<Boolean> done) throws Exception {
        long end = System.currentTimeMillis() + 60_000;
        while (!done.call() && System.currentTimeMillis() < end) Thread.sleep(50);
        System.out.println(what + ": " + done.call());
        // its threads would keep the program alive
        if (!done.call()) System.exit(1);
    }

    public static void main(String[] args) throws Exception {
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        String tables = new String(Scheduler.class.getResourceAsStream("/org/quartz/impl/jdbcjobstore/tables_postgres.sql").readAllBytes());
        try (Connection c = DriverManager.getConnection(url, "postgres", "unused"); Statement s = c.createStatement()) {
            s.execute(tables);
            ResultSet r = s.executeQuery("SELECT count(*) FROM pg_class WHERE relname LIKE 'qrtz%'");
            r.next();
            System.out.println("relations: " + r.getInt(1));
        }
        Properties p = new Properties();
        p.put("org.quartz.scheduler.instanceName", "life");
        p.put("org.quartz.scheduler.instanceId", "AUTO");
        p.put("org.quartz.threadPool.threadCount", "4");
        p.put("org.quartz.threadPool.class", "org.quartz.simpl.SimpleThreadPool");
        p.put("org.quartz.jobStore.class", "org.quartz.impl.jdbcjobstore.JobStoreTX");
        p.put("org.quartz.jobStore.driverDelegateClass", "org.quartz.impl.jdbcjobstore.PostgreSQLDelegate");
        p.put("org.quartz.jobStore.isClustered", "true");
        p.put("org.quartz.jobStore.dataSource", "db");
        p.put("org.quartz.dataSource.db.driver", "org.postgresql.Driver");
        p.put("org.quartz.dataSource.db.URL", url);
        p.put("org.quartz.dataSource.db.user", "postgres");
        p.put("org.quartz.dataSource.db.password", "unused");
        p.put("org.quartz.dataSource.db.provider", "hikaricp");
        Scheduler scheduler = new StdSchedulerFactory(p).getScheduler();
        scheduler.start();
        for (int n = 0; n < 60; n++)
            scheduler.scheduleJob(JobBuilder.newJob(Work.class).withIdentity("work" + n, "many").build(),
                TriggerBuilder.newTrigger().withIdentity("at" + n, "many").startNow().withPriority(n % 7).build());
        waitFor("sixty", () -> fired.get() == 60);
        JobDetail counted = JobBuilder.newJob(Counted.class).withIdentity("counted").usingJobData("n", 0).storeDurably().build();
        scheduler.scheduleJob(counted, TriggerBuilder.newTrigger().withIdentity("often").withSchedule(
            SimpleScheduleBuilder.simpleSchedule().withIntervalInMilliseconds(100).withRepeatCount(9)).build());
        waitFor("counted", () -> scheduler.getJobDetail(counted.getKey()).getJobDataMap().getInt("n") == 10);
        scheduler.scheduleJob(JobBuilder.newJob(Work.class).withIdentity("cron").build(),
            TriggerBuilder.newTrigger().withIdentity("cron").withSchedule(CronScheduleBuilder.cronSchedule("0/1 * * * * ?")).build());
        waitFor("cron", () -> fired.get() >= 62);
        scheduler.pauseTrigger(TriggerKey.triggerKey("cron"));
        System.out.println(scheduler.getTriggerState(TriggerKey.triggerKey("cron")));
        scheduler.resumeTrigger(TriggerKey.triggerKey("cron"));
        System.out.println(scheduler.getTriggerState(TriggerKey.triggerKey("cron")));
        System.out.println("deleted: " + scheduler.deleteJob(JobKey.jobKey("cron")) + scheduler.deleteJob(JobKey.jobKey("cron")));
        waitFor("nothing left", () -> scheduler.getTriggerKeys(GroupMatcher.anyGroup()).isEmpty());
        System.out.println(scheduler.getJobKeys(GroupMatcher.anyGroup()));
        scheduler.shutdown(true);
        try (Connection c = DriverManager.getConnection(url, "postgres", "unused"); Statement s = c.createStatement()) {
            ResultSet r = s.executeQuery("SELECT (SELECT count(*) FROM qrtz_triggers) || ' ' || (SELECT count(*) FROM qrtz_fired_triggers) || ' ' || (SELECT string_agg(lock_name, ',' ORDER BY 1) FROM qrtz_locks)");
            r.next();
            System.out.println(r.getString(1));
        }
    }
}
