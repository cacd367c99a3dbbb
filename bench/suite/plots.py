"""Plots as SVG text: latency distributions, lines over clients, ratios. No library and no script: a report is one file that
opens anywhere. Colours are CSS variables of the report's style sheet, so that they follow light and dark."""

from __future__ import annotations

import html
import math

#: Everybody has one colour in all plots.
COLOURS = {
    "pgsqlite": "--c1", "postgresql": "--c2", "sqlite": "--c3", "pglite": "--c4", "informix-db": "--c1", "informix-db, compiled": "--c3",
    "informix-driver": "--c2", "no pool": "--c3", "pg-parallel": "--c1", "pg.Pool": "--c2", "postgres": "--c4",
}  # fmt: skip


def colour(name: str) -> str:
    return f"var({COLOURS.get(name, f'--c{5 + sum(map(ord, name)) % 3}')})"


def number(value: float) -> str:
    if value == 0:
        return "0"
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.3g}"


def duration(ns: float) -> str:
    for limit, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= limit:
            return f"{ns / limit:.3g} {unit}"
    return f"{ns:.3g} ns"


class Canvas:
    """A plot's frame: axes, labels, a legend under the title; `x` and `y` map values to places."""

    def __init__(self, title: str, width: int, height: int, left: int = 62, bottom: int = 38):
        self.title, self.width, self.height = title, width, height
        self.left, self.right, self.top, self.bottom = left, width - 26, 44, height - bottom
        self.parts: list[str] = []

    def add(self, markup: str) -> None:
        self.parts.append(markup)

    def text(self, x: float, y: float, text: str, cls: str = "t", anchor: str = "middle") -> None:
        self.add(f'<text class="{cls}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, cls: str) -> None:
        self.add(f'<line class="{cls}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def path(self, points: list[tuple[float, float]], name: str, tip: str) -> None:
        d = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.add(f'<path class="s" style="stroke:{colour(name)}" d="{d}"><title>{html.escape(tip)}</title></path>')

    def dot(self, x: float, y: float, name: str, tip: str, r: float = 3.5) -> None:
        self.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" style="fill:{colour(name)}"><title>{html.escape(tip)}</title></circle>')

    def legend(self, names: list[str]) -> None:
        x = self.left
        for name in names:
            self.add(f'<rect x="{x:.1f}" y="26" width="10" height="10" rx="2" style="fill:{colour(name)}"/>')
            self.text(x + 14, 35, name, anchor="start")
            x += 26 + 6.6 * len(name)

    def svg(self, kind: str) -> str:
        head = f'<svg class="plot {kind}" viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{html.escape(self.title)}">'
        return f'{head}<text class="h" x="{self.left}" y="16">{html.escape(self.title)}</text>{"".join(self.parts)}</svg>'


def ticks_log(low: float, high: float) -> list[float]:
    out = []
    for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for m in (1, 2, 5):
            v = m * 10.0**e
            if low <= v <= high:
                out.append(v)
    return out if len(out) <= 8 else [v for v in out if f"{v:e}"[0] == "1"] or out[::3]


def distribution(title: str, series: list[tuple[str, object]]) -> str:
    """Latency by percentile, HdrHistogram's way: the horizontal axis stretches towards 100 %, so that tails are seen."""
    c = Canvas(title, 460, 280)
    most = max(h.get_total_count() for _, h in series)
    last = max(2.0, math.ceil(math.log10(max(10, most))))
    marks = [p for p in (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999) if p == 0 or -math.log10(1 - p / 100) <= last]

    def x(p: float) -> float:
        nines = min(last, -math.log10(max(1e-12, 1 - p / 100)))
        return c.left + (c.right - c.left) * nines / last

    low = min(max(1, h.get_value_at_percentile(1)) for _, h in series) / 1.3
    high = max(h.get_max_value() for _, h in series) * 1.3

    def y(ns: float) -> float:
        return c.bottom - (c.bottom - c.top) * (math.log(max(ns, low)) - math.log(low)) / (math.log(high) - math.log(low))

    for p in marks:
        c.line(x(p), c.top, x(p), c.bottom, "g")
        c.text(x(p), c.bottom + 14, f"{p:g} %")
    for v in ticks_log(low, high):
        c.line(c.left, y(v), c.right, y(v), "g")
        c.text(c.left - 6, y(v) + 4, duration(v), anchor="end")
    c.text((c.left + c.right) / 2, c.height - 6, "percentile")
    c.legend([n for n, _ in series])
    for name, h in series:
        count = h.get_total_count()
        points, p = [], 0.0
        while True:
            ns = h.get_value_at_percentile(p)
            points.append((x(p), y(max(1, ns))))
            # as fine as there are operations to tell
            if p >= 100 * (1 - 1 / count):
                break
            p = min(100 * (1 - 1 / count), p + (100 - p) / 12)
        points.append((x(100 * (1 - 0.5 / count)), y(h.get_max_value())))
        tip = f"{name}: p50 {duration(h.get_value_at_percentile(50))}, p99 {duration(h.get_value_at_percentile(99))}, longest {duration(h.get_max_value())}, {count} operations"
        c.path(points, name, tip)
    return c.svg("distribution")


def over_clients(title: str, series: dict[str, list[tuple[int, float]]], unit: str) -> str:
    """Lines over the number of clients: throughput, or a percentile."""
    c = Canvas(title, 460, 280)
    clients = sorted({n for points in series.values() for n, _ in points})
    high = max(v for points in series.values() for _, v in points) * 1.1 or 1.0

    def x(n: float) -> float:
        low, top = math.log(clients[0]), math.log(max(clients[-1], clients[0] + 1))
        return c.left + 14 + (c.right - c.left - 28) * (math.log(n) - low) / (top - low)

    def y(v: float) -> float:
        return c.bottom - (c.bottom - c.top) * v / high

    for n in clients:
        c.line(x(n), c.top, x(n), c.bottom, "g")
        c.text(x(n), c.bottom + 14, str(n))
    step = 10 ** math.floor(math.log10(high))
    step = step / 5 if high / step < 2 else step / 2 if high / step < 5 else step
    for i in range(int(high / step) + 1):
        c.line(c.left, y(i * step), c.right, y(i * step), "g")
        c.text(c.left - 6, y(i * step) + 4, number(i * step), anchor="end")
    c.text((c.left + c.right) / 2, c.height - 6, f"clients — {unit}")
    c.legend(list(series))
    for name, points in series.items():
        points = sorted(points)
        c.path([(x(n), y(v)) for n, v in points], name, name)
        for n, v in points:
            c.dot(x(n), y(v), name, f"{name}, {n} clients: {number(v)} {unit}")
    return c.svg("over-clients")


def ratios(title: str, rows: list[tuple[str, dict[str, float]]]) -> str:
    """pgsqlite's time as a multiple (above 0) of each rival's, a row per measurement: left of 1 it is faster."""
    names = list(dict.fromkeys(n for _, r in rows for n in r))
    left = 30 + round(6.3 * max(len(label) for label, _ in rows))
    c = Canvas(title, max(680, left + 420), 70 + 20 * len(rows) + 30, left=left)
    values = [v for _, r in rows for v in r.values()]
    low, high = min([0.5, *values]) / 1.15, max([2.0, *values]) * 1.15

    def x(v: float) -> float:
        return c.left + (c.right - c.left) * (math.log(v) - math.log(low)) / (math.log(high) - math.log(low))

    c.add(f'<rect class="good" x="{c.left}" y="{c.top}" width="{x(1) - c.left:.1f}" height="{c.bottom - c.top}"/>')
    for v in ticks_log(low, high):
        c.line(x(v), c.top, x(v), c.bottom, "one" if v == 1 else "g")
        c.text(x(v), c.bottom + 14, f"{v:g}×")
    c.text((c.left + c.right) / 2, c.height - 6, "time as a multiple of the rival's (left of 1×: faster)")
    c.legend(names)
    for i, (label, row) in enumerate(rows):
        y = c.top + 16 + 20 * i
        c.text(c.left - 8, y + 4, label, anchor="end")
        c.line(c.left, y, c.right, y, "g")
        for name, v in row.items():
            c.dot(x(v), y, name, f"{label}: {v:.2f}× {name}'s", r=4.5)
    return c.svg("ratios")
