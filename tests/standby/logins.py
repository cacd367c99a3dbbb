#!/usr/bin/env python3
"""How a standby proves to its primary who it is: passwords, where they may come from and where they must not be seen, TLS, and several servers of which one is the primary.

    logins.py
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import pgwire  # noqa: E402
import server  # noqa: E402

SECRET = "s3cret word"


class Follows:
    """Standbys of one primary, each with a URL of its own."""

    def __init__(self, folder: str):
        self.folder, self.number, self.problems = folder, 0, []

    def expect(self, what: str, found: object, wanted: object) -> None:
        if found != wanted:
            self.problems.append(f"{what}: {found!r}, not {wanted!r}")

    def standby(self, url: str, *, said: str = "", by_environment: bool = False, **environment: str) -> None:
        """A standby follows; or its log has `said`."""
        self.number += 1
        directory = f"{self.folder}/{self.number}"
        os.makedirs(directory)
        log = pathlib.Path(directory, "log")
        given = {**os.environ, "HOME": directory, **environment}
        words = [server.binary(), "--database", f"{directory}/main.db", "--superuser", "postgres", "--socket-dir", directory, "--no-tcp"]
        if by_environment:
            given["PGSQLITE_STANDBY"] = url
        else:
            words += ["--standby", url]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log.open("wb"), stderr=subprocess.STDOUT, env=given)
        try:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                text = log.read_text()
                if said and said in text:
                    break
                if process.poll() is not None:
                    self.problems.append(f"{url}: it ends: {text}")
                    return
                try:
                    connection = pgwire.Connection(directory, 5432, "postgres", "main")
                except (pgwire.StartupError, OSError, pgwire.ServerGone):
                    time.sleep(0.05)
                    continue
                if connection.query("SELECT count(*) FROM pg_stat_wal_receiver") == [["1"]]:
                    self.expect(f"{url} is let in", said, "")
                    shown = connection.query("SELECT conninfo FROM pg_stat_wal_receiver")[0][0]
                    self.expect("what is shown of the password", ("cret" in shown, "password=********" in shown), (False, by_environment))
                    connection.close()
                    break
                connection.close()
                time.sleep(0.05)
            else:
                self.problems.append(f"{url} {environment}: {log.read_text()[-600:]}")
            told = log.read_text() + pathlib.Path(f"/proc/{process.pid}/cmdline").read_text()
            self.expect(f"{url}: the password in the log or the command line", "cret" in told.replace("se%63ret", ""), False)
        finally:
            process.kill()
            process.wait()


def main() -> None:
    folder = tempfile.mkdtemp(prefix="pgsqlite-logins.")
    follows = Follows(folder)
    authority, key, certificate = made_certificates(folder)
    rules = pathlib.Path(folder, "rules.conf")
    rules.write_text(
        "local all all trust\nlocal replication copier scram-sha-256\nlocal replication free trust\nlocal replication clerk scram-sha-256\n"
        "hostssl replication copier all scram-sha-256\n"
    )
    port = server.free_port()
    os.makedirs(f"{folder}/primary")
    words = [server.binary(), "--database", f"{folder}/primary/main.db", "--superuser", "postgres", "--socket-dir", f"{folder}/primary", "--port", str(port)]
    words += ["--hba", str(rules), "--max-wal-senders", "10", "--tls-cert", certificate, "--tls-key", key]
    log = pathlib.Path(folder, "primary", "server.log")
    primary = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log.open("wb"), stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                connection = pgwire.Connection(f"{folder}/primary", port, "postgres", "main")
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        connection.query(f"CREATE ROLE copier LOGIN REPLICATION PASSWORD '{SECRET}'; CREATE ROLE free LOGIN REPLICATION; CREATE ROLE clerk LOGIN PASSWORD '{SECRET}'")
        connection.close()
        socket = f"host={folder}/primary&port={port}"
        passfile = pathlib.Path(folder, "passwords")
        passfile.write_text(f"# of standbys\nother:*:*:*:wrong\n*:{port}:main:copier:{SECRET}\n*:*:*:clerk:{SECRET}\n")
        passfile.chmod(0o600)
        follows.standby(f"postgresql://free@/?{socket}")
        # where the password may come from
        follows.standby(f"postgresql://copier@/?{socket}", PGPASSFILE=str(passfile))
        follows.standby(f"postgresql://copier@/?{socket}&passfile={passfile}")
        follows.standby(f"postgresql://copier:s3cret%20word@/?{socket}", by_environment=True)
        follows.standby(f"postgresql://copier@/?{socket}", said="asks for a password, and there is none")
        follows.standby(f"postgresql://copier:wrong@/?{socket}", by_environment=True, said='password authentication failed for user "copier"')
        follows.standby(f"postgresql://clerk@/?{socket}", PGPASSFILE=str(passfile), said="permission denied to start WAL sender")
        passfile.chmod(0o644)
        follows.standby(f"postgresql://copier@/?{socket}", PGPASSFILE=str(passfile), said="may be read by others")
        passfile.chmod(0o600)
        # on the command line everybody would see it
        done = subprocess.run([server.binary(), "--database", f"{folder}/x.db", "--standby", f"postgresql://copier:s3cret@/?{socket}"], capture_output=True, text=True, timeout=30)
        follows.expect("a password on the command line", (done.returncode != 0, "a password on the command line is shown" in done.stderr, "s3cret" in done.stderr), (True, True, False))
        # TLS
        tcp = f"localhost:{port}"
        given = {"PGPASSFILE": str(passfile)}
        for mode in ("prefer", "require"):
            follows.standby(f"postgresql://copier@{tcp}/main?sslmode={mode}", **given)
        for mode in ("require", "verify-ca", "verify-full"):
            follows.standby(f"postgresql://copier@{tcp}/main?sslmode={mode}&sslrootcert={authority}", **given)
        follows.standby(f"postgresql://copier@127.0.0.1:{port}/main?sslmode=verify-ca&sslrootcert={authority}", **given)
        follows.standby(f"postgresql://copier@127.0.0.1:{port}/main?sslmode=verify-full&sslrootcert={authority}", said="certificate", **given)
        follows.standby(f"postgresql://copier@{tcp}/main?sslmode=verify-ca&sslrootcert={other_authority(folder)}", said="certificate", **given)
        follows.standby(f"postgresql://copier@{tcp}/main?sslmode=disable", said="no pg_hba.conf entry for replication connection", **given)
        # the first that is a primary
        follows.standby(f"postgresql://copier@localhost:1,localhost:{port}/main", **given)
        # bytes of no server
        follows.standby(f"postgresql://copier@localhost:{noise()}/main", said="none of PostgreSQL's protocol", **given)
        follows.expect("passwords in the primary's log", "cret" in log.read_text(), False)
    finally:
        primary.terminate()
        primary.wait()
    if follows.problems:
        print(log.read_text()[-1000:])
    shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(follows.problems))
    print(f"logins: {follows.number} standbys, {len(follows.problems)} problems")
    sys.exit(bool(follows.problems))


def noise() -> int:
    """The port of a server that answers with garbage."""
    import socket
    import threading

    listener = socket.create_server(("localhost", 0))

    def answer() -> None:
        while True:
            client, _ = listener.accept()
            client.recv(8)
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            client.close()

    threading.Thread(target=answer, daemon=True).start()
    return listener.getsockname()[1]


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def new_authority(folder: str, name: str) -> tuple[str, str]:
    key, certificate = f"{folder}/{name}.key", f"{folder}/{name}.pem"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-keyout", key, "-out", certificate, "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE")
    return key, certificate


def other_authority(folder: str) -> str:
    return new_authority(folder, "other")[1]


def made_certificates(folder: str) -> tuple[str, str, str]:
    """An authority's certificate, and the key and the certificate of `localhost`."""
    authority_key, authority = new_authority(folder, "authority")
    key, request, certificate, names = (f"{folder}/server.{end}" for end in ("key", "csr", "pem", "names"))
    pathlib.Path(names).write_text("subjectAltName=DNS:localhost\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", request, "-subj", "/CN=localhost")
    openssl("x509", "-req", "-in", request, "-CA", authority, "-CAkey", authority_key, "-CAcreateserial", "-days", "30", "-out", certificate, "-extfile", names)
    return authority, key, certificate


if __name__ == "__main__":
    main()
