# Credential Proxy, for whoever builds it. A Swift toolchain is the only prerequisite: each target
# installs the Debian packages that it needs and that are missing, and says so.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test soak test-providers test-browser test-interop lint format build bench \
    bench-more fuzz sanitize clean toolchain packages

# One set of flags for every debug build, so that no target compiles what another has compiled.
CHECKED := --explicit-target-dependency-import-check error
RELEASE := $(CHECKED) -c release --static-swift-stdlib --product proxy
BINARY_BYTES_MAX := 20000000
FUZZ_SECONDS := 60
SANITIZER := address

# The tests run in three parts, since all share as many threads as there are cores: rooms that only
# compute, rooms whose code runs on those threads, and the rest, whose tests hold a thread while they wait.
COMPUTING := ^(Architecture|Bytes|Configuration|Crypto|HTTP2Wire|HTTPWire|OAuth|Routing|TokenStore|Vocabulary)Tests\.
SHARING := ^(AuthCore|Demo|Fetch|LoopbackServer)Tests\.

# What the build and the tests need: how to see whether it is there, and Debian's name for it.
PACKAGES := pkg-config=pkg-config \
    file:/usr/include/stdio.h=libc6-dev file:/usr/lib/gcc*/*/*/libstdc++.*=libstdc++-12-dev \
    strip=binutils lib:openssl=libssl-dev lib:libnghttp2=libnghttp2-dev \
    lib:libcurl=libcurl4-openssl-dev lib:libuv=libuv1-dev lib:yaml-0.1=libyaml-dev \
    curl=curl openssl=openssl file:/etc/ssl/certs/ca-certificates.crt=ca-certificates
TOOLCHAIN_PACKAGES := file:/usr/lib/*/libncurses.so.6=libncurses6 \
    file:/usr/lib/*/libsqlite3.so.0=libsqlite3-0 file:/usr/lib/*/libxml2.so.2=libxml2
# The scripted person at the browser is a Python program, and so is one of the providers.
PROVIDERS_PACKAGES := python3=python3 python:ensurepip=python3-venv
INTEROP_PACKAGES := python3=python3 python:ensurepip=python3-venv nghttp=nghttp2-client
BENCH_PACKAGES := python3=python3 python:ensurepip=python3-venv \
    wrk=wrk go=golang-go h2load=nghttp2-client

help:
	@echo 'make demo             the whole thing on this machine, no account needed   DEMO=--stay'
	@echo 'make test             lint and every test                                  TEST="--filter Wire"'
	@echo 'make soak             1,000 expiries and 1,000 kills; a quarter of an hour'
	@echo 'make test-providers   logins at real authorization servers, installed for it'
	@echo 'make test-browser     what web pages can do to it, in Chromium'
	@echo 'make test-interop     gRPC, h2spec, h2load and the Autobahn suite through the release binary'
	@echo 'make build            the release binary, stripped: .build/proxy'
	@echo 'make bench            against nginx, HAProxy, Envoy, Caddy and Go          BENCH=--quick'
	@echo 'make bench-more       WebSocket, event streams, churn, TLS, many routes and credentials, HTTP/2'
	@echo 'make fuzz             every parser, FUZZ_SECONDS=60 each'
	@echo 'make sanitize         the end-to-end tests under a sanitizer                SANITIZER=thread'
	@echo 'make lint, format     what is not written as .swift-format says; mends it'
	@echo 'make clean            removes .build'

demo: packages
	swift build $(CHECKED) --product proxy
	.build/debug/proxy demo $(DEMO)

test: packages lint
	swift build $(CHECKED) --build-tests
ifdef TEST
	swift test $(CHECKED) --skip-build $(TEST)
else
	swift test $(CHECKED) --skip-build --filter '$(COMPUTING)'
	swift test $(CHECKED) --skip-build --filter '$(SHARING)'
	swift test $(CHECKED) --skip-build --skip '$(COMPUTING)' --skip '$(SHARING)'
endif

# The tests of endurance in their long versions.
soak: packages
	swift build $(CHECKED) --build-tests
	SOAK=1 swift test $(CHECKED) --skip-build --filter "must show 4" $(TEST)

# The same test bundle; these suites run only when they are asked for, as they install servers.
test-providers: packages
	@.ci/install $(PROVIDERS_PACKAGES)
	swift build $(CHECKED) --build-tests
	PROVIDERS=1 swift test $(CHECKED) --skip-build --filter ProvidersTests $(TEST)

# What pages in a real browser can do to the proxy.
test-browser: packages
	@.ci/install file:/usr/bin/chromium=chromium
	swift build $(CHECKED) --build-tests
	BROWSER=1 swift test $(CHECKED) --skip-build --filter BrowserTests $(TEST)

# Other people's clients, servers and test suites.
test-interop: packages
	@.ci/install $(INTEROP_PACKAGES)
	swift build $(RELEASE)
	Tests/Interop/run .build/release/proxy .build/interop

lint: toolchain
	swift format lint --strict --recursive --parallel Sources Tests Package.swift

format: toolchain
	swift format --in-place --recursive --parallel Sources Tests Package.swift

build: packages
	swift build $(RELEASE)
	strip -o .build/proxy .build/release/proxy
	@bytes=$$(wc -c <.build/proxy) && echo ".build/proxy has $$bytes bytes" && \
	if [ $$bytes -gt $(BINARY_BYTES_MAX) ]; then \
	    echo 'make: error: that is more than the $(BINARY_BYTES_MAX) that it may have'; exit 1; \
	fi

bench: packages
	@.ci/install $(BENCH_PACKAGES)
	swift build $(RELEASE)
	Tests/Benchmarks/prepare.sh .build/bench
	python3 -B Tests/Benchmarks/bench.py $(BENCH)

# WebSocket, event streams, churn, TLS to the API, many routes and credentials, HTTP/2 on either side.
bench-more: packages
	@.ci/install $(BENCH_PACKAGES)
	swift build $(RELEASE)
	Tests/Benchmarks/prepare.sh .build/bench
	python3 -B Tests/Benchmarks/more.py $(BENCH)
	python3 -B Tests/Benchmarks/http2.py $(BENCH)

# The end-to-end tests against a proxy under a sanitizer, SANITIZER=address or thread.
sanitize: packages
	Tests/Sanitizers/run $(SANITIZER) $(TEST)

# A crash leaves its input in .build/fuzz; FUZZ_TARGETS=Head runs one alone.
fuzz: packages
	Tests/Fuzz/run "$(FUZZ_SECONDS)" $(FUZZ_TARGETS)

clean:
	rm -rf .build

# A toolchain that was unpacked on a bare system lacks a few libraries of its own.
toolchain:
	@command -v swift >/dev/null || { \
	    echo 'make: error: there is no swift here'; \
	    echo 'make: hint: https://www.swift.org/install has toolchains; 6.2 or newer is needed'; \
	    exit 1; \
	}
	@swift build --version >/dev/null 2>&1 || .ci/install $(TOOLCHAIN_PACKAGES)

packages: toolchain
	@.ci/install $(PACKAGES)
