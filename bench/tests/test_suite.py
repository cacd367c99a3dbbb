"""The parts of the benchmark system: histograms, the baseline's judgement, the steps; and one tiny run through load generator and server."""

from __future__ import annotations

import copy
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))
from suite import baseline, load, results  # noqa: E402
from suite.groups import PROFILES, bulk, codec, concurrency, drivers, lifecycle, operations, products, reports, testing, tpcb  # noqa: E402
from suite.targets import Pgsqlite, Sqlite, Target  # noqa: E402


class Histograms(unittest.TestCase):
    def test_percentiles_need_as_many_operations(self) -> None:
        m = results.from_times("g", "n", "t", "c", list(range(1, 101)))
        self.assertEqual((m["count"], m["value"]), (100, 50.5))
        self.assertEqual(m["p50"], 50)
        self.assertEqual(m["p99"], 99)
        self.assertIsNone(m["p99.9"])
        self.assertEqual((m["min"], m["max"]), (1, 100))

    def test_out_of_bounds_is_kept_at_the_bound(self) -> None:
        h = results.new_histogram()
        results.record(h, -5)
        results.record(h, 10**15)
        self.assertEqual(h.get_total_count(), 2)
        self.assertGreaterEqual(h.get_max_value(), results.LONGEST)

    def test_nothing_measured_has_no_figures(self) -> None:
        m = results.from_times("g", "n", "t", "c", [], errors={"57014": 2})
        self.assertEqual([m[k] for k in ("value", "p50", "max", "per_second", "count")], [None, None, None, None, 0])
        self.assertEqual(m["errors"], {"57014": 2})

    def test_a_histogram_survives_its_text(self) -> None:
        m = results.from_times("g", "n", "t", "c", [1000, 2000, 3000])
        h = results.decode(m["histogram"])
        self.assertEqual(h.get_total_count(), 3)
        self.assertAlmostEqual(h.get_value_at_percentile(50), 2000, delta=2)


