"""The protocol without I/O: bytes in, bytes out.

How data passes: `messages/*` build and parse single messages, `types/*` convert single values, `rowplan` compiles a
DESCRIBE into a function that decodes whole runs of rows, and `session` strings messages into operations. An
operation is a generator: it yields bytes that are to be written, or None when it needs more input, and is resumed
with the bytes that arrived (b"" at end of stream). Whoever runs it owns the socket: `informix_db._net` blocking,
`informix_db._net_async` under asyncio.
"""
