"""A run's file → one HTML page that needs nothing else: who was measured, ratios, throughput over clients, distributions, all figures."""

from __future__ import annotations

import html
import pathlib

from . import plots, results

STYLE = """
:root { color-scheme: light dark; --bg: #fff; --fg: #1c2430; --soft: #667; --line: #d8dde5; --good: #2a9d5d14;
  --c1: #1668c7; --c2: #c4541d; --c3: #7a8794; --c4: #8a3fb0; --c5: #2a8f6d; --c6: #b08a10; --c7: #b0326a; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181e; --fg: #e6e9ee; --soft: #99a3b0; --line: #333b46; --good: #2a9d5d26;
  --c1: #5aa2f0; --c2: #f08a55; --c3: #a8b3bf; --c4: #c58be6; --c5: #5fc7a3; --c6: #d8b74a; --c7: #e57aa8; } }
body { font: 15px/1.45 system-ui, sans-serif; background: var(--bg); color: var(--fg); margin: 0 auto; max-width: 1180px; padding: 1.2em; }
h1 { font-size: 1.5em; margin: 0 0 .2em } h2 { font-size: 1.2em; margin: 2em 0 .4em; border-bottom: 1px solid var(--line) }
p, li { max-width: 60em } .soft { color: var(--soft) } .warn { border-left: 4px solid var(--c2); padding: .3em .8em; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(440px, 1fr)); gap: 12px } svg.ratios { max-width: 900px; width: 100% }
svg.plot { display: block; width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px; background: var(--bg) }
svg .t { font: 11px system-ui, sans-serif; fill: var(--soft) } svg .h { font: 600 13px system-ui, sans-serif; fill: var(--fg) }
svg .g { stroke: var(--line); stroke-width: .7 } svg .one { stroke: var(--fg); stroke-width: 1.2 } svg .good { fill: var(--good) }
svg .s { fill: none; stroke-width: 1.8; stroke-linejoin: round }
table { border-collapse: collapse; font-size: 13px; width: 100% } th, td { padding: 2px 8px; border-bottom: 1px solid var(--line); text-align: left }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap } th { cursor: pointer; position: sticky; top: 0; background: var(--bg) }
tr.bad td { color: var(--c2); font-weight: 600 } input { font: inherit; padding: 3px 8px; width: 22em; max-width: 100% }
"""

SCRIPT = """
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0]
  table.tHead.addEventListener('click', (event) => {
    const th = event.target.closest('th')
    if (!th) return
    const up = th.dataset.up !== 'yes'
    for (const other of th.parentNode.children) delete other.dataset.up
    if (up) th.dataset.up = 'yes'
    const value = (row) => row.cells[th.cellIndex].dataset.v ?? row.cells[th.cellIndex].textContent
    const compare = (a, b) => { const x = value(a), y = value(b); return th.classList.contains('n') ? (x === '' ? 1 : y === '' ? -1 : x - y) : x.localeCompare(y) }
    body.append(...[...body.rows].sort((a, b) => (up ? compare(a, b) : compare(b, a))))
  })
}
document.querySelector('#filter').addEventListener('input', (event) => {
  const words = event.target.value.toLowerCase().split(/\\s+/).filter(Boolean)
  for (const row of document.querySelector('#all').tBodies[0].rows) {
    const text = row.textContent.toLowerCase()
    row.hidden = !words.every((word) => text.includes(word))
  }
})
"""

e = html.escape


