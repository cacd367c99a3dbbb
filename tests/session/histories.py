#!/usr/bin/env python3
"""Histories of several sessions on the same rows, and whether some order of the transactions explains them.

    tests/session/histories.py                                   # against pgsqlite ($PGSQLITE_BIN), fixed seed
    tests/session/histories.py --transactions 100000 --seed 9    # more of them
    ORACLE_VERSION=18 tools/oracle.sh python3 tests/session/histories.py --oracle  # PostgreSQL 18: the checker must find nothing there, either
    tests/session/histories.py --self-test                       # histories that are wrong in each way must be found so

Sessions append unique numbers to lists, read lists, and replace the values of registers by unique others, in transactions of every
isolation level. Meanwhile some statements are canceled, some clients go away, some sessions are terminated, and the server is killed.
From what the sessions were told the checker derives:

- lost: a number whose transaction was acknowledged is not in its list, is there twice, or a register's value was replaced twice
- aborted read: somebody read what a transaction had written that was rolled back
- intermediate read: somebody read a part of what a transaction appended to a list
- in part: of a transaction whose COMMIT was not answered, only some numbers are there
- order: what was read of a list is no beginning of the list
- stale read: what was acknowledged before a snapshot was taken is not in it
- internal: a transaction does not see what it has written, or (REPEATABLE READ, SERIALIZABLE) not what it has read before
- cycle: no order of the transactions explains what they read and wrote (Adya's G1c; G-single for REPEATABLE READ; G2 for SERIALIZABLE)
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import random
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import oracle as reference  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402

LISTS, REGISTERS, SESSIONS = 6, 4, 8
#: Transactions on the same rows; then the tables are made anew.
ROUND = 1500
SETUP = f"""
DROP TABLE IF EXISTS lists, registers;
CREATE TABLE lists (k int PRIMARY KEY, v text NOT NULL);
CREATE TABLE registers (k int PRIMARY KEY, v bigint NOT NULL);
INSERT INTO lists SELECT g, '' FROM generate_series(1, {LISTS}) g;
INSERT INTO registers SELECT g, -g FROM generate_series(1, {REGISTERS}) g;
"""
LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


@dataclasses.dataclass
class Transaction:
    number: int
    level: str
    #: (list, number)
    appends: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    #: (list, what was read, its own appends before, when the statement began)
    reads: list[tuple[int, tuple[int, ...], tuple[int, ...], float]] = dataclasses.field(default_factory=list)
    #: (register, value before, value after)
    replaced: list[tuple[int, int, int]] = dataclasses.field(default_factory=list)
    #: committed, aborted, unknown
    fate: str = "unknown"
    began: float = 0.0
    told: float = 0.0


class Failed(Exception):
    """The server raised an error."""


class Sessions:
    """The sessions of a run, what they have done, and who disturbs them."""

    def __init__(self, connect, seed: int, wanted: int):
        self.connect, self.seed, self.wanted = connect, seed, wanted
        self.lock = threading.Lock()
        self.done: list[Transaction] = []
        self.next_transaction = self.next_number = 0
        self.live: dict[int, pgwire.Connection] = {}
        self.stop = threading.Event()
        #: unexpected errors
        self.problems: list[str] = []

    def number(self) -> int:
        with self.lock:
            self.next_number += 1
            return self.next_number

    def begin(self) -> int | None:
        with self.lock:
            if self.next_transaction >= self.wanted or self.stop.is_set():
                return None
            self.next_transaction += 1
            return self.next_transaction

    def session(self, which: int) -> None:
        rng = random.Random(f"{self.seed} {which}")
        connection = None
        try:
            while (number := self.begin()) is not None:
                while connection is None and not self.stop.is_set():
                    try:
                        connection = self.live[which] = self.connect()
                    except (OSError, pgwire.ServerGone, pgwire.StartupError):
                        time.sleep(0.02)
                if connection is None:
                    return
                t = Transaction(number, rng.choice(LEVELS))
                try:
                    self.play(connection, rng, t)
                except (OSError, pgwire.ServerGone):
                    connection.sock.close()
                    connection = None
                with self.lock:
                    self.done.append(t)
        except Exception as e:  # noqa: BLE001
            self.problems.append(f"session {which}: {e!r}")
            self.stop.set()
        finally:
            if connection is not None:
                connection.close()

    def play(self, c: pgwire.Connection, rng: random.Random, t: Transaction) -> None:
        """One transaction. A connection that is lost leaves its fate unknown, unless COMMIT was not sent."""
        committing = False
        try:
            t.began = time.monotonic()
            self.ask(c, f"BEGIN ISOLATION LEVEL {t.level}")
            for _ in range(rng.randint(1, 4)):
                self.step(c, rng, t)
            if rng.random() < 0.1:
                self.ask(c, "ROLLBACK")
                t.fate = "aborted"
                return
            if rng.random() < 0.02:
                c.sock.close()
                raise pgwire.ServerGone("went away")
            committing = True
            tag = self.ask(c, "COMMIT")[1]
            t.told = time.monotonic()
            t.fate = "committed" if tag == "COMMIT" else "aborted"
        except Failed as e:
            # a COMMIT that fails has rolled back
            code = str(e)[:5]
            if code not in ("40001", "40P01", "57014", "55P03", "57P01", "57P02", "57P03", "25P03", "25P04", "25P02", "08006", "58030"):
                raise RuntimeError(f"unexpected: {e}") from e
            t.fate = "aborted"
            if code == "57014" and committing:
                t.fate = "unknown"
            while c.status != "I":
                try:
                    self.ask(c, "ROLLBACK")
                except Failed as late:
                    # (a request to cancel may come so late that it meets this statement)
                    if not str(late).startswith("57014"):
                        raise
        except (OSError, pgwire.ServerGone):
            if not committing:
                t.fate = "aborted"
            raise

    def step(self, c: pgwire.Connection, rng: random.Random, t: Transaction) -> None:
        kind = rng.random()
        if kind < 0.4:
            k, n = rng.randint(1, LISTS), self.number()
            t.appends.append((k, n))
            self.ask(c, f"UPDATE lists SET v = v || ' {n}' WHERE k = {k}")
        elif kind < 0.8:
            k = rng.randint(1, LISTS)
            own, began = tuple(n for at, n in t.appends if at == k), time.monotonic()
            rows = self.ask(c, f"SELECT v FROM lists WHERE k = {k}")[0]
            t.reads.append((k, tuple(int(n) for n in rows[0][0].split()), own, began))
        else:
            k, n = rng.randint(1, REGISTERS), self.number()
            lock = " FOR UPDATE" if t.level == "READ COMMITTED" else ""
            before = int(self.ask(c, f"SELECT v FROM registers WHERE k = {k}{lock}")[0][0][0])
            if rng.random() < 0.5:
                self.ask(c, f"UPDATE registers SET v = {n} WHERE k = {k}")
            elif self.ask(c, f"UPDATE registers SET v = {n} WHERE k = {k} AND v = {before}")[1] != "UPDATE 1":
                raise RuntimeError(f"register {k} is no longer {before} in the transaction that has locked it")
            t.replaced.append((k, before, n))

    def ask(self, c: pgwire.Connection, sql: str) -> tuple[list, str]:
        rows, tag, error = [], "", None
        for kind, body in c.simple(sql):
            if kind == b"D":
                rows.append([None if v is None else v.decode() for v in pgwire.data_row(body)])
            elif kind == b"C":
                tag = body[:-1].decode()
            elif kind == b"E":
                fields = pgwire.fields_of(body)
                error = error or f"{fields['C']} {fields['M']} ({sql})"
        if error:
            raise Failed(error)
        return rows, tag

    def disturb(self) -> None:
        rng = random.Random(f"{self.seed} disturbs")
        while not self.stop.wait(rng.uniform(0.001, 0.02)):
            connection = self.live.get(rng.randrange(SESSIONS))
            if connection is None:
                continue
            try:
                if rng.random() < 0.8:
                    connection.cancel()
                else:
                    pid = int.from_bytes(connection.key[:4], "big")
                    admin = self.connect()
                    admin.simple(f"SELECT pg_terminate_backend({pid})")
                    admin.close()
            except (OSError, pgwire.ServerGone, pgwire.StartupError):
                continue

    def run(self, kill=None) -> list[Transaction]:
        threads = [threading.Thread(target=self.session, args=(i,)) for i in range(SESSIONS)]
        disturbing = threading.Thread(target=self.disturb)
        for t in [*threads, disturbing]:
            t.start()
        moments = [self.wanted * (i + 1) // 4 for i in range(3)] if kill else []
        while any(t.is_alive() for t in threads):
            time.sleep(0.01)
            if moments and self.next_transaction >= moments[0]:
                moments.pop(0)
                kill()
        self.stop.set()
        for t in [*threads, disturbing]:
            t.join()
        return self.done


# --- the checker ----------------------------------------------------------------------------------------------------------


def check(history: list[Transaction], lists: dict[int, tuple[int, ...]], registers: dict[int, int]) -> list[str]:
    """What no order of the transactions explains; empty if there is one. `lists`, `registers`: what is stored in the end."""
    found: list[str] = []
    writer = {n: t for t in history for _, n in t.appends}
    place = {n: (k, i) for k, v in lists.items() for i, n in enumerate(v)}
    for k, v in lists.items():
        for n, count in collections.Counter(v).items():
            if count > 1:
                found.append(f"lost: {n} is {count} times in list {k}")
    # fates
    values = {v for t in history for _, _, v in t.replaced}
    reached = set(registers.values()) | {before for t in history if t.fate == "committed" for _, before, _ in t.replaced}
    for t in history:
        there = [place.get(n, (None,))[0] == k for k, n in t.appends]
        if t.fate == "unknown":
            there += [v in reached for _, _, v in last_of(t.replaced)]
            t.fate = "committed" if any(there) else "aborted"
            if any(there) and not all(there):
                found.append(f"in part: transaction {t.number}: {t.appends} {t.replaced}")
        elif t.fate == "committed" and not all(there):
            found.append(f"lost: of transaction {t.number}: {[n for (_, n), is_there in zip(t.appends, there) if not is_there]}")
        elif t.fate == "aborted" and any(there):
            found.append(f"aborted: transaction {t.number} was rolled back, and is stored: {t.appends}")
    last = {}
    for t in history:
        for k, n in t.appends:
            last[(t.number, k)] = n
    # what was read
    acknowledged = collections.defaultdict(list)
    for t in history:
        if t.fate == "committed" and t.told:
            for k, n in t.appends:
                acknowledged[k].append((t.told, n))
    for k in acknowledged:
        acknowledged[k].sort()
    for t in history:
        seen: dict[int, tuple[int, ...]] = {}
        for k, v, own, began in t.reads:
            if own and v[-len(own):] != own:
                found.append(f"internal: transaction {t.number} does not see its own {own} in list {k}: {v[-5:]}")
                continue
            others = v[: len(v) - len(own)] if own else v
            if t.level != "READ COMMITTED":
                if seen.setdefault(k, others) != others:
                    found.append(f"internal: transaction {t.number} ({t.level}) reads list {k} twice: {seen[k][-5:]}, {others[-5:]}")
            for n in others:
                w = writer.get(n)
                if w is None or w.fate == "aborted":
                    found.append(f"aborted read: transaction {t.number} read {n} in list {k}")
                    break
            else:
                if others != lists[k][: len(others)]:
                    found.append(f"order: transaction {t.number} read {others[-5:]} in list {k}, which begins {lists[k][: len(others)][-5:]}")
                elif others and last[(writer[others[-1]].number, k)] != others[-1]:
                    found.append(f"intermediate read: transaction {t.number} read list {k} up to {others[-1]}")
                # the snapshot is the statement's, or that of the transaction's first one after BEGIN
                since = began if t.level == "READ COMMITTED" else min(r[3] for r in t.reads) if not t.replaced and not t.appends else t.began
                have = set(others)
                for told, n in reversed(acknowledged[k]):
                    if told < since - 2.0:
                        break
                    if told < since and n not in have and n not in own:
                        found.append(f"stale read: transaction {t.number} does not see {n} in list {k}")
                        break
    # registers: a value is replaced once, and the chain of values ends with the one that is stored
    heirs: dict[tuple[int, int], int] = {}
    for t in history:
        if t.fate != "committed":
            continue
        for k, before, after in t.replaced:
            if before not in values and before != -k:
                found.append(f"aborted read: register {k} was {before}, which nobody has written")
            if (k, before) in heirs:
                found.append(f"lost: register {k}: {before} was replaced by {heirs[(k, before)]} and by {after}")
            heirs[(k, before)] = after
    for k, stored in registers.items():
        at, steps = -k, 0
        while (k, at) in heirs and steps <= len(heirs):
            at, steps = heirs[(k, at)], steps + 1
        if at != stored:
            found.append(f"lost: register {k} is {stored}, its values end with {at}")
        if steps != sum(1 for key in heirs if key[0] == k):
            found.append(f"aborted read: register {k} has values that do not follow from its first one")
    return found + cycles(history, lists, writer)


def last_of(replaced: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return list({k: (k, before, after) for k, before, after in replaced}.values())


def cycles(history: list[Transaction], lists: dict[int, tuple[int, ...]], writer: dict[int, Transaction]) -> list[str]:
    """Cycles of dependencies. Edges: who wrote before (ww), who wrote what was read (wr), who overwrote what was read (rw)."""
    committed = {t.number: t for t in history if t.fate == "committed"}
    strong: dict[int, set[int]] = collections.defaultdict(set)
    weak: dict[int, set[int]] = collections.defaultdict(set)

    def edge(kind: dict[int, set[int]], a: int, b: int) -> None:
        if a != b and a in committed and b in committed:
            kind[a].add(b)

    for v in lists.values():
        for a, b in zip(v, v[1:]):
            if a in writer and b in writer:
                edge(strong, writer[a].number, writer[b].number)
    for t in committed.values():
        for k, v, own, _ in t.reads:
            others = v[: len(v) - len(own)] if own else v
            if others and others[-1] in writer:
                edge(strong, writer[others[-1]].number, t.number)
            if len(others) < len(lists[k]) and lists[k][len(others)] in writer:
                edge(weak, t.number, writer[lists[k][len(others)]].number)
    after = {(k, before): t.number for t in committed.values() for k, before, _ in t.replaced}
    for t in committed.values():
        for k, _, value in t.replaced:
            if (k, value) in after:
                edge(strong, t.number, after[(k, value)])
    found = [f"cycle (G1c): transactions {c[:10]}" for c in components(strong) if len(c) > 1]
    # SERIALIZABLE transactions among themselves: any cycle
    serializable = {n for n, t in committed.items() if t.level == "SERIALIZABLE"}
    both = {a: {b for b in strong[a] | weak[a] if b in serializable} for a in serializable}
    found += [f"cycle (G2): transactions {c[:10]}" for c in components(both) if len(c) > 1]
    # a snapshot: whom it has not seen, nobody whom it has seen may follow. (One step and two: longer ones are cycles of the above.)
    before: dict[int, set[int]] = collections.defaultdict(set)
    for a, bs in strong.items():
        for b in bs:
            before[b].add(a)
    for t in committed.values():
        if t.level == "READ COMMITTED":
            continue
        near = before[t.number] | {a for b in before[t.number] for a in before[b]}
        for overwriter in weak[t.number] & near:
            found.append(f"cycle (G-single): transactions {t.number}, {overwriter}")
    return found


def components(graph: dict[int, set[int]]) -> list[list[int]]:
    """Strongly connected components (Tarjan), without recursion."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on: set[int] = set()
    out = []
    for root in list(graph):
        if root in index:
            continue
        work = [(root, iter(graph.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, children = work[-1]
            for child in children:
                if child not in index:
                    index[child] = low[child] = len(index)
                    stack.append(child)
                    on.add(child)
                    work.append((child, iter(graph.get(child, ()))))
                    break
                if child in on:
                    low[node] = min(low[node], index[child])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    out.append(component)
    return out


def self_test() -> int:
    """Each kind of wrong history is found."""

    def t(number, appends=(), reads=(), replaced=(), fate="committed", level="SERIALIZABLE", began=0.0, told=0.0):
        reads = [(k, v, own, began) for k, v, own in reads]
        return Transaction(number, level, list(appends), reads, list(replaced), fate, began, told)

    cases = {
        "": ([t(1, [(1, 10), (1, 11)], told=1), t(2, [(1, 12)], [(1, (10, 11, 12), (12,))], began=2)], {1: (10, 11, 12)}, {}),
        "lost: of": ([t(1, [(1, 10)]), t(2, [(1, 11)])], {1: (11,)}, {}),
        "lost: 10": ([t(1, [(1, 10)])], {1: (10, 10)}, {}),
        "aborted:": ([t(1, [(1, 10)], fate="aborted")], {1: (10,)}, {}),
        "aborted read": ([t(1, [(1, 10)], fate="aborted"), t(2, reads=[(1, (10,), ())])], {1: ()}, {}),
        "intermediate read": ([t(1, [(1, 10), (1, 11)]), t(2, reads=[(1, (10,), ())])], {1: (10, 11)}, {}),
        "in part": ([t(1, [(1, 10), (2, 11)], fate="unknown")], {1: (10,), 2: ()}, {}),
        "order": ([t(1, [(1, 10)]), t(2, [(1, 11)]), t(3, reads=[(1, (11,), ())])], {1: (10, 11)}, {}),
        "stale read": ([t(1, [(1, 10)], told=1), t(2, reads=[(1, (), ())], began=2)], {1: (10,)}, {}),
        "internal: transaction 1 does": ([t(1, [(1, 10)], [(1, (), (10,))])], {1: (10,)}, {}),
        "internal: transaction 2 (": ([t(1, [(1, 10)]), t(2, reads=[(1, (), ()), (1, (10,), ())])], {1: (10,)}, {}),
        "lost: register 1: 5": ([t(1, replaced=[(1, -1, 5)]), t(2, replaced=[(1, 5, 6)]), t(3, replaced=[(1, 5, 7)])], {}, {1: 7}),
        "lost: register 1 is": ([t(1, replaced=[(1, -1, 5)]), t(2, replaced=[(1, 5, 6)])], {}, {1: 5}),
        "aborted read: register": ([t(1, replaced=[(1, 4, 5)], fate="committed")], {}, {1: 5}),
        "cycle (G1c)": ([t(1, [(1, 10), (2, 20)]), t(2, [(1, 11), (2, 19)])], {1: (10, 11), 2: (19, 20)}, {}),
        "cycle (G2)": ([t(1, [(1, 10)], [(2, (), ())]), t(2, [(2, 20)], [(1, (), ())])], {1: (10,), 2: (20,)}, {}),
        "cycle (G-single)": (
            [t(1, [(1, 10), (2, 20)]), t(2, reads=[(1, (), ()), (2, (20,), ())], level="REPEATABLE READ")], {1: (10,), 2: (20,)}, {}),
    }
    failed = 0
    for wanted, (history, lists, registers) in cases.items():
        found = check(history, lists, registers)
        if not (any(f.startswith(wanted) for f in found) if wanted else not found):
            failed += 1
            print(f"the checker: {wanted or 'nothing'} expected, {found}")
    print(f"the checker: {len(cases) - failed} passed, {failed} failed")
    return failed


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--transactions", type=int, default=1500)
    args.add_argument("--oracle", action="store_true")
    args.add_argument("--self-test", action="store_true")
    a = args.parse_args()
    failed = self_test()
    if a.self_test:
        return 1 if failed else 0
    running: list[server.Server] = []
    if a.oracle:
        reference.connect(releases=(18,)).close()
        connect = lambda: pgwire.from_environment("postgres")  # noqa: E731
        kill = None
    else:
        running.append(server.Server())
        directory, database = running[0].dir, running[0].database
        connect = lambda: pgwire.Connection(directory, server.Server.port, "postgres", "main")  # noqa: E731

        def kill() -> None:
            running[-1].kill()
            running.append(server.Server(directory=directory, database=database))

    began = time.monotonic()
    fates: collections.Counter = collections.Counter()
    problems: list[str] = []
    transactions = reads = 0
    try:
        while transactions < a.transactions and not problems:
            # lists begin anew: what is read of them would grow with the square of their length
            admin = connect()
            admin.query(SETUP)
            admin.close()
            sessions = Sessions(connect, a.seed + transactions, min(ROUND, a.transactions - transactions))
            history = sessions.run(kill)
            admin = connect()
            lists = {int(k): tuple(int(n) for n in v.split()) for k, v in admin.query("SELECT k, v FROM lists")}
            registers = {int(k): int(v) for k, v in admin.query("SELECT k, v FROM registers")}
            admin.close()
            transactions += len(history)
            fates.update(t.fate for t in history)
            reads += sum(len(t.reads) for t in history)
            problems = sessions.problems + check(history, lists, registers)
            for problem in problems[:20]:
                print(f"FAILED: {problem} (the round of seed {a.seed + transactions - len(history)})")
    finally:
        for s in reversed(running):
            s.stop()
    took = time.monotonic() - began
    if fates["committed"] < transactions // 4 or not fates["aborted"]:
        problems.append("few")
        print(f"FAILED: too few of each fate: {dict(fates)}")
    print(f"histories: {transactions} transactions in {took:.0f} s ({dict(fates)} when they ended), {reads} reads, {len(problems)} problems (seed {a.seed})")
    return 1 if problems or failed else 0


if __name__ == "__main__":
    sys.exit(main())
