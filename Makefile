# What can be done here; `make` alone lists it. On Debian and Ubuntu, what is missing besides Swift is installed first.

# The binary then needs no Swift on the machine it runs on.
release := swift build -c release $(if $(filter Linux,$(shell uname -s)),--static-swift-stdlib)
swift_files := Sources Tests Fuzz Package.swift

.PHONY: help run build test browser openapi third-party conformance conformance-table configuration-reference deployment-check image-check tls-check soak fuzz bench scaling docs lint format clean

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-23s %s\n", $$1, $$2 }' Makefile

run:  ## start Latchkey and carriers to sign in with, on this machine
	@scripts/setup
	$(release) --product latchkey
	exec .build/release/latchkey demo

build:  ## make the release binaries, in .build/release
	@scripts/setup
	$(release)

test:  ## run all tests
	@scripts/setup --test
	swift build --build-tests
	scripts/test

browser:  ## have a real browser use all pages; pictures are in .build/screenshots
	@scripts/setup --browser
	swift build --product latchkey
	scripts/browser

openapi:  ## hold a running server against its own OpenAPI document
	@scripts/setup --test
	swift build --product latchkey
	scripts/openapi

third-party:  ## sign in with an OpenID provider that is not of this repository
	@scripts/setup --test
	swift build --product latchkey
	scripts/third-party

conformance: build  ## drive the release build against the misbehaving carrier of ../shared, where there is one
	@scripts/setup --test
	scripts/conformance

fuzz:  ## give the readers of carriers' answers what a fuzzer thinks up, FUZZ_SECONDS (600) each
	@scripts/setup
	scripts/fuzz

conformance-table:  ## write docs/conformance.md from a run of the conformance suite
	@scripts/setup --test
	swift build --build-tests
	LATCHKEY_CONFORMANCE_TABLE=write scripts/test --filter 'LatchkeyTests.ConformanceTests'

configuration-reference:  ## write docs/configuration.md from what the program knows of its settings
	@scripts/setup --test
	swift build --build-tests
	LATCHKEY_CONFIGURATION_REFERENCE=write scripts/test --filter 'LatchkeyConfigurationTests.ConfigurationDocumentTests'

image-check: build  ## follow the Dockerfile without a container engine, and run what comes of it (as root)
	@scripts/setup --deployment
	scripts/image-check

deployment-check:  ## hold compose.yaml and what is in Config/ against what reads it
	@scripts/setup --deployment
	swift build --product latchkey
	scripts/deployment-check

tls-check:  ## have testssl.sh look at HTTPS as it is served
	@scripts/setup --tls
	swift build --product latchkey
	scripts/tls-check

soak: build  ## put the load of an hour on the release build in 5 minutes (SOAK_FLAGS=--seconds 30: less)
	scripts/soak $(SOAK_FLAGS)

bench: build  ## measure the release build
	@scripts/setup --bench
	Benchmarks/run $(BENCH_FLAGS)

scaling: build  ## measure what docs/scaling.md rests on (SCALING_FLAGS=--write: into it)
	@scripts/setup --test
	scripts/scaling $(SCALING_FLAGS)

docs:  ## make the documentation of the libraries, in .build/docs; a warning is an error
	@scripts/setup
	swift build
	scripts/docs

lint:  ## check the format of the code
	swift format lint --strict -r $(swift_files)

format:  ## format the code
	swift format -i -r $(swift_files)

clean:  ## remove what was built
	rm -rf .build
