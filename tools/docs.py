#!/usr/bin/env python3
"""Checks the links of all Markdown files, and builds the book.

    python3 tools/docs.py links     # each relative link of each Markdown file names a file, and a heading, that is there
    python3 tools/docs.py book      # builds/book/html by mdBook, then checks each link of each page

The book's pages are the files of the repository, at their own places: `docs/SUMMARY.md` lists them with the paths that they have there. So a link
works in the repository as it does in the book. Files that pages link to, tests and sources among them, are copied into the book as they are.
"""

from __future__ import annotations

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "book"
MDBOOK = ROOT / "build" / "docs-venv" / "bin" / "mdbook"
FENCE = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.M | re.S)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")


def tracked() -> list[pathlib.Path]:
    """The files of the repository, those that are not committed yet among them."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def prose(path: pathlib.Path) -> str:
    """The text of a Markdown file without its blocks and spans of code."""
    text = FENCE.sub("", path.read_text())
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.S)


def links(path: pathlib.Path) -> list[tuple[str, str]]:
    """The relative links of a Markdown file: (path, heading)."""
    found = []
    for target in LINK.findall(prose(path)):
        if not re.match(r"[a-z][a-z+.-]*:", target):
            name, _, heading = target.partition("#")
            found.append((urllib.parse.unquote(name), heading))
    return found


def headings(path: pathlib.Path) -> set[str]:
    """The anchors of a Markdown file's headings."""
    found: set[str] = set()
    for line in re.findall(r"^#{1,6} +(.*?) *#*$", FENCE.sub("", path.read_text()), re.M):
        line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)
        base = re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-")
        name, n = base, 0
        while name in found:
            n += 1
            name = f"{base}-{n}"
        found.add(name)
    return found


def check_links() -> int:
    """Prints the links that lead nowhere. Returns how many there are."""
    files = tracked()
    wrong = checked = 0
    for path in files:
        if path.suffix != ".md":
            continue
        for name, heading in links(path):
            checked += 1
            target = (path.parent / name).resolve() if name else path
            problem = ""
            if not target.exists():
                problem = "there is no such file"
            elif not target.is_relative_to(ROOT):
                problem = "the file is not in the repository"
            elif heading and target.suffix == ".md" and heading not in headings(target):
                problem = "there is no such heading"
            if problem:
                wrong += 1
                print(f"{path.relative_to(ROOT)}: ({name}{'#' if heading else ''}{heading}): {problem}")
    print(f"{checked} links of Markdown files: {checked - wrong} passed, {wrong} failed")
    return wrong


def stage(source: pathlib.Path) -> None:
    """Copies the book's pages and what they link to, and writes the summary and the settings of mdBook."""
    summary = (ROOT / "docs" / "SUMMARY.md").read_text()
    listed = [(ROOT / "docs" / name).resolve() for name, _ in links(ROOT / "docs" / "SUMMARY.md")]
    more: list[pathlib.Path] = []  # pages that are linked to and not in the summary
    seen, todo = set(listed), list(listed)
    while todo:
        path = todo.pop()
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            shutil.copy(path, copy)
            continue
        # mdBook calls the page of a README.md index.html.
        copy.write_text(re.sub(r"(\]\([^)\s]*)\bREADME\.md\b", r"\1index.md", path.read_text()))
        for name, _ in links(path):
            target = (path.parent / name).resolve() if name else path
            if target.is_dir():
                (source / target.relative_to(ROOT)).mkdir(parents=True, exist_ok=True)
            elif target not in seen and target.name != "SUMMARY.md":
                seen.add(target)
                todo.append(target)
                if target.suffix == ".md":
                    more.append(target)

    def placed(match: re.Match[str]) -> str:
        path = (ROOT / "docs" / match[1]).resolve().relative_to(ROOT)
        return f"]({path.as_posix()})"

    summary = re.sub(r"\]\(([^)]+)\)", placed, summary)
    if more:
        summary += "\n# Documents for contributors\n\n"
    for path in sorted(more):
        title = re.search(r"^# +(.*)", path.read_text(), re.M)
        summary += f"- [{title[1] if title else path.stem}]({path.relative_to(ROOT).as_posix()})\n"
    (source / "SUMMARY.md").write_text(summary)
    shutil.copy(ROOT / "docs" / "book.toml", source.parent / "book.toml")


class Page(html.parser.HTMLParser):
    """The links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key in ("href", "src") and value is not None:
                self.links.append(value)
            elif key in ("id", "name") and value:
                self.anchors.add(value)


def check_book(site: pathlib.Path) -> int:
    """Prints the links of the book that lead nowhere. Returns how many there are."""
    pages: dict[pathlib.Path, Page] = {}
    for path in site.rglob("*.html"):
        pages[path] = Page()
        pages[path].feed(path.read_text())
    wrong = checked = 0
    for path, page in sorted(pages.items()):
        if path.name in ("print.html", "404.html", "toc.html"):
            continue
        for link in page.links:
            if re.match(r"[a-z][a-z+.-]*:", link):
                continue
            checked += 1
            name, _, heading = link.partition("#")
            target = (path.parent / urllib.parse.unquote(name.partition("?")[0])).resolve() if name else path
            if target.is_dir() and (target / "index.html").exists():
                target = target / "index.html"
            if not target.exists():
                problem = "there is no such file"
            elif heading and target in pages and urllib.parse.unquote(heading) not in pages[target].anchors:
                problem = "there is no such heading"
            else:
                continue
            wrong += 1
            print(f"{path.relative_to(site)}: ({link}): {problem}")
    print(f"{checked} links of {len(pages)} pages of the book: {checked - wrong} passed, {wrong} failed")
    return wrong


def build_book() -> int:
    """Builds the book and checks it. Returns the number of broken links."""
    shutil.rmtree(OUT, ignore_errors=True)
    (OUT / "src").mkdir(parents=True)
    stage(OUT / "src")
    done = subprocess.run([str(MDBOOK), "build", str(OUT)], capture_output=True, text=True, check=False)
    if done.returncode or " WARN " in done.stderr or " ERROR " in done.stderr:
        print(done.stderr)
        return 1
    return check_book(OUT / "html")


def main() -> int:
    what = sys.argv[1:]
    if what == ["links"]:
        return 1 if check_links() else 0
    if what == ["book"]:
        return 1 if build_book() else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
