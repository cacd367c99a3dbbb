#!/usr/bin/env python3
"""Write the blocking modules from the asyncio ones: one source of truth for both worlds.

    tools/async_to_sync.py           write connection.py, cursor.py, pool.py
    tools/async_to_sync.py --check   exit 1 when they are not up to date

Works on tokens, so comments and layout survive: `async` and `await` go, names change by the table below. Blocks
between `# async:begin` and `# async:end` are left out, and lines that begin with `# sync: ` are taken in.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "informix_db"
MODULES = {"connection_async.py": "connection.py", "cursor_async.py": "cursor.py", "pool_async.py": "pool.py"}
NAMES = {
    "AsyncConnection": "Connection",
    "AsyncConnectionPool": "ConnectionPool",
    "AsyncCursor": "Cursor",
    "AsyncTransport": "Transport",
    "AsyncLock": "Lock",
    "AsyncCondition": "Condition",
    "AsyncIterator": "Iterator",
    "StopAsyncIteration": "StopIteration",
    "asynccontextmanager": "contextmanager",
    "async_wait_until": "wait_until",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "_net_async": "_net",
    "connection_async": "connection",
    "cursor_async": "cursor",
    "pool_async": "pool",
}
WORDS = re.compile(r"\b(" + "|".join(map(re.escape, NAMES)) + r")\b")


def convert(source: str, name: str) -> str:
    """The blocking module for an asyncio module."""
    source = re.sub(r"(?ms)^ *# async:begin\n.*?^ *# async:end\n", "", source)
    source = re.sub(r"(?m)^( *)# sync: ", r"\1", source)
    out: list[str] = []
    line, column = 1, 0
    drop_space = False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        (start_line, start_column), (end_line, end_column) = token.start, token.end
        if token.type == tokenize.ENDMARKER:
            break
        if start_line > line:
            out.append("\n" * 0)
            column = 0
        gap = token.line[column:start_column] if start_line == line or column == 0 else ""
        if token.type in (tokenize.INDENT, tokenize.DEDENT):
            if token.type == tokenize.INDENT:
                out.append(token.string)
                line, column = end_line, end_column
            continue
        if drop_space:
            gap = gap.lstrip(" ")
            drop_space = False
        out.append(gap)
        if token.type == tokenize.NAME and token.string in ("async", "await"):
            drop_space = True
        elif token.type == tokenize.NAME:
            out.append(NAMES.get(token.string, token.string))
        elif token.type in (tokenize.COMMENT, tokenize.STRING):
            out.append(WORDS.sub(lambda m: NAMES[m[1]], token.string))
        else:
            out.append(token.string)
        line, column = end_line, end_column
        if token.type in (tokenize.NEWLINE, tokenize.NL):
            line, column = end_line + 1, 0
    text = "".join(out)
    text = text.replace(" Source of `" + MODULES[name] + "`, which `tools/async_to_sync.py` writes.", "")
    head = f"# Written by tools/async_to_sync.py from {name}. Do not edit.\n"
    ruff = Path(sys.executable).with_name("ruff")
    command = [str(ruff) if ruff.exists() else "ruff", "format", "--stdin-filename", str(PACKAGE / MODULES[name]), "-"]
    fixed = [*command[:1], "check", "--fix-only", "--quiet", *command[2:]]
    for step in (fixed, command):
        text = subprocess.run(step, input=text, text=True, capture_output=True, check=True).stdout
    return head + text


def main() -> int:
    stale = []
    for name, target in MODULES.items():
        text = convert((PACKAGE / name).read_text(), name)
        path = PACKAGE / target
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text() != text:
                stale.append(target)
        else:
            path.write_text(text)
    if stale:
        print(f"not up to date, run tools/async_to_sync.py: {', '.join(stale)}", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
