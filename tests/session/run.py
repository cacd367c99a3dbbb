#!/usr/bin/env python3
"""Random conversations with a session: what it acknowledges is stored, and what it answers is what PostgreSQL answers.

    tests/session/run.py                                    # against pgsqlite ($PGSQLITE_BIN): model and stored rows, fixed seeds
    tools/oracle.sh python3 tests/session/run.py --oracle   # the same conversations with PostgreSQL 15, answer by answer
    tests/session/run.py --chaos                            # with cancel requests and disconnects at random moments
    tests/session/run.py --seed 7 --conversations 100000    # others, and more of them
    tests/session/run.py --messages 2000000                 # until so many messages are sent

A conversation that fails is shrunk and printed as tests/wire writes it. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import copy
import pathlib
import random
import re
import sqlite3
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import oracle as reference  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402
from conversation import FUNCTIONS, RESET, SETUP, Generator  # noqa: E402
from model import TABLES, Model, State, Violation, bytes_of, text_of  # noqa: E402

STORED = " UNION ALL ".join(f"SELECT '{t}' AS t, id, v FROM {t}" for t in TABLES)
# Most attempts to make a failing conversation smaller.
ATTEMPTS = 400


class Target:
    """A server with the tables, and a second session that looks at them."""

    def __init__(self, name: str, connect):
        self.name, self.connect = name, connect
        self.admin = connect()
        self.admin.query(SETUP)
        self.functions = {f: int(self.admin.query(f"SELECT '{f}'::regprocedure::oid")[0][0] or 0) for f in FUNCTIONS}
        self.committed: State = {}

    def stored(self) -> State:
        """What a second session sees. A row that comes twice is told apart from one that comes once."""
        rows = [((str(t), int(id_ or 0)), int(v or 0)) for t, id_, v in self.admin.query(STORED)]
        state = dict(rows)
        if len(state) != len(rows):
            raise Violation(f"{self.name}: a row is stored twice: {sorted(rows)}")
        return state

    def compare(self, expected: State) -> None:
        stored = self.stored()
        if stored != expected:
            lost = sorted((k, v) for k, v in expected.items() if stored.get(k) != v)
            extra = sorted((k, v) for k, v in stored.items() if expected.get(k) != v)
            raise Violation(f"{self.name}: not stored although acknowledged: {lost}; stored although not: {extra}")

    def reset(self) -> None:
        try:
            self.admin.query(RESET)
        except (OSError, pgwire.ServerGone) as e:
            raise SystemExit(f"{self.name} has ended the looking session: {e}") from e
        for table in self.admin.query("SELECT relname FROM pg_class WHERE relname = 'd1' AND relpersistence = 'p'"):
            self.admin.query(f"DROP TABLE {table[0]}")
        self.committed = {}

    def play(self, writes: list, looks: random.Random, often: float = 0.15) -> list[str]:
        """Plays a conversation in a session of its own; its transcript."""
        connection = self.connect()
        model = Model(connection, self.committed, self.functions)
        try:
            for write in writes:
                model.send(write)
                if looks.random() < often:
                    self.compare(model.committed)
            connection.close()
            self.compare(model.committed)
        except (pgwire.ServerGone, TimeoutError, Violation, KeyError, RuntimeError) as e:
            connection.sock.close()
            raise Violation(f"{self.name}: {type(e).__name__} {e}\n    last answers: {model.transcript[-6:]}") from e
        self.committed = model.committed
        return model.transcript

    def play_roughly(self, writes: list, chance: random.Random) -> None:
        """With cancel requests, and perhaps a disconnect in the middle: then what is not acknowledged may be there or not."""
        connection = self.connect()
        model = Model(connection, self.committed, self.functions)
        cut = chance.randrange(len(writes)) if chance.random() < 0.5 else None
        try:
            for i, write in enumerate(writes):
                if i == cut:
                    connection.sock.sendall(b"".join(bytes_of(m, self.functions) for m in write))
                    time.sleep(chance.choice((0, 0, 0.001, 0.01)))
                    connection.sock.close()
                    self.settle(model, write)
                    return
                # (a procedure that is canceled may have committed: its error does not say)
                if chance.random() < 0.4 and not any("CALL" in text_of(m) for m in write):
                    self.cancel_during(model, write, chance)
                else:
                    model.send(write)
            connection.close()
            self.compare(model.committed)
            self.committed = model.committed
        except (pgwire.ServerGone, TimeoutError, Violation, RuntimeError) as e:
            connection.sock.close()
            raise Violation(f"{self.name}: {type(e).__name__} {e}\n    last answers: {model.transcript[-6:]}") from e

    @staticmethod
    def cancel_during(model: Model, write: list, chance: random.Random) -> None:
        canceller = threading.Timer(chance.choice((0, 0.0003, 0.001, 0.003)), model.connection.cancel)
        canceller.start()
        try:
            model.send(write)
        finally:
            canceller.join()

    def settle(self, model: Model, write: list) -> None:
        """After a disconnect: nothing acknowledged is lost, and nothing is there that was never said."""
        # (statements and portals that were made before may be executed by their names)
        named = [str(v) for v in (*model.statements.values(), *model.portals.values())]
        said = " ".join([*(text_of(m) for m in write), *named])
        touched = {int(n) for n in re.findall(r"-?\d+", said)}
        deadline = time.monotonic() + 10
        while self.admin.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'talker'") != [["0"]]:
            if time.monotonic() > deadline:
                raise Violation("a session stays although its client is gone")
            time.sleep(0.002)
        stored = self.stored()
        for key in set(model.committed) | set(stored):
            may_change = key[1] in touched or -key[1] in touched or key in model.work and key not in model.committed
            if stored.get(key) != model.committed.get(key) and not may_change and key not in model.work.keys() ^ model.committed.keys():
                if model.work.get(key) != stored.get(key):
                    raise Violation(f"after a disconnect {key} is {stored.get(key)}, acknowledged was {model.committed.get(key)}")
        self.committed = stored


# Answers that may differ. Where a statement, or a commit, has several errors, which of them comes first is not promised.
FIRST = {"23503", "23505", "P0001", "23514", "57014", "22P02"}


def same(ours: str, theirs: str) -> bool:
    if ours == theirs:
        return True
    a, b = ours.split(" ")[:3], theirs.split(" ")[:3]
    return a[0] == b[0] == "ErrorResponse" and a[2] != b[2] and {a[2], b[2]} <= FIRST


def differences(ours: list[str], theirs: list[str]) -> str | None:
    for a, b in zip(ours + ["nothing"], theirs + ["nothing"]):
        if not same(a, b):
            return f"ours:       {a}\n    PostgreSQL: {b}"
    return None


def fails(targets: list[Target], writes: list, seed: int) -> str | None:
    """Why a conversation fails, played on empty tables; None: it does not."""
    transcripts = []
    for target in targets:
        target.reset()
        try:
            transcripts.append(target.play(writes, random.Random(seed), often=1))
        except Violation as e:
            if target is targets[0]:
                return str(e)
            # the model is PostgreSQL's, too: a conversation that it does not hold for says nothing
            raise
    return differences(*transcripts) if len(transcripts) == 2 else None


def shrunk(targets: list[Target], writes: list, seed: int) -> tuple[list, str | None]:
    """The smallest conversation that still fails."""
    reason = fails(targets, writes, seed)
    if reason is None:
        return writes, None
    attempts = 0

    def smaller(candidate: list) -> bool:
        nonlocal attempts, reason, writes
        attempts += 1
        if attempts > ATTEMPTS:
            return False
        try:
            found = fails(targets, candidate, seed)
        except Violation:
            return False
        if found is not None:
            writes, reason = candidate, found
        return found is not None

    changed = True
    while changed and attempts < ATTEMPTS:
        changed = False
        size = max(len(writes) // 2, 1)
        while size >= 1:
            at = 0
            while at < len(writes):
                changed |= (hit := len(writes) > size and smaller(writes[:at] + writes[at + size :]))
                at += 0 if hit else size
            size //= 2
        for w in range(len(writes)):
            m = 0
            while m < len(writes[w]):
                candidate = copy.deepcopy(writes)
                message = candidate[w][m]
                # the last message is the one that answers are waited for; a COPY needs its end
                if m < len(writes[w]) - 1 and not message[0].startswith("Copy"):
                    del candidate[w][m]
                    if smaller(candidate):
                        changed = True
                        continue
                if message[0] == "Query" and len(message[1]) > 1:
                    for s in range(len(message[1])):
                        candidate = copy.deepcopy(writes)
                        candidate[w][m] = ("Query", message[1][:s] + message[1][s + 1 :])
                        if smaller(candidate):
                            changed = True
                            break
                m += 1
    return writes, reason


def shown_conversation(writes: list) -> str:
    return "\n".join("\n".join(f"    > {text_of(m)}" for m in write) + "\n    <" for write in writes)


def check_file(path: str, expected: State) -> None:
    """The file, as plain SQLite reads it while nobody else does."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as file:
        rows = {(t, id_): v for t in TABLES for id_, v in file.execute(f"SELECT id, v FROM {t}")}
    if rows != expected:
        raise Violation(f"SQLite reads other rows: {set(rows.items()) ^ set(expected.items())}")


