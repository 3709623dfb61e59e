# Everything from a bare machine with python3 (3.10 or newer):
#   make demo    the semantic search of samples/, in an environment of its own
#   make test    formatting, lint, types, layers and tests
#   make share   the tests that take minutes: today's part of every campaign, and the compiler that builds its own library
#   make sanitize  every generated C++ kernel of the tests, built with the address and undefined-behaviour sanitizers
#   make bench   the benchmarks; make coverage: the long campaigns; make fuzz: hostile calls and files; make clean
#   make gpu     the tests and benchmarks for a CUDA card, on a machine with one; writes docs/gpu.md
#
# PYTHON=...      another interpreter to make the environment from
# SEED=...        the order of the tests, as a run of them printed it; PYTEST=... more arguments of pytest
# TORCH_PIP=...   more arguments for the installation of torch, to choose one of its builds

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet -c constraints.txt
PYTHON ?=
TORCH_PIP ?=
SEED ?=
PYTEST ?=

.DEFAULT_GOAL := help
.PHONY: help demo test share sanitize bench coverage fuzz gpu clean

help:
	@sed -e '/^$$/q' -e 's/^# \{0,1\}//' Makefile

demo: $(STAMPS)/demo
	$(BIN)/python samples/semantic_search.py

test: $(STAMPS)/dev
	$(BIN)/python tools/checks.py $(if $(SEED),--randomly-seed=$(SEED)) $(PYTEST)

share: $(STAMPS)/dev
	$(BIN)/python -m pytest -q -m campaign -n 2 $(PYTEST)

SANITIZED = TRACEPACK_SANITIZE=address,undefined ASAN_OPTIONS=detect_leaks=0:handle_segv=0 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" $(BIN)/python -m pytest -q
sanitize: $(STAMPS)/dev
	$(SANITIZED) -k "not slang and not zig" tests/comprehension
	$(SANITIZED) -k "not vulkan and not zig and not process" tests/slang

bench: $(STAMPS)/dev
	$(BIN)/python -m benchmarks

coverage: $(STAMPS)/dev
	$(BIN)/python -m tests.campaigns

# FUZZ="--calls 2000 --first N": how many hostile calls of each operator, and which; --share K/N for a part of them.
# FIRST=...: the number of the first mutated file, tokenizer, text, schedule and save; others are other ones.
FUZZ ?= --calls 300
FIRST ?= 0
fuzz: $(STAMPS)/dev
	$(BIN)/python -m tests.fuzz operators $(FUZZ)
	$(BIN)/python -m tests.fuzz edges $(FUZZ)
	$(BIN)/python -m tests.fuzz changed $(FUZZ)
	$(BIN)/python -m tests.fuzz searched $(FUZZ)
	$(BIN)/python -m tests.fuzz archives --calls 5000 --first $(FIRST)
	$(BIN)/python -m tests.fuzz tokenizers --calls 3000 --first $(FIRST)
	$(BIN)/python -m tests.fuzz comprehensions --calls 200 --first $(FIRST)
	$(BIN)/python -m tests.fuzz schedules --calls 200 --first $(FIRST)
	$(BIN)/python -m tests.fuzz blowups --calls 3000
	$(BIN)/python -m tests.fuzz saves --calls 200 --first $(FIRST)
	$(BIN)/python -m tests.fuzz caches --calls 10 --first $(FIRST)

gpu: $(STAMPS)/dev
	tools/gpu_check.sh

clean:
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# torch comes first and alone: another package's requirement could choose a build of it with gigabytes of CUDA.
$(STAMPS)/torch: constraints.txt tools/make_venv.sh
	PYTHON="$(PYTHON)" tools/make_venv.sh $(VENV)
	@mkdir -p $(STAMPS)
	@echo "installing pip and torch"
	$(INSTALL) "pip>=25.1"
	$(INSTALL) $(TORCH_PIP) torch==2.13.0
	@touch $@

$(STAMPS)/demo: $(STAMPS)/torch pyproject.toml
	@echo "installing tracepack and what the demo needs"
	$(INSTALL) -e ".[text,cli]" --group demo
	@touch $@

$(STAMPS)/dev: $(STAMPS)/demo
	@echo "installing the tools for tests"
	$(INSTALL) -e ".[text,cli,slang,sign,onnx,openvino,batch,serve]" --group dev --group demo \
	    $$($(BIN)/python -c "import torch; print('' if torch.version.cuda else '--group nvrtc')")
	@touch $@
