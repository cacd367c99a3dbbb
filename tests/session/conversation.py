"""Random conversations: writes of messages, made from a seed.

A write ends with a message that the server answers at once (Query, Sync, FunctionCall or Flush), so that all its answers can be
read. Everything else is left to chance: messages are missing, come twice, or name what is not there.
"""

from __future__ import annotations

import random

SETUP = """
CREATE TABLE pa (i int PRIMARY KEY); INSERT INTO pa VALUES (1), (2), (3);
CREATE TABLE ch (id int PRIMARY KEY, v int REFERENCES pa DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE k (id int PRIMARY KEY, v int UNIQUE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE tr (id int PRIMARY KEY, v int);
CREATE TABLE im (id int PRIMARY KEY, v int CHECK (v >= 0));
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN IF NEW.v < 0 THEN RAISE EXCEPTION 'negative'; END IF; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER tr_refuse AFTER INSERT OR UPDATE ON tr DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE FUNCTION put(int, int) RETURNS int LANGUAGE sql AS $$ INSERT INTO ch VALUES ($1, $2) RETURNING id $$;
CREATE PROCEDURE two(int, int) LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO im VALUES ($1, $2); COMMIT; INSERT INTO im VALUES (-$1, $2); ROLLBACK; END $$;
"""
RESET = "TRUNCATE ch, k, tr, im"
FUNCTIONS = {"put(int,int)"}
NAMES = ("", "a", "b")


