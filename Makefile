# The verbs of the repository. `make run` and `make test` set up what is missing and need no other step.
#
#   make run [ARGS="--database my.db --port 5433"]   builds and starts pgsqlite (on ./pgsqlite.db unless ARGS names a database)
#   make test                                       every test
#   make oracle                                     replays tests/sql against a real PostgreSQL 15: no difference allowed
#   make lint · make gen

CARGO := cd pgsqlite && cargo
ARGS ?=
# ARGS that name a database replace the default one
DATABASE := $(if $(filter --database% --in-memory --data-dir% --config%,$(ARGS)),,--database $(CURDIR)/pgsqlite.db)
PYTHON ?= python3

.PHONY: run build test test-rust test-sql oracle lint gen setup
.DEFAULT_GOAL := build

setup: build/libclang/done
	@command -v cargo >/dev/null || { echo "Rust is missing: install your distribution's rustup (then: rustup default stable) or cargo, version 1.89 or newer"; exit 1; }

build/libclang/done: tools/libclang.sh
	tools/libclang.sh

build: setup
	$(CARGO) build --release

run: build
	pgsqlite/target/release/pgsqlite $(DATABASE) $(ARGS)

test: test-rust test-sql

test-rust: setup
	$(CARGO) test --workspace

# the debug build that test-rust has made serves
test-sql: setup
	$(CARGO) build
	PGSQLITE_BIN=$(CURDIR)/pgsqlite/target/debug/pgsqlite $(PYTHON) tests/sql/run.py --check

oracle:
	tools/oracle.sh $(PYTHON) tests/sql/run.py --check --target postgres

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

gen:
	gen/catalogs.sh
	gen/rust_tables.py
	tools/oracle.sh gen/type_vectors.py
	tools/oracle.sh gen/operator_vectors.py
