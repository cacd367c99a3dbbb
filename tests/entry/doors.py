#!/usr/bin/env python3
"""The ways in: rules of a file (--hba), the operating system's user (peer), passwords before databases are told of, floods of clients that
never say who they are, places that are kept for superusers, and files of the server.

    python3 tests/entry/doors.py [TEST…]
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import pathlib
import pwd
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def refused(run) -> dict[str, str]:
    """The error that a login ends with."""
    try:
        run()
    except pgwire.StartupError as e:
        return e.fields
    raise AssertionError("let in")


def login(s: server.Server, user: str, database: str = "main", **settings: str) -> pgwire.Connection:
    return pgwire.Connection(s.dir, s.port, user, database, **settings)


# --- passwords ---------------------------------------------------------------------------------------------------------------


def packet(**parameters: str) -> bytes:
    body = struct.pack("!i", 196608) + b"".join(k.encode() + b"\0" + v.encode() + b"\0" for k, v in parameters.items()) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def receive(sock: socket.socket) -> tuple[bytes, bytes]:
    def exactly(n: int) -> bytes:
        data = b""
        while len(data) < n:
            more = sock.recv(n - len(data))
            if not more:
                raise pgwire.ServerGone("closed")
            data += more
        return data

    kind = exactly(1)
    (length,) = struct.unpack("!i", exactly(4))
    return kind, exactly(length - 4)


def scram(s: server.Server, user: str, password: str, database: str) -> list[tuple[bytes, bytes]]:
    """The messages of a login with a password, up to ReadyForQuery or an error."""
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(20)
    sock.connect(f"{s.dir}/.s.PGSQL.{s.port}")
    sock.sendall(packet(user=user, database=database))
    messages = [receive(sock)]
    if messages[-1][0] != b"R":
        return messages

    def send(body: bytes) -> None:
        sock.sendall(b"p" + struct.pack("!i", len(body) + 4) + body)

    bare = b"n=,r=clientnonce"
    send(b"SCRAM-SHA-256\0" + struct.pack("!i", len(bare) + 3) + b"n,," + bare)
    messages.append(receive(sock))
    if messages[-1][0] != b"R":
        return messages
    first = messages[-1][1][4:]
    parts = dict(p.split(b"=", 1) for p in first.split(b","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(parts[b"s"]), int(parts[b"i"]))
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    without_proof = b"c=biws,r=" + parts[b"r"]
    signature = hmac.digest(hashlib.sha256(client_key).digest(), bare + b"," + first + b"," + without_proof, "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature)))
    send(without_proof + b",p=" + proof)
    while messages[-1][0] not in (b"Z", b"E"):
        messages.append(receive(sock))
    sock.close()
    return messages


@test
def databases_are_told_of_after_authentication():
    """Who has no password of a database does not learn which there are."""
    with tempfile.TemporaryDirectory() as data:
        with server.Server("--data-dir", data) as s:
            c = login(s, "postgres", "postgres")
            c.query("CREATE ROLE joe LOGIN PASSWORD 'right'")
            c.close()
        with server.Server("--data-dir", data, "--auth", "scram") as s:
            told = []
            for database in "postgres", "nosuch", "no/such", "..":
                messages = scram(s, "joe", "wrong", database)
                assert [m[0] for m in messages] == [b"R", b"R", b"E"], messages
                f = pgwire.fields_of(messages[-1][1])
                told.append((f["C"], f["M"], messages[0][1], len(messages[1][1])))
            assert len(set(told)) == 1 and told[0][0] == "28P01", told
            assert scram(s, "joe", "right", "postgres")[-1][0] == b"Z"
            assert pgwire.fields_of(scram(s, "joe", "right", "nosuch")[-1][1])["C"] == "28P01"
            # nor does the server make or open anything for it
            assert sorted(f for f in os.listdir(data) if f.endswith(".db")) == ["postgres.db"], os.listdir(data)


# --- rules -------------------------------------------------------------------------------------------------------------------


@test
def rules_of_a_file():
    """Rules count in their order; the database, the role, its memberships and the method decide."""
    me = pwd.getpwuid(os.geteuid()).pw_name
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "hba.conf")
        pathlib.Path(rules).write_text(
            "# who comes in\n"
            "local all postgres trust\n"
            f"local all {me} peer\n"
            "local \"closed db\",closed all reject\n"
            "local sameuser all trust\n"
            "local samerole all \\\n  trust\n"
            "local all +staff scram-sha-256\n"
            "local all bob peer\n"
        )
        with server.Server("--hba", rules, "--superuser", me) as s:
            c = login(s, "postgres")
            c.query("CREATE ROLE staff; CREATE ROLE joe LOGIN PASSWORD 'right' IN ROLE staff; CREATE ROLE bob LOGIN; CREATE ROLE eve LOGIN")
            mine = login(s, me)
            assert mine.query("SELECT current_user, current_setting('is_superuser')") == [[me, "on"]]
            login(s, "eve", "eve").close()
            login(s, "joe", "staff").close()
            assert scram(s, "joe", "right", "main")[-1][0] == b"Z"
            assert pgwire.fields_of(scram(s, "joe", "wrong", "main")[-1][1])["C"] == "28P01"
            f = refused(lambda: login(s, "eve"))
            assert (f["C"], f["M"]) == ("28000", 'no pg_hba.conf entry for host "[local]", user "eve", database "main", no encryption'), f
            f = refused(lambda: login(s, "eve", "closed db"))
            assert (f["C"], f["M"]) == ("28000", 'pg_hba.conf rejects connection for host "[local]", user "eve", database "closed db", no encryption'), f
            f = refused(lambda: login(s, "bob"))
            assert (f["C"], f["M"]) == ("28000", 'Peer authentication failed for user "bob"'), f
            # a rule lets in, but does not make a role
            f = refused(lambda: login(s, "nosuch", "nosuch"))
            assert (f["C"], f["M"]) == ("28000", 'role "nosuch" does not exist'), f
            c.close()


@test
def peer_is_a_flag():
    me = pwd.getpwuid(os.geteuid()).pw_name
    with server.Server("--auth", "peer", "--superuser", me) as s:
        login(s, me).close()
        assert refused(lambda: login(s, "postgres"))["C"] == "28000" or me == "postgres"


@test
def wrong_rules_are_told_at_the_start():
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "hba.conf")
        pathlib.Path(rules).write_text("local all all trust\nlocal all all ldap\nhost all all nowhere trust\n")
        for flags, told in [
            (["--hba", rules], ["line 2 of", "ldap", "line 3 of", "nowhere"]),
            (["--hba", rules + ".missing"], ["could not read"]),
            (["--hba", rules, "--auth", "trust"], ["exclude each other"]),
            (["--server-files", rules + ".missing"], ["server_files"]),
        ]:
            command = [server.binary(), "--in-memory", "--no-tcp", "--socket-dir", folder, *flags]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert done.returncode != 0 and all(word in done.stderr for word in told), (flags, done.stderr)


# --- floods ------------------------------------------------------------------------------------------------------------------


@test
def silent_clients_keep_nobody_out():
    """Connections that say nothing, or stop in the middle of SCRAM, take no place and send away one another."""
    with server.Server("--max-connections", "20") as s:
        admin = login(s, "postgres")
        admin.query("CREATE ROLE joe LOGIN PASSWORD 'right'")
        admin.close()
        held = []
        for _ in range(100):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(f"{s.dir}/.s.PGSQL.{s.port}")
            held.append(sock)
        for _ in range(10):
            login(s, "postgres").close()
        for sock in held:
            sock.close()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "main.db")
        with server.Server(database=file) as s:
            c = login(s, "postgres")
            c.query("CREATE ROLE joe LOGIN PASSWORD 'right'")
            c.close()
        with server.Server("--max-connections", "20", "--auth", "scram", database=file) as s:
            held = []
            for _ in range(60):
                sock = socket.socket(socket.AF_UNIX)
                sock.connect(f"{s.dir}/.s.PGSQL.{s.port}")
                sock.sendall(packet(user="joe", database="main"))
                held.append(sock)
            for _ in range(5):
                assert scram(s, "joe", "right", "main")[-1][0] == b"Z"
            # the first ones were told why they had to go
            held[0].settimeout(20)
            kinds = []
            try:
                while True:
                    kinds.append(receive(held[0]))
            except (pgwire.ServerGone, ConnectionError):
                pass
            assert kinds and kinds[-1][0] == b"E" and pgwire.fields_of(kinds[-1][1])["C"] == "53300", [k for k, _ in kinds]
            for sock in held:
                sock.close()


@test
def slow_scrapers_keep_nobody_from_the_metrics():
    port = server.free_port()
    with server.Server("--metrics-addr", f"127.0.0.1:{port}"):
        slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
            sock.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            answer = b""
            while chunk := sock.recv(65536):
                answer += chunk
        assert answer.startswith(b"HTTP/1.1 200") and b"pgsqlite_unauthenticated" in answer, answer[:200]
        for sock in slow:
            sock.close()


@test
def leases_are_kept_for_superusers():
    """Sessions of a role that hold the whole pool do not keep a superuser from ending them."""
    with server.Server("--pool-size", "8", "--pool-timeout", "1", "--reserved-connections", "3") as s:
        admin = login(s, "postgres")
        admin.query("CREATE ROLE joe LOGIN")
        admin.close()
        held = []
        for number in range(8):
            c = login(s, "joe")
            error = [pgwire.fields_of(b)["C"] for k, b in c.simple(f"CREATE TEMP TABLE t{number} (a int)") if k == b"E"]
            assert error == ([] if number < 6 else ["53300"]), (number, error)
            held.append(c)
        admin = login(s, "postgres")
        assert admin.query("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'joe'") == [["8"]]
        deadline = time.monotonic() + 20
        while True:
            c = login(s, "joe")
            if not [k for k, _ in c.simple("CREATE TEMP TABLE t (a int)") if k == b"E"]:
                break
            assert time.monotonic() < deadline
            c.close()


# --- files of the server ---------------------------------------------------------------------------------------------------------


def outcome(c: pgwire.Connection, sql: str) -> str:
    """The SQLSTATE of a statement and its hint, or its tag."""
    for kind, body in c.simple(sql):
        if kind == b"E":
            f = pgwire.fields_of(body)
            return f"{f['C']} {f['M']} {f.get('H', '')}".strip()
        if kind == b"C":
            tag = body[:-1].decode()
    return tag


@test
def copy_keeps_to_its_folder():
    with tempfile.TemporaryDirectory() as folder:
        inside = os.path.join(folder, "files")
        os.mkdir(inside)
        outside = os.path.join(folder, "secret")
        pathlib.Path(outside).write_text("7\n")
        os.symlink(outside, os.path.join(inside, "link"))
        os.symlink(os.path.join(folder, "new"), os.path.join(inside, "dangling"))
        os.symlink(folder, os.path.join(inside, "up"))
        with server.Server() as s:
            c = login(s, "postgres")
            c.query("CREATE TABLE t (a int)")
            for sql in f"COPY t FROM '{outside}'", f"COPY t TO '{outside}'":
                told = outcome(c, sql)
                assert told.startswith("42501") and "--server-files" in told, told
        with server.Server("--server-files", inside) as s:
            c = login(s, "postgres")
            c.query("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")
            assert outcome(c, f"COPY t TO '{inside}/t.txt'") == "COPY 2"
            assert outcome(c, f"COPY t FROM '{inside}/t.txt'") == "COPY 2"
            assert outcome(c, "COPY t FROM 't.txt'") == "COPY 2"
            for name in outside, f"{inside}/link", f"{inside}/dangling", f"{inside}/up/secret", f"{inside}/../secret", "/etc/passwd", "../secret":
                told = outcome(c, f"COPY t FROM '{name}'")
                assert told.startswith("42501") and "outside" in told, (name, told)
                told = outcome(c, f"COPY t TO '{name}'")
                assert told.startswith("42501") and "outside" in told or name == "../secret" and told.startswith("42602"), (name, told)
            assert pathlib.Path(outside).read_text() == "7\n" and not os.path.exists(os.path.join(folder, "new"))
            c.query("CREATE ROLE reader LOGIN IN ROLE pg_read_server_files; CREATE ROLE plain LOGIN; GRANT ALL ON t TO PUBLIC")
            assert outcome(login(s, "plain"), f"COPY t FROM '{inside}/t.txt'").startswith("42501 must be superuser")
            assert outcome(login(s, "reader"), f"COPY t FROM '{inside}/t.txt'") == "COPY 2"
            assert outcome(login(s, "reader"), f"COPY t TO '{inside}/t.txt'").startswith("42501 must be superuser")


# --- who is there ----------------------------------------------------------------------------------------------------------------


@test
def a_new_file_has_two_superusers():
    me = pwd.getpwuid(os.geteuid()).pw_name
    expected = sorted({"postgres", me})
    with tempfile.TemporaryDirectory() as folder:
        command = [server.binary(), "--database", f"{folder}/main.db", "--no-tcp", "--socket-dir", folder]
        for _ in range(2):
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                deadline = time.monotonic() + 20
                while not os.path.exists(f"{folder}/.s.PGSQL.5432"):
                    assert time.monotonic() < deadline and process.poll() is None
                    time.sleep(0.01)
                for user in expected:
                    c = pgwire.Connection(folder, 5432, user, "main")
                    roles = c.query("SELECT rolname FROM pg_roles WHERE rolcanlogin AND rolsuper ORDER BY 1")
                    assert [r for (r,) in roles] == expected, roles
                    c.query(f"CREATE TABLE IF NOT EXISTS of_{user} (a int)")
                    assert c.query(f"SELECT tableowner FROM pg_tables WHERE tablename = 'of_{user}'") == [[user]]
                    c.close()
                try:
                    pgwire.Connection(folder, 5432, "stranger", "main")
                    raise AssertionError("a stranger came in")
                except pgwire.StartupError as e:
                    assert e.fields["C"] == "28000", e.fields
            finally:
                process.terminate()
                process.wait(20)


@test
def the_command_line_gives_passwords_to_the_first_users():
    """`pgsqlite user add` for the operating system's user, who is a role already, and for another."""
    me = pwd.getpwuid(os.geteuid()).pw_name
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "main.db")
        for name in me, "carol":
            command = [server.binary(), "user", "add", "--superuser", name, "--database", file]
            done = subprocess.run(command, input="secret\n", capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            again = subprocess.run(command, input="other\n", capture_output=True, text=True, timeout=60)
            assert again.returncode != 0 and "already exists" in again.stderr, again.stderr
        with server.Server("--auth", "scram", database=file) as s:
            for name in me, "carol":
                assert scram(s, name, "secret", "main")[-1][0] == b"Z", name
                assert scram(s, name, "other", "main")[-1][0] == b"E", name


@test
def databases_that_tools_expect():
    """template1 can be connected to, template0 cannot; settings of another database can be changed from here."""
    with tempfile.TemporaryDirectory() as data, server.Server("--data-dir", data) as s:
        c = login(s, "postgres", "postgres")
        assert login(s, "postgres", "template1").query("SELECT current_database()") == [["template1"]]
        f = refused(lambda: login(s, "postgres", "template0"))
        assert (f["C"], f["M"]) == ("55000", 'database "template0" is not currently accepting connections'), f
        c.query("CREATE ROLE owner LOGIN CREATEDB; CREATE ROLE other LOGIN; GRANT CONNECT ON DATABASE postgres TO PUBLIC")
        c.query("CREATE DATABASE shop OWNER owner")
        open_there = login(s, "owner", "shop")
        open_there.query("CREATE SCHEMA mine; CREATE TABLE mine.t (a int)")
        c.query("ALTER DATABASE shop SET work_mem = '9MB'")
        c.query("ALTER DATABASE shop SET search_path TO mine, \"$user\"")
        there = login(s, "owner", "shop")
        assert there.query("SELECT current_setting('work_mem'), current_setting('search_path'), count(*) FROM t") == [["9MB", 'mine, "$user"', "0"]]
        own = login(s, "owner", "postgres")
        own.query("ALTER DATABASE shop RESET work_mem")
        assert login(s, "other", "shop").query("SHOW work_mem") == [["4MB"]]
        for who, sql, told in [
            ("other", "ALTER DATABASE shop SET work_mem = '8MB'", "42501 must be owner of database shop"),
            ("owner", "ALTER DATABASE shop SET log_min_duration_statement = '1s'", "42501 permission denied to set parameter"),
            ("owner", "ALTER DATABASE shop SET work_mem = 'banana'", "22023"),
            ("postgres", "ALTER DATABASE shop SET log_min_duration_statement = '1h'", "ALTER DATABASE"),
            ("postgres", "BEGIN; ALTER DATABASE shop SET work_mem = '8MB'", "0A000"),
            ("postgres", "ALTER DATABASE nosuch SET work_mem = '8MB'", "3D000"),
        ]:
            got = outcome(login(s, who, "postgres"), sql)
            assert got.startswith(told), (sql, got)


def main() -> int:
    failed = 0
    for function in TESTS:
        if sys.argv[1:] and function.__name__ not in sys.argv[1:]:
            continue
        try:
            function()
        except Exception as e:  # noqa: BLE001
            import traceback

            traceback.print_exc()
            print(f"{function.__name__}: {e}")
            failed += 1
    print(f"tests/entry: {len(TESTS)} tests of the ways in, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
