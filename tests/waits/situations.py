"""Scripts of several sessions: each checks that a wait holds nothing that others need, and that something ends it."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time

import pgwire
import server

# A wait that should be over at once is given so long: far more than it takes, far less than a hang.
SOON = 15


class Told(Exception):
    pass


class Later:
    """A statement that runs on a thread of its own."""

    def __init__(self, connection: pgwire.Connection, sql: str):
        self.lines: list[str] | None = None
        self.connection = connection
        self.sql = sql
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.lines = lines(self.connection, self.sql)
        except (OSError, pgwire.ServerGone, AttributeError) as error:
            self.lines = [f"gone {error}"]

    def result(self, seconds: float = SOON) -> list[str]:
        self.thread.join(seconds)
        if self.lines is None:
            raise Told(f"{self.sql!r} still waits after {seconds} s")
        return self.lines

    def waits(self) -> bool:
        return self.lines is None


def lines(connection: pgwire.Connection, sql: str, copied: bytes = b"") -> list[str]:
    out = []
    for kind, body in connection.simple(sql, copied):
        if kind == b"E":
            fields = pgwire.fields_of(body)
            out.append(f"{fields['C']} {fields['M']}" + (f" | {fields['D']}" if "D" in fields else ""))
        elif kind == b"D":
            out.append("|".join("" if v is None else v.decode() for v in pgwire.data_row(body)))
        elif kind == b"C":
            out.append(body[:-1].decode())
    return out


def expect(got: object, wanted: object, what: str) -> None:
    if got != wanted:
        raise Told(f"{what}: {got!r} instead of {wanted!r}")


class Room:
    def __init__(self, running: server.Server):
        self.running = running
        self.open: list[pgwire.Connection] = []

    def session(self, user: str = "postgres") -> pgwire.Connection:
        connection = pgwire.Connection(self.running.dir, self.running.port, user, "main", timeout=60)
        self.open.append(connection)
        return connection

    def until(self, looker: pgwire.Connection, condition: str, what: str) -> None:
        deadline = time.monotonic() + SOON
        while lines(looker, f"SELECT {condition}")[0] != "t":
            if time.monotonic() > deadline:
                raise Told(f"never: {what}")
            time.sleep(0.005)

    def until_blocked(self, looker: pgwire.Connection, connection: pgwire.Connection) -> None:
        self.until(looker, f"pg_blocking_pids({connection.pid}) <> '{{}}'", "a session waits")


SITUATIONS = []


def situation(*flags: str):
    def register(function):
        SITUATIONS.append((function, flags))
        return function

    return register


def numbered(room: Room, count: int) -> list[pgwire.Connection]:
    sessions = [room.session() for _ in range(count)]
    for session in sessions:
        session.pid = int(lines(session, "SELECT pg_backend_pid()")[0])
    return sessions


@situation()
def an_advisory_lock_against_the_writer_slot_is_a_deadlock_that_ends(room: Room) -> None:
    a, b, look = numbered(room, 3)
    lines(a, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0), (2, 0)")
    lines(a, "SELECT pg_advisory_lock(9)")
    lines(b, "BEGIN; UPDATE t SET v = 1 WHERE id = 1")
    locked = Later(b, "SELECT pg_advisory_lock(9)")
    room.until_blocked(look, b)
    expect(lines(look, f"SELECT wait_event_type, wait_event FROM pg_stat_activity WHERE pid = {b.pid}")[0], "Lock|advisory", "wait_event")
    expect(lines(look, f"SELECT mode, granted, waitstart IS NOT NULL FROM pg_locks WHERE locktype = 'advisory' AND pid = {b.pid}")[0],
           "ExclusiveLock|f|t", "pg_locks")
    updated = Later(a, "UPDATE t SET v = 2 WHERE id = 2")
    results = []
    for later in (locked, updated):
        later.thread.join(SOON)
    first = next((later for later in (locked, updated) if later.lines and later.lines[0].startswith("40P01")), None)
    if first is None:
        raise Told(f"no deadlock was found: {locked.lines} {updated.lines}")
    other = updated if first is locked else locked
    if first is locked:
        lines(b, "ROLLBACK")
    else:
        lines(a, "SELECT pg_advisory_unlock(9)")
    results = other.result()
    expect(results[-1], "UPDATE 1" if other is updated else "SELECT 1", "the other goes on")
    detail = first.lines[0].split(" | ")[1].split("\n")
    mine, theirs = (b, a) if first is locked else (a, b)
    waits = {b.pid: "ExclusiveLock on advisory lock [1,0,9,1]"}
    for line, (one, two) in zip(detail, [(mine, theirs), (theirs, mine)]):
        what = waits.get(one.pid) or line.split(" waits for ")[1].split(";")[0]
        expect(line, f"Process {one.pid} waits for {what}; blocked by process {two.pid}.", "the detail")


@situation()
def advisory_locks_in_a_circle(room: Room) -> None:
    a, b, look = numbered(room, 3)
    lines(a, "SELECT pg_advisory_lock(1)")
    lines(b, "SELECT pg_advisory_lock(2)")
    first = Later(a, "SELECT pg_advisory_lock(2)")
    room.until_blocked(look, a)
    second = Later(b, "DO $$ BEGIN PERFORM pg_advisory_lock(1); END $$")
    for later in (first, second):
        later.thread.join(SOON / 3)
    broken = [later for later in (first, second) if later.lines and later.lines[0].startswith("40P01 deadlock detected")]
    expect(len(broken), 1, f"victims of {first.lines} {second.lines}")
    loser, winner = (a, second) if broken[0] is first else (b, first)
    lines(loser, "SELECT pg_advisory_unlock_all()")
    winner.result()


@situation("--pool-size", "3")
def who_waits_for_an_advisory_lock_has_no_connection(room: Room) -> None:
    holder, look, *waiters = numbered(room, 12)
    lines(holder, "SELECT pg_advisory_lock(7)")
    later = [Later(w, "SELECT pg_advisory_lock(7)") for w in waiters]
    for w in waiters:
        room.until_blocked(look, w)
    expect(lines(holder, "SELECT pg_advisory_unlock(7)"), ["t", "SELECT 1"], "the holder works")
    while later:
        got = next((each for each in later if not each.waits()), None)
        if got is None:
            time.sleep(0.005)
            continue
        later.remove(got)
        expect(got.result(), ["", "SELECT 1"], "each gets it")
        expect(lines(got.connection, "SELECT pg_advisory_unlock(7)"), ["t", "SELECT 1"], "and gives it back")


@situation("--pool-size", "2")
def who_sleeps_has_no_connection(room: Room) -> None:
    look, *sleepers = numbered(room, 20)
    began = time.monotonic()
    later = [Later(s, "SELECT 1 AS before, pg_sleep(1), pg_sleep(0.2), 2 AS after") for s in sleepers]
    room.until(look, "(SELECT count(*) = 19 FROM pg_stat_activity WHERE wait_event = 'PgSleep')", "all sleep")
    for each in later:
        expect(each.result(), ["1|||2", "SELECT 1"], "a sleeper's row")
    if time.monotonic() - began < 1.2:
        raise Told("they slept too short")


@situation("--pool-size", "2")
def who_is_silent_in_a_block_has_no_connection(room: Room) -> None:
    first, *others = numbered(room, 12)
    lines(first, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT g, 0 FROM generate_series(1, 12) g")
    # each reads, sets a savepoint and changes a row of its own, while all the others are in their blocks, too
    for step in ("BEGIN", "SELECT sum(v) FROM t", "SAVEPOINT s", "UPDATE t SET v = {n} WHERE id = {n}", "SELECT v FROM t WHERE id = {n}", "COMMIT"):
        for n, session in enumerate(others, 1):
            got = lines(session, step.format(n=n))
            expect(got[-1].startswith(step.split(" ")[0]), True, f"{step}: {got}")
    expect(lines(first, "SELECT sum(v) FROM t"), ["66", "SELECT 1"], "what is stored")


@situation()
def rows_are_locked_beside_a_silent_schema_change(room: Room) -> None:
    ddl, locker, other = numbered(room, 3)
    lines(ddl, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 1)")
    lines(ddl, "BEGIN; CREATE TABLE made (n int)")
    # what is committed is what can be locked, and nobody waits for who keeps the writer slot
    lines(locker, "BEGIN")
    expect(Later(locker, "SELECT v FROM t WHERE id = 2 FOR UPDATE").result(), ["1", "SELECT 1"], "beside a schema change")
    expect(lines(other, "SELECT v FROM t WHERE id = 2 FOR UPDATE NOWAIT")[0][:5], "55P03", "a row that is locked")
    expect(lines(ddl, "UPDATE t SET v = 5 WHERE id = 2")[0][:5], "40P01", "who keeps the slot and meets the row")
    lines(ddl, "ROLLBACK")
    lines(locker, "COMMIT")
    # the holder goes on while the other looks for rows: then what it has committed is what is locked
    for size in (1_000_000, 4_000_000, 16_000_000):
        lines(ddl, "BEGIN; CREATE TABLE made (n int)")
        lines(locker, "BEGIN")
        locks = Later(locker, f"SELECT v FROM t WHERE id = 1 AND (SELECT count(*) FROM generate_series(1, {size})) > 0 FOR UPDATE")
        active = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%generate_series(1%FOR UPDATE' AND pid <> pg_backend_pid()"
        while locks.waits() and lines(other, active)[0] != "1":
            pass
        # (it reads by now, usually: if not, it waits for the slot and finds the change, too)
        time.sleep(0.1)
        changed = lines(ddl, "UPDATE t SET v = v + 1 WHERE id = 1")
        if changed == ["UPDATE 1"]:
            room.until_blocked(other, locker)
            expect(lines(ddl, "COMMIT"), ["COMMIT"], "the change")
            expect(locks.result(60), ["2", "SELECT 1"], "a row that was changed while it was looked for")
            return
        expect(changed[0][:5], "40P01", "the row was locked before")
        lines(ddl, "ROLLBACK")
        locks.result(60)
        lines(locker, "COMMIT")
    raise Told("the row was always locked before its change")


@situation()
def who_waits_for_a_transaction_does_not_wait_for_its_sessions_next(room: Room) -> None:
    holder, *waiting = numbered(room, 4)
    looker = room.session()
    lines(holder, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 1)")
    for value in (5, 9, 13):
        lines(holder, "BEGIN; UPDATE t SET v = v + 1 WHERE id = 1")
        later = []
        for connection in waiting:
            later.append(Later(connection, "UPDATE t SET v = v + 1 WHERE id = 1"))
            room.until_blocked(looker, connection)
        # the next transaction has begun, and holds another row, before the second of those that wait looks again
        lines(holder, "COMMIT; BEGIN; UPDATE t SET v = 0 WHERE id = 2")
        for statement in later:
            expect(statement.result(), ["UPDATE 1"], "after the transaction that had the row")
        expect(lines(looker, "SELECT v FROM t WHERE id = 1"), [str(value), "SELECT 1"], "all have updated")
        lines(holder, "ROLLBACK")


@situation()
def rows_wait_for_a_silent_transaction_that_may_have_changed_them(room: Room) -> None:
    ddl, locker, other = numbered(room, 3)
    lines(ddl, "CREATE SCHEMA __pgsqlite_s; CREATE TABLE __pgsqlite_s.t (id int, v int); INSERT INTO __pgsqlite_s.t VALUES (1, 0)")
    lines(ddl, "CREATE SCHEMA s; CREATE TABLE s.t (id int); INSERT INTO s.t VALUES (1)")
    lines(ddl, "CREATE TABLE whole (id int) PARTITION BY LIST (id); CREATE TABLE part PARTITION OF whole FOR VALUES IN (1); INSERT INTO whole VALUES (1)")
    for change, read, after in (
        ("CREATE TABLE made (n int); UPDATE __pgsqlite_s.t SET v = v + 1", "SELECT v FROM __pgsqlite_s.t FOR UPDATE", ["1", "SELECT 1"]),
        ("DROP SCHEMA s CASCADE", "SELECT id FROM s.t FOR UPDATE", ['42P01 relation "s.t" does not exist']),
        ("ALTER TABLE whole DETACH PARTITION part", "SELECT id FROM whole FOR UPDATE", ["SELECT 0"]),
        ("DO $$ BEGIN UPDATE __pgsqlite_s.t SET v = v + 1; END $$", "SELECT v FROM __pgsqlite_s.t FOR UPDATE", ["2", "SELECT 1"]),
    ):
        lines(ddl, f"BEGIN; {change}")
        lines(locker, "BEGIN")
        locks = Later(locker, read)
        room.until_blocked(other, locker)
        lines(ddl, "COMMIT")
        expect(locks.result(), after, f"{read} beside {change}")
        lines(locker, "ROLLBACK")


@situation()
def schema_changes_wait_for_tables_that_their_text_does_not_name(room: Room) -> None:
    writer, ddl, other = numbered(room, 3)
    objects = (
        "CREATE TABLE par (id int, v int); CREATE TABLE kid () INHERITS (par)",
        "CREATE TABLE whole (id int, v int) PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF whole FOR VALUES FROM (1) TO (10)",
        "CREATE TABLE rest PARTITION OF whole DEFAULT; CREATE TABLE alone (id int, v int)",
        'CREATE TABLE "a""b" (id int, v int); CREATE TABLE plain (id int, v int); CREATE DOMAIN dm AS int; CREATE TABLE d (x dm)',
        "CREATE TABLE r (id int PRIMARY KEY); CREATE TABLE c (i int); INSERT INTO r VALUES (1); INSERT INTO par VALUES (1, 1)",
        "CREATE SCHEMA s; CREATE TABLE s.t (id int); CREATE TABLE ch (i int REFERENCES r)",
    )
    for sql in objects:
        expect([line for line in lines(writer, sql) if line[:1].isdigit()], [], sql)
    # what the writer does; the schema change; what it answers once the writer has committed (None: that it waits is enough)
    cases = (
        ("INSERT INTO kid VALUES (7, 7)", "ALTER TABLE par ADD CHECK (v < 4)", "23514"),
        ("INSERT INTO whole VALUES (7, 7)", "ALTER TABLE whole ADD CHECK (v < 4)", "23514"),
        ('INSERT INTO "a""b" VALUES (1, 7)', 'ALTER TABLE "a""b" ADD CHECK (v < 4)', "23514"),
        ("INSERT INTO plain VALUES (1, 7)", 'ALTER TABLE U&"pl\\0061in" ADD CHECK (v < 4)', "23514"),
        ("INSERT INTO d VALUES (7)", "ALTER DOMAIN dm ADD CHECK (value < 4)", "23514"),
        ("INSERT INTO whole VALUES (15, 1)", "CREATE TABLE part2 PARTITION OF whole FOR VALUES FROM (10) TO (20)", "23514"),
        ("INSERT INTO alone VALUES (55, 1)", "ALTER TABLE whole ATTACH PARTITION alone FOR VALUES FROM (20) TO (30)", "23514"),
        ("DELETE FROM r", "ALTER TABLE c ADD FOREIGN KEY (i) REFERENCES r", None),
        ("UPDATE kid SET v = 5", "TRUNCATE par", None),
        ("INSERT INTO whole VALUES (8, 1)", "ALTER TABLE whole ADD COLUMN q int DEFAULT 3", None),
        ("INSERT INTO whole VALUES (9, 1)", "CREATE INDEX ON whole (id)", None),
        ("INSERT INTO kid VALUES (8, 1)", "ALTER TABLE par RENAME v TO vv", None),
        ("INSERT INTO s.t VALUES (1)", "DROP SCHEMA s CASCADE", None),
        ("INSERT INTO d VALUES (8)", "DROP DOMAIN dm CASCADE", None),
        ("INSERT INTO ch VALUES (NULL)", "TRUNCATE r CASCADE", None),
        ("INSERT INTO whole VALUES (9, 2)", "DROP TABLE whole", None),
    )
    for prepared in (False, True):
        for change, alter, answer in cases:
            if prepared and answer is None and alter.startswith(("DROP", "ALTER TABLE whole ADD COLUMN", "ALTER TABLE par RENAME")):
                continue
            lines(writer, "BEGIN")
            expect(lines(writer, change)[-1].split(" ")[0] in ("INSERT", "UPDATE", "DELETE"), True, change)
            if prepared:
                lines(writer, "PREPARE TRANSACTION 'p'")
            lines(ddl, "BEGIN")
            later = Later(ddl, alter)
            room.until_blocked(other, ddl)
            expect(lines(writer, "COMMIT PREPARED 'p'" if prepared else "COMMIT"), ["COMMIT PREPARED" if prepared else "COMMIT"], f"{change} beside {alter}")
            got = later.result()
            if answer is not None:
                expect(got[0][:5], answer, alter)
            else:
                expect(got[0][:1].isdigit(), False, f"{alter}: {got}")
            lines(ddl, "ROLLBACK")


@situation("--pool-size", "2")
def a_full_pool_of_waiters_is_a_cycle(room: Room) -> None:
    holder, first, second, look = numbered(room, 4)
    lines(holder, "CREATE TABLE t (a int)")
    lines(holder, "SELECT pg_advisory_lock(7)")
    body = "DO $$ BEGIN PERFORM pg_advisory_lock(7); PERFORM pg_advisory_unlock(7); END $$"
    waiting = [Later(s, body) for s in (first, second)]
    time.sleep(0.3)
    # both connections are those of waiters: this needs one
    expect(lines(holder, "SELECT pg_advisory_unlock(7)")[-1].split(" ")[0] in ("SELECT", "40P01"), True, "an end")
    for each in waiting:
        each.result()


@situation()
def a_client_that_is_gone_waits_no_more(room: Room) -> None:
    holder, look, *gone = numbered(room, 6)
    lines(holder, "CREATE TABLE t (a int PRIMARY KEY)")
    lines(holder, "SELECT pg_advisory_lock(5)")
    lines(holder, "BEGIN; INSERT INTO t VALUES (1)")
    texts = ["SELECT pg_advisory_lock(5)", "INSERT INTO t VALUES (1)", "SELECT pg_sleep(1000)", "DO $$ BEGIN PERFORM pg_sleep(1000); END $$"]
    for session, text in zip(gone, texts):
        session.send(b"Q", text.encode() + b"\0")
    room.until(look, "(SELECT count(*) = 4 FROM pg_stat_activity WHERE wait_event IS NOT NULL AND state = 'active')", "all four wait")
    for session in gone:
        session.sock.close()
    room.until(look, "(SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'client backend')", "their sessions are gone")
    lines(holder, "COMMIT")
    expect(lines(look, "SELECT a FROM t"), ["1", "SELECT 1"], "what is stored")


@situation()
def a_long_wait_is_logged_with_both_statements(room: Room) -> None:
    holder, waiter = numbered(room, 2)
    lines(holder, "CREATE TABLE t (a int PRIMARY KEY)")
    lines(holder, "BEGIN")
    lines(holder, "INSERT INTO t VALUES (111)")
    waiting = Later(waiter, "INSERT INTO t VALUES (111), (222)")
    deadline = time.monotonic() + SOON
    wanted = [f"process {waiter.pid} still waits", f"process {holder.pid} of user postgres holds it, idle in transaction for",
              "waiting statement: INSERT INTO t VALUES (111), (222)", "holder's statement: INSERT INTO t VALUES (111)"]
    while True:
        log = room.running.log_text().replace("\\n", "\n")
        missing = [w for w in wanted if w not in log]
        if not missing:
            break
        if time.monotonic() > deadline:
            raise Told(f"not in the log: {missing}; the log: {log}")
        time.sleep(0.05)
    lines(holder, "COMMIT")
    waiting.result()


@situation("--idle-writer-timeout", "1")
def a_silent_writer_is_ended_while_others_wait(room: Room) -> None:
    # DDL and COPY keep the writer slot
    for text in ("BEGIN; INSERT INTO t VALUES (1); CREATE TABLE u ()", "BEGIN; COPY t FROM STDIN", None):
        holder, waiter, look = numbered(room, 3)
        lines(look, "CREATE TABLE IF NOT EXISTS t (a int)")
        if text is None:
            # Execute and Flush, no Sync
            parse = b"\0INSERT INTO t VALUES (3)\0\0\0"
            for kind, body in ((b"P", parse), (b"B", b"\0\0" + b"\0\0" * 3), (b"E", b"\0" + b"\0" * 4), (b"H", b"")):
                holder.send(kind, body)
            while holder.receive()[0] != b"C":
                pass
        else:
            holder.send(b"Q", text.encode() + b"\0")
            while holder.receive()[0] not in (b"Z", b"G"):
                pass
        expect(Later(waiter, "INSERT INTO t VALUES (2)").result(), ["INSERT 0 1"], "the waiter")
        told = None
        while told is None:
            kind, body = holder.receive()
            if kind == b"E":
                told = pgwire.fields_of(body)
        expect((told["S"], told["C"]), ("FATAL", "25P03"), "the holder is told")
    # without anybody who waits nothing happens
    holder, look = numbered(room, 2)
    lines(holder, "BEGIN; INSERT INTO t VALUES (4); CREATE TABLE u ()")
    time.sleep(1.5)
    expect(lines(holder, "COMMIT"), ["COMMIT"], "nobody waited")


@situation("--writer-timeout", "1", "--idle-writer-timeout", "0")
def a_busy_writer_without_rights_is_ended_while_others_wait(room: Room) -> None:
    (look,) = numbered(room, 1)
    lines(look, "CREATE TABLE t (a int); CREATE ROLE nobody LOGIN; CREATE ROLE boss LOGIN SUPERUSER")

    def begun(user: str) -> pgwire.Connection:
        session = room.session(user)
        session.pid = int(lines(session, "SELECT pg_backend_pid()")[0])
        expect(lines(session, "BEGIN; SELECT lo_create(0) > 0"), ["BEGIN", "t", "SELECT 1"], "everybody may write")
        return session

    # the one speaks all the time, the other computes, the third is silent: idle_writer_timeout is off
    for way in ("speaks", "SELECT pg_sleep(100)", "SELECT count(*) FROM generate_series(1, 1000000000)", None):
        holder = begun("nobody")
        (waiter,) = numbered(room, 1)
        if way not in ("speaks", None):
            holder.send(b"Q", way.encode() + b"\0")
        waiting = Later(waiter, "INSERT INTO t VALUES (2)")
        told: object = None
        while told is None:
            if way == "speaks":
                with contextlib.suppress(OSError):  # it has ended meanwhile: what it is told is still to be read
                    holder.send(b"Q", b"SELECT 1\0")
            kind, body = holder.receive()
            if kind == b"E":
                fields = pgwire.fields_of(body)
                told = (fields["S"], fields["C"])
            elif kind == b"Z":
                time.sleep(0.01)
        expect(told, ("FATAL", "25P04"), f"the holder is told: {way}")
        expect(waiting.result(), ["INSERT 0 1"], f"the waiter: {way}")
    # a transaction that nobody waits for goes on, and a superuser's does in any case
    holder = begun("nobody")
    time.sleep(1.5)
    expect(lines(holder, "COMMIT"), ["COMMIT"], "nobody waited")
    holder = begun("boss")
    waiting = Later(look, "INSERT INTO t VALUES (3)")
    time.sleep(2)
    expect(lines(holder, "COMMIT"), ["COMMIT"], "a superuser")
    expect(waiting.result(), ["INSERT 0 1"], "the waiter")


@situation()
def lock_table_takes_no_slot_and_conflicts_as_in_postgresql(room: Room) -> None:
    a, b, look = numbered(room, 3)
    lines(a, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1); CREATE TABLE u (a int)")
    modes = ["ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"]
    conflicts = {1: [8], 2: [7, 8], 3: [5, 6, 7, 8], 4: [4, 5, 6, 7, 8], 5: [3, 4, 6, 7, 8], 6: [3, 4, 5, 6, 7, 8], 7: [2, 3, 4, 5, 6, 7, 8], 8: list(range(1, 9))}
    free = {"SELECT count(*) FROM t": 1, "SELECT id FROM t FOR UPDATE": 2, "UPDATE t SET v = v + 1": 3, "INSERT INTO t VALUES (5, 5)": 3,
            "CREATE INDEX i ON t (v)": 5, "ALTER TABLE t ADD COLUMN z int": 8, "INSERT INTO u VALUES (1)": 0, "CREATE TABLE z (a int)": 0}
    for i, mode in enumerate(modes, 1):
        lines(a, "BEGIN")
        expect(lines(a, f"LOCK TABLE t IN {mode} MODE"), ["LOCK TABLE"], "LOCK TABLE")
        for j, other in enumerate(modes, 1):
            lines(b, "BEGIN")
            got = lines(b, f"LOCK TABLE t IN {other} MODE NOWAIT")
            lines(b, "ROLLBACK")
            expect(got[0].startswith("55P03"), j in conflicts[i], f"{other} beside {mode}")
        for statement, needed in free.items():
            lines(b, "BEGIN; SET LOCAL lock_timeout = 150")
            got = lines(b, statement)
            lines(b, "ROLLBACK")
            expect(got[0].startswith("55P03"), bool(needed) and needed in conflicts[i], f"{statement} beside {mode}: {got}")
        lines(a, "ROLLBACK")
    # what a transaction has written before keeps the lock away
    lines(b, "BEGIN; UPDATE t SET v = 9")
    lines(a, "BEGIN")
    expect(lines(a, "LOCK TABLE t IN SHARE MODE NOWAIT")[0].startswith("55P03"), True, "a writer's lock")
    lines(a, "ROLLBACK; BEGIN")
    waiting = Later(a, "LOCK TABLE t IN SHARE MODE")
    room.until_blocked(look, a)
    lines(b, "COMMIT")
    expect(waiting.result(), ["LOCK TABLE"], "after the writer")
    expect(lines(a, "SELECT v FROM t"), ["9", "SELECT 1"], "what the writer left")
    lines(a, "COMMIT")
    # writes that are not in the statement's text wait, too
    lines(a, "CREATE FUNCTION fw() RETURNS int LANGUAGE plpgsql AS 'BEGIN UPDATE t SET v = 10; RETURN 1; END'")
    lines(a, "CREATE TABLE c (id int PRIMARY KEY REFERENCES t ON DELETE CASCADE); INSERT INTO c VALUES (1)")
    lines(a, "BEGIN; LOCK TABLE t, c IN EXCLUSIVE MODE")
    for text in ("SELECT fw()", "DO $$ BEGIN PERFORM fw(); END $$", "DELETE FROM t", "TRUNCATE c", "DROP TABLE t CASCADE"):
        lines(b, "BEGIN; SET LOCAL lock_timeout = 150")
        expect(lines(b, text)[0].split(" ")[0], "55P03", text)
        lines(b, "ROLLBACK")
    lines(a, "COMMIT")


@situation()
def a_locked_table_is_heeded_by_what_reaches_it_unnamed(room: Room) -> None:
    """Each statement waits for LOCK TABLE t in these modes (S, E, A), as in PostgreSQL 15: its text does not name the table."""
    a, b = numbered(room, 2)
    lines(
        a,
        """CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1); CREATE TABLE u (a int);
        CREATE FUNCTION fw() RETURNS int LANGUAGE plpgsql AS 'BEGIN UPDATE t SET v = 10; RETURN 1; END';
        CREATE FUNCTION fr() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
        CREATE VIEW tv AS SELECT * FROM t; CREATE TABLE w (a int, b int DEFAULT fw()); CREATE TABLE w2 (a int, b int DEFAULT fr());
        CREATE MATERIALIZED VIEW mf AS SELECT fw() WITH NO DATA;
        CREATE TABLE ref (id int PRIMARY KEY REFERENCES t, z int); INSERT INTO ref VALUES (1, 1)""",
    )
    waits = {
        "CREATE TABLE x AS SELECT fw()": "SEA",
        "CREATE TEMP TABLE x AS SELECT fw()": "SEA",
        "SELECT fw() INTO x": "SEA",
        "CREATE MATERIALIZED VIEW x AS SELECT fw()": "SEA",
        "REFRESH MATERIALIZED VIEW mf": "SEA",
        "INSERT INTO w VALUES (1)": "SEA",
        "COPY w (a) FROM STDIN": "SEA",
        "CREATE TABLE x AS SELECT * FROM tv": "A",
        "CREATE TEMP TABLE x AS SELECT * FROM tv": "A",
        "SELECT * INTO x FROM tv": "A",
        "SELECT * INTO TEMP x FROM tv": "A",
        "INSERT INTO ref VALUES (2, 2)": "EA",
        "COPY ref FROM STDIN": "EA",
        "UPDATE ref SET z = z + 1": "",
        "DELETE FROM ref": "",
        "CREATE TABLE x AS SELECT fr() FROM u": "",
        "INSERT INTO w2 VALUES (1)": "",
        "COPY u FROM STDIN": "",
    }
    for letter, mode in (("S", "SHARE"), ("E", "EXCLUSIVE"), ("A", "ACCESS EXCLUSIVE")):
        lines(a, f"BEGIN; LOCK TABLE t IN {mode} MODE")
        for text, modes in waits.items():
            lines(b, "BEGIN; SET LOCAL lock_timeout = 150")
            got = lines(b, text, b"7\t7\n" if "ref" in text else b"7\n")
            lines(b, "ROLLBACK")
            expect(got[0].startswith("55P03"), letter in modes, f"{text} beside {mode}: {got}")
        lines(a, "ROLLBACK")
    # what rows are referenced by is heeded where keys change, and no other table
    lines(a, "BEGIN; LOCK TABLE u, ref IN ACCESS EXCLUSIVE MODE")
    for text, refused in {"UPDATE t SET v = 5": False, "DELETE FROM t": True}.items():
        lines(b, "BEGIN; SET LOCAL lock_timeout = 150")
        expect(lines(b, text)[0].startswith("55P03"), refused, f"{text} beside the referencing table")
        lines(b, "ROLLBACK")
    lines(a, "ROLLBACK; BEGIN; LOCK TABLE u IN ACCESS EXCLUSIVE MODE")
    lines(b, "BEGIN; SET LOCAL lock_timeout = 150")
    expect(lines(b, "UPDATE t SET id = 1"), ["UPDATE 1"], "beside another table")
    lines(b, "ROLLBACK")
    lines(a, "ROLLBACK")


@situation()
def on_conflict_locks_the_row_that_its_condition_leaves(room: Room) -> None:
    a, b = numbered(room, 2)
    lines(a, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 2)")
    upsert = "INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = 9 WHERE t.v > 100"
    for block, kept in ((f"BEGIN; {upsert}", True), (upsert, False), ("BEGIN; INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO NOTHING", False)):
        lines(a, block)
        for text, refused in (
            ("SELECT * FROM t WHERE id = 1 FOR NO KEY UPDATE NOWAIT", True),
            ("SELECT * FROM t WHERE id = 1 FOR KEY SHARE NOWAIT", False),
            ("SELECT * FROM t WHERE id = 2 FOR UPDATE NOWAIT", False),
            ("UPDATE t SET v = v WHERE id = 1", True),
            ("INSERT INTO t VALUES (1, 6) ON CONFLICT (id) DO UPDATE SET v = 9 WHERE t.v > 100", True),
        ):
            lines(b, "BEGIN; SET LOCAL lock_timeout = 150")
            expect(lines(b, text)[0].startswith("55P03"), refused and kept, f"{text} beside {block}")
            lines(b, "ROLLBACK")
        lines(a, "ROLLBACK")
    # a key that the condition would have let change
    lines(a, "BEGIN; INSERT INTO t VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET id = 7 WHERE false")
    expect(lines(b, "SELECT * FROM t WHERE id = 1 FOR KEY SHARE NOWAIT")[0].split(" ")[0], "55P03", "a key's lock")
    lines(a, "ROLLBACK")


@situation()
def a_transaction_that_wrote_nothing_holds_nobody_up(room: Room) -> None:
    a, b = numbered(room, 2)
    lines(a, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1)")
    lines(a, "CREATE ROLE nobody LOGIN")
    for text in (
        "BEGIN; UPDATE t SET v = 1 WHERE false",
        "BEGIN; DELETE FROM t WHERE id = 77",
        "BEGIN; SELECT * FROM t WHERE id = 77 FOR UPDATE",
        "BEGIN; SELECT 1 FROM (VALUES (1)) v FOR UPDATE",
        "BEGIN; LOCK TABLE t IN ACCESS SHARE MODE",
        "BEGIN; SAVEPOINT s; UPDATE t SET v = 5; ROLLBACK TO s",
        "BEGIN; SAVEPOINT s; CREATE TABLE x (a int); ROLLBACK TO s",
        "BEGIN; INSERT INTO t VALUES (1, 1) ON CONFLICT DO NOTHING",
    ):
        lines(a, text)
        lines(b, "SET lock_timeout = '2s'")
        expect(lines(b, "UPDATE t SET v = v + 1"), ["UPDATE 1"], f"beside {text}")
        before = lines(a, "SELECT v FROM t")[0]
        expect(lines(a, "UPDATE t SET v = v + 100"), ["UPDATE 1"], f"later in {text}")
        expect(lines(a, "COMMIT"), ["COMMIT"], text)
        expect(lines(b, "SELECT v FROM t")[0], str(int(before) + 100), f"what {text} left")


@situation()
def a_silent_writer_is_in_the_way_of_its_rows_alone(room: Room) -> None:
    """What others do every day beside a transaction that has written or locked one row, and says nothing."""
    a, b = numbered(room, 2)
    lines(a, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0), (2, 0), (3, 0); CREATE TABLE o (a int); CREATE SEQUENCE s")
    lines(a, "CREATE FUNCTION writes() RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO o VALUES (1); RETURN 1; END'")
    lines(b, "SET lock_timeout = '5s'; CREATE TEMP TABLE mine (a int)")
    wrote = [
        ("UPDATE t SET v = 2 WHERE id = 2", "UPDATE 1"),
        ("INSERT INTO o VALUES (1)", "INSERT 0 1"),
        ("UPDATE t SET v = 2 WHERE id = 1 AND false", "UPDATE 0"),
        ("SELECT id FROM t WHERE id = 2 FOR UPDATE", "SELECT 1"),
        ("SELECT id FROM t WHERE id = 2 FOR UPDATE NOWAIT", "SELECT 1"),
        ("SELECT id FROM t WHERE id = 2 FOR SHARE", "SELECT 1"),
        ("SELECT id FROM t WHERE id = 1 FOR UPDATE NOWAIT", '55P03 could not obtain lock on row in relation "t"'),
        ("SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED", "SELECT 1"),
        ("CREATE TABLE made (a int)", "CREATE TABLE"),
        ("CREATE INDEX ON o (a)", "CREATE INDEX"),
        ("CREATE TEMP TABLE other (a int)", "CREATE TABLE"),
        ("INSERT INTO mine VALUES (1)", "INSERT 0 1"),
        ("SELECT nextval('s')", "SELECT 1"),
        ("SELECT setval('s', 5)", "SELECT 1"),
        ("SELECT pg_advisory_lock(77)", "SELECT 1"),
        ("ANALYZE o", "ANALYZE"),
        ("VACUUM o", "VACUUM"),
        ("TRUNCATE o", "TRUNCATE TABLE"),
        ("SELECT writes()", "SELECT 1"),
        ("CREATE ROLE somebody", "CREATE ROLE"),
    ]
    for sql, wanted in wrote:
        lines(a, "BEGIN; UPDATE t SET v = v + 1 WHERE id = 1")
        expect(lines(b, sql)[-1], wanted, sql)
        expect(lines(a, "COMMIT"), ["COMMIT"], sql)
    locked = [
        ("SELECT 1 FROM t WHERE id = 1 FOR UPDATE", "UPDATE t SET v = v + 1 WHERE id = 2", "UPDATE 1"),
        ("SELECT 1 FROM t WHERE id = 1 FOR SHARE", "SELECT 1 FROM t WHERE id = 1 FOR SHARE", "SELECT 1"),
        ("SELECT 1 FROM t WHERE id = 1 FOR KEY SHARE", "UPDATE t SET v = v + 1 WHERE id = 1", "UPDATE 1"),
        ("CREATE TEMP TABLE own (a int)", "UPDATE t SET v = v + 1 WHERE id = 1", "UPDATE 1"),
        ("LOCK TABLE t IN ACCESS EXCLUSIVE MODE", "INSERT INTO o VALUES (1)", "INSERT 0 1"),
        ("LOCK TABLE t IN SHARE MODE", "BEGIN; LOCK TABLE t IN SHARE MODE; COMMIT", "COMMIT"),
    ]
    for held, sql, wanted in locked:
        lines(a, f"BEGIN; {held}")
        expect(lines(b, sql)[-1], wanted, f"{sql} beside {held}")
        lines(a, "ROLLBACK")
    # a snapshot meets commits that do not concern what it writes
    for level in "REPEATABLE READ", "SERIALIZABLE":
        for sql in "INSERT INTO o VALUES (2)", "UPDATE t SET v = 9 WHERE id = 2", "SELECT nextval('s')", "ANALYZE o":
            lines(a, f"BEGIN ISOLATION LEVEL {level}; SELECT v FROM t WHERE id = 1")
            lines(b, sql)
            expect(lines(a, "UPDATE t SET v = 7 WHERE id = 1"), ["UPDATE 1"], f"{level}, {sql}")
            expect(lines(a, "COMMIT"), ["COMMIT"], f"{level}, {sql}")


@situation("--log-refused", "FILE")
def refused_statements_are_logged_as_json(room: Room) -> None:
    (a,) = numbered(room, 1)
    lines(a, "SET application_name = 'ä app'")  # PostgreSQL shows "?" for each byte that is not ASCII
    lines(a, "SELECT 1/0")
    got = lines(a, "CREATE TABLE t (a int) TABLESPACE nowhere; ")
    text = "SELECT 'ä', 1 FROM generate_series(1,2); CLUSTER pg_class"
    got = lines(a, text)[-1]
    path = os.path.join(room.running.dir, "refused.jsonl")
    with open(path, encoding="utf-8") as file:
        written = [json.loads(line) for line in file]
    if not got.startswith("0A000"):
        raise Told(f"the test needs another refused statement: {got}")
    last = written[-1]
    expect((last["sqlstate"], last["statement"], last["user"], last["database"], last["application_name"], last["pid"]),
           ("0A000", text, "postgres", "main", "\\xc3\\xa4 app", a.pid), "the line")
    expect(all(w["sqlstate"] in ("0A000", "XX000") for w in written), True, "only refusals")


@situation()
def numbers_are_given_beside_a_silent_writer(room: Room) -> None:
    a, b = numbered(room, 2)
    lines(a, "CREATE TABLE t (v int); CREATE SEQUENCE s; CREATE SEQUENCE down INCREMENT -2; SELECT nextval('s'), nextval('down')")
    # a block that has only taken numbers has nothing that others wait for
    lines(a, "BEGIN; SELECT nextval('s')")
    lines(b, "SET lock_timeout = '5s'")
    expect(lines(b, "INSERT INTO t VALUES (1)"), ["INSERT 0 1"], "beside a block that took a number")
    lines(a, "COMMIT")
    # numbers that were stored ahead are given while somebody else writes
    lines(b, "BEGIN; INSERT INTO t VALUES (2)")
    lines(a, "SET lock_timeout = '5s'")
    given = [int(lines(a, "SELECT nextval('s')")[0]) for _ in range(20)]
    expect(given, list(range(3, 23)), "numbers")
    expect([int(lines(a, "SELECT nextval('down')")[0]) for _ in range(10)], list(range(-3, -23, -2)), "numbers downwards")
    lines(b, "COMMIT")
    # after a crash none comes again
    room.running.kill()
    with server.Server(directory=room.running.dir) as again:
        connection = pgwire.Connection(again.dir, again.port, "postgres", "main")
        expect(int(lines(connection, "SELECT nextval('s')")[0]) > 22, True, "a number after a crash")
        expect(int(lines(connection, "SELECT nextval('down')")[0]) < -21, True, "a number downwards after a crash")
        connection.close()


@situation()
def other_programs_are_waited_for_as_sessions_are(room: Room) -> None:
    a, look = numbered(room, 2)
    lines(a, "CREATE TABLE t (v int); CREATE TEMP TABLE mine (v int)")
    other = sqlite3.connect(room.running.database, isolation_level=None)
    try:
        for begin in ("", "BEGIN; INSERT INTO mine VALUES (1);"):
            other.execute("BEGIN IMMEDIATE")
            lines(a, f"SET lock_timeout = '300ms'; {begin}")
            got = lines(a, "INSERT INTO t VALUES (1)")[0]
            expect(got, "55P03 canceling statement due to lock timeout | Another program has the database file locked.", "lock_timeout")
            lines(a, f"ROLLBACK; SET lock_timeout = 0; {begin}")
            waiting = Later(a, "INSERT INTO t VALUES (2)")
            room.until(look, f"(SELECT wait_event = 'OtherProgram' FROM pg_stat_activity WHERE pid = {a.pid})", "it waits")
            lines(look, f"SELECT pg_cancel_backend({a.pid})")
            expect(waiting.result()[0][:5], "57014", "a cancel request")
            lines(a, f"ROLLBACK; {begin}")
            waiting = Later(a, "INSERT INTO t VALUES (3)")
            deadline = time.monotonic() + SOON
            wanted = f"process {a.pid} still waits for another program's lock on the database file"
            while wanted not in room.running.log_text():
                if time.monotonic() > deadline:
                    raise Told(f"not in the log: {wanted}")
                time.sleep(0.05)
            other.execute("INSERT INTO t VALUES (77)")
            other.execute("COMMIT")
            expect(waiting.result(), ["INSERT 0 1"], "when the other program is done")
            lines(a, "COMMIT")
        expect(lines(look, "SELECT count(*) FROM t")[0], "4", "all rows")
    finally:
        other.close()


@situation()
def what_was_dropped_meanwhile_is_passed_over(room: Room) -> None:
    a, b, look = numbered(room, 3)
    for text, wanted in (
        ("VACUUM part1, part2", ["VACUUM"]), ("ANALYZE part1, part2", ["ANALYZE"]), ("VACUUM (ANALYZE) part1, part2", ["VACUUM"]),
        ("REINDEX TABLE part2", ["42P01 relation \"part2\" does not exist"]), ("REINDEX SCHEMA public", ["REINDEX"]), ("ANALYZE", ["ANALYZE"]),
    ):
        lines(a, "CREATE TABLE parted (a int PRIMARY KEY) PARTITION BY LIST (a); CREATE TABLE part1 PARTITION OF parted FOR VALUES IN (1); "
                 "CREATE TABLE part2 PARTITION OF parted FOR VALUES IN (2)")
        lines(a, "BEGIN; LOCK part1 IN SHARE MODE; DROP TABLE part2")
        waiting = Later(b, text)
        room.until_blocked(look, b)
        lines(a, "COMMIT")
        expect(waiting.result(), wanted, text)
        # made by one connection, and looked up by another that has not seen it yet
        lines(a, "DROP TABLE parted; CREATE TABLE fresh (a int PRIMARY KEY)")
        expect(lines(b, "REINDEX TABLE fresh"), ["REINDEX"], "a table that another session has just made")
        lines(a, "DROP TABLE fresh")


@situation()
def a_partition_is_detached_when_its_references_are_known(room: Room) -> None:
    a, b, look = numbered(room, 3)
    for how in ("", " CONCURRENTLY"):
        lines(a, "CREATE TABLE p (a int PRIMARY KEY) PARTITION BY LIST (a); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); "
                 "CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2); INSERT INTO p VALUES (1), (2); CREATE TABLE f (a int REFERENCES p)")
        lines(a, "BEGIN; INSERT INTO f VALUES (1)")
        waiting = Later(b, "ALTER TABLE p DETACH PARTITION p1" + how)
        room.until_blocked(look, b)
        lines(a, "COMMIT")
        expect(waiting.result()[0][:5], "23503", "DETACH" + how)
        expect(lines(look, "SELECT count(*) FROM p")[0], "2", "the partition is there")
        lines(a, "DELETE FROM f")
        lines(a, "BEGIN; SELECT * FROM p")
        waiting = Later(b, "ALTER TABLE p DETACH PARTITION p1" + how)
        room.until_blocked(look, b)
        if how:
            # others use the table meanwhile, without the partition
            expect(lines(look, "SELECT * FROM p"), ["2", "SELECT 1"], "another reader")
            expect(lines(look, "INSERT INTO f VALUES (1)")[0][:5], "23503", "a reference to a row that goes")
            expect(lines(a, "SELECT * FROM p"), ["2", "SELECT 1"], "the reader")
        lines(a, "COMMIT")
        expect(waiting.result(), ["ALTER TABLE"], "DETACH" + how)
        lines(a, "DROP TABLE f, p, p1")


@situation()
def a_block_that_changes_temporary_tables_is_in_nobodys_way(room: Room) -> None:
    a, b = numbered(room, 2)
    lines(a, "CREATE TABLE t (v int)")
    lines(b, "SET lock_timeout = '5s'")
    lines(a, "BEGIN; CREATE TEMP TABLE m AS SELECT 1 AS v; INSERT INTO m SELECT count(*) FROM t")
    # the log is written back and grows meanwhile; the block sees each commit
    for i in range(1, 60):
        expect(lines(b, "INSERT INTO t SELECT generate_series(1, 200)"), ["INSERT 0 200"], "a writer beside it")
        if i % 7 == 0:
            lines(b, "CHECKPOINT")
        expect(lines(a, "INSERT INTO m SELECT count(*) FROM t")[0], "INSERT 0 1", "into the temporary table")
        expect(lines(a, "SELECT max(v), (SELECT count(*) FROM t) FROM m")[0], f"{200 * i}|{200 * i}", "what is committed")
    lines(a, "DELETE FROM t WHERE v > 1")
    expect(lines(a, "COMMIT"), ["COMMIT"], "the block")
    expect(lines(b, "SELECT count(*) FROM t")[0], "59", "what it has written")


@situation()
def ddl_waits_for_the_relations_that_it_names_alone(room: Room) -> None:
    a, b = numbered(room, 2)
    lines(a, "CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE other (v int); CREATE TRIGGER checked BEFORE UPDATE ON other FOR EACH ROW "
             "EXECUTE FUNCTION suppress_redundant_updates_trigger()")
    lines(b, "SET lock_timeout = '400ms'")
    lines(a, "BEGIN; LOCK TABLE other IN ACCESS EXCLUSIVE MODE")
    for beside in (
        "CREATE TABLE child (id int REFERENCES parent ON DELETE CASCADE)", "COMMENT ON TABLE parent IS 'beside other'", "ALTER TABLE parent ADD other int",
        "CREATE INDEX other_of_parent ON parent (other)", "CREATE VIEW others AS SELECT 'other' AS v, other FROM parent",
    ):
        expect(lines(b, beside)[0][:6], beside[:6], beside)
    for named in (
        "DROP TABLE other", "COMMENT ON COLUMN other.v IS 'a value'", "DROP TRIGGER checked ON other", "CREATE VIEW all_others AS SELECT * FROM parent, other",
        "CREATE TABLE like_it (LIKE other)", "CREATE TABLE heir () INHERITS (other)", "CREATE INDEX ON other (v)", "ALTER TABLE other RENAME v TO w",
        "CREATE POLICY p ON other", "CREATE RULE r AS ON INSERT TO parent DO ALSO INSERT INTO other VALUES (1)", "TRUNCATE other", "REINDEX TABLE other",
    ):
        expect(lines(b, named)[0][:5], "55P03", named)
    lines(a, "ROLLBACK")
    expect(lines(b, "DROP TABLE other"), ["DROP TABLE"], "when the lock is free")


@situation()
def an_upsert_with_triggers_tells_of_a_row_that_its_snapshot_lacks(room: Room) -> None:
    a, b = numbered(room, 2)
    lines(a, "CREATE TABLE t (id int PRIMARY KEY, v int); CREATE FUNCTION same() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'; "
             "CREATE TRIGGER same BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION same()")
    for i, conflict in enumerate(("DO NOTHING", "DO UPDATE SET v = excluded.v")):
        lines(b, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t")
        lines(a, f"INSERT INTO t VALUES ({i}, 0)")
        got = lines(b, f"INSERT INTO t VALUES ({i}, 1) ON CONFLICT (id) {conflict}")
        expect(got, ["40001 could not serialize access due to concurrent update"], conflict)
        lines(b, "ROLLBACK")


@situation()
def what_a_statement_reads_is_known_by_its_tables_and_not_by_words(room: Room) -> None:
    """Who waits for whom is as in PostgreSQL 15."""
    a, b = numbered(room, 2)
    lines(
        a,
        """CREATE TABLE named (v int); CREATE TABLE u (id int, named int); INSERT INTO u VALUES (1, 2); CREATE TABLE source (v int); INSERT INTO source VALUES (1);
        CREATE TABLE fired (v int); CREATE FUNCTION same() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
        CREATE TRIGGER same BEFORE INSERT ON fired FOR EACH ROW EXECUTE FUNCTION same();
        CREATE TABLE logged (v int); CREATE TABLE ruled (v int); CREATE RULE r AS ON INSERT TO ruled DO ALSO INSERT INTO logged SELECT v FROM source;
        CREATE TABLE parts (v int) PARTITION BY LIST (v); CREATE TABLE part PARTITION OF parts DEFAULT; CREATE VIEW says AS SELECT 'temp."x"'::text AS s""",
    )
    lines(b, "SET lock_timeout = '400ms'")
    # a column is no table
    lines(a, "BEGIN; LOCK TABLE named IN ACCESS EXCLUSIVE MODE")
    expect(lines(b, "SELECT named FROM u"), ["2", "SELECT 1"], "a column of the name")
    expect(lines(b, "SELECT FROM named")[0][:5], "55P03", "the table")
    lines(a, "ROLLBACK")
    # what stands for its partitions is read with them
    lines(a, "BEGIN; LOCK TABLE ONLY parts IN ACCESS EXCLUSIVE MODE")
    expect(lines(b, "SELECT FROM parts")[0][:5], "55P03", "a partitioned table")
    expect(lines(b, "SELECT FROM part"), ["SELECT 0"], "its partition")
    lines(a, "ROLLBACK")
    # what a block has read, whoever carries the statement out
    for text in ("INSERT INTO fired SELECT v FROM source", "INSERT INTO ruled VALUES (3)", "SELECT FROM source"):
        lines(a, f"BEGIN; {text}")
        got = lines(b, "BEGIN; LOCK TABLE source IN ACCESS EXCLUSIVE MODE NOWAIT")
        expect(got[-1][:5], "55P03", f"beside {text}")
        lines(b, "ROLLBACK")
        lines(a, "ROLLBACK")
    # a string that looks like a temporary table is none
    got = lines(a, "BEGIN; SELECT * FROM says; PREPARE TRANSACTION 'no temporary table'")
    expect(got[-1], "PREPARE TRANSACTION", "a string")
    lines(a, "ROLLBACK PREPARED 'no temporary table'")


@situation()
def a_block_put_aside_sees_its_own_rows_by_whatever_reads_them(room: Room) -> None:
    a, b = numbered(room, 2)
    lines(
        a,
        """CREATE TABLE docs (v tsvector); CREATE TABLE aliases (t tsquery, s tsquery); CREATE TABLE gone (v int); INSERT INTO gone VALUES (1), (2);
        CREATE TABLE other (v int)""",
    )
    lines(a, "BEGIN; INSERT INTO docs VALUES ('cat dog'); INSERT INTO aliases VALUES ('cat', 'kitten'); WITH unread AS (SELECT 1) DELETE FROM gone")
    for read, wanted in (
        ("SELECT word FROM ts_stat('SELECT v FROM docs') ORDER BY 1", ["cat", "dog", "SELECT 2"]),
        ("SELECT ts_rewrite('cat'::tsquery, 'SELECT t, s FROM aliases')", ["'kitten'", "SELECT 1"]),
        ("SELECT count(*) FROM gone", ["0", "SELECT 1"]),
    ):
        # (b takes the slot, for which a's changes are put aside)
        expect(lines(b, "INSERT INTO other VALUES (1)"), ["INSERT 0 1"], "beside the silent block")
        expect(lines(a, read), wanted, read)
    expect(lines(b, "INSERT INTO other VALUES (1)"), ["INSERT 0 1"], "beside the silent block")
    expect(lines(a, "COMMIT"), ["COMMIT"], "the block")
    expect(lines(b, "SELECT count(*) FROM gone"), ["0", "SELECT 1"], "after the block")


@situation()
def a_change_that_foreign_keys_look_at_gives_the_slot_back(room: Room) -> None:
    a, b = numbered(room, 2)
    lines(a, "CREATE TABLE o (i int PRIMARY KEY, v int); INSERT INTO o VALUES (1, 0), (2, 0)")
    lines(a, "CREATE TABLE p (id int PRIMARY KEY, v int); CREATE TABLE c (pid int REFERENCES p); INSERT INTO p VALUES (1, 1), (2, 1); INSERT INTO c VALUES (1)")
    for change in (
        "MERGE INTO p USING (VALUES (1)) s (i) ON p.id = s.i WHEN MATCHED THEN UPDATE SET v = 3",
        "WITH n AS (INSERT INTO c VALUES (2) RETURNING pid) UPDATE p SET v = 4 FROM n WHERE p.id = n.pid",
        "WITH n AS (DELETE FROM c WHERE pid = 2 RETURNING pid) DELETE FROM p USING n WHERE p.id = n.pid",
        "WITH n AS (INSERT INTO c VALUES (7)) INSERT INTO p VALUES (7, 1)",
    ):
        lines(a, "BEGIN")
        expect(lines(a, change)[-1].split(" ")[0] in ("MERGE", "UPDATE", "DELETE", "INSERT"), True, change)
        for lock in ("NOWAIT", "SKIP LOCKED"):
            expect(lines(b, f"SELECT i FROM o WHERE i = 1 FOR UPDATE {lock}"), ["1", "SELECT 1"], f"{lock} beside {change}")
        expect(lines(b, "UPDATE o SET v = v + 1 WHERE i = 2"), ["UPDATE 1"], f"beside {change}")
        # (what is violated then is told by the statement, as before)
        expect(lines(a, "INSERT INTO c VALUES (99)")[0][:5], "23503", "a violation after it")
        lines(a, "ROLLBACK")
    expect(lines(b, "SELECT v FROM o WHERE i = 2"), ["4", "SELECT 1"], "all others")


@situation()
def schema_changes_wait_for_readers_where_their_locks_conflict(room: Room) -> None:
    reader, ddl = numbered(room, 2)
    lines(ddl, "CREATE TABLE p (i int PRIMARY KEY); CREATE TABLE t (i int, n int); CREATE INDEX x ON t (i); INSERT INTO t SELECT i, i FROM generate_series(1, 9) i")
    lines(ddl, "ALTER TABLE t ADD CONSTRAINT k CHECK (n > 0) NOT VALID; ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (i) REFERENCES p NOT VALID; INSERT INTO p SELECT generate_series(1, 9)")
    lines(ddl, "DELETE FROM t WHERE i = 1; SET lock_timeout = 300")
    # PostgreSQL's answers
    for change, waits in (
        ("ALTER TABLE t VALIDATE CONSTRAINT k", False),
        ("ALTER TABLE t VALIDATE CONSTRAINT f", False),
        ("ALTER TABLE t ADD CONSTRAINT g FOREIGN KEY (n) REFERENCES p ON DELETE CASCADE", False),
        ("ALTER TABLE t ALTER n SET STATISTICS 100", False),
        ("ALTER TABLE t ALTER n SET (n_distinct = 5)", False),
        ("ALTER TABLE t SET (fillfactor = 70, autovacuum_enabled = off)", False),
        ("ALTER TABLE t RESET (fillfactor)", False),
        ("ALTER INDEX x RENAME TO y", False),
        ("ALTER TABLE t VALIDATE CONSTRAINT k, ALTER n SET DEFAULT 4", True),
        ("ALTER TABLE t ALTER n SET NOT NULL", True),
        ("ALTER TABLE t ADD CHECK (n > 0)", True),
        ("ALTER TABLE t RENAME n TO m", True),
        ("ALTER TABLE t DROP CONSTRAINT g", True),
    ):
        for level in ("READ COMMITTED", "REPEATABLE READ"):
            lines(reader, f"BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM t")
            lines(ddl, "BEGIN")
            got = lines(ddl, change)
            expect(got[0][:5] if waits else got, "55P03" if waits else ["ALTER INDEX" if " INDEX " in change else "ALTER TABLE"], f"{change} beside {level}")
            lines(ddl, "ROLLBACK")
            expect(lines(reader, "SELECT count(*) FROM t; COMMIT"), ["8", "SELECT 1", "COMMIT"], f"the reader beside {change}")


@situation()
def rows_keep_their_numbers_when_a_foreign_key_makes_their_table_anew(room: Room) -> None:
    locker, ddl, other = numbered(room, 3)
    lines(ddl, "CREATE TABLE p (i int PRIMARY KEY); CREATE TABLE t (i int, n int); INSERT INTO t SELECT i, i FROM generate_series(1, 9) i; INSERT INTO p SELECT generate_series(1, 9); DELETE FROM t WHERE i < 4")
    # who has locked a row, or has seen it in its snapshot, has that row when the table is another one
    lines(locker, "BEGIN ISOLATION LEVEL REPEATABLE READ")
    expect(lines(locker, "SELECT n FROM t WHERE i = 5 FOR UPDATE"), ["5", "SELECT 1"], "the row")
    expect(lines(ddl, "ALTER TABLE t ADD FOREIGN KEY (i) REFERENCES p"), ["ALTER TABLE"], "beside who has locked a row")
    expect(lines(other, "SELECT i FROM t ORDER BY i FOR UPDATE SKIP LOCKED"), ["4", "6", "7", "8", "9", "SELECT 5"], "the other rows")
    expect(lines(locker, "UPDATE t SET n = 50 WHERE i = 5"), ["UPDATE 1"], "the row")
    expect(lines(locker, "COMMIT"), ["COMMIT"], "the block")
    expect(lines(other, "SELECT i, n FROM t WHERE i < 7 ORDER BY i"), ["4|4", "5|50", "6|6", "SELECT 3"], "after it")


def run() -> None:
    failed = 0
    for function, flags in SITUATIONS:
        import tempfile

        with tempfile.TemporaryDirectory(prefix="pgsqlite-waits.") as folder:
            flags = [os.path.join(folder, "refused.jsonl") if f == "FILE" else f for f in flags]
            with server.Server(*flags, directory=folder) as running:
                room = Room(running)
                try:
                    function(room)
                except (Told, pgwire.ServerGone, OSError, IndexError, RuntimeError) as error:
                    failed += 1
                    print(f"{function.__name__}: {type(error).__name__} {error}")
                    if os.environ.get("WAITS_LOG"):
                        print(running.log_text())
                for connection in room.open:
                    connection.close()
    print(f"tests/waits: {len(SITUATIONS)} situations, {failed} failed")
    if failed:
        raise SystemExit(1)