class Baseline(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-baseline."))
        self.path = self.folder / "baseline.json"
        run = results.Run("bench", "tiny")
        for target, ns in (("pgsqlite", 1000), ("postgresql", 2000)):
            for name in ("insert", "update", "delete"):
                run.add([results.from_times("operations", name, target, "load", [ns] * 10)])
        run.add([results.single("pg-parallel", "light", "pg-parallel", "on postgres", 1000.0, "per second", "higher")])
        run.add([results.single("codec: types", "int4, text in", "pgsqlite", "callgrind", 100, "instructions")])
        self.run_ = run.to_json()
        self.assertEqual(baseline.save(self.run_, self.path), 5)

    def tearDown(self) -> None:
        shutil.rmtree(self.folder)

    def changed(self, **by_target: float) -> dict:
        run = copy.deepcopy(self.run_)
        for m in run["measurements"]:
            if m["unit"] == "ns":
                m["value"] *= by_target.get(m["target"], 1)
        return run

    def failing(self, run: dict) -> list[str]:
        return [r["key"] for r in baseline.compare(run, self.path) if r["fails"]]

    def test_the_same_is_not_worse(self) -> None:
        self.assertEqual(self.failing(self.run_), [])
        self.assertEqual(self.failing(self.changed(pgsqlite=1.24)), [])

    def test_a_quarter_worse_fails(self) -> None:
        self.assertEqual(len(self.failing(self.changed(pgsqlite=1.26))), 3)

    def test_a_slower_machine_is_not_held_against_us(self) -> None:
        self.assertEqual(self.failing(self.changed(pgsqlite=2, postgresql=2)), [])
        self.assertEqual(len(self.failing(self.changed(pgsqlite=2.6, postgresql=2))), 3)

    def test_throughput_and_instructions_are_judged_too(self) -> None:
        run = copy.deepcopy(self.run_)
        for m in run["measurements"]:
            if m["unit"] == "per second":
                m["value"] /= 1.3
            if m["unit"] == "instructions":
                m["value"] *= 1.3
        self.assertEqual(len(self.failing(run)), 2)

    def test_the_host_is_a_placeholder(self) -> None:
        text = self.path.read_text()
        self.assertEqual(json.loads(text)["host"], "HOST")
        self.assertNotIn(socket.gethostname(), text)
        self.assertEqual(self.run_["machine"]["host"], "HOST")

    def test_a_part_of_a_run_leaves_the_rest_alone(self) -> None:
        run = copy.deepcopy(self.run_)
        run["measurements"] = run["measurements"][:1]
        baseline.save(run, self.path)
        self.assertEqual(len(json.loads(self.path.read_text())["figures"]), 5)


class Steps(unittest.TestCase):
    def test_every_figure_has_a_title_of_its_own(self) -> None:
        for profile in PROFILES.values():
            modules = (operations, concurrency, tpcb, drivers, bulk, reports, lifecycle, testing, codec, products)
            titles = [(s.group, s.title) for m in modules for s in m.steps(profile)]
            self.assertEqual(len(titles), len(set(titles)))

    def test_a_quick_run_is_meant_to_take_less_than_eight_minutes(self) -> None:
        modules = (operations, concurrency, tpcb, drivers, bulk, reports, lifecycle, testing, codec)
        self.assertLess(sum(s.seconds for m in modules for s in m.steps(PROFILES["quick"])), 480)


class Stalling(Target):
    """A server that answers everything but once keeps the client waiting for half a second."""

    name = "stalling"

    def __init__(self, target: Target):
        self.behind = target
        self.host = tempfile.mkdtemp(prefix="bench-stall.")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.host}/.s.PGSQL.5432")
        self.listener.listen()
        self.stall_at = None
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{self.behind.host}/.s.PGSQL.{self.behind.port}")
            for a, b, late in ((client, server, False), (server, client, True)):
                threading.Thread(target=self.pump, args=(a, b, late), daemon=True).start()

    def pump(self, source: socket.socket, to: socket.socket, late: bool) -> None:
        try:
            while data := source.recv(65536):
                if late and self.stall_at is not None and time.monotonic() > self.stall_at:
                    self.stall_at = None
                    time.sleep(0.5)
                to.sendall(data)
        except OSError:
            pass  # the other side went first
        to.close()

    def stop(self) -> None:
        self.listener.close()
        shutil.rmtree(self.host)


