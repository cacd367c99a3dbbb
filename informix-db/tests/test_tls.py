"""TLS is verified unless somebody says otherwise in so many words; the interrupt travels beneath it."""

import asyncio
import ssl
from pathlib import Path

import pytest

import informix_db
from conftest import CREDENTIALS
from informix_db import InterfaceError, OperationalError, StatementTimeoutError, aio
from peer.server import Col, Result, Server, Slow

HERE = Path(__file__).parent / "tls"
ONE = Result([Col("n", 2, 4)], [(i,) for i in range(20000)])


@pytest.fixture
def server():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(HERE / "server.pem", HERE / "server.key")
    with Server(tls=context, rules={"select n": ONE, "select slow": Slow(ONE)}) as s:
        yield s


TRUSTED = {"tls": True, "tls_ca_file": str(HERE / "server.pem"), "tls_server_hostname": "localhost"}


def connect(server, **options):
    return informix_db.connect(
        "127.0.0.1", server.port, **{**CREDENTIALS, "autocommit": True, "connect_timeout": 20, **options}
    )


def test_a_verified_connection(server):
    conn = connect(server, **TRUSTED)
    assert conn.cursor().execute("select n").fetchall() == ONE.rows
    conn.cursor().execute("select slow")
    with pytest.raises(StatementTimeoutError):
        conn.cursor().execute("select slow", timeout=0.1)
    assert conn.cursor().execute("select n").fetchone() == (0,)
    conn.close()


def test_verification_is_the_default(server):
    with pytest.raises(OperationalError, match="certificate"):
        connect(server, tls=True)
    with pytest.raises(OperationalError, match="certificate|address"):  # trusted, but of another name
        connect(server, tls=True, tls_ca_file=TRUSTED["tls_ca_file"])
    with pytest.raises(InterfaceError):
        connect(server, tls="yes")
    with pytest.raises(InterfaceError):
        connect(server, tls=1)


def test_verification_is_turned_off_by_a_word(server):
    conn = connect(server, tls="insecure-no-verification")
    assert conn.cursor().execute("select n").fetchone() == (0,)
    conn.close()


def test_a_context_of_ones_own(server):
    context = ssl.create_default_context(cafile=TRUSTED["tls_ca_file"])
    conn = connect(server, tls=context, tls_server_hostname="localhost")
    assert conn.cursor().execute("select n").fetchone() == (0,)
    conn.close()


def test_plain_text_to_a_tls_port_fails(server):
    with pytest.raises((InterfaceError, OperationalError)):
        connect(server, connect_timeout=2)


def test_asyncio(server):
    async def main():
        with pytest.raises(OperationalError, match="certificate"):
            await aio.connect("127.0.0.1", server.port, **CREDENTIALS, tls=True)
        conn = await aio.connect("127.0.0.1", server.port, **CREDENTIALS, **TRUSTED, autocommit=True)
        assert await (await conn.execute("select n")).fetchall() == ONE.rows
        await conn.execute("select slow")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(conn.execute("select slow"), 0.1)
        assert not conn.closed
        assert await (await conn.execute("select n")).fetchone() == (0,)
        await conn.close()

    asyncio.run(main())