class Generator:
    def __init__(self, seed: int, first_id: int = 1, chaos: bool = False):
        self.random, self.chaos = random.Random(seed), chaos
        self.next_id = first_id
        self.depth = 0

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def an_id(self) -> int:
        if self.chance(0.12) and self.next_id > 5:
            return self.next_id - self.random.randint(1, 5)
        self.next_id += 1
        return self.next_id - 1

    def a_value(self, table: str) -> int:
        bad = self.chance(0.15)
        return {"ch": 99 if bad else self.random.randint(1, 3), "k": self.random.randint(1, 4) if bad else self.next_id + 100,
                "tr": -1 if bad else 1, "im": -1 if bad else 1}[table]

    def row(self) -> tuple[str, int, int]:
        table = self.random.choice(("ch", "k", "tr", "im"))
        return table, self.an_id(), self.a_value(table)

    # --- statements ------------------------------------------------------------------------------------------------------

    def change(self) -> str:
        table, id_, v = self.row()
        return self.random.choice((
            f"INSERT INTO {table} VALUES ({id_}, {v})",
            f"INSERT INTO {table} VALUES ({id_}, {v})",
            f"INSERT INTO {table} VALUES ({id_}, {v}), ({self.an_id()}, {self.a_value(table)})",
            f"INSERT INTO {table} VALUES ({id_}, {v}), ({self.an_id()}, {self.a_value(table)}) RETURNING id",
            f"DELETE FROM im WHERE id = {id_ - 3}",
            f"UPDATE im SET v = {v} WHERE id = {id_ - 2}",
        ))

    def control(self) -> str:
        if self.chance(0.4):
            return self.random.choice(("BEGIN", "COMMIT", "ROLLBACK"))
        return self.random.choice((
            "BEGIN", "BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN READ ONLY", "START TRANSACTION", "COMMIT", "COMMIT", "END",
            "ROLLBACK", "COMMIT AND CHAIN", "ROLLBACK AND CHAIN", "SAVEPOINT s", "SAVEPOINT s", "SAVEPOINT u", "ROLLBACK TO s",
            "ROLLBACK TO s", "ROLLBACK TO u", "RELEASE s", "RELEASE u", "SET CONSTRAINTS ALL IMMEDIATE", "SET CONSTRAINTS ALL DEFERRED",
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET TRANSACTION READ ONLY",
        ))

    def other(self) -> str:
        return self.random.choice((
            "SELECT 1", "SELECT g FROM generate_series(1, 5) g", "SELECT count(*) FROM im", "SELECT id, v FROM ch ORDER BY id, v LIMIT 4",
            "SELECT 1 / 0", "SELECT * FROM nothing", "SELEC 1", "SELECT 'x'::int", "", "SHOW work_mem", "SET work_mem = '2MB'",
            "SET LOCAL work_mem = '3MB'", "RESET work_mem", "COPY (SELECT g FROM generate_series(1, 3) g) TO STDOUT",
            "COPY (SELECT 3 / (2 - g) FROM generate_series(1, 3) g) TO STDOUT",
            "DECLARE c CURSOR FOR SELECT g FROM generate_series(1, 9) g", "DECLARE c CURSOR WITH HOLD FOR SELECT id FROM im ORDER BY id LIMIT 4",
            "FETCH 2 FROM c", "FETCH ALL FROM c", "MOVE 1 FROM c", "CLOSE c", "CLOSE ALL", "DO $$ BEGIN RAISE NOTICE 'hello'; END $$",
            "DO $$ BEGIN RAISE EXCEPTION 'no'; END $$", "DISCARD ALL" if self.chance(0.2) else "SELECT 2", "DEALLOCATE p", "DEALLOCATE ALL",
            "PREPARE p AS INSERT INTO im VALUES ($1, $2)", "PREPARE p AS INSERT INTO ch VALUES ($1, $2)",
            f"EXECUTE p({self.an_id()}, {self.random.choice((1, 1, 99, -1))})", self.random.choice(("VACUUM im", "VACUUM FULL im")) if self.chance(0.2) else "SELECT 3",
            "CREATE TABLE d1 (a int)", "DROP TABLE d1", "CREATE TEMP TABLE t1 (a int)", "DROP TABLE t1", "LOCK TABLE im IN EXCLUSIVE MODE", "SELECT id FROM im ORDER BY id FOR UPDATE",
            "LISTEN n", "NOTIFY n", "UNLISTEN *", "SELECT nextval('nothing')",
            f"DO $$ BEGIN INSERT INTO im VALUES ({self.an_id()}, {self.a_value('im')}); EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'caught'; END $$",
            f"CALL two({self.an_id()}, 1)" if self.chance(0.5) else "SELECT 4",
            "SELECT pg_sleep(0.005)" if self.chaos else "SELECT 5",
        ))

    def statement(self) -> str:
        kind = self.random.random()
        return self.change() if kind < 0.45 else self.control() if kind < 0.75 else self.other()

    # --- messages --------------------------------------------------------------------------------------------------------

    def copy_data(self, table: str) -> list[tuple]:
        out: list[tuple] = []
        data = ""
        for _ in range(self.random.randint(0, 3)):
            line = "x\ty" if self.chance(0.06) else f"{self.an_id()}\t{self.a_value(table)}"
            data += line + "\n"
            if self.chance(0.6):
                out.append(("CopyData", data))
                data = ""
            if self.chance(0.05):
                out.append(("Flush",))
        if data:
            out.append(("CopyData", data))
        out.append(("CopyFail", "enough") if self.chance(0.15) else ("CopyDone",))
        return out

    def unit(self) -> list[tuple]:
        """Messages of the extended protocol that belong together, more or less."""
        if self.chance(0.08):
            name = self.random.choice(NAMES)
            return [self.random.choice((
                ("Execute", name, 0), ("Execute", name, 2), ("DescribePortal", name), ("DescribeStatement", name), ("CloseStatement", name),
                ("ClosePortal", name), ("Bind", name, self.random.choice(NAMES), []), ("CopyDone",), ("CopyData", "1\t1\n"), ("Flush",),
            ))]
        statement, portal = self.random.choice(NAMES), self.random.choice(NAMES)
        if self.chance(0.1):
            table = self.random.choice(("ch", "k", "tr", "im"))
            # (the names are its own, so that nothing but this Execute begins the COPY)
            return [("CloseStatement", "cp"), ("ClosePortal", "cp"), ("Parse", "cp", f"COPY {table} FROM STDIN"), ("Bind", "cp", "cp", []),
                    ("Execute", "cp", 0), *self.copy_data(table)]
        values: list = []
        if self.chance(0.4):
            table, id_, v = self.row()
            sql, values = self.random.choice((
                (f"INSERT INTO {table} VALUES ($1, $2)", [str(id_), str(v)]),
                (f"INSERT INTO {table} VALUES ($1, $2)", [str(id_), "x" if self.chance(0.1) else str(v)]),
                ("DELETE FROM im WHERE id = $1", [str(id_ - 2)]),
                ("UPDATE im SET v = $2 WHERE id = $1", [str(id_ - 2), str(v)]),
                ("SELECT id FROM im WHERE id > $1 ORDER BY id LIMIT 5", [str(id_ - 5)]),
            ))
        else:
            sql = self.statement()
        out: list[tuple] = []
        if self.chance(0.15) and statement:
            out.append(("CloseStatement", statement))
        if self.chance(0.93):
            out.append(("Parse", statement, sql))
        if self.chance(0.1):
            out.append(("DescribeStatement", statement))
        if self.chance(0.15) and portal:
            out.append(("ClosePortal", portal))
        if self.chance(0.95):
            out.append(("Bind", portal, statement, values[:-1] if values and self.chance(0.02) else values))
        if self.chance(0.2):
            out.append(("DescribePortal", portal))
        for _ in range(1 if self.chance(0.85) else 2):
            out.append(("Execute", portal, self.random.choice((0, 0, 0, 1, 2))))
        return out

    def write(self) -> list[tuple]:
        kind = self.random.random()
        out: list[tuple] = []
        while self.chance(0.3) and len(out) < 40:
            out += self.unit()
            if self.chance(0.25):
                out.append(("Sync",))
        if kind < 0.3:
            out.append(("Query", [self.statement() for _ in range(self.random.choice((0, 1, 1, 1, 1, 2, 3, 4)))]))
        elif kind < 0.36:
            table = self.random.choice(("ch", "k", "tr", "im"))
            script = [f"COPY {table} FROM STDIN"]
            if self.chance(0.3):
                script.insert(0, self.change())
            if self.chance(0.3):
                script.append(self.change())
            out += [("Query", script), *self.copy_data(table), ("Sync",)]
        elif kind < 0.42:
            out.append(("FunctionCall", "put(int,int)", [str(self.an_id()), str(self.a_value("ch"))]))
        else:
            out += self.unit()
            out.append(("Flush",) if self.chance(0.15) else ("Sync",))
        return out

    def conversation(self) -> list[list[tuple]]:
        return [self.write() for _ in range(self.random.randint(3, 25))]
