# `make` lists the targets. On Debian and Ubuntu they first install missing packages, except Swift.

swift_files := Sources Clients Tests Fuzz Examples Package.swift

.PHONY: help run build test embedding example-feature browser swift-client android-client openapi third-party \
	conformance conformance-table camara-table certification-table guides limits providers-report \
	configuration-reference configuration-schema manual deployment-check image-check tls-check soak chaos \
	network-faults overload sanitizers fuzz bench bench-peers redirect-costs instructions keyless scaling features \
	nightly docs lint format clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-23s %s\n", $$1, $$2 }' Makefile

run:  ## start Latchkey with simulated carriers on this machine (a debug build: 3 minutes the first time)
	@test -x .build/debug/latchkey-dev || echo 'The first build takes about 3 minutes on 2 cores.'
	@scripts/setup
	swift build --product latchkey-dev
	exec .build/debug/latchkey-dev demo

build:  ## make the release binaries, in .build/release: the server, and latchkey-dev
	@scripts/setup
	scripts/build-release

test:  ## run all tests
	@scripts/setup --test
	swift build --build-tests
	scripts/test

embedding:  ## build and run Examples/Embedding, a program with Latchkey and Hummingbird in one process
	@scripts/setup
	scripts/embedding

example-feature:  ## build and run Examples/Feature, a server with a feature of another package alone
	@scripts/setup
	swift build --product latchkey-dev
	scripts/example-feature

browser:  ## test all pages in a real browser (shorter: BROWSER_FLAGS=--short); screenshots are in .build/screenshots
	@scripts/setup --browser
	swift build --product latchkey
	swift build --product latchkey-dev
	scripts/browser $(BROWSER_FLAGS)

swift-client:  ## build the package of the Swift client alone and as apps depend on it, and sign in with it
	@scripts/setup
	swift build --product latchkey-dev
	scripts/swift-client

android-client:  ## compile the client for Android, and sign in with it
	@scripts/setup --android
	swift build --product latchkey-dev
	scripts/android-client

openapi:  ## test a running server against its OpenAPI document
	@scripts/setup --test
	swift build --product latchkey-dev
	scripts/openapi

third-party:  ## sign in with OpenID providers, and use OAuth clients, from other projects
	@scripts/setup --test --providers
	swift build --product latchkey
	swift build --product latchkey-dev
	scripts/third-party

conformance: build  ## test the release build with the misbehaving carrier in ../shared, if it exists
	@scripts/setup --test
	scripts/conformance
	scripts/conformance --postgres

fuzz:  ## fuzz the parsers, FUZZ_SECONDS (600) each
	@scripts/setup
	scripts/fuzz

conformance-table:  ## write docs/reports/conformance.md from a run of the conformance suite
	@scripts/setup --test
	swift build --build-tests
	LATCHKEY_CONFORMANCE_TABLE=write scripts/test --filter 'LatchkeyTests.ConformanceTests'

certification-table:  ## write docs/reports/certification.md from a run of the certification modules
	@scripts/setup --test
	swift build --build-tests
	LATCHKEY_CERTIFICATION_TABLE=write scripts/test --filter 'LatchkeyTests.CertificationTests'

camara-table:  ## write docs/reports/camara.md from the tests of CAMARA's scenarios
	@scripts/setup --test
	swift build --build-tests
	LATCHKEY_CAMARA_TABLE=write scripts/test --filter 'LatchkeyTests.CAMARAScenarioTests'

guides:  ## write docs/reports/guides.md from Tests/Guides/statements.txt
	@scripts/setup --test
	swift build --build-tests
	LATCHKEY_GUIDES=write scripts/test --filter 'LatchkeyTests.GuidesDocumentTests'

limits:  ## write docs/reports/limits.md from the sources
	@scripts/setup --test
	swift build --build-tests
	LATCHKEY_LIMITS=write scripts/test --filter 'LatchkeyTests.LimitsDocumentTests'

providers-report:  ## write docs/reports/providers.md from the stand-ins
	@scripts/setup --test
	swift build --build-tests
	LATCHKEY_PROVIDERS=write scripts/test --filter 'LatchkeyTests.StandInTests'

configuration-reference:  ## write docs/configuration.md from the program's settings
	@scripts/setup --test
	swift build --build-tests
	LATCHKEY_CONFIGURATION_REFERENCE=write scripts/test --filter 'LatchkeyConfigurationTests.ConfigurationDocumentTests'