class Load(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.target = Pgsqlite()
        cls.target.prepare()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.target.stop()

    def test_every_mode_does_what_it_says(self) -> None:
        run = results.Run("bench", "tiny")
        for number, mode in enumerate(operations.MODES):
            for name, one in operations.operations(1_000_000 * (number + 1)).items():
                found = load.measure(run, "operations", name, [self.target], [one], mode, slices=2, operations=5, warmup=2)
                self.assertEqual((found[0]["count"], found[0]["errors"]), (10, {}), (mode, name))
        self.assertEqual(run.skipped, [])
        # everything that was inserted (12 of each mode) was deleted again
        self.assertEqual(self.target.sql("SELECT count(*) FROM b"), [["10000"]])

    def test_an_error_is_counted_and_not_timed(self) -> None:
        run = results.Run("bench", "tiny")
        wrong = load.statement("SELECT 1 / ($1 - $1)", [load.argument("uniform", 1, 5)], rows=1)
        found = load.measure(run, "g", "n", [self.target], [wrong], "prepared text", slices=1, operations=7, warmup=0)[0]
        self.assertEqual((found["count"], found["errors"], found["value"]), (0, {"22012": 7}, None))
        none = load.statement("SELECT id FROM b WHERE id = $1", [load.argument("uniform", -9, -1)], rows=1)
        found = load.measure(run, "g", "n", [self.target], [none], "simple", slices=1, operations=7, warmup=0)[0]
        self.assertEqual((found["count"], found["errors"]), (0, {"0 rows instead of 1": 7}))

    def test_many_clients_beside_sqlite(self) -> None:
        floor = Sqlite()
        try:
            floor.prepare()
            run = results.Run("bench", "tiny")
            statements = concurrency.workloads(30_000_000)["mixed 90/10"]
            found = load.measure(run, "concurrency", "mixed", [self.target, floor], statements, "prepared binary", clients=8, slices=3, ms=100, warmup=16)
        finally:
            floor.stop()
        for m in found:
            self.assertGreater(m["count"], 10, m["target"])
            self.assertEqual((m["errors"], m["clients"], len(m["slices"])), ({}, 8, 3))

    def test_the_open_loop_sees_what_a_stall_makes_others_wait(self) -> None:
        """The closed loop sends nothing while it waits, so a stall is one slow operation; the open loop tells the truth."""
        select = operations.operations(0)["select key"]
        figures = {}
        for loop, rate in (("closed", None), ("open", 200.0)):
            stalling = Stalling(self.target)
            try:
                stalling.stall_at = time.monotonic() + 0.6
                run = results.Run("bench", "tiny")
                figures[loop] = load.measure(run, "g", "n", [stalling], [select], "prepared binary", slices=1, ms=2000, warmup=0, rate=rate)[0]
            finally:
                stalling.stop()
        for m in figures.values():
            self.assertGreaterEqual(m["max"], 450_000_000)
        self.assertLess(figures["closed"]["p95"], 200_000_000)
        # 0.5 s of 2 s: a quarter of what was due came late
        self.assertGreater(figures["open"]["p90"], 100_000_000)
        self.assertAlmostEqual(figures["open"]["count"], 400, delta=5)

    def test_a_rival_that_fails_is_left_out_and_noted(self) -> None:
        class Gone(Target):
            name = "gone"
            host = "/nowhere"

        run = results.Run("bench", "tiny")
        select = operations.operations(0)["select key"]
        found = load.measure(run, "g", "n", [self.target, Gone()], [select], "simple", slices=1, operations=5, warmup=0)
        self.assertEqual([m["target"] for m in found], ["pgsqlite"])
        self.assertEqual(run.skipped[0]["what"], "g, n, simple: gone")


class CommandLine(unittest.TestCase):
    def test_without_a_flag_it_is_the_full_run(self) -> None:
        for flags, lines in ([], "full"), (["--quick"], "quick"):
            done = subprocess.run([sys.executable, str(BENCH / "run.py"), "list", *flags], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            for s in tpcb.steps(PROFILES[lines]):
                self.assertIn(f"tpcb: {s.title}  ({s.seconds:.0f} s)", done.stdout)

    def test_a_tiny_run_leaves_a_result_and_a_report(self) -> None:
        before = set(results.FOLDER.glob("bench-2*"))
        command = [sys.executable, str(BENCH / "run.py"), "run", "--profile", "tiny", "--targets", "pgsqlite,sqlite"]
        done = subprocess.run([*command, "--only", "operations,open loop,COPY,psycopg,memory,Q14,S1.1"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        self.assertIn("left: operations: insert, simple", done.stderr)
        made = sorted(set(results.FOLDER.glob("bench-2*")) - before)
        self.assertEqual([p.suffix for p in made], [".html", ".json"])
        try:
            run = results.read(made[1])
            groups = {m["group"] for m in run["measurements"]}
            self.assertEqual(groups, {"operations", "open loop", "bulk", "reports", "drivers", "life"})
            self.assertTrue(all(m["count"] for m in run["measurements"]))
            # the same look at the page as the made-up run gets
            if shutil.which("chromium") or os.environ.get("CHROMIUM"):
                environment = {**os.environ, "BENCH_RUN": str(made[1])}
                test = [sys.executable, str(BENCH / "tests" / "test_report.py"), "Report.test_it_is_one_file_without_errors", "Report.test_the_table_has_every_figure_sorts_and_filters"]
                seen = subprocess.run(test, capture_output=True, text=True, env=environment, timeout=120)
                self.assertEqual(seen.returncode, 0, seen.stderr[-2000:])
        finally:
            for p in made:
                p.unlink()


if __name__ == "__main__":
    unittest.main()
