#!/usr/bin/env python3
"""An archive in a container of Azurite's, which stands in for Azure Blob Storage: after a kill the server goes on in it, and what is restored is the live database.

    azure.py AZURITE

AZURITE is the script of its blob service.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import archive  # noqa: E402
import run  # noqa: E402  (it finds tests/lib, too)
import server  # noqa: E402

#: The account that each Azurite has, and its key, which is no secret.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def make_container(port: int, name: str) -> int:
    """Asks Azurite for a container. Returns the HTTP status."""
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
    signed = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:2021-08-06\n/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()).decode()
    headers = {"x-ms-date": date, "x-ms-version": "2021-08-06", "Authorization": f"SharedKey {ACCOUNT}:{signature}"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("PUT", f"/{ACCOUNT}/{name}?restype=container", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def restored(setting: run.Setting, url: str) -> str:
    """Restores, and compares with the live database. Returns what differs, or nothing."""
    now, to = os.path.join(setting.dir, "live.db"), os.path.join(setting.dir, "restored.db")
    deadline = time.monotonic() + run.PATIENCE
    while True:
        pathlib.Path(to).unlink(missing_ok=True)
        done = subprocess.run([server.binary(), "restore", url, to], capture_output=True, text=True)
        found = done.stderr if done.returncode else run.compared(to, now, run.live(setting.database, now))
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.3)


def checks() -> list[str]:
    problems = []

    def expect(what: str, found: object, wanted: object) -> None:
        if found != wanted:
            problems.append(f"{what}: {found!r}, not {wanted!r}")

    setting = run.Setting("", own=True)
    setting.flags = ("--archive", "az://box/some/where")
    url = "az://box/some/where/main"
    setting.start_server()
    c = setting.connect()
    c.query("CREATE TABLE t AS SELECT generate_series(1, 1000) i")
    expect("the first file", restored(setting, url), "")
    # more than is put at once
    c.query("CREATE TABLE big AS SELECT i, (SELECT string_agg(md5(i::text || j::text), '') FROM generate_series(1, 100) j) AS s FROM generate_series(1, 6000) i")
    expect("a large file", restored(setting, url), "")
    for number in (signal.SIGKILL, signal.SIGTERM):
        setting.end_server(number)
        setting.start_server()
        c = setting.connect()
        c.query("INSERT INTO t VALUES (7)")
        expect(f"after {number.name}", restored(setting, url), "")
        expect("goes on where it was", "whole database" in setting.server.log_text(), False)
        archive.where(setting)
    done = subprocess.run([server.binary(), "verify", url], capture_output=True, text=True)
    expect("verify", (done.returncode, done.stdout.startswith(f"{url} is sound")), (0, True))
    c.close()
    setting.close(bool(problems))
    return problems


def main() -> int:
    folder = tempfile.mkdtemp(prefix="pgsqlite-azurite.")
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    words = ["node", sys.argv[1], "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", folder]
    azurite = subprocess.Popen([*words, "--skipApiVersionCheck", "--disableTelemetry", "--silent"])
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                status = make_container(port, "box")
                break
            except OSError:
                if time.monotonic() > deadline or azurite.poll() is not None:
                    raise
                time.sleep(0.2)
        os.environ.update({
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": KEY, "AZURE_ALLOW_HTTP": "true",
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/{ACCOUNT}", "NO_PROXY": "*", "no_proxy": "*",
        })
        problems = checks() if status == 201 else [f"no container: {status}"]
    finally:
        azurite.kill()
        azurite.wait()
    shutil.rmtree(folder)
    return run.report(problems)


if __name__ == "__main__":
    sys.exit(main())