configuration-schema:  ## write docs/configuration.schema.json from the program's settings
	@scripts/setup --test
	swift build --build-tests
	LATCHKEY_CONFIGURATION_SCHEMA=write scripts/test --filter 'LatchkeyConfigurationTests.ConfigurationSchemaTests'

manual:  ## write docs/latchkey.1 from the program's help
	@scripts/setup --test
	swift build --build-tests
	LATCHKEY_MANUAL=write scripts/test --filter 'LatchkeyTests.ManualPageTests'

image-check: build  ## follow the Dockerfile without a container engine, and run the result (as root)
	@scripts/setup --deployment
	scripts/image-check

deployment-check:  ## check compose.yaml and Config/ with the programs that read them
	@scripts/setup --deployment
	swift build --product latchkey
	scripts/deployment-check

tls-check:  ## scan the server's HTTPS with testssl.sh
	@scripts/setup --tls
	swift build --product latchkey
	scripts/tls-check

soak: build  ## run an hour's load on the release build in 5 minutes (shorter: SOAK_FLAGS='--seconds 30')
	scripts/soak $(SOAK_FLAGS)

POWER_LOSSES := 1000

chaos: build  ## inject faults for an hour (CHAOS_FLAGS='--seconds 60'), and try POWER_LOSSES (1000) losses of power
	@scripts/setup --test
	scripts/chaos $(CHAOS_FLAGS)
	swift build --build-tests
	LATCHKEY_TEST_MINUTES=120 LATCHKEY_POWER_LOSSES=$(POWER_LOSSES) scripts/test --filter 'LatchkeyTests.PowerLossTests'

network-faults: build  ## lose, delay and cut connections, and answer DNS wrongly, in network namespaces (as root)
	@scripts/setup --test
	scripts/network-faults $(NETWORK_FLAGS)

overload: build  ## offer the release build twice the sign-ins that it can do (shorter: OVERLOAD_FLAGS='--seconds 10')
	@scripts/setup --bench
	scripts/overload $(OVERLOAD_FLAGS)

sanitizers:  ## run all tests under ThreadSanitizer and AddressSanitizer, an hour (SANITIZER=thread, address or shims)
	@scripts/setup --test
	scripts/sanitizers $(SANITIZER)

bench: build  ## measure the release build
	@scripts/setup --bench
	Benchmarks/run $(BENCH_FLAGS)

PEERS := go,hummingbird

redirect-costs: build  ## measure sign-ins by redirects, plain and with PAR, DPoP and JARM (REDIRECT_FLAGS=--check 2.2)
	@scripts/setup --bench
	Benchmarks/redirects $(REDIRECT_FLAGS)

bench-peers: build  ## measure the release build beside other servers (PEERS=go,go-postgres,hummingbird,python)
	@scripts/setup --bench-peers
	Benchmarks/run --peers $(PEERS) $(BENCH_FLAGS)

instructions: build  ## count the instructions of requests (INSTRUCTIONS_FLAGS: --check, --write)
	@scripts/setup --bench
	Benchmarks/instructions $(INSTRUCTIONS_FLAGS)

keyless: build  ## check that no request without an API key takes a millisecond (KEYLESS_FLAGS='--list 40')
	@scripts/setup --bench
	Benchmarks/keyless $(KEYLESS_FLAGS)

scaling: build  ## measure the figures of docs/scaling.md (SCALING_FLAGS=--write writes them)
	@scripts/setup --test --bench
	scripts/scaling $(SCALING_FLAGS)

features:  ## build the server without any feature and without each one, and sign in at each (FEATURES_FLAGS=--core)
	@scripts/setup
	scripts/features $(FEATURES_FLAGS)

nightly:  ## run what takes hours: all rows of all tests, fuzzing, load with faults, sanitizers, all figures
	$(MAKE) test LATCHKEY_ALL_ROWS=1
	$(MAKE) embedding example-feature features swift-client browser tls-check fuzz
	$(MAKE) conformance deployment-check image-check soak chaos network-faults overload
	$(MAKE) instructions INSTRUCTIONS_FLAGS=--check
	$(MAKE) redirect-costs REDIRECT_FLAGS='--check 2.2'
	$(MAKE) sanitizers keyless bench scaling

docs:  ## build the documentation of the libraries in .build/docs; warnings are errors
	@scripts/setup
	swift build
	scripts/docs

lint:  ## check the format of the code
	scripts/lint

format:  ## format the code
	swift format -i -r $(swift_files)

clean:  ## remove all build products
	rm -rf .build
