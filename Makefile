# Credential Proxy, for whoever builds it. A Swift toolchain is the only prerequisite: each target
# installs the Debian packages that it needs and that are missing, and says so.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test soak test-providers test-browser test-interop lint format build bench \
    bench-more fuzz sanitize clean toolchain packages install uninstall deb test-deb test-image test-metrics

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

# Where "make install" puts things; DESTDIR goes before all of it.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
DOCDIR ?= $(PREFIX)/share/doc/credential-proxy
MANDIR ?= $(PREFIX)/share/man
UNITDIR ?= $(PREFIX)/lib/systemd
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d

# What the build and the tests need: how to see whether it is there, and Debian's name for it.
PACKAGES := pkg-config=pkg-config \
    file:/usr/include/stdio.h=libc6-dev file:/usr/lib/gcc*/*/*/libstdc++.*=libstdc++-12-dev \
    strip=binutils lib:openssl=libssl-dev lib:libnghttp2=libnghttp2-dev \
    lib:libcurl=libcurl4-openssl-dev lib:libuv=libuv1-dev lib:yaml-0.1=libyaml-dev \
    curl=curl openssl=openssl file:/etc/ssl/certs/ca-certificates.crt=ca-certificates
TOOLCHAIN_PACKAGES := file:/usr/lib/*/libncurses.so.6=libncurses6 \
    file:/usr/lib/*/libsqlite3.so.0=libsqlite3-0 file:/usr/lib/*/libxml2.so.2=libxml2
# What completions and the manual page are tried with, and programs that tests have run.
TEST_PACKAGES := bash=bash fish=fish zsh=zsh mandoc=mandoc python3=python3
# The scripted person at the browser is a Python program, and so are most of the providers.
PROVIDERS_PACKAGES := python3=python3 python:ensurepip=python3-venv sqlite3=sqlite3
INTEROP_PACKAGES := python3=python3 python:ensurepip=python3-venv nghttp=nghttp2-client
BENCH_PACKAGES := python3=python3 python:ensurepip=python3-venv \
    wrk=wrk go=golang-go h2load=nghttp2-client

help:
	@echo 'make demo             the whole thing on this machine, no account needed   DEMO=--stay'
	@echo 'make test             lint and every test                                  TEST="--filter Wire"'
	@echo 'make soak             1,000 expiries and 1,000 kills; a quarter of an hour'
	@echo 'make test-providers   logins at real authorization servers, installed for it'
	@echo 'make test-browser     the status page, and what web pages can do to it, in Chromium   SCREENSHOTS=dir'
	@echo 'make test-interop     gRPC, h2spec, h2load and the Autobahn suite through the release binary'
	@echo 'make test-metrics     what a scrape gets, checked by promtool'
	@echo 'make build            the release binary, stripped: .build/proxy'
	@echo 'make install          what was built, for this machine                     PREFIX=/usr/local'
	@echo 'make deb              a Debian package of it, in .build'
	@echo 'make test-deb         installs, upgrades and removes the package in a Debian of its own'
	@echo 'make test-image       builds the Dockerfile and runs the image'
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
	@.ci/install $(TEST_PACKAGES)
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
	PROVIDERS_CACHE=$(CURDIR)/.build/providers Tests/Providers/Servers/install.sh
	swift build $(CHECKED) --build-tests
	PROVIDERS=1 swift test $(CHECKED) --skip-build --filter ProvidersTests $(TEST)

# What a person and what pages in a real browser can do; SCREENSHOTS=dir keeps pictures of every page.
test-browser: packages
	@.ci/install file:/usr/bin/chromium=chromium
	swift build $(CHECKED) --build-tests
	BROWSER=1 swift test $(CHECKED) --skip-build --filter BrowserTests $(TEST)

# Other people's clients, servers and test suites.
test-interop: packages
	@.ci/install $(INTEROP_PACKAGES)
	swift build $(RELEASE)
	Tests/Interop/run .build/release/proxy .build/interop

# The metrics' suites once more, with Prometheus' own checker.
test-metrics: packages
	@.ci/promtool .build/promtool
	swift build $(CHECKED) --build-tests
	PROMTOOL="$$PWD/.build/promtool/usr/bin/promtool" \
	    swift test $(CHECKED) --skip-build --filter 'etrics' $(TEST)

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

# Builds nothing: what root installs, somebody else may have built.
install:
	@test -x .build/proxy || { \
	    echo 'make: error: there is nothing to install yet'; \
	    echo 'make: hint: run "make build", then this again'; \
	    exit 1; \
	}
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(MANDIR)/man1' '$(DESTDIR)$(BASHDIR)' \
	    '$(DESTDIR)$(ZSHDIR)' '$(DESTDIR)$(FISHDIR)' '$(DESTDIR)$(DOCDIR)/examples' \
	    '$(DESTDIR)$(UNITDIR)/system' '$(DESTDIR)$(UNITDIR)/user'
	install -m 0755 .build/proxy '$(DESTDIR)$(BINDIR)/proxy'
	.build/proxy help --man | gzip -9n >'$(DESTDIR)$(MANDIR)/man1/proxy.1.gz'
	.build/proxy completion bash >'$(DESTDIR)$(BASHDIR)/proxy'
	.build/proxy completion zsh >'$(DESTDIR)$(ZSHDIR)/_proxy'
	.build/proxy completion fish >'$(DESTDIR)$(FISHDIR)/proxy.fish'
	for unit in system/credential-proxy.service system/credential-proxy.socket \
	    user/credential-proxy.service user/credential-proxy.socket; do \
	    sed 's|/usr/bin/proxy|$(BINDIR)/proxy|' "config/systemd/$${unit#system/}" \
	        >"$(DESTDIR)$(UNITDIR)/$$unit" || exit 1; \
	done
	install -D -m 0644 config/systemd/sysusers.conf \
	    '$(DESTDIR)$(PREFIX)/lib/sysusers.d/credential-proxy.conf'
	install -D -m 0644 config/systemd/tmpfiles.conf \
	    '$(DESTDIR)$(PREFIX)/lib/tmpfiles.d/credential-proxy.conf'
	install -m 0644 README.md ARCHITECTURE.md '$(DESTDIR)$(DOCDIR)'
	cp -R config/*.yaml config/*.json config/providers config/container config/launchd \
	    '$(DESTDIR)$(DOCDIR)/examples'
	chmod -R u=rwX,go=rX '$(DESTDIR)$(DOCDIR)'

uninstall:
	rm -f '$(DESTDIR)$(BINDIR)/proxy' '$(DESTDIR)$(MANDIR)/man1/proxy.1.gz' \
	    '$(DESTDIR)$(BASHDIR)/proxy' '$(DESTDIR)$(ZSHDIR)/_proxy' '$(DESTDIR)$(FISHDIR)/proxy.fish' \
	    '$(DESTDIR)$(UNITDIR)'/system/credential-proxy.* '$(DESTDIR)$(UNITDIR)'/user/credential-proxy.* \
	    '$(DESTDIR)$(PREFIX)/lib/sysusers.d/credential-proxy.conf' \
	    '$(DESTDIR)$(PREFIX)/lib/tmpfiles.d/credential-proxy.conf'
	rm -rf '$(DESTDIR)$(DOCDIR)'

deb: build
	@.ci/install dpkg-shlibdeps=dpkg-dev
	rm -rf .build/deb
	$(MAKE) --no-print-directory install DESTDIR=.build/deb PREFIX=/usr \
	    ZSHDIR=/usr/share/zsh/vendor-completions
	config/debian/build .build/deb .build

test-deb: deb
	@.ci/install debootstrap=debootstrap lintian=lintian systemd-nspawn=systemd-container
	Tests/Packaging/deb .build/credential-proxy_*.deb

# BASES=local makes the base images on this machine; by default they come from their registry.
test-image:
	@.ci/install buildah=buildah debootstrap=debootstrap python3=python3 ip=iproute2
	Tests/Packaging/image $(BASES)

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
