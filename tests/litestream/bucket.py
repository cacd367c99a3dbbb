"""A bucket of moto's on this machine, and a proxy before it that fails: for archive.py.

    bucket.py PORT

runs moto's server alone, with the Python that has it.
"""

from __future__ import annotations

import http.client
import http.server
import os
import pathlib
import random
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request

NAME = "archives"
#: What moto is asked with: it takes any keys.
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}


class Moto:
    """moto's server, with one bucket in its memory."""

    def __init__(self, python: str, folder: str):
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.port = s.getsockname()[1]
        environment = {**os.environ, **KEYS, "HOME": folder, "NO_PROXY": "*"}
        with open(os.path.join(folder, "moto.log"), "wb") as log:
            self.process = subprocess.Popen([python, __file__, str(self.port)], stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + 120
        while True:
            try:
                request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{NAME}", method="PUT")
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10).close()
                return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.2)

    def keys(self) -> list[str]:
        """What is in the bucket."""
        import re

        found, after = [], ""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while True:
            with opener.open(f"http://127.0.0.1:{self.port}/{NAME}?list-type=2&start-after={after}", timeout=30) as answer:
                some = re.findall(r"<Key>([^<]*)</Key>", answer.read().decode())
            found += some
            if len(some) < 1000:
                return found
            after = some[-1]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Proxy:
    """A proxy before moto's server. It passes requests on, and fails by chance while `failing` is set: no connection, an error, an answer that is lost after the work was done, one that comes
    late, and a request that arrives once more later, long after it was answered or given up. Or it fails each time in one of these ways, while that is in `down`."""

    WAYS = ("refused", "error", "lost", "late", "twice", "slow down")

    def __init__(self, moto: Moto, seed: int):
        self.to, self.keys, self.chance, self.failing, self.down = moto.port, moto.keys, random.Random(seed), 0.0, ""
        self.counts: dict[str, int] = {}
        self.lock = threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                proxy.serve(self, self.rfile.read(length) if length else b"")

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_: object) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        return {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}", "NO_PROXY": "*", "no_proxy": "*"}

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.to, timeout=60)
        try:
            connection.request(method, path, body=body or None, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def way(self) -> str:
        with self.lock:
            way = self.down or (self.chance.choice(self.WAYS) if self.chance.random() < self.failing else "")
            self.counts[way] = self.counts.get(way, 0) + 1
            return way

    def serve(self, handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        headers = {k: v for k, v in handler.headers.items() if k.lower() not in ("host", "connection", "content-length")}
        headers["Host"] = handler.headers.get("Host", "")
        request = (handler.command, handler.path, headers, body)
        way = self.way()
        if way == "refused":
            handler.close_connection = True
            return
        if way in ("error", "slow down"):
            self.answer(handler, 500 if way == "error" else 503, [("Content-Type", "application/xml")], b"<Error><Code>SlowDown</Code></Error>")
            return
        status, found, content = self.ask(*request)
        if way == "twice":
            # (the same bytes arrive again, while others are on their way, or much later)
            delay = self.chance.choice([0.0, 0.5, 5.0])
            threading.Timer(delay, lambda: self.ask(*request)).start()
        if way == "late":
            time.sleep(self.chance.uniform(0.5, 4))
        if way == "lost":
            handler.close_connection = True
            return
        self.answer(handler, status, found, content)

    @staticmethod
    def answer(handler: http.server.BaseHTTPRequestHandler, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        handler.send_response_only(status)
        length = str(len(content))
        for name, value in headers:
            if name.lower() == "content-length":
                length = value
            elif name.lower() not in ("transfer-encoding", "connection"):
                handler.send_header(name, value)
        handler.send_header("Content-Length", length)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(content)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


if __name__ == "__main__":
    # (the checkout's folder would hide packages of the same names)
    sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
    import logging

    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    run_simple("127.0.0.1", int(sys.argv[1]), DomainDispatcherApplication(create_backend_app), threaded=True)
