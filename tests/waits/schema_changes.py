"""What a statement does that waits while another session changes the schema: statements × changes × protocols."""

from __future__ import annotations

import struct
import threading
import time

import pgwire

SCHEMA = """
CREATE SCHEMA w; SET search_path = w;
CREATE TYPE st AS ENUM ('a', 'b');
CREATE DOMAIN dm AS int CHECK (VALUE > 0);
CREATE TYPE co AS (x int, y text);
CREATE SEQUENCE s;
CREATE TABLE t (id int PRIMARY KEY, v int DEFAULT 7, n text);
INSERT INTO t VALUES (1, 1, 'one'), (2, 2, 'two');
CREATE TABLE en (s st); INSERT INTO en VALUES ('b');
CREATE TABLE ea (s st[]);
CREATE TABLE dt (x dm);
CREATE TABLE ct (c co);
CREATE TABLE ser (id serial, v int);
CREATE TABLE p (k int, v int) PARTITION BY LIST (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE ch (id int PRIMARY KEY, t int REFERENCES t);
CREATE VIEW vw AS SELECT id, v FROM t;
CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 1; END';
CREATE FUNCTION fw(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO w.t (id, v) VALUES (i, 30); RETURN i; END';
CREATE PROCEDURE pw(i int) LANGUAGE plpgsql AS 'BEGIN INSERT INTO w.t (id, v) VALUES (i, 40); END';
GRANT USAGE ON SCHEMA w TO PUBLIC;
GRANT ALL ON ALL TABLES IN SCHEMA w TO waits_user; GRANT ALL ON ALL SEQUENCES IN SCHEMA w TO waits_user;
"""

# name → (text, values of its parameters); in a simple query the values stand in the text
STATEMENTS: dict[str, tuple[str, list[str]]] = {
    "insert": ("INSERT INTO t (id, v) VALUES ($1, $2) RETURNING *", ["10", "5"]),
    "insert default": ("INSERT INTO t (id) VALUES ($1)", ["11"]),
    "update": ("UPDATE t SET v = v + $1 WHERE id = 1 RETURNING *", ["1"]),
    "update plain": ("UPDATE t SET v = $1", ["4"]),
    "delete": ("DELETE FROM t WHERE id = $1 RETURNING *", ["1"]),
    "select": ("SELECT * FROM t WHERE id > $1 ORDER BY id", ["0"]),
    "select for update": ("SELECT v FROM t WHERE id = $1 FOR UPDATE", ["1"]),
    "enum": ("INSERT INTO en VALUES ($1)", ["a"]),
    "enum update": ("UPDATE en SET s = $1 RETURNING s", ["a"]),
    "enum cast": ("INSERT INTO en SELECT $1::st", ["a"]),
    "enum constant": ("INSERT INTO en SELECT 'a' WHERE 1 = $1", ["1"]),
    "enum array": ("INSERT INTO ea VALUES ($1)", ["{a,b}"]),
    "composite": ("INSERT INTO ct VALUES ($1)", ["(1,a)"]),
    "domain": ("INSERT INTO dt VALUES ($1)", ["5"]),
    "nextval": ("SELECT nextval('s') FROM generate_series(1, $1)", ["6"]),
    "serial": ("INSERT INTO ser (v) VALUES ($1) RETURNING id", ["1"]),
    "function": ("SELECT f() + $1 FROM t WHERE id = 1", ["0"]),
    "update by function": ("UPDATE t SET v = f() WHERE id = $1 RETURNING v", ["1"]),
    "view": ("INSERT INTO vw VALUES ($1, 9)", ["9"]),
    "writing function": ("SELECT fw($1)", ["20"]),
    "call": ("CALL pw($1)", ["21"]),
    "partition": ("INSERT INTO p VALUES ($1, 1)", ["1"]),
    "merge": ("MERGE INTO t USING (SELECT $1::int AS k) AS x ON t.id = x.k WHEN MATCHED THEN UPDATE SET v = 50", ["2"]),
}

CHANGES: dict[str, str] = {
    "add column": "ALTER TABLE t ADD COLUMN z int DEFAULT 3",
    "drop column": "ALTER TABLE t DROP COLUMN n",
    "rename column": "ALTER TABLE t RENAME COLUMN v TO vv",
    "retype column": "ALTER TABLE t ALTER n TYPE varchar(3)",
    "check": "ALTER TABLE t ADD CONSTRAINT c CHECK (v < 3) NOT VALID",
    "not null": "ALTER TABLE t ALTER v SET NOT NULL; ALTER TABLE t ALTER v SET DEFAULT NULL",
    "default": "ALTER TABLE t ALTER v SET DEFAULT 99",
    "unique": "CREATE UNIQUE INDEX u ON t ((v % 5))",
    "trigger": "CREATE FUNCTION tf() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v := 70; RETURN NEW; END'; "
    "CREATE TRIGGER tr BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION tf()",
    "drop table": "DROP TABLE t CASCADE",
    "rename table": "ALTER TABLE t RENAME TO t2",
    "truncate": "TRUNCATE t CASCADE",
    "foreign key": "ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (v) REFERENCES ch (id) NOT VALID",
    "rename label": "ALTER TYPE st RENAME VALUE 'a' TO 'c'",
    "add label": "ALTER TYPE st ADD VALUE '0' BEFORE 'a'",
    "drop type": "DROP TYPE st CASCADE",
    "domain check": "ALTER DOMAIN dm ADD CONSTRAINT dc CHECK (VALUE > 10) NOT VALID",
    "sequence maximum": "ALTER SEQUENCE s MAXVALUE 3; ALTER SEQUENCE ser_id_seq MAXVALUE 1",
    "sequence increment": "ALTER SEQUENCE s INCREMENT 10; ALTER SEQUENCE ser_id_seq RESTART 100",
    "drop sequence": "DROP SEQUENCE s",
    "replace function": "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 2; END'; "
    "CREATE OR REPLACE FUNCTION fw(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN -i; END'; "
    "CREATE OR REPLACE PROCEDURE pw(i int) LANGUAGE plpgsql AS 'BEGIN NULL; END'",
    "drop function": "DROP FUNCTION f(); DROP FUNCTION fw(int); DROP PROCEDURE pw(int)",
    "replace view": "CREATE OR REPLACE VIEW vw AS SELECT id, v FROM t WHERE v < 5 WITH CHECK OPTION",
    "revoke": "REVOKE ALL ON ALL TABLES IN SCHEMA w FROM waits_user",
    "policy": "ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY po ON t USING (id < 2)",
    "detach": "ALTER TABLE p DETACH PARTITION p1",
    "attach": "CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2) ; DROP TABLE p1",
}
PROTOCOLS = ["simple", "extended", "prepared"]
# The locks that the change's transaction takes first, so that PostgreSQL's statement waits, too.
TABLES = "t, en, ea, dt, ct, ser, p, ch"
STATE = [
    "SELECT * FROM w.t ORDER BY 1", "SELECT s FROM w.en ORDER BY 1", "SELECT s FROM w.ea", "SELECT x FROM w.dt", "SELECT c FROM w.ct",
    "SELECT id, v FROM w.ser", "SELECT k, v FROM w.p",
]