def run(options: argparse.Namespace, ours: Target, oracle: Target | None) -> int:
    targets = [ours] + ([oracle] if oracle else [])
    failed, messages, played = 0, 0, 0
    known: set[str] = set()
    began = time.monotonic()
    for seed in range(options.seed, options.seed + options.conversations):
        if options.messages and messages >= options.messages:
            break
        generator = Generator(seed, chaos=options.chaos)
        writes = generator.conversation()
        messages += sum(len(w) for w in writes)
        played += 1
        reason = None
        for target in targets:
            target.reset() if played % 50 == 1 or oracle or target.committed else None
        try:
            if options.chaos:
                ours.play_roughly(writes, random.Random(seed))
            else:
                transcripts = [target.play(writes, random.Random(seed)) for target in targets]
                reason = differences(*transcripts) if oracle else None
        except Violation as e:
            reason = str(e)
        if reason is None:
            continue
        failed += 1
        smallest: list = writes
        if not options.chaos:
            try:
                smallest, again = shrunk(targets, writes, seed)
                reason = again or f"(not again) {reason}"
            except Violation as e:
                reason = f"(the model does not hold for PostgreSQL: {e}) {reason}"
        else:
            ours.reset()
        signature = re.sub(r"\d+", "#", reason.split("last answers")[0])
        if signature in known:
            continue
        known.add(signature)
        print(f"tests/session: seed {seed}: {reason}\n{shown_conversation(smallest)}", flush=True)
        if len(known) >= options.most:
            break
    seconds = time.monotonic() - began
    beside = "PostgreSQL 15, " if oracle else ""
    print(f"tests/session: {played} conversations, {messages} messages, {beside}{seconds:.0f} s, {failed} failed ({len(known)} kinds)")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--conversations", type=int, default=400)
    parser.add_argument("--messages", type=int, default=0, help="end when so many are sent")
    parser.add_argument("--oracle", action="store_true", help="compare with the PostgreSQL that PGHOST names")
    parser.add_argument("--chaos", action="store_true", help="cancel requests and disconnects")
    parser.add_argument("--most", type=int, default=20, help="end after so many kinds of failures")
    options = parser.parse_args()
    if options.messages:
        options.conversations = 10**9
    oracle = None
    if options.oracle:
        name = "session_model"
        admin = reference.connect()
        admin.query(f"CREATE DATABASE {name} TEMPLATE template0")
        oracle = Target("PostgreSQL", lambda: pgwire.from_environment(name, application_name="talker"))
        oracle.admin.query("SET application_name = 'looker'")
    with server.Server() as running:
        ours = Target("pgsqlite", lambda: pgwire.Connection(running.dir, running.port, "postgres", "main", application_name="talker"))
        ours.admin.query("SET application_name = 'looker'")
        code = run(options, ours, oracle)
        ours.admin.close()
        stored = ours.committed
        running.process.terminate()
        running.process.wait(20)
        if not code:
            check_file(running.database, stored)
    return code


if __name__ == "__main__":
    sys.exit(main())
