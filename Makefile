# One-word commands. `make help` lists them.
#
#     make test PRESET=clang                        # another build of CMakePresets.json: release dev tsan fuzz clang generic
#     make JOBS=4                                   # number of parallel compilers (default: ninja's)
#     make test CMAKE_FLAGS=-DQKV_WERROR=ON         # more flags for cmake
#     make install PREFIX=$HOME/.local
PRESET ?= release
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?=
CMAKE_FLAGS ?=

BUILD := build$(if $(filter-out release,$(PRESET)),-$(PRESET))
GENERATOR := $(if $(shell command -v ninja),,-G 'Unix Makefiles')
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

CONFIGURE = cmake --preset $(PRESET) $(GENERATOR) --log-level=NOTICE $(CMAKE_FLAGS) >/dev/null
COMPILE = cmake --build $(BUILD) $(if $(JOBS),-j $(JOBS),$(if $(GENERATOR),-j $(CORES)))
TEST = ctest --preset $(PRESET) -j $(CORES)

# How long the first compilation takes: minutes on two cores of a server.
announce = [ -e $(1) ] || echo 'Compiling: about $(2) minutes on two cores the first time, seconds after a change.'

.PHONY: build demo test slow check tidy coverage doc site bench python wheel install dev sanitize tsan test-aarch64 fuzz clean help setup command
.DEFAULT_GOAL := build

build: command      ## the library and the qkv command, in build/
	@echo 'The command is $(BUILD)/cli/qkv: try `$(BUILD)/cli/qkv --help`, or `make demo`.'

demo: command       ## train a small translator, translate with it, draw its attention
	@$(BUILD)/cli/qkv demo

test: setup         ## build and run all tests except the slow ones
	@$(call announce,$(BUILD)/test/cli_test,6)
	@$(CONFIGURE) && $(COMPILE) && $(TEST)

slow: setup         ## the slow tests
	@$(CONFIGURE) && $(COMPILE) && ctest --test-dir $(BUILD) -L slow --output-on-failure --no-tests=error

check:              ## format, include rules, vocabulary, ASCII, sizes, notices, page, Python, another processor
	@script/setup check
	@script/check

tidy: setup         ## clang-tidy on the library and the command: minutes
	@script/tidy

coverage: setup     ## which lines the tests reach, by folder: half an hour
	@script/coverage

doc: setup          ## run the examples and update the pages and pictures of doc/
	@$(CONFIGURE) && $(COMPILE) --target example doc_cost doc_learn && script/doc $(BUILD)

site: command       ## the documentation as HTML that needs no network, in build/site/html
	@script/site $(BUILD)

bench: setup        ## run the benchmarks
	@$(CONFIGURE) -DQKV_BENCH=ON && $(COMPILE) --target bench

python: setup       ## build the Python package and run its tests: PYTHON=python3
	@script/python-package test

wheel: setup        ## build a wheel for other machines, in build/wheel
	@script/python-package wheel

install: command    ## install the library and the command: PREFIX=/usr/local DESTDIR=
	@$(COMPILE) --target qkv_shared qkv_attention_shared
	@DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(PREFIX)'
	@echo 'Installed in $(DESTDIR)$(PREFIX): the command in bin, the library in lib, its headers in include/qkv, notices in share/doc/qkv.'

dev:                ## run the tests with the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory test PRESET=dev

sanitize: setup     ## a part of dev, in minutes: what handles memory and external input
	@script/sanitize

tsan:               ## run the tests with the thread sanitizer
	@$(MAKE) --no-print-directory test PRESET=tsan

test-aarch64:       ## build for aarch64 and run the tests under qemu: AARCH64_TESTS='kernel_test attention_test'
	@script/setup aarch64
	@script/test-aarch64 $(AARCH64_TESTS)

fuzz:               ## run each fuzz target for a minute: FUZZ_SECONDS=60 FUZZ_TARGETS='config lines'
	@script/setup fuzz
	@cmake --preset fuzz $(GENERATOR) --log-level=NOTICE $(CMAKE_FLAGS) >/dev/null
	@cmake --build build-fuzz $(if $(JOBS),-j $(JOBS),$(if $(GENERATOR),-j $(CORES))) --target fuzz
	@script/fuzz

clean:              ## remove every build
	@rm -rf build build-dev build-tsan build-fuzz build-clang build-generic build-aarch64 build-coverage build-tidy

help:               ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

setup:
	@script/setup

command: setup
	@$(call announce,$(BUILD)/cli/qkv,3)
	@$(CONFIGURE) && $(COMPILE) --target qkv_cli
