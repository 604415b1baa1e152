# Two commands: `make run` starts a server, `make test` runs all tests. Both install what they need.
.DEFAULT_GOAL := help
.PHONY: help run build dev test bench campaigns lint sim fuzz sanitize ci fresh install clean
MAKEFLAGS += --no-print-directory

PORT ?= 8080
DATA ?= ./pawl-data
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
SIM_MINUTES ?= 30
BENCH ?= all
CAMPAIGNS ?= all
JOBS ?= $(shell nproc)
export PORT DATA FUZZ_SECONDS JOBS
# The release build leaves out the tests, which need more packages and twice the time.
SERVER := build -DPAWL_TESTS=OFF -DPAWL_BENCH=OFF --
EVERYTHING := build -DPAWL_TESTS=ON -DPAWL_BENCH=ON

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' Makefile

run: ## build, start the server on ./pawl-data and run a first job and a first definition (PORT=8080 DATA=./pawl-data)
	@tools/setup build wasm
	@tools/build $(SERVER) pawl
	@tools/run

build: ## leave the release binary in build/pawl
	@tools/setup build wasm
	@tools/build $(SERVER) pawl

dev: ## build-dev/pawl without optimization, in about half the time: for working on the code
	@tools/setup build wasm
	@tools/build build-dev -DCMAKE_BUILD_TYPE=Dev -DPAWL_TESTS=OFF -DPAWL_BENCH=OFF -- pawl

test: ## build and run every test
	@tools/setup build wasm test modules
	@tools/build $(EVERYTHING)
	@ctest --test-dir build --output-on-failure -j $(JOBS)

bench: ## build and run the load generator (BENCH=all, or names of workloads and flags)
	@tools/setup build wasm test modules
	@tools/build $(EVERYTHING)
	@build/pawl_bench $(BENCH)

campaigns: ## crash, disk, memory and overload tests of the real binary, in full (CAMPAIGNS=all, or names such as kill9:20)
	@tools/setup build wasm test modules
	@tools/build $(EVERYTHING)
	@python3 tests/campaigns/run.py $(CAMPAIGNS) --pawl build/pawl

lint: ## formatting, clang-tidy on what changed (LINT_ALL=1: on everything), house rules
	@tools/setup build test lint
	@tools/lint

sim: build ## simulated worlds with faults on all cores, for SIM_MINUTES=30; failing seeds go to build/stories
	@build/pawl sim --plants
	@build/pawl sim --swarm --modules --minutes $(SIM_MINUTES) --seed $$(date +%s%N) --save build/stories --probes

fuzz: ## run every fuzzer, FUZZ_SECONDS=60 in all
	@tools/setup build fuzz
	@tools/fuzz

sanitize: ## unit tests and the server under ASan+UBSan (build-asan) and TSan (build-tsan)
	@tools/setup build wasm test modules
	@tools/sanitize

ci: ## tests, conformance if available, fuzzing
	@.ci/run

fresh: ## test make run and make test in a minimal Debian (FRESH=run, FRESH=test: one of them); needs root
	@tools/fresh $(FRESH)

install: build ## binary, library, the runtime of modules, service file and shell completions under PREFIX=/usr/local
	@tools/build $(SERVER) pawl_archive
	cmake --install build --prefix $(PREFIX) --component library
	install -Dm755 build/pawl $(DESTDIR)$(PREFIX)/bin/pawl
	@for library in $${PAWL_WASMTIME:-.cache/wasmtime-*/libwasmtime.so}; do \
	  if [ -s "$$library" ]; then install -Dm755 "$$library" $(DESTDIR)$(PREFIX)/lib/pawl/libwasmtime.so; fi; done
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local/bin|$(PREFIX)/bin|' packaging/pawl.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/pawl.service
	@if build/pawl completion bash > build/pawl.bash 2>/dev/null; then \
	  install -Dm644 build/pawl.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/pawl; fi

clean: ## remove all build directories; data directories stay
	rm -rf build build-dev build-asan build-tsan build-fuzz build-lint
