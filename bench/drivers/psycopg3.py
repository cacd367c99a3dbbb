"""The five operations through psycopg 3: a job on standard input, the times of each operation on standard output.

Job: `targets` (name, host, port, user, database), `operations` (name → sql with %s, rows, affected), `binary`, `rows` in the table,
`range`, `base` (the first key to insert and delete), `warmup`, `pause_ms`, `slices`, `slice_operations`.
Answer: per target the times of each operation in ns, and its errors by SQLSTATE.
"""

from __future__ import annotations

import json
import sys
import time

import psycopg


def arguments(job: dict, operation: str, n: int) -> list:
    key = (n * 7919) % job["rows"]
    if operation == "insert":
        return [job["base"] + n, n, f"value {n}"]
    if operation == "delete":
        return [job["base"] + n]
    return [key, key + job["range"]] if operation == "select range" else [key]


class Session:
    def __init__(self, job: dict, target: dict):
        self.job, self.name = job, target["name"]
        place = {k: target[k] for k in ("host", "port", "user")}
        self.connection = psycopg.connect(**place, dbname=target["database"], autocommit=True, prepare_threshold=0)
        self.cursor = self.connection.cursor(binary=job["binary"])
        self.times: dict[str, list[int]] = {o: [] for o in job["operations"]}
        self.errors: dict[str, dict[str, int]] = {o: {} for o in job["operations"]}

    def run(self, operation: str, count: int, first: int, keep: bool) -> None:
        spec = self.job["operations"][operation]
        for n in range(first, first + count):
            values = arguments(self.job, operation, n)
            began = time.perf_counter_ns()
            try:
                self.cursor.execute(spec["sql"], values)
                rows = self.cursor.fetchall() if spec["rows"] else []
                took = time.perf_counter_ns() - began
                wrong = len(rows) != spec["rows"] or spec["affected"] not in (None, self.cursor.rowcount)
                kind = f"{len(rows)} rows, {self.cursor.rowcount} affected" if wrong else None
            except psycopg.Error as e:
                kind = e.sqlstate or type(e).__name__
            if kind:
                self.errors[operation][kind] = self.errors[operation].get(kind, 0) + 1
            elif keep:
                self.times[operation].append(took)


def main() -> None:
    job = json.load(sys.stdin)
    sessions = [Session(job, t) for t in job["targets"]]
    for operation in job["operations"]:
        for s in sessions:
            s.run(operation, job["warmup"], 0, False)
        time.sleep(job["pause_ms"] / 1000)
        for number in range(job["slices"]):
            for turn in range(len(sessions)):
                s = sessions[(number + turn) % len(sessions)]
                s.run(operation, job["slice_operations"], job["warmup"] + number * job["slice_operations"], True)
    print(json.dumps([{"target": s.name, "times": s.times, "errors": s.errors} for s in sessions]))


if __name__ == "__main__":
    main()
