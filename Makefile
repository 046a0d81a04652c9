# The verbs of this project; CI calls the same ones. Everything is installed into .venv, nothing outside this folder.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Modules that a list names (queues!, losses!): cargo fmt does not see them.
LISTED := $(wildcard crates/link/src/queue/*.rs crates/link/src/loss/*.rs)
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml -o -name '*.json' -path 'crates/*' 2>/dev/null) Cargo.toml Cargo.lock

LOADER := crates/bpfload/Cargo.toml
# A workspace of its own, with others' QUIC stacks; what it has built in common with the product's is built once.
PEERS := --manifest-path crates/quic-peers/Cargo.toml --target-dir target
HAS_BPF := $(and $(shell command -v clang),$(wildcard /usr/include/libelf.h))
NEEDS_BPF := needs clang and libelf-dev (bpf/setup.sh)
# What the explorer's tests need besides its page; `make web` brings both.
HAS_WEB := $(and $(shell command -v node),$(wildcard web/node_modules web/engine))
EXPLORER := python/playpath/web/explorer.html
WEB := $(shell find web/src scenarios -type f 2>/dev/null) web/build.mjs web/package.json
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
ADVISORIES := $(if $(wildcard $(HOME)/.cargo/advisory-db*),advisories)
, := ,
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 3600
# Two at a time; a file's tests one after the other, so that they make what they share once.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: help setup fast demo test test-fast test-long check check-macos format bench fuzz soak web site notebook docs reference figures papers kernel wheel wheel-check page-or-none page-if-possible report clean check-tools

help: ## show the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.engine ## virtual environment, release build of the engine, the playpath command

fast: setup ## the engine once more, laid out by a profile of itself: a fifth less time or more (needs rustup component add llvm-tools)
	rm $(VENV)/.engine  # stopped halfway, what counts for the profile would pass for the engine
	. $(BIN)/activate && maturin develop --release --pgo --quiet --skip-install
	touch $(VENV)/.engine

demo: setup ## rank six senders on a lossy wireless path, write out/wireless/report.html, and build the explorer's page if that can be done
	$(BIN)/playpath demo
	@$(MAKE) --no-print-directory page-if-possible

# Who has seen the demo opens the explorer next. The report stays whatever becomes of the page.
page-if-possible:
	@if $(MAKE) -q web 2>/dev/null; then echo "explorer: $(BIN)/playpath explore"; \
	elif command -v npm >/dev/null && tools/rust-std wasm32-unknown-unknown >/dev/null 2>&1; then \
	  echo "explorer: its page is being built, once; this takes two or three minutes"; \
	  if $(MAKE) --no-print-directory web; then echo "explorer: $(BIN)/playpath explore"; else echo "explorer: its page was not built; make web does it later"; fi; \
	else echo "explorer: its page needs Node 20 and Rust's wasm32 target (rustup target add wasm32-unknown-unknown); then make web"; fi

test: setup ## all tests but those of `make test-long`
	cargo test --workspace --exclude playpath-python --exclude playpath-fuzz --quiet
	cargo test --quiet $(PEERS)
	@$(if $(HAS_BPF),cargo test --quiet --manifest-path $(LOADER) $(if $(filter 0,$(shell id -u)),-- --include-ignored),echo "skipped: the tests of playpath-bpf $(NEEDS_BPF)")
	@$(if $(HAS_WEB),$(MAKE) --no-print-directory web && cd web && npm run --silent check,echo "skipped: the tests of the explorer's parts need \`make web\` (Node and Rust's wasm32 target)")
	$(BIN)/python -m pytest -q -rs tests/testbed
	$(PYTEST) -m "not long" tests/python

test-long: setup ## what is compiled to be tested, and what is long: recipes in a copy, the explorer's digests, two studies, the demo
	$(BIN)/python -m pytest -rs -m long tests/python

test-fast: setup ## what everyday work needs, in under a minute: unit tests, and Python tests but the slow ones
	cargo test --workspace --exclude playpath-python --exclude playpath-fuzz --lib --bins --quiet
	$(PYTEST) -q -m "not slow and not long" tests/python

check: setup ## formatting, lints, types, reference without warnings, licences, minimal Rust, links of the documents
	cargo fmt --all --check
	rustfmt --edition 2024 --check $(LISTED)
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	cargo fmt --manifest-path crates/quic-peers/Cargo.toml --check
	cargo clippy --all-targets --quiet $(PEERS) -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --quiet $(PEERS)
	@$(if $(HAS_BPF),cargo clippy --manifest-path $(LOADER) --all-targets --quiet -- -D warnings && RUSTDOCFLAGS="-D warnings" cargo doc --manifest-path $(LOADER) --no-deps --quiet,echo "skipped: clippy and rustdoc on playpath-bpf $(NEEDS_BPF)")
	@$(if $(shell rustup toolchain list 2>/dev/null | grep '^$(MSRV)'),cargo +$(MSRV) check --workspace --quiet && cargo +$(MSRV) check --quiet $(PEERS),echo "skipped: cargo +$(MSRV) check needs that toolchain; clippy has looked for newer APIs")
	tools/check_dependencies.py Cargo.toml $(LOADER) crates/quic-peers/Cargo.toml
	@$(if $(shell command -v cargo-deny),for deny in Cargo.toml crates/quic-peers/Cargo.toml; do cargo deny --manifest-path $$deny --offline check --hide-inclusion-graph bans licenses sources $(ADVISORIES) || exit 1; done,echo "skipped: cargo deny (cargo install cargo-deny); licences and duplicates are checked above$(,) advisories are not")
	$(BIN)/ruff check python tests docs tools
	$(BIN)/ruff format --check python tests docs tools
	$(BIN)/mypy
	git ls-files '*.md' ':!docs/reference' | xargs $(BIN)/mdformat --check
	$(BIN)/python tools/check_links.py

# Type checks only: a Mac's linker and libraries are not needed. What is Linux's own (links, client, loader) stays outside.
check-macos: ## whether the simulator compiles for macOS
	@settings=$$(tools/rust-std aarch64-apple-darwin) || { echo "skipped: the check for macOS"; exit 0; }; \
	eval "$$settings"; cargo check --quiet --target aarch64-apple-darwin --target-dir target/macos --package playpath-python

format: setup ## formats Rust, Python and Markdown
	cargo fmt --all
	cargo fmt --manifest-path crates/quic-peers/Cargo.toml
	rustfmt --edition 2024 $(LISTED)
	$(BIN)/ruff format python tests docs tools
	git ls-files '*.md' ':!docs/reference' | xargs $(BIN)/mdformat

bench: setup ## speed of the engine: packets per second, cost per event; processor time of starting a command, and of sessions in the explorer
	cargo bench -p playpath-link
	$(BIN)/python tools/bench_history.py
	$(BIN)/python tools/start_cost.py
	@$(if $(HAS_WEB),cd web && node speed.mjs wireless cubic bbr newreno)

# The sanitizers are unstable options of a stable compiler. Without link-time optimisation, which takes longer than it gains here.
fuzz: check-tools ## each fuzz target for a minute; FUZZ_SECONDS=… for longer, TARGET=… for one
	@command -v cargo-fuzz >/dev/null || { echo "missing: cargo-fuzz; remedy: cargo install cargo-fuzz" >&2; exit 1; }
	@export RUSTC_BOOTSTRAP=1 CARGO_PROFILE_RELEASE_LTO=off; cargo fuzz build $(TARGET); \
	for target in $(or $(TARGET),$(shell sed -n 's/^name = "\([a-z_]*\)"/\1/p' fuzz/Cargo.toml)); do \
	  echo "fuzz $$target"; cargo fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -max_len=4096 || exit 1; done

soak: setup ## random scenarios, with new seeds each round, for an hour: what must hold of every session; SOAK_SECONDS=… for another time
	$(BIN)/python tests/python/random_scenarios.py --seconds $(SOAK_SECONDS)

web: $(EXPLORER) ## the explorer: the engine for browsers and one page with all in it (needs Node, Rust's wasm32 target)

web/node_modules: web/package-lock.json
	@command -v npm >/dev/null || { echo "missing: npm; remedy: install Node 20 or later" >&2; exit 1; }
	@echo "web: the page's tools from npm (once)"
	@cd web && npm ci --silent
	@touch $@

# As old as the sources that it is of: who changes one meanwhile gets another.
web/engine: $(RUST) web/build-engine | web/node_modules
	@touch web/.begun
	@web/build-engine
	@touch -r web/.begun $@; rm web/.begun

$(EXPLORER): $(WEB) web/engine
	@echo "web: the page"
	@cd web && node build.mjs explorer

report: web/node_modules ## the script and style of reports, built anew from web/src (needs Node; reports themselves do not)
	cd web && node build.mjs report

site: web ## documents and explorer, linked with each other, in out/site: a folder for any static host
	@$(MAKE) --no-print-directory docs WITH_EXPLORER=yes

notebook: setup ## runs docs/example.ipynb and writes its outputs into it
	$(BIN)/python docs/notebook.py

docs: setup ## the site in out/site: pages, Python and Rust reference, every link checked
	rm -rf out/site
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	$(BIN)/sphinx-build -q -E -W --keep-going $(if $(WITH_EXPLORER),-t explorer) -d out/site-cache -c docs/site . out/site
	cp out/site/README.html out/site/index.html
	cp -r target/doc out/site/rust
	@$(if $(WITH_EXPLORER),cd web && node build.mjs site ../out/site)
	$(BIN)/python tools/check_site.py out/site

reference: setup ## reference pages that follow from registries (docs/reference)
	$(BIN)/python docs/reference.py

# Which other pages have figures of sessions: CONTRIBUTING.md, "When results move".
figures: setup ## figures and pages that are made by runs of the simulator (five minutes)
	@for page in build verdicts multipath quic; do $(BIN)/python docs/$$page.py || exit 1; done

papers: setup ## the papers' studies over the joint space of what they leave open, and the pages made from them (two hours)
	$(BIN)/playpath reproduce all --joint 340 --figures
	$(BIN)/python docs/papers.py out/reproduce

kernel: ## what the kernel world needs besides: controls, loader, link emulator, player, own endpoint (bpf/setup.sh installs the packages)
	cargo build --release --quiet -p playpath-client -p playpath-emulator -p playpath-serve
	cargo build --release --quiet --manifest-path crates/bpfload/Cargo.toml

wheel: setup $(VENV)/.wheel-tools page-or-none ## the source distribution and the wheel with everything, out/dist (bpf/setup.sh build installs the tools)
	tools/wheel $(TARGET)

# A page of other sources must not travel: it is built anew where that can be, and refused where not.
page-or-none:
	@if command -v npm >/dev/null && tools/rust-std wasm32-unknown-unknown >/dev/null 2>&1; then $(MAKE) --no-print-directory web; \
	elif [ -e $(EXPLORER) ] && ! $(MAKE) -q web; then echo "error: $(EXPLORER) is older than its sources; make web, or remove it" >&2; exit 1; \
	elif [ ! -e $(EXPLORER) ]; then echo "the wheel gets no explorer: it needs Node and Rust's wasm32 target (make web)"; fi

wheel-check: ## installs what `make wheel` made as a user does, and runs the demo
	PYTHON=$(PYTHON) tools/try-wheel

clean: ## remove what was built here
	rm -rf $(VENV) python/playpath/scenario/*.pyi python/playpath/results/*.pyi web/node_modules web/engine python/playpath/web target crates/bpfload/target out .pytest_cache .mypy_cache .ruff_cache

check-tools:
	@PYTHON=$(PYTHON) tools/check-tools

$(VENV)/.tools:
	@PYTHON=$(PYTHON) tools/check-tools
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.wheel-tools: | $(VENV)/.tools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2' ziglang cargo-zigbuild auditwheel wheel
	@touch $@

# Dependencies change rarely: a full install only when pyproject.toml does.
$(VENV)/.dependencies: pyproject.toml | $(VENV)/.tools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
	. $(BIN)/activate && maturin develop --release --quiet --extras dev,docs
	@touch $@

$(VENV)/.engine: $(RUST) $(VENV)/.dependencies
	. $(BIN)/activate && maturin develop --release --quiet --skip-install
	$(BIN)/python tools/typed_forms.py
	@touch $@
