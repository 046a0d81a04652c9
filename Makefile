# The verbs of this project; CI calls the same ones. Everything is installed into .venv, nothing outside this folder.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml -o -name '*.json' -path 'crates/*' 2>/dev/null) Cargo.toml Cargo.lock

.PHONY: help setup demo test lint bench docs papers kernel clean check-tools

help: ## show the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.engine ## virtual environment, release build of the engine, the playpath command

demo: setup ## rank six senders on a lossy wireless path and write out/wireless/report.html
	$(BIN)/playpath compare scenarios/wireless.toml --cc cubic,compound,ccp,ccplb,vegas,bbr --out out/wireless

test: setup ## all tests
	cargo test --workspace --exclude playpath-python --quiet
	@if command -v clang >/dev/null && test -e /usr/include/libelf.h; then cargo test --quiet --manifest-path crates/bpfload/Cargo.toml; \
	else echo "skipped: the tests of playpath-bpf need clang and libelf-dev (bpf/setup.sh)"; fi
	$(BIN)/python -m pytest -q -rs tests/testbed
	$(BIN)/python -m pytest tests/python

lint: setup ## formatting, clippy, ruff, mypy
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check python tests
	$(BIN)/ruff format --check python tests
	$(BIN)/mypy

bench: check-tools ## speed of the engine: packets per second, cost per event
	cargo bench --workspace --exclude playpath-python

docs: setup ## figures and pages that are made by commands
	$(BIN)/python docs/build.py

papers: setup ## the papers' studies with their sweeps, and docs/papers.md from them (about a quarter of an hour)
	$(BIN)/playpath reproduce all --sensitivity --figures
	$(BIN)/python docs/papers.py out/reproduce

kernel: ## what the kernel world needs besides: controls, loader, link emulator, player, relay (bpf/setup.sh installs the packages)
	cargo build --release --quiet -p playpath-client -p playpath-emulator -p playpath-relay
	cargo build --release --quiet --manifest-path crates/bpfload/Cargo.toml

clean: ## remove what was built here
	rm -rf $(VENV) target crates/bpfload/target out .pytest_cache .mypy_cache .ruff_cache

check-tools:
	@PYTHON=$(PYTHON) tools/check-tools

$(VENV)/.tools:
	@PYTHON=$(PYTHON) tools/check-tools
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@touch $@

# Dependencies change rarely: a full install only when pyproject.toml does.
$(VENV)/.dependencies: pyproject.toml | $(VENV)/.tools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
	. $(BIN)/activate && maturin develop --release --quiet --extras dev
	@touch $@

$(VENV)/.engine: $(RUST) $(VENV)/.dependencies
	. $(BIN)/activate && maturin develop --release --quiet --skip-install
	@touch $@
