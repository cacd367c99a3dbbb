"""Dagster: its stores of runs, events and schedules in PostgreSQL: assets, a failing job, tags, partitions, concurrency, wiping."""

import logging
import os
import pathlib

logging.disable(logging.CRITICAL)
os.environ["DAGSTER_HOME"] = os.environ["APP_SCRATCH"]
os.environ["DAGSTER_DISABLE_TELEMETRY"] = "true"
pathlib.Path(os.environ["APP_SCRATCH"], "dagster.yaml").write_text(
    f"""
telemetry:
  enabled: false
storage:
  postgres:
    postgres_db:
      username: postgres
      password: unused
      hostname: {os.environ["PGHOST"]}
      db_name: {os.environ["PGDATABASE"]}
      port: {os.environ["PGPORT"]}
"""
)
import dagster as dg  # noqa: E402

parts = dg.StaticPartitionsDefinition(["a", "b", "c"])


@dg.asset(partitions_def=parts)
def raw(context) -> int:
    context.add_output_metadata({"rows": len(context.partition_key)})
    return 1


@dg.asset
def plain() -> int:
    return 2


@dg.asset_check(asset=plain)
def positive() -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True, metadata={"n": 2})


@dg.op
def fails():
    raise dg.Failure("as it should")


@dg.job
def failing():
    fails()


instance = dg.DagsterInstance.get()
for key in "ab":
    result = dg.materialize([raw], partition_key=key, instance=instance, tags={"part": key})
    print("materialized:", key, result.success)
print("with a check:", dg.materialize([plain, positive], instance=instance).success)
print("failing:", failing.execute_in_process(instance=instance, raise_on_error=False).success)
print("runs:", instance.get_runs_count(), sorted(r.status.value for r in instance.get_runs()))
print("by tag:", len(instance.get_runs(filters=dg.RunsFilter(tags={"part": "a"}))))
print("failed:", [r.job_name for r in instance.get_runs(filters=dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]))])
print("assets:", sorted(k.to_user_string() for k in instance.all_asset_keys()))
print("partitions:", sorted(instance.get_materialized_partitions(dg.AssetKey("raw"))))
run = instance.get_runs(limit=1)[0]
print("events:", [e.dagster_event.event_type_value for e in instance.all_logs(run.run_id) if e.dagster_event and "STEP" in e.dagster_event.event_type_value])
latest = instance.get_latest_materialization_event(dg.AssetKey("raw"))
print("latest:", latest.asset_materialization.partition, {k: v.value for k, v in latest.asset_materialization.metadata.items() if k == "rows"})
instance.add_dynamic_partitions("dynamic", ["x", "y"])
instance.delete_dynamic_partition("dynamic", "x")
print("dynamic:", instance.get_dynamic_partitions("dynamic"), instance.has_dynamic_partition("dynamic", "x"))
events = instance.event_log_storage
events.set_concurrency_slots("pool", 2)
claims = [events.claim_concurrency_slot("pool", f"run {n}", "step").slot_status.value for n in range(3)]
print("claims:", claims)
events.free_concurrency_slots_for_run("run 0")
info = events.get_concurrency_info("pool")
print("slots:", info.slot_count, info.active_slot_count, info.pending_step_count, info.assigned_step_count)
instance.add_run_tags(run.run_id, {"late": "yes"})
print("tags:", [t for t in instance.get_run_tags(["late"])])
instance.wipe_assets([dg.AssetKey("raw")])
print("wiped:", sorted(k.to_user_string() for k in instance.all_asset_keys()))
instance.reindex()
instance.delete_run(run.run_id)
print("runs:", instance.get_runs_count())
instance.run_storage.set_cursor_values({"k": "v"})
print(instance.run_storage.get_cursor_values({"k", "l"}))