def cases() -> list[tuple[str, str, str]]:
    return [(s, c, p) for s in STATEMENTS for c in CHANGES for p in PROTOCOLS]


def outcome(messages: list[tuple[bytes, bytes]]) -> list[str]:
    """What the client learns, without positions."""
    out = []
    for kind, body in messages:
        if kind == b"E":
            fields = pgwire.fields_of(body)
            out.append(f"error {fields['C']} {fields['M']}")
        elif kind == b"D":
            values = ["\\N" if v is None else v.decode() for v in pgwire.data_row(body)]
            out.append("row " + "|".join(values))
        elif kind == b"T":
            out.append("columns " + " ".join(name for name, _, _ in ((c[0], c[1], c[2]) for c in pgwire.row_description(body))))
        elif kind == b"C":
            out.append("tag " + body[:-1].decode())
    return out


def text_of(statement: str, values: list[str]) -> str:
    for i, value in enumerate(values, 1):
        plain = value if value.lstrip("-").isdigit() else "'" + value + "'"
        statement = statement.replace(f"${i}", plain)
    return statement


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def bind_and_execute(name: str, values: list[str]) -> bytes:
    body = b"\0" + name.encode() + b"\0" + struct.pack("!hh", 0, len(values))
    for value in values:
        body += struct.pack("!i", len(value)) + value.encode()
    body += struct.pack("!h", 0)
    return message(b"B", body) + message(b"D", b"P\0") + message(b"E", b"\0" + struct.pack("!i", 0)) + message(b"S", b"")


def parse(name: str, text: str) -> bytes:
    return message(b"P", name.encode() + b"\0" + text.encode() + b"\0" + struct.pack("!h", 0))


class Case:
    """Three sessions: one changes the schema, one waits, one looks on."""

    def __init__(self, connect):
        self.connect = connect

    def run(self, statement: str, change: str, protocol: str) -> list[str]:
        looker = self.connect("postgres")
        looker.simple("DROP SCHEMA IF EXISTS w CASCADE")
        for kind, body in looker.simple(SCHEMA):
            if kind == b"E":
                raise RuntimeError(f"schema: {pgwire.fields_of(body)}")
        changer, waiter = self.connect("postgres"), self.connect("waits_user")
        for connection in (changer, waiter):
            connection.simple("SET search_path = w")
        pid = waiter.query("SELECT pg_backend_pid()")[0][0]
        text, values = STATEMENTS[statement]
        if protocol == "prepared":
            waiter.sock.sendall(parse("p", text) + message(b"S", b""))
            waiter.until_ready()
        changer.simple("BEGIN")
        changer.simple(f"LOCK TABLE {TABLES} IN ACCESS EXCLUSIVE MODE")
        changed = outcome(changer.simple(CHANGES[change]))
        refused = [line for line in changed if line.startswith("error")]
        answer: list[tuple[bytes, bytes]] = []

        def wait() -> None:
            if protocol == "simple":
                answer.extend(waiter.simple(text_of(text, values)))
            else:
                first = parse("", text) if protocol == "extended" else b""
                waiter.sock.sendall(first + bind_and_execute("p" if protocol == "prepared" else "", values))
                answer.extend(waiter.until_ready())

        thread = threading.Thread(target=wait)
        thread.start()
        deadline = time.monotonic() + 10
        while thread.is_alive() and time.monotonic() < deadline:
            if looker.query(f"SELECT pg_blocking_pids({pid}) <> '{{}}'")[0][0] == "t":
                break
            time.sleep(0.002)
        changer.simple("COMMIT")
        thread.join(20)
        if thread.is_alive():
            raise RuntimeError(f"{statement} / {change} / {protocol}: the statement waits for ever")
        told = outcome(answer)
        if protocol != "simple" and any(line.startswith("error") for line in told):
            # whether Describe was answered before depends on where the wait is: in PostgreSQL it is in Parse or Bind
            told = [line for line in told if not line.startswith("columns")]
        result = [f"change {line}" for line in refused] + told
        for query in STATE:
            rows = outcome(looker.simple(query))
            result.append(" ; ".join(r for r in rows if not r.startswith("columns") and not r.startswith("tag")))
        for connection in (changer, waiter, looker):
            connection.close()
        return result
