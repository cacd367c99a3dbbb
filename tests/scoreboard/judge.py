"""Says what an answer is worth: compares two servers' results of one query string.

The verdicts, best first:

* `matched`: same columns (name, type, modifier), same rows as text (in order where ORDER BY says so, else as multisets),
  same command tag; or both failed with the same SQLSTATE.
* `refused`: the server said 0A000 where PostgreSQL did not.
* `failed`: it failed where PostgreSQL succeeded, or with another SQLSTATE (`followup` says whether an object is missing,
  or a transaction aborted, after an earlier failure in the file).
* `wrong`: it answered where PostgreSQL fails, or answered something else.
* `crashed`: XX000 where PostgreSQL has no such error, a lost connection, or no answer within the limit.

What two runs of PostgreSQL itself do not agree on (OIDs, the clock, random numbers, transaction numbers) cannot be
compared: the columns whose values differ between those runs are left out, and all rows where their number differs.
"""

from __future__ import annotations

import collections
import re

VERDICTS = ("matched", "refused", "failed", "wrong", "crashed")
FIRST_USER_OID = 16384
ORDER_BY = re.compile(r"\border\s+by\b", re.I)


def outside_parentheses(sql: str) -> str:
    """The text without literals, comments and what is in parentheses."""
    sql = re.sub(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", " ", sql, flags=re.S)
    out, depth = [], 0
    for c in sql:
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif depth <= 0:
            out.append(c)
    return "".join(out)


def sort_columns(sql: str, columns: list) -> list[int] | None:
    """The output columns that a top-level ORDER BY names; None where it says something that is no output column."""
    clause = ORDER_BY.split(outside_parentheses(sql))[-1]
    clause = re.split(r"\b(?:limit|offset|fetch|for)\b|;", clause, flags=re.I)[0]
    names = [c[0] for c in columns]
    found = []
    for item in clause.split(","):
        word = re.sub(r"\s+(asc|desc|nulls\s+(first|last)|using\s+\S+)", "", item.strip(), flags=re.I).strip()
        if word.isdigit() and 0 < int(word) <= len(names):
            found.append(int(word) - 1)
        else:
            word = word.split(".")[-1].strip('"')
            if names.count(word) != 1:
                return None
            found.append(names.index(word))
    return found


def column_type(oid: int, typmod: int) -> str:
    return "user" if oid >= FIRST_USER_OID else f"{oid}/{typmod}"


def shape(result: dict) -> list:
    return [(c[0], column_type(c[1], c[2])) for c in result.get("columns", [])]


def unstable_columns(rows: list, again: list) -> set[int] | None:
    """The columns in which two runs of PostgreSQL differ; None where their rows cannot be set against each other."""
    if len(rows) != len(again):
        return None
    return {i for a, b in zip(rows, again) for i in range(len(a)) if a[i] != b[i]}


def same_rows(sql: str, wanted: dict, again: dict, got: dict) -> bool:
    rows, mine = wanted.get("rows", []), got.get("rows", [])
    unstable = unstable_columns(rows, again.get("rows", []))
    if unstable is None:
        return True
    if len(rows) != len(mine):
        return False
    keep = [i for i in range(len(rows[0]) if rows else 0) if i not in unstable]
    a = [tuple(r[i] for i in keep) for r in rows]
    b = [tuple(r[i] for i in keep) for r in mine]
    if a == b:
        return True
    if collections.Counter(a) != collections.Counter(b):
        return False
    if not ORDER_BY.search(outside_parentheses(sql)):
        return True
    # The same rows in another order: right only if they are equal in what ORDER BY names.
    keys = sort_columns(sql, wanted.get("columns", []))
    return keys is not None and all(all(x[i] == y[i] for i in keys) for x, y in zip(rows, mine))


def is_plan(results: list[dict]) -> bool:
    """Whether PostgreSQL showed an execution plan, which is no other server's."""
    return any(c[0] == "QUERY PLAN" for r in results for c in r.get("columns", []))


def judge_one(sql: str, wanted: dict, again: dict, got: dict) -> tuple[str, str]:
    """The verdict on one statement and why."""
    error, mine = wanted.get("error"), got.get("error")
    if mine == error and error is not None:
        return "matched", ""
    if mine in ("lost", "slow") or mine in ("XX000", "XX001"):
        return "crashed", f"{mine} {got.get('message', '')}"
    if mine == "0A000":
        return "refused", got.get("message", "")
    if mine is not None:
        return "failed", f"{mine} {got.get('message', '')}" + (f" (PostgreSQL: {error} {wanted.get('message', '')})" if error else "")
    if error is not None:
        return "wrong", f"succeeded (PostgreSQL: {error} {wanted.get('message', '')})"
    if shape(wanted) != shape(got):
        return "wrong", f"columns {shape(got)} (PostgreSQL: {shape(wanted)})"
    tag, mine = wanted.get("tag", ""), got.get("tag", "")
    if tag != again.get("tag", ""):  # its count is not the same on PostgreSQL either
        tag, mine = re.sub(r"\d+", "#", tag), re.sub(r"\d+", "#", mine)
    if tag != mine:
        return "wrong", f"tag {mine} (PostgreSQL: {tag})"
    if not same_rows(sql, wanted, again, got):
        return "wrong", "rows differ"
    if wanted.get("copied") == again.get("copied") and wanted.get("copied") != got.get("copied"):
        a, b = "".join(wanted.get("copied", [])).splitlines(), "".join(got.get("copied", [])).splitlines()
        if ORDER_BY.search(sql) or sorted(a) != sorted(b):
            return "wrong", "copied data differs"
    return "matched", ""


def judge(sql: str, wanted: list[dict], again: list[dict], got: list[dict]) -> tuple[str, str]:
    """The verdict on a query string: the worst of its statements'."""
    if len(again) != len(wanted):
        again = wanted
    worst = ("matched", "")
    for i, w in enumerate(wanted):
        if i >= len(got):
            verdict = ("failed", "no further result")
        else:
            verdict = judge_one(sql, w, again[i], got[i])
        if VERDICTS.index(verdict[0]) > VERDICTS.index(worst[0]):
            worst = verdict
        if i < len(got) and "error" in got[i]:
            break
    if len(got) > len(wanted) and worst[0] == "matched":
        worst = ("wrong", f"{len(got)} results (PostgreSQL: {len(wanted)})")
    return worst
