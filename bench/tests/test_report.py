"""The report in a real browser: it needs nothing from outside, its scripts run, every plot shows what was measured."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from suite import report, results  # noqa: E402


def browser() -> str | None:
    """$CHROMIUM, or Chromium or Chrome of the system."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def a_run() -> dict:
    """A run with something of every kind in it; the figures are made up, their relations are looked for in the page."""
    run = results.Run("bench", "tiny")
    run.targets = {"pgsqlite": {"version": "PostgreSQL 15 <pgsqlite>", "durability": "on disk"}, "postgresql": {"version": "15", "durability": "on disk"}}
    run.skip("turso", "it cannot be had & that's that")
    for target, factor in (("pgsqlite", 1), ("postgresql", 2), ("sqlite", 0.3)):
        client = "in process" if target == "sqlite" else "load"
        times = [int(factor * (10_000 + 13 * i % 5000 + (90_000 if i % 97 == 0 else 0))) for i in range(2000)]
        for mode in ("simple", "prepared binary"):
            run.add([results.from_times("operations", "select key", target, client, times, mode=mode)])
        for clients in (1, 8, 32, 100):
            run.add([results.from_times("concurrency", "insert", target, client, times, clients=clients, slices=[(2000, factor / clients)])])
        run.add([results.from_times("open loop", "insert", target, client, times, clients=32, loop="open", rate=500.0)])
        run.add([results.single("life", "memory of an idle session", target, "protocol", 20_000 * factor, "bytes")])
    run.add([results.from_times("bulk", "COPY in", "postgresql", "protocol", [], errors={"57014": 3})])
    return run.to_json()


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        path = browser()
        if path is None:
            if os.environ.get("CI"):
                raise AssertionError("no browser: the Makefile installs one where it may")
            raise unittest.SkipTest("no browser: install your distribution's chromium")
        from playwright.sync_api import sync_playwright

        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-report."))
        cls.run_file = os.environ.get("BENCH_RUN")
        cls.data = results.read(pathlib.Path(cls.run_file)) if cls.run_file else a_run()
        compared = [
            {"key": "operations | <select>", "unit": "ns", "then": 1000.0, "now": 1500.0, "machine": 1.0, "worse": 1.5, "fails": True},
            {"key": "life | start", "unit": "ns", "then": 1000.0, "now": 900.0, "machine": 1.0, "worse": 0.9, "fails": False},
        ]
        page = report.write(cls.data, cls.folder / "report.html", compared)
        cls.playwright = sync_playwright().start()
        flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
        cls.browser = cls.playwright.chromium.launch(executable_path=path, args=flags)
        cls.page = cls.browser.new_page(viewport={"width": 1280, "height": 900})
        cls.problems, cls.requests = [], []
        cls.page.on("console", lambda m: cls.problems.append(m.text) if m.type in ("error", "warning") else None)
        cls.page.on("pageerror", lambda error: cls.problems.append(str(error)))
        cls.page.on("request", lambda r: cls.requests.append(r.url))
        cls.page.goto(page.as_uri())

    @classmethod
    def tearDownClass(cls) -> None:
        cls.browser.close()
        cls.playwright.stop()
        shutil.rmtree(cls.folder)

    def test_it_is_one_file_without_errors(self) -> None:
        self.assertEqual(self.problems, [])
        self.assertEqual([r for r in self.requests if not r.startswith(("file:", "data:"))], [])
        self.assertEqual(len([r for r in self.requests if r.startswith("file:")]), 1)

    def test_every_plot_shows_something_inside_its_frame(self) -> None:
        plots = self.page.evaluate(
            """() => [...document.querySelectorAll('svg.plot')].map((svg) => {
              const view = svg.viewBox.baseVal
              const marks = [...svg.querySelectorAll('path.s, circle')].map((mark) => {
                const box = mark.getBBox()
                return { x: box.x, y: box.y, right: box.x + box.width, bottom: box.y + box.height,
                  colour: getComputedStyle(mark)[mark.tagName === 'path' ? 'stroke' : 'fill'] }
              })
              const size = svg.getBoundingClientRect()
              return { title: svg.getAttribute('aria-label'), kind: svg.classList[1], view: [view.width, view.height], marks,
                shown: size.width > 200 && size.height > 60, text: svg.textContent }
            })"""
        )
        kinds = {p["kind"] for p in plots}
        self.assertLessEqual({"distribution", "over-clients", "ratios"}, kinds)
        for p in plots:
            self.assertTrue(p["shown"], p["title"])
            self.assertTrue(p["marks"], p["title"])
            self.assertNotIn("NaN", p["text"])
            for m in p["marks"]:
                self.assertGreaterEqual(min(m["x"], m["y"]), 0, p["title"])
                self.assertLessEqual(m["right"], p["view"][0] + 1, p["title"])
                self.assertLessEqual(m["bottom"], p["view"][1] + 1, p["title"])
                self.assertNotIn(m["colour"], ("none", "rgb(0, 0, 0)"), p["title"])

    def test_a_ratio_is_where_it_belongs(self) -> None:
        if self.run_file:
            self.skipTest("the figures of a real run are not known beforehand")
        # twice as fast as PostgreSQL: left of the line at 1, by as much as the axis says
        place = self.page.evaluate(
            """() => {
              const svg = document.querySelector('svg.ratios')
              const dots = [...svg.querySelectorAll('circle')].map((c) => [c.textContent, c.cx.baseVal.value])
              return { one: svg.querySelector('line.one').x1.baseVal.value, dots }
            }"""
        )
        rival = [x for tip, x in place["dots"] if "0.50× postgresql" in tip]
        floor = [x for tip, x in place["dots"] if "sqlite" in tip]
        self.assertTrue(rival and all(x < place["one"] for x in rival), place)
        self.assertTrue(floor and all(x > place["one"] for x in floor), place)

    def test_the_table_has_every_figure_sorts_and_filters(self) -> None:
        rows = self.page.locator("#all tbody tr")
        self.assertEqual(rows.count(), len(self.data["measurements"]))
        self.page.locator("#all th", has_text="mean").click()
        values = self.page.eval_on_selector_all("#all tbody tr", "rows => rows.map((r) => r.cells[4].dataset.v)")
        known = [float(v) for v in values if v]
        self.assertEqual(known, sorted(known))
        self.page.fill("#filter", "pgsqlite")
        shown = self.page.eval_on_selector_all("#all tbody tr", "rows => rows.filter((r) => !r.hidden).map((r) => r.cells[2].textContent)")
        self.assertEqual(set(shown), {"pgsqlite"})
        self.page.fill("#filter", "")

    def test_errors_and_what_is_worse_stand_out(self) -> None:
        if not self.run_file:
            self.assertEqual(self.page.locator("#all tr.bad").count(), 1)
        bad = self.page.locator("#baseline tr.bad")
        self.assertEqual(bad.count(), 1)
        self.assertIn("operations | <select>", bad.text_content())

    def test_what_was_not_measured_is_said(self) -> None:
        text = self.page.locator("#skipped").text_content()
        for s in self.data["skipped"]:
            self.assertIn(s["what"], text)

    def test_it_is_not_blank(self) -> None:
        picture = os.environ.get("BENCH_SCREENSHOT", str(self.folder / "report.png"))
        self.page.screenshot(path=picture, full_page=True)
        self.assertGreater(os.path.getsize(picture), 50_000)


if __name__ == "__main__":
    unittest.main()
