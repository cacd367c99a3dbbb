"""MLflow's tracking store: all its migrations, experiments, runs, metrics, searches, the registry of models."""

import logging
import os

logging.disable(logging.CRITICAL)
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
import mlflow  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402

client = MlflowClient(os.environ["DATABASE_URL"], os.environ["DATABASE_URL"])
experiment = client.create_experiment("first", artifact_location=os.environ["APP_SCRATCH"], tags={"team": "a"})
print("experiment:", experiment)
runs = []
for n in range(5):
    run = client.create_run(experiment, tags={"n": str(n)}, run_name=f"run {n}", start_time=1_700_000_000_000 + n)
    runs.append(run.info.run_id)
    client.log_param(runs[-1], "rate", 0.1 * n)
    for step in range(3):
        client.log_metric(runs[-1], "loss", 1.0 / (n + step + 1), step=step, timestamp=1_700_000_000_000 + step)
    client.log_batch(
        runs[-1],
        metrics=[mlflow.entities.Metric(f"m{i}", float(i), 1_700_000_000_000, 0) for i in range(30)],
        params=[mlflow.entities.Param(f"p{i}", str(i)) for i in range(30)],
    )
    client.set_terminated(runs[-1], "FINISHED" if n else "FAILED", end_time=1_700_000_001_000)
client.log_metric(runs[1], "loss", float("nan"), step=9, timestamp=1_700_000_000_009)


def names(found) -> list[str]:
    return [r.info.run_name for r in found]


print(names(client.search_runs([experiment], "metrics.loss < 0.2", order_by=["metrics.loss DESC"])))
print(names(client.search_runs([experiment], "params.rate = '0.2' AND tags.n = '2'")))
print(names(client.search_runs([experiment], "attributes.status = 'FAILED'")))
print(names(client.search_runs([experiment], "tags.n IN ('1', '3')" if False else "tags.n LIKE '%3'")))
print([(m.step, m.value) for m in client.get_metric_history(runs[2], "loss")])
try:
    client.log_param(runs[0], "rate", 7)
except mlflow.exceptions.MlflowException as e:
    print("refused:", e.error_code)
client.delete_run(runs[4])
print(len(client.search_runs([experiment])), len(client.search_runs([experiment], run_view_type=2)))
client.restore_run(runs[4])
client.create_registered_model("model", tags={"k": "v"}, description="a model")
for n in range(2):
    version = client.create_model_version("model", source=os.environ["APP_SCRATCH"], run_id=runs[n])
    print("version:", version.version, version.status)
client.set_registered_model_alias("model", "best", "2")
print("best:", client.get_model_version_by_alias("model", "best").version)
client.set_model_version_tag("model", "1", "checked", "yes")
print([v.version for v in client.search_model_versions("name = 'model'")])
client.rename_registered_model("model", "renamed")
print([m.name for m in client.search_registered_models("name LIKE 'ren%'")])
client.delete_registered_model("renamed")
client.rename_experiment(experiment, "second")
client.delete_experiment(experiment)
print([e.name for e in client.search_experiments(view_type=3)])