def shown(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "ns":
        return plots.duration(value)
    if unit == "bytes":
        return f"{value / 1024:.1f} KiB" if value < 2**20 else f"{value / 2**20:.1f} MiB"
    return plots.number(value)


def title_of(m: dict) -> str:
    parts = [m["name"], m["mode"], f"{m['clients']} clients" if m["clients"] != 1 else ""]
    parts.append(m["client"] if m["group"] == "drivers" or m["group"] == "pg-parallel" else "")
    return ", ".join(p for p in parts if p)


def grouped(measurements: list[dict]) -> dict[tuple, dict[str, dict]]:
    """What was measured on several targets: (group, title) → target → measurement."""
    out: dict[tuple, dict[str, dict]] = {}
    for m in measurements:
        if m["value"] is not None:
            out.setdefault((m["group"], title_of(m), m["unit"], m["loop"]), {})[m["target"]] = m
    return out


OWN = {"pgsqlite": "pgsqlite", "informix-db beside its peer": "informix-db, compiled", "pg-parallel": "pg-parallel"}


def ratio_plots(measurements: list[dict]) -> list[str]:
    by_group: dict[str, list] = {}
    for (group, title, _, loop), targets in grouped(measurements).items():
        own = OWN.get(group, "pgsqlite")
        if own not in targets:
            continue
        mine = targets[own]

        def typical(m: dict) -> float | None:
            return m.get("p50") or m["value"]

        def ratio(m: dict) -> float | None:
            # where many are served at once, it is the throughput that counts
            if m["group"] in ("concurrency", "tpcb", "pg-parallel") and m.get("per_second") and mine.get("per_second"):
                return m["per_second"] / mine["per_second"]
            return typical(mine) / typical(m) if typical(mine) and typical(m) else None

        row = {name: r for name, m in targets.items() if name != own and (r := ratio(m))}
        if row:
            by_group.setdefault(group, []).append((title, row))
    titles = {"concurrency": "concurrency: time per operation (1 / throughput)", "tpcb": "TPC-B-like: time per transaction (1 / throughput)"}
    return [plots.ratios(titles.get(group, f"{group}: medians"), rows) for group, rows in by_group.items()]


def client_plots(measurements: list[dict]) -> list[str]:
    series: dict[str, dict[str, list]] = {}
    tails: dict[str, dict[str, list]] = {}
    for m in measurements:
        if m["group"] not in ("concurrency", "tpcb") or not m.get("per_second"):
            continue
        title = ", ".join(p for p in (m["name"], m["mode"] if m["group"] == "tpcb" else "") if p)
        series.setdefault(title, {}).setdefault(m["target"], []).append((m["clients"], m["per_second"]))
        if m.get("p99"):
            tails.setdefault(title, {}).setdefault(m["target"], []).append((m["clients"], m["p99"] / 1e6))
    out = [plots.over_clients(f"{t}: throughput", s, "operations per second") for t, s in series.items()]
    return out + [plots.over_clients(f"{t}: 99th percentile", s, "ms") for t, s in tails.items()]


def distribution_plots(measurements: list[dict]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for (group, title, _, loop), targets in grouped(measurements).items():
        series = [(n, results.decode(m["histogram"])) for n, m in targets.items() if m.get("histogram") and m["count"]]
        if series:
            rate = next((m.get("rate") for m in targets.values() if m.get("rate")), None)
            suffix = f", {rate:.0f} per second due" if rate else ""
            out.setdefault(group, []).append(plots.distribution(title + suffix, series))
    return out


COLUMNS = [("group", ""), ("what", ""), ("target", ""), ("through", ""), ("mean", "n"), ("p50", "n"), ("p90", "n"), ("p99", "n"), ("p99.9", "n"), ("longest", "n"), ("per second", "n"), ("operations", "n"), ("errors", "n")]


def cell(value: float | None, text: str) -> str:
    return f'<td class="n" data-v="{"" if value is None else f"{value:.6g}"}">{e(text)}</td>'


def table(measurements: list[dict]) -> str:
    head = "".join(f'<th class="{cls}">{e(name)}</th>' for name, cls in COLUMNS)
    rows = []
    for m in measurements:
        unit, errors = m["unit"], sum(m["errors"].values())
        cells = "".join(f"<td>{e(str(v))}</td>" for v in (m["group"], title_of(m), m["target"], m["client"]))
        cells += cell(m["value"], shown(m["value"], unit) + ("" if unit in ("ns", "bytes") else f" {unit}" if m["value"] is not None else ""))
        for p in ("p50", "p90", "p99", "p99.9", "max"):
            cells += cell(m.get(p), shown(m.get(p), "ns" if p != "max" or unit == "per second" else unit))
        per_second = m.get("per_second")
        cells += cell(per_second, "" if per_second is None else plots.number(per_second)) + cell(m["count"], f"{m['count']:,}")
        why = ", ".join(f"{k}: {v}" for k, v in m["errors"].items())
        cells += f'<td class="n" data-v="{errors}" title="{e(why)}">{errors or ""}</td>'
        rows.append(f'<tr class="{"bad" if errors else ""}">{cells}</tr>')
    return f'<table class="sortable" id="all"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def comparison(rows: list[dict]) -> str:
    out = []
    for r in rows:
        values = cell(r["then"], shown(r["then"], r["unit"])) + cell(r["now"], shown(r["now"], r["unit"])) + cell(r["worse"], f"{r['worse']:.2f}×")
        out.append(f'<tr class="{"bad" if r["fails"] else ""}"><td>{e(r["key"])}</td>{values}</tr>')
    head = "".join(f'<th class="{cls}">{n}</th>' for n, cls in (("figure", ""), ("baseline", "n"), ("now", "n"), ("as much worse", "n")))
    return f'<table class="sortable" id="baseline"><thead><tr>{head}</tr></thead><tbody>{"".join(out)}</tbody></table>'


def page(run: dict, compared: list[dict] | None = None) -> str:
    m, machine = run["measurements"], run["machine"]
    head = f"{run['kind']}, profile {run['profile']}, commit {run['commit']}{' with changes' if run['changed'] else ''}, {run['begun']}, {run['seconds']:.0f} s"
    where = f"{machine['cpus']} processors, {machine['memory_mib']} MiB, {machine['architecture']}, {machine['system']}; load {machine['load_before']} before, {machine['load_after']} after"
    out = [f"<h1>Benchmarks</h1><p class=soft>{e(head)}<br>{e(where)}</p>"]
    if machine["load_before"] > 0.5 or run["profile"] == "tiny":
        out.append('<p class="warn">The machine had other work to do, or there were too few operations: these figures show that the benchmarks run, not how fast anything is.</p>')
    if run["targets"]:
        rows = "".join(f"<li><b>{e(n)}</b>: {e(t['version'])}. {e(t['durability'])}</li>" for n, t in run["targets"].items())
        out.append(f"<ul>{rows}</ul>")
    if run["skipped"]:
        rows = "".join(f"<li>{e(s['what'])}: {e(s['why'])}</li>" for s in run["skipped"])
        out.append(f"<h2>Not measured</h2><ul id=skipped>{rows}</ul>")
    if compared is not None:
        bad = sum(r["fails"] for r in compared)
        out.append(f"<h2>Against the baseline</h2><p>{bad} of {len(compared)} figures are more than 25 % worse.</p>{comparison(compared)}")
    if ratio := ratio_plots(m):
        out.append(f"<h2>Beside each rival</h2>{''.join(f'<div>{p}</div>' for p in ratio)}")
    if clients := client_plots(m):
        out.append(f'<h2>Over the number of clients</h2><div class=plots>{"".join(clients)}</div>')
    for group, figures in distribution_plots(m).items():
        out.append(f'<h2>Latency: {e(group)}</h2><div class=plots>{"".join(figures)}</div>')
    out.append(f'<h2>All figures</h2><p><input id=filter placeholder="filter, for instance: insert pgsqlite"></p>{table(m)}')
    title = f"Benchmarks {run['begun'][:10]}"
    return f'<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width"><title>{e(title)}</title><link rel=icon href="data:,"><style>{STYLE}</style></head><body>{"".join(out)}<script>{SCRIPT}</script></body></html>\n'


def write(run: dict, path: pathlib.Path, compared: list[dict] | None = None) -> pathlib.Path:
    path.write_text(page(run, compared))
    return path
