#!/usr/bin/env python3
"""The ways in: rules of a file (--hba), the operating system's user (peer), passwords before databases are told of, floods of clients that
never say who they are, places that are kept for superusers, and files of the server.

    python3 tests/entry/doors.py [TEST…]
    tools/oracle.sh python3 tests/entry/doors.py --record     # PostgreSQL: writes rules.tsv
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import hmac
import os
import pathlib
import pwd
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import oracle as reference  # noqa: E402
import pgwire  # noqa: E402
import server  # noqa: E402
from cases import Cases  # noqa: E402

cases = Cases()
test = cases.test


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
        pathlib.Path(rules).write_text(
            "local all all trust\nlocal all all ldap\nhost all all nowhere/8 trust\nlocal all all peer map=m\nlocal all @nothing peer\n"
            "hostssl all all all cert\n"
        )
        good, maps = os.path.join(folder, "good.conf"), os.path.join(folder, "ident.conf")
        pathlib.Path(good).write_text("local all all trust\n")
        pathlib.Path(maps).write_text("m root postgres\nm root\nm /(( root\n")
        for flags, told in [
            (["--hba", rules], ["line 2 of", "ldap", "line 3 of", "nowhere", "line 4 of", "--ident", "line 5 of", "@nothing", "line 6 of", "--tls-ca"]),
            (["--hba", good, "--ident", maps], ["line 2 of", "missing entry", "line 3 of", "regular expression"]),
            (["--hba", good, "--ident", rules + ".missing"], ["could not open"]),
            (["--ident", maps], ["ident needs hba"]),
            (["--tls-ca", good], ["tls_ca needs"]),
            (["--tls-self-signed", "--tls-ca", rules + ".missing"], ["authorities of clients"]),
            (["--hba", rules + ".missing"], ["could not open"]),
            (["--hba", rules, "--auth", "trust"], ["exclude each other"]),
            (["--server-files", rules + ".missing"], ["server_files"]),
        ]:
            command = [server.binary(), "--in-memory", "--no-tcp", "--socket-dir", folder, *flags]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert done.returncode != 0 and all(word in done.stderr for word in told), (flags, done.stderr)


def log_of(s: server.Server, words: str) -> None:
    """Waits until the log says something."""
    deadline = time.monotonic() + 20
    while words not in s.log_text():
        assert time.monotonic() < deadline, (words, s.log_text())
        time.sleep(0.02)


@test
def rules_are_read_again():
    """SIGHUP and pg_reload_conf() read the file and the files that it names anew; one with a fault leaves the rules as they are."""
    with tempfile.TemporaryDirectory() as folder:
        rules, names = pathlib.Path(folder, "hba.conf"), pathlib.Path(folder, "names")
        names.write_text("ann\n")
        rules.write_text("local all postgres trust\nlocal all @names trust\n")
        with server.Server("--hba", str(rules), "--log-level", "info") as s:
            admin = login(s, "postgres")
            admin.query("CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN")
            login(s, "ann").close()
            assert refused(lambda: login(s, "bob"))["C"] == "28000"
            names.write_text("ann,\n# and\nbob")
            assert refused(lambda: login(s, "bob"))["C"] == "28000", "before anybody asked"
            assert admin.query("SELECT pg_reload_conf()") == [["t"]]
            log_of(s, "were read again")
            login(s, "bob").close()
            # a fault, and a file that is not there: nothing changes
            for text, told in [("local all all trust\nlocal all nobody ldap\n", "line 2"), ("local all @gone trust\n", "@gone")]:
                rules.write_text(text)
                s.process.send_signal(signal.SIGHUP)
                log_of(s, told)
                login(s, "bob").close()
            rules.write_text("local all postgres trust\nlocal all bob reject\n")
            s.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 20
            while True:
                try:
                    login(s, "bob").close()
                except pgwire.StartupError as e:
                    assert "rejects" in e.fields["M"], e.fields
                    break
                assert time.monotonic() < deadline
                time.sleep(0.02)
            # a session that is in stays in; who may ask is said by the function's privileges
            admin.query("SET ROLE ann")
            try:
                admin.query("SELECT pg_reload_conf()")
                raise AssertionError("anybody may ask")
            except RuntimeError as e:
                assert "42501" in str(e), e


@test
def maps_of_users():
    """The operating system's user may be the roles that the rule's map names, and is asked anew when the file of maps has changed."""
    me = pwd.getpwuid(os.geteuid()).pw_name
    with tempfile.TemporaryDirectory() as folder:
        rules, maps = pathlib.Path(folder, "hba.conf"), pathlib.Path(folder, "ident.conf")
        rules.write_text("local all postgres trust\nlocal all carl peer\nlocal all eve ident map=nosuch\nlocal all all peer map=m\n")
        maps.write_text(f"m {me} ann\nm /^({me[:-1]}){me[-1]}$ of_\\1\nother {me} bob\nm {me}2 bob\nm /^{me} bob2\n")
        with server.Server("--hba", str(rules), "--ident", str(maps), "--log-level", "info") as s:
            admin = login(s, "postgres")
            for role in "ann", "bob", "bob2", "carl", "eve", f"of_{me[:-1]}", f"of_{me}", me:
                admin.query(f'CREATE ROLE "{role}" LOGIN')
            for role in "ann", "bob2", f"of_{me[:-1]}":
                assert login(s, role).query("SELECT current_user") == [[role]]
            # a map says all: who has the same name is let in by it, or not
            for role in "bob", "carl", "eve", f"of_{me}", me:
                f = refused(lambda: login(s, role))
                assert (f["C"], f["M"]) == ("28000", f'Peer authentication failed for user "{role}"'), f
            maps.write_text(f"m {me} bob # now\n")
            admin.query("SELECT pg_reload_conf()")
            log_of(s, "the rules of who may come in were read again")
            login(s, "bob").close()
            assert refused(lambda: login(s, "ann"))["C"] == "28000"
            # a fault in the maps leaves them as they were, and takes the rules
            maps.write_text(f"m {me}\nm {me} ann\n")
            rules.write_text("local all postgres trust\nlocal all bob peer map=m\nlocal all ann trust\n")
            admin.query("SELECT pg_reload_conf()")
            log_of(s, "missing entry at end of line")
            deadline = time.monotonic() + 20
            while True:
                try:
                    login(s, "ann").close()
                    break
                except pgwire.StartupError:
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
            login(s, "bob").close()


def certificates(folder: str) -> dict[str, str]:
    """An authority and certificates of clients that it has signed, and one that another has."""
    run = lambda *words: subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)  # noqa: E731
    for authority in "ca", "other":
        run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{authority}.key",
            "-out", f"{authority}.crt", "-subj", f"/CN={authority}", "-days", "2")  # fmt: skip
    names = {"ann": "/O=Works/CN=ann", "stranger": "/CN=ann", "mail": "/CN=ann@example.org", "nameless": "/O=ann"}
    for name, subject in names.items():
        authority = "other" if name == "stranger" else "ca"
        run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
        pathlib.Path(folder, "v3").write_text("basicConstraints=CA:FALSE\n")
        run("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-CAcreateserial",
            "-extfile", "v3", "-out", f"{name}.crt", "-days", "2")  # fmt: skip
    return {name: f"sslcert={folder}/{name}.crt sslkey={folder}/{name}.key" for name in names}


@test
def certificates_of_clients():
    """`cert` and `clientcert` ask for a certificate of one of the authorities, and for whom it was made."""
    with tempfile.TemporaryDirectory() as folder:
        certificate = certificates(folder)
        rules, maps = pathlib.Path(folder, "hba.conf"), pathlib.Path(folder, "ident.conf")
        rules.write_text(
            "local all all trust\n"
            "hostssl by_cert all all cert\n"
            "hostssl by_map all all cert map=mail clientname=CN\n"
            "hostssl any_cert all all trust clientcert=verify-ca\n"
            "hostssl trusted all all trust clientcert=verify-full\n"
            "hostssl by_password all all scram-sha-256 clientcert=verify-full\n"
            "host plain all all trust\n"
        )
        maps.write_text("mail /^(.*)@example\\.org$ \\1\n")
        port, data = server.free_port(), os.path.join(folder, "data")
        os.mkdir(data)
        command = [server.binary(), "--data-dir", data, "--superuser", "postgres", "--host", "127.0.0.1", "--port", str(port),
                   "--socket-dir", folder, "--hba", str(rules), "--ident", str(maps), "--tls-self-signed", "--tls-ca", f"{folder}/ca.crt"]  # fmt: skip
        with open(os.path.join(folder, "log"), "wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 20
            while True:
                try:
                    admin = pgwire.Connection(folder, port, "postgres", "postgres")
                    break
                except OSError:
                    assert time.monotonic() < deadline and process.poll() is None
                    time.sleep(0.02)
            admin.query("CREATE ROLE ann LOGIN PASSWORD 'right'")
            admin.query("CREATE ROLE bob LOGIN")
            for database in "by_cert", "by_map", "any_cert", "trusted", "by_password", "plain":
                admin.query(f"CREATE DATABASE {database}")

            def psql(database: str, user: str, who: str | None, sql: str = "SELECT current_user", **environment: str) -> str:
                words = f"host=127.0.0.1 port={port} dbname={database} user={user} sslmode=require " + (certificate[who] if who else "sslcert=none")
                done = subprocess.run(["psql", "-XAtw", words, "-c", sql], capture_output=True, text=True, timeout=60,
                                      env={**os.environ, "HOME": folder, **environment})  # fmt: skip
                return done.stdout.strip() if done.returncode == 0 else done.stderr

            no_certificate = "connection requires a valid client certificate"
            for database, user, who, told in [
                ("by_cert", "ann", "ann", "ann"),
                ("by_cert", "bob", "ann", 'certificate authentication failed for user "bob"'),
                ("by_cert", "ann", None, no_certificate),
                ("by_cert", "ann", "stranger", "alert unknown ca"),
                ("plain", "ann", "stranger", "alert unknown ca"),
                ("by_cert", "ann", "nameless", 'certificate authentication failed for user "ann"'),
                ("by_cert", "ann", "mail", 'certificate authentication failed for user "ann"'),
                ("by_map", "ann", "mail", "ann"),
                ("by_map", "bob", "mail", 'certificate authentication failed for user "bob"'),
                ("by_map", "ann", "ann", 'certificate authentication failed for user "ann"'),
                ("any_cert", "bob", "ann", "bob"),
                ("any_cert", "bob", "nameless", "bob"),
                ("any_cert", "bob", None, no_certificate),
                ("trusted", "ann", "ann", "ann"),
                ("trusted", "bob", "ann", '"trust" authentication failed for user "bob"'),
                ("trusted", "nosuch", "ann", '"trust" authentication failed for user "nosuch"'),
                ("plain", "bob", "ann", "bob"),
                ("plain", "bob", None, "bob"),
            ]:
                got = psql(database, user, who)
                assert got == told or told in got and not got.startswith(user), (database, user, who, got)
            # what pg_stat_ssl says of the certificate (in PostgreSQL's form), and who may see it
            shown = "SELECT ssl, version, cipher, bits, client_dn, client_serial, issuer_dn FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            number = subprocess.run(["openssl", "x509", "-in", "ann.crt", "-noout", "-serial"], cwd=folder, check=True, capture_output=True, text=True)
            number = int(number.stdout.split("=")[1], 16)
            assert psql("plain", "ann", "ann", shown) == f"t|TLSv1.3|TLS_AES_256_GCM_SHA384|256|/O=Works/CN=ann|{number}|/CN=ca"
            assert psql("plain", "bob", None, shown) == "t|TLSv1.3|TLS_AES_256_GCM_SHA384|256|||"
            assert psql("plain", "bob", None, "SELECT count(*), bool_and(ssl) FROM pg_stat_ssl") == "1|t"
            assert ["f"] in admin.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            # the password and the certificate have to be right
            assert psql("by_password", "ann", "ann", PGPASSWORD="right") == "ann"
            assert "password authentication failed" in psql("by_password", "ann", "ann", PGPASSWORD="wrong")
            assert "password authentication failed" in psql("by_password", "ann", "mail", PGPASSWORD="right")
            assert no_certificate in psql("by_password", "ann", None, PGPASSWORD="right")
            assert admin.query("SHOW ssl_ca_file") == [[f"{folder}/ca.crt"]]
        finally:
            process.terminate()
            process.wait(20)


SHOWN = """
SELECT line_number, type, database, user_name, address, netmask, auth_method, options, replace(error, $1, 'DIR') FROM pg_hba_file_rules
"""
MAPPED = "SELECT line_number, map_name, sys_name, pg_username, error FROM pg_ident_file_mappings"


def shown(c: pgwire.Connection, folder: str) -> str:
    """What the views of both files show."""
    rows = [c.query(SHOWN.replace("$1", f"'{folder}'")), c.query(MAPPED)]
    return "\n\n".join("\n".join("\t".join("\\N" if v is None else v for v in row) for row in of) for of in rows) + "\n"


def record_rules() -> None:
    """Writes rules.tsv: what PostgreSQL shows of rules.conf and ident.conf."""
    import shutil

    admin = reference.connect()
    ((data,),) = admin.query("SHOW data_directory")
    certificates(data)
    for file, own in ("ca.crt", "server.crt"), ("ca.key", "server.key"), ("rules.conf", "pg_hba.conf"), ("ident.conf", "pg_ident.conf"):
        if file.endswith(".conf"):
            shutil.copy(HERE / file, f"{data}/{own}")
        else:
            os.replace(f"{data}/{file}", f"{data}/{own}")
    pathlib.Path(data, "names").write_text("ann, bob\n")
    for file in "server.crt", "server.key", "names":
        shutil.chown(f"{data}/{file}", "postgres", "postgres")
    os.chmod(f"{data}/server.key", 0o600)
    admin.query("ALTER SYSTEM SET ssl = on")
    admin.query("SELECT pg_reload_conf()")
    while admin.query("SHOW ssl") != [["on"]]:
        time.sleep(0.1)
    (HERE / "rules.tsv").write_text(shown(admin, data))
    print("tests/entry: rules.tsv recorded")


@test
def views_show_the_rules():
    """pg_hba_file_rules and pg_ident_file_mappings show the files as PostgreSQL does, with what is wrong with a line."""
    me = pwd.getpwuid(os.geteuid()).pw_name
    with tempfile.TemporaryDirectory() as folder:
        rules, maps = pathlib.Path(folder, "hba.conf"), pathlib.Path(folder, "ident.conf")
        rules.write_text("local all all trust\n")
        maps.write_text("m a b\n")
        certificates(folder)
        with server.Server("--hba", str(rules), "--ident", str(maps), "--tls-self-signed", "--tls-ca", f"{folder}/ca.crt") as s:
            c = login(s, "postgres")
            assert c.query("SELECT * FROM pg_hba_file_rules") == [["1", "local", "{all}", "{all}", None, None, "trust", None, None]]
            assert c.query("SELECT current_setting('hba_file'), current_setting('ident_file')") == [[str(rules), str(maps)]]
            # the files are read when somebody looks, whatever counts
            rules.write_text((HERE / "rules.conf").read_text())
            maps.write_text((HERE / "ident.conf").read_text())
            pathlib.Path(folder, "names").write_text("ann, bob\n")
            expected = (HERE / "rules.tsv").read_text()
            got = shown(c, folder)
            assert got == expected, "\n".join(difflib.unified_diff(expected.splitlines(), got.splitlines(), lineterm=""))
            assert c.query("SELECT line_number, user_name FROM pg_hba_file_rules() WHERE error IS NULL") == [
                line.split("\t")[0:4:3] for line in expected.split("\n\n")[0].splitlines() if line.endswith("\\N")
            ]
            assert c.query("SELECT pg_username FROM pg_ident_file_mappings() WHERE map_name = 'm'") == [["postgres"], ["db user"]]
            # what PostgreSQL has, or has no words for
            for rule, told in [
                ("local all all md5", 'the authentication method "md5" is not supported'),
                ("hostssl all all all cert clientname=DN", 'the authentication option "clientname" = DN is not supported'),
                ("hostssl all all all trust clientname=XX", 'invalid value for clientname: "XX"'),
                ("hostssl all all all trust clientcert=1", 'invalid value for clientcert: "1"'),
            ]:
                rules.write_text(f"{rule}\n")
                assert c.query("SELECT * FROM pg_hba_file_rules") == [["1", *[None] * 7, told]]
            rules.unlink()
            assert outcome(c, "SELECT * FROM pg_hba_file_rules") == f'58P01 could not open configuration file "{rules}": No such file or directory'
            c.query("CREATE ROLE plain LOGIN")
            plain = login(s, "plain")
            for what in "pg_hba_file_rules", "pg_ident_file_mappings", "pg_hba_file_rules()", "pg_ident_file_mappings()":
                assert outcome(plain, f"SELECT * FROM {what}").startswith("42501"), what
            for name in "hba_file", "ident_file":
                assert outcome(plain, f"SHOW {name}").startswith("42501"), name
        with server.Server("--auth", "peer", "--superuser", me) as s:
            # rules that stand for a flag are in no file
            assert login(s, me).query("SELECT * FROM pg_hba_file_rules") == [
                [None, "local", "{all,replication}", "{all}", None, None, "peer", None, None],
                [None, "host", "{all,replication}", "{all}", "all", None, "scram-sha-256", None, None],
            ]
            assert login(s, me).query("SELECT * FROM pg_ident_file_mappings") == []


@test
def names_of_hosts():
    """A rule may name a host: the client's address has that name, and the name that address."""
    name = socket.getnameinfo(("127.0.0.1", 0), 0)[0]
    with tempfile.TemporaryDirectory() as folder:
        rules = pathlib.Path(folder, "hba.conf")
        rules.write_text(f"local all all trust\nhost all postgres {name.upper()} trust\nhost all all .invalid trust\n")
        port = server.free_port()
        command = [server.binary(), "--in-memory", "--superuser", "postgres", "--host", "127.0.0.1", "--port", str(port),
                   "--socket-dir", folder, "--hba", str(rules)]  # fmt: skip
        with open(os.path.join(folder, "log"), "wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            psql = ["psql", "-XAt", "-h", "127.0.0.1", "-p", str(port), "-d", "main", "-c", "SELECT 1"]
            deadline = time.monotonic() + 20
            while True:
                done = subprocess.run([*psql, "-U", "postgres"], capture_output=True, text=True)
                if done.returncode == 0 or time.monotonic() > deadline:
                    break
                time.sleep(0.05)
            assert done.stdout == "1\n", done.stderr
            done = subprocess.run([*psql, "-U", "eve"], capture_output=True, text=True)
            assert 'no pg_hba.conf entry for host "127.0.0.1", user "eve"' in done.stderr, done.stderr
            assert f'Client IP address resolved to "{name}", forward lookup matches.' in done.stderr, done.stderr
        finally:
            process.terminate()
            process.wait(20)


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
        assert answer[8:12] == b" 200" and b"pgsqlite_unauthenticated" in answer, answer[:200]
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
            assert outcome(login(s, "plain"), f"COPY t FROM '{inside}/t.txt'").startswith("42501 permission denied to COPY")
            assert outcome(login(s, "reader"), f"COPY t FROM '{inside}/t.txt'") == "COPY 2"
            assert outcome(login(s, "reader"), f"COPY t TO '{inside}/t.txt'").startswith("42501 permission denied to COPY")


# --- settings that say what is told, and to whom ------------------------------------------------------------------------------------


@test
def an_error_may_end_the_session():
    """exit_on_error: each error is FATAL, also one that a function would catch; what was answered before arrives."""
    with server.Server() as s:
        for run, code in [
            (lambda c: c.simple("SELECT 7; SELECT 1 / 0"), "22012"),
            (lambda c: c.simple("DO $$ BEGIN RAISE division_by_zero; EXCEPTION WHEN OTHERS THEN NULL; END $$"), "22012"),
            (lambda c: c.simple("SELEC"), "42601"),
        ]:
            c = login(s, "postgres", options="-c exit_on_error=on")
            said = []
            try:
                said = run(c)
                c.simple("SELECT 1")
                raise AssertionError(f"the session goes on: {said}")
            except pgwire.ServerGone:
                pass
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(20)
        sock.connect(f"{s.dir}/.s.PGSQL.{s.port}")
        sock.sendall(packet(user="postgres", database="main"))
        while receive(sock)[0] != b"Z":
            pass
        query = b"SET exit_on_error = on; SELECT 7; SELECT 1 / 0; SELECT 8\0"
        sock.sendall(b"Q" + struct.pack("!i", len(query) + 4) + query)
        messages = []
        try:
            while True:
                messages.append(receive(sock))
        except (pgwire.ServerGone, ConnectionError):
            pass
        assert [k for k, _ in messages] == [b"C", b"T", b"D", b"C", b"E"], messages
        f = pgwire.fields_of(messages[-1][1])
        assert (f["S"], f["C"], f["M"]) == ("FATAL", "22012", "division by zero"), f
        c = login(s, "postgres")
        assert outcome(c, "SET exit_on_error = on; RESET exit_on_error; SELECT 1 / 0").startswith("22012")
        assert c.query("SELECT 1") == [["1"]]


@test
def the_log_is_told_of_statements():
    """log_statement and log_duration: what defines, what changes, or all; superusers may say so."""
    with server.Server() as s:
        c = login(s, "postgres")
        c.query("CREATE TABLE t (a int); CREATE ROLE plain LOGIN")
        statements = [
            ("ddl", "CREATE VIEW v AS SELECT 'ddl1'"), ("ddl", "SELECT 'ddl2' AS a INTO t2"), ("ddl", "COMMENT ON TABLE t IS 'ddl3'"),
            ("ddl", "EXPLAIN ANALYZE SELECT 'ddl4' AS a INTO t3"), ("mod", "INSERT INTO t SELECT length('mod1')"), ("mod", "DELETE FROM t WHERE 'mod2' = ''"),
            ("mod", "EXPLAIN ANALYZE UPDATE t SET a = length('mod3')"), ("mod", "PREPARE p AS UPDATE t SET a = length('mod4')"), ("mod", "EXECUTE p /* mod5 */"),
            ("all", "SELECT 'all1'"), ("all", "EXPLAIN DELETE FROM t WHERE 'all2' = ''"), ("all", "COPY (SELECT 'all3') TO STDOUT"),
            ("mod", "SELECT 'all4'; TRUNCATE t /* mod6 */"),
        ]  # fmt: skip
        classes = ["none", "ddl", "mod", "all"]
        for number, setting in enumerate(classes):
            c.query(f"SET log_statement = '{setting}'")
            for _, sql in statements:
                c.simple(f"{sql} -- {setting}{number}")
            c.simple("DROP VIEW IF EXISTS v; DROP TABLE IF EXISTS t2; DEALLOCATE ALL")
            text = pathlib.Path(s.dir, "server.log").read_text()
            for kind, sql in statements:
                logged = f"statement: {sql} -- {setting}{number}" in text
                assert logged == (classes.index(kind) <= number), (setting, sql, logged)
        c.query("RESET log_statement")
        assert "after all" not in pathlib.Path(s.dir, "server.log").read_text()
        c.query("SET log_duration = on")
        c.query("SELECT 'timed'")
        c.query("RESET log_duration")
        c.query("SELECT 'after all'")
        text = pathlib.Path(s.dir, "server.log").read_text()
        assert text.count("duration: ") >= 1 and "timed" not in text and "after all" not in text, text
        plain = login(s, "plain")
        for name, value in [("log_statement", "none"), ("log_duration", "off"), ("track_activities", "off"), ("track_counts", "off")]:
            assert outcome(plain, f"SET {name} = {value}").startswith("42501"), name
        # what would have to be counted, and is not
        for name, value in [("track_io_timing", "on"), ("track_wal_io_timing", "on"), ("log_min_duration_sample", "0")]:
            assert outcome(c, f"SET {name} = {value}").startswith("0A000"), name
        for name, value in [("track_io_timing", "off"), ("track_wal_io_timing", "off")]:
            assert outcome(c, f"SET {name} = {value}") == "SET", name


@test
def what_a_session_does_may_be_hidden():
    """track_activities and track_counts."""
    with server.Server() as s:
        c, other = login(s, "postgres"), login(s, "postgres", application_name="other")
        seen = "SELECT state, query, xact_start IS NULL, query_start IS NULL, state_change IS NULL, wait_event FROM pg_stat_activity WHERE application_name = 'other'"
        other.query("SELECT 'shown'")
        assert c.query(seen) == [["idle", "SELECT 'shown'", "t", "f", "f", "ClientRead"]]
        other.query("SET track_activities = off")
        other.query("SELECT 'secret'")
        assert c.query(seen) == [["disabled", "", "t", "t", "t", None]]
        other.query("SET track_activities = on")
        other.query("SELECT 'again'")
        assert c.query(seen) == [["idle", "SELECT 'again'", "t", "f", "f", "ClientRead"]]
        counted = "SELECT tup_inserted FROM pg_stat_database WHERE datname = current_database()"
        other.query("CREATE TABLE t (a int); SET track_counts = off")
        before = c.query(counted)
        other.query("INSERT INTO t VALUES (1), (2)")
        assert c.query(counted) == before
        other.query("SET track_counts = on; INSERT INTO t VALUES (1), (2)")
        assert c.query(counted) == [[str(int(before[0][0]) + 2)]]


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
def logins_beside_a_copy_of_a_template():
    """While databases are made from one that is written to, others come in everywhere, and each copy is a state between two commits."""
    with tempfile.TemporaryDirectory() as data, server.Server("--data-dir", data) as s:
        c = login(s, "postgres", "postgres")
        c.query("CREATE DATABASE origin")
        c.query("CREATE DATABASE elsewhere")
        writer = login(s, "postgres", "origin")
        writer.query("CREATE TABLE a (id int PRIMARY KEY, t text); CREATE TABLE b (id int PRIMARY KEY); INSERT INTO a SELECT g, repeat('x', 500) FROM generate_series(1, 5000) g; INSERT INTO b SELECT id FROM a")
        stop, problems, logins, written = threading.Event(), [], [0, 0], [5000]

        def write() -> None:
            while not stop.is_set():
                n = written[0] + 1
                outcome = writer.simple(f"BEGIN; INSERT INTO a VALUES ({n}, 'y'); INSERT INTO b VALUES ({n}); COMMIT")
                errors = [pgwire.fields_of(body) for kind, body in outcome if kind == b"E"]
                if errors:
                    problems.append(errors)
                    return
                written[0] = n

        def come_in(number: int, database: str) -> None:
            while not stop.is_set():
                try:
                    other = login(s, "postgres", database)
                    if other.query("SELECT current_database()") != [[database]]:
                        problems.append(database)
                    other.close()
                    logins[number] += 1
                except Exception as e:  # noqa: BLE001
                    problems.append((database, repr(e)))
                    return

        threads = [threading.Thread(target=write), *(threading.Thread(target=come_in, args=x) for x in enumerate(("origin", "elsewhere")))]
        for t in threads:
            t.start()
        copies = []
        for n in range(8):
            before, enough = written[0], [count + 1 for count in logins]
            c.query(f"CREATE DATABASE copy{n} TEMPLATE origin")
            after = written[0] + 1
            there = login(s, "postgres", f"copy{n}")
            copies.append((before, after, there.query("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b), (SELECT max(id) FROM a)")[0]))
            there.close()
            c.query(f"DROP DATABASE copy{n}")
            while any(have < need for have, need in zip(logins, enough)) and not problems:
                time.sleep(0.01)
        stop.set()
        for t in threads:
            t.join()
        assert not problems, problems[:5]
        for before, after, (in_a, in_b, last) in copies:
            assert in_a == in_b == last and before <= int(in_a) <= after, copies


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


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        sys.exit(record_rules())
    sys.exit(cases.run(sys.argv[1:]))
