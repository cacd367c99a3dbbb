#!/usr/bin/env python3
"""The status page in a real browser: what it shows of a busy server, that it shows what changes, on a desktop and on a phone.

python3 tests/status/run.py [--pictures DIR] [TEST…]

It needs playwright (build/bench-venv has it) and a Chromium: $CHROMIUM, or the system's.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from cases import Cases  # noqa: E402
from pgwire import Connection, ServerGone  # noqa: E402
from server import Server, free_port  # noqa: E402

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
PATIENCE = 30_000
WIDE_TEXT = "a value that has <b>marks</b> & \"quotes\""

cases = Cases()
arguments = argparse.Namespace(pictures=None)


def browser_path() -> str | None:
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Busy:
    """A server with sessions that wait, statements, an archive and a clone, and a browser."""

    def __init__(self, *flags: str):
        self.folder = tempfile.mkdtemp(prefix="pgsqlite-status.")
        self.address = f"127.0.0.1:{free_port()}"
        data = os.path.join(self.folder, "data")
        os.mkdir(data)
        self.server = Server("--data-dir", data, "--status-addr", self.address, "--archive", f"file:{self.folder}/archive", *flags)
        self.connections: list[Connection] = []
        self.threads: list[threading.Thread] = []

    def connect(self, application: str, **settings: str) -> Connection:
        connection = Connection(self.server.dir, self.server.port, "postgres", "postgres", application_name=application, **settings)
        self.connections.append(connection)
        return connection

    def later(self, connection: Connection, sql: str) -> None:
        def run() -> None:
            # (the test may end before the statement does)
            with contextlib.suppress(OSError, ServerGone):
                connection.query(sql)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.threads.append(thread)

    def close(self) -> None:
        for connection in self.connections:
            connection.close()
        for thread in self.threads:
            thread.join(10)
        self.server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    """A page, what it has asked for, and what the browser says against it."""

    def __init__(self, browser: object, size: str, **context: object):
        self.context = browser.new_context(viewport=SIZES[size], **context)  # type: ignore[attr-defined]
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.problems.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def picture(self, name: str) -> None:
        if arguments.pictures:
            self.page.screenshot(path=os.path.join(arguments.pictures, f"{name}.png"), full_page=True)

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())

    def waits_for(self, selector: str, text: str) -> None:
        self.page.locator(selector, has_text=text).first.wait_for(timeout=PATIENCE)


def eventually(what: str, condition: object) -> None:
    deadline = time.monotonic() + PATIENCE / 1000
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def with_browser(work: object) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
        try:
            work(browser)  # type: ignore[operator]
        finally:
            browser.close()


def busy() -> Busy:
    """`holder` has a row that `first` waits for, and `second` waits, too."""
    stage = Busy()
    admin = stage.connect("admin")
    admin.query("CREATE TABLE account (id int PRIMARY KEY, name text, balance numeric DEFAULT 0)")
    admin.query("CREATE INDEX account_name ON account (name)")
    admin.query("INSERT INTO account (id, name) SELECT n, 'name ' || n FROM generate_series(1, 2000) AS n")
    admin.query("ANALYZE")
    for n in range(20):
        admin.query(f"SELECT balance FROM account WHERE name = 'name {n}'")
    admin.query(f"SELECT '{WIDE_TEXT}' AS \"{'x' * 50}\" /* {WIDE_TEXT} */")
    admin.query("CREATE DATABASE other")
    holder = stage.connect("holder")
    holder.query("BEGIN")
    holder.query("UPDATE account SET balance = 1 WHERE id = 1")
    for name in ("first", "second"):
        waiter = stage.connect(name)
        stage.later(waiter, "UPDATE account SET balance = balance + 1 WHERE id = 1")
    clone = Connection(stage.server.dir, stage.server.port, "postgres", "copy", options="-c pgsqlite.clone=postgres")
    stage.connections.append(clone)
    clone.query("SELECT count(*) FROM account")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
    eventually("two sessions wait", lambda: admin.query(waiting) == [["2"]])
    return stage


def shows(browser: object, stage: Busy, size: str) -> None:
    page = Page(browser, size)
    page.page.goto(f"http://{stage.address}/")
    page.waits_for("#sessions", "holder")
    page.waits_for("#graph", "idle in transaction")
    page.waits_for("#relations", "account_name")
    # who waits for whom: the arrows are those of pg_blocking_pids
    edges = page.page.evaluate("[...document.querySelectorAll('#graph path[data-waiter]')].map((e) => [e.dataset.waiter, e.dataset.blocker])")
    assert len(edges) >= 2 and len({blocker for _, blocker in edges} - {waiter for waiter, _ in edges}) == 1, edges
    boxes = page.page.evaluate("[...document.querySelectorAll('#graph g')].map((g) => { const b = g.getBBox(); return [b.x, b.y, b.width, b.height] })")
    assert len(boxes) == 3, boxes
    for i, (x, y, width, height) in enumerate(boxes):
        assert all(x + width <= a or a + c <= x or y + height <= b or b + d <= y for a, b, c, d in boxes[:i]), boxes
    # what the database has
    sessions = page.text("#sessions")
    assert all(name in sessions for name in ("holder", "first", "second", "copy", "UPDATE account")), sessions
    assert "pgsqlite status page" not in sessions
    statements = page.text("#statements")
    assert "SELECT balance FROM account WHERE name = $1" in statements, statements
    assert WIDE_TEXT in statements, statements
    assert page.page.locator("#statements b").count() == 0
    used = page.page.locator("#relations tr", has_text="account_name").inner_text()
    assert "20 calls" in used, used
    assert "written back" in page.page.locator("#log .bar").get_attribute("aria-label")
    archive = page.text("#archive")
    assert "postgres" in archive and "Behind" in page.page.locator("#archive").text_content(), archive
    assert "copy" in page.text("#clones") and "postgres" in page.text("#clones")
    # a plan
    page.page.locator("#statements button", has_text="WHERE name = $1").click()
    page.waits_for("#statements pre", "account_name")
    plan = page.text("#statements pre")
    assert "Index" in plan, plan
    # nothing is cut off sideways
    wide = page.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{size}: {wide} pixels are off the screen"
    page.picture(size)
    # everything came from the server, and the browser has nothing against it
    assert page.problems == [], page.problems
    assert all(url.startswith(f"http://{stage.address}/") for url in page.requests), page.requests
    page.context.close()


@cases.test
def it_shows_a_busy_server_on_a_desktop_and_on_a_phone() -> None:
    stage = busy()
    try:
        with_browser(lambda browser: [shows(browser, stage, size) for size in SIZES])
    finally:
        stage.close()


@cases.test
def it_shows_how_far_a_standby_is() -> None:
    stage = busy()
    folder = os.path.join(stage.folder, "standby")
    os.mkdir(folder)
    address = f"127.0.0.1:{free_port()}"
    standby = Server("--data-dir", folder, "--status-addr", address, "--standby", f"file:{stage.folder}/archive")

    def look(browser: object) -> None:
        page = Page(browser, "phone")
        page.page.goto(f"http://{address}/")
        page.waits_for("#archive td", "postgres")
        # (labels of a phone's cells are from the style sheet)
        labels = page.page.evaluate("[...document.querySelectorAll('#archive td')].map((cell) => cell.dataset.label)")
        assert labels[:4] == ["Standby", "Behind", "Applied", "Failures"], labels
        page.picture("standby")
        assert page.problems == [], page.problems
        page.context.close()

    try:
        with_browser(look)
    finally:
        standby.stop()
        stage.close()


@cases.test
def it_is_live_and_reads_only() -> None:
    stage = busy()

    def look(browser: object) -> None:
        page = Page(browser, "desktop")
        page.page.goto(f"http://{stage.address}/")
        page.waits_for("#graph", "idle in transaction")
        admin = stage.connections[0]
        admin.query("SELECT pg_stat_statements_reset()")
        stage.connections[1].query("COMMIT")
        page.waits_for("#graph", "Nobody waits")
        late = stage.connect("came later")
        page.waits_for("#sessions", "came later")
        late.close()
        page.page.locator("#sessions", has_text="came later").wait_for(state="detached", timeout=PATIENCE)
        # another database, by its name in the address, too
        page.page.select_option("#database", "other")
        page.waits_for("#who", "postgres @ other")
        page.waits_for("#relations", "No tables.")
        assert page.page.url.endswith("?database=other"), page.page.url
        page.page.click("#pause")
        page.waits_for("#state", "paused")
        # its own statements are not among those that are counted
        counted = [row[0] for row in admin.query("SELECT query FROM pg_stat_statements")]
        assert not any("json_agg" in str(query) or "EXPLAIN" in str(query) for query in counted), counted
        # the server is gone: the page says so
        page.page.click("#pause")
        stage.server.stop()
        page.waits_for("#state.failed", "no answer")

    try:
        with_browser(look)
    finally:
        stage.close()


@cases.test
def it_asks_for_the_password_that_sql_asks_for() -> None:
    folder = tempfile.mkdtemp(prefix="pgsqlite-status.")
    address = f"127.0.0.1:{free_port()}"
    database = os.path.join(folder, "main.db")
    before = Server(database=database)
    admin = Connection(before.dir, before.port, "postgres", "postgres")
    admin.query("CREATE TABLE secret (a int)")
    admin.query("CREATE ROLE reader LOGIN PASSWORD 'right'")
    admin.close()
    before.stop()
    server = Server("--auth", "scram", "--status-addr", address, database=database)

    def look(browser: object) -> None:
        wrong = Page(browser, "desktop", http_credentials={"username": "reader", "password": "wrong"})
        answer = wrong.page.goto(f"http://{address}/")
        assert answer is not None and answer.status == 401, answer
        right = Page(browser, "desktop", http_credentials={"username": "reader", "password": "right"})
        right.page.goto(f"http://{address}/")
        right.waits_for("#who", "reader @")
        right.waits_for("#sessions", "No sessions.")
        right.picture("password")

    try:
        with_browser(look)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", help="the folder for pictures of the page")
    parser.add_argument("tests", nargs="*")
    parser.parse_args(namespace=arguments)
    if arguments.pictures:
        os.makedirs(arguments.pictures, exist_ok=True)
    if browser_path() is None:
        if os.environ.get("CI"):
            raise SystemExit("no browser: the Makefile installs one where it may")
        print("test-status: skipped, for want of a browser (Debian, Ubuntu: apt-get install chromium)")
        return 0
    return cases.run(arguments.tests)


if __name__ == "__main__":
    sys.exit(main())
