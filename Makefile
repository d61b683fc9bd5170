# Two commands do everything: `make demo` and `make test`. Both install what is missing.
.DEFAULT_GOAL := help
.PHONY: help setup setup-build build web web-test python python-test wheel playground demo lab-demo mobility-demo tunnel-demo tunnel-router test fmt-check lint doc deny bench bench-lab bench-paint bench-faults soak reproduce reproduce-lab properties fuzz traces book clean

CARGO ?= cargo
BRIMFUL := target/release/brimful
export PATH := $(HOME)/.cargo/bin:$(PATH)
# Under sudo, in a clone of the caller's, the caller builds: root may have no toolchain, and what it writes into
# target/ no other user can replace.
ifneq ($(filter-out root,$(SUDO_USER)),)
ifeq ($(shell stat -c %U .),$(SUDO_USER))
CALLER_HOME := $(shell getent passwd $(SUDO_USER) | cut -d: -f6)
export CARGO_HOME ?= $(CALLER_HOME)/.cargo
export RUSTUP_HOME ?= $(CALLER_HOME)/.rustup
export PATH := $(CALLER_HOME)/.cargo/bin:$(PATH)
AS_CALLER := sudo -u $(SUDO_USER) -H env PATH="$(PATH)"
endif
endif
# The compiler that rust-toolchain.toml pins; where that one is not installed and a stable one is, the latter.
PINNED := $(shell sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
ifeq ($(shell rustup toolchain list 2>/dev/null | grep -c '^$(PINNED)'),0)
ifneq ($(shell rustup toolchain list 2>/dev/null | grep -c '^stable'),0)
export RUSTUP_TOOLCHAIN ?= stable
endif
endif
# Real radio traces for the tests that use them; they are skipped, with the reason in the summary, where unset.
ifneq ($(wildcard ../shared/traces),)
export BRIMFUL_TRACES ?= $(abspath ../shared/traces)
endif

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: setup-build  ## install what is missing (idempotent, quick the second time)
	@$(AS_CALLER) scripts/setup

setup-build:
	@$(AS_CALLER) scripts/setup build

web: setup-build  ## the dashboard's page and the report's charts, which crates dash and report embed
	@$(AS_CALLER) scripts/web build

web-test: setup web  ## their types, style and units
	@scripts/web test

python: setup  ## the Python package, for the environment target/python (dev profile)
	@scripts/python build

python-test: setup  ## its types and its tests
	@scripts/python test

wheel: setup  ## the Python package to be installed elsewhere, into target/wheels; installed and tried, and that for aarch64
	@scripts/setup --wheels
	@rm -rf target/wheels
	@scripts/python wheel
	@scripts/python wheel-test target/wheels/brimful-*.whl
	@scripts/python wheel aarch64 present
	@for file in target/wheels/*.whl; do scripts/python wheel-check "$$file" || exit 1; done

build: web  ## the program: target/release/brimful
	@[ -x $(BRIMFUL) ] || echo "make: building $(BRIMFUL): the first time that takes minutes"
	@$(AS_CALLER) $(CARGO) build --release --locked --quiet -p brimful

playground: setup-build  ## the simulator as a page, in target/playground, for any file server
	@$(AS_CALLER) env CARGO="$(CARGO)" scripts/playground

demo: build  ## the main job on a shipped trace: without and with RAN-aware flow control
	@scripts/demo

test: setup web fmt-check  ## all tests, with clippy: prints the slowest and what was skipped
	@scripts/test

lint: setup web  ## clippy, warnings denied, without tests (make test lints what it compiles)
	$(CARGO) clippy --workspace --no-deps --all-targets --locked -- -D warnings

doc: setup web  ## the API documentation of our crates, warnings denied
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --document-private-items

deny: setup  ## licences, bans and sources of all dependencies by cargo-deny (advisories: CONTRIBUTING.md)
	@scripts/setup --deny
	cargo-deny --all-features check licenses bans sources

fmt-check: setup
	$(CARGO) fmt --all --check

lab-demo: setup build  ## as root: curl and ping through an emulated 4G cell, without and with the proxy
	@BRIMFUL=$(BRIMFUL) scripts/lab-demo

mobility-demo: setup build  ## as root: curl and ping of a user between two emulated 5G cells, without and with a proxy at each
	@BRIMFUL=$(BRIMFUL) scripts/mobility-demo

tunnel-demo: setup build  ## as root: curl and a call over two paths at once, one of which dies
	@BRIMFUL=$(BRIMFUL) scripts/tunnel-demo

tunnel-router: setup-build  ## the tunnel alone for routers, aarch64 and armv7, cross-compiled and checked: target/router
	@$(AS_CALLER) env CARGO="$(CARGO)" scripts/cross $(TUNNEL_ROUTER_ARGS)

bench: setup web  ## as root, three quarters of an hour on a quiet machine: speed of all parts, the proxy beside HAProxy, the tunnel: docs/results/speed.md
	@scripts/setup --bench
	@scripts/bench $(or $(BENCH_ARGS),--record)

bench-lab: setup build  ## as root: what the real kernel does in real time, with intervals: docs/results/lab-claims.md
	@scripts/bench-lab $(BENCH_LAB_ARGS)

bench-paint: build  ## how soon dashboard, report and playground are there, on one core (BENCH_PAINT_ARGS: visits): docs/results/speed.md
	@scripts/bench-paint $(BENCH_PAINT_ARGS)

bench-faults: setup build  ## as root, a quarter of an hour: what a user keeps beside each attacker: docs/results/attackers.md
	$(CARGO) bench --locked -p brimful --bench hostile -- attackers --out $(CURDIR)/docs/results/attackers.md $(BENCH_FAULTS_ARGS)

soak: setup build  ## as root: all daemons under users, attackers and restarts for SOAK_MINUTES (30): docs/results/soak.md
	$(CARGO) bench --locked -p brimful --bench hostile -- soak --minutes $(or $(SOAK_MINUTES),30) --out $(CURDIR)/docs/results/soak.md

reproduce: build  ## the papers beside ours: runs everything, writes docs/results/rapid.md, dynamic-buffer.md, cdbe.md, meld.md, nested-cc.md
	@$(BRIMFUL) reproduce rapid --out docs/results
	@$(BRIMFUL) reproduce dynamic-buffer --out docs/results
	@$(BRIMFUL) reproduce cdbe --out docs/results
	@$(BRIMFUL) reproduce meld --out docs/results
	@$(BRIMFUL) reproduce nested-cc --out docs/results

reproduce-lab: setup build  ## as root, three quarters of an hour: RAPID's testbed on the kernel, the simulator beside it, the dynamic buffers, MELD, nested congestion control
	@$(BRIMFUL) reproduce rapid --world lab --threads 4 --out docs/results
	@$(BRIMFUL) reproduce rapid --world sim,lab --threads 4 --out docs/results
	@$(BRIMFUL) reproduce dynamic-buffer --world lab --threads 4 --out docs/results
	@$(BRIMFUL) reproduce meld --world lab --only fig4 --repeats 4 --threads 4 --out docs/results
	@$(BRIMFUL) reproduce nested-cc --world lab --only fig9b --threads 1 --out docs/results

properties: setup  ## the property tests, PROPTEST_CASES (2000) cases each, drawn anew
	PROPTEST_CASES=$(or $(PROPTEST_CASES),2000) $(CARGO) test --workspace --locked --lib --bins
	BRIMFUL_SCHEDULES=1000000 $(CARGO) test --release --locked -p pep --lib relay::model
	PROPTEST_CASES=$(or $(PROPTEST_CASES),2000) $(CARGO) test --locked \
		$(addprefix -p ,queue radio ran rapid rnis cc@0.3.0 sim scenario) --test '*'

fuzz: setup  ## every fuzz target for a minute (nightly features by RUSTC_BOOTSTRAP)
	@scripts/fuzz

traces: build  ## make the shipped traces again
	@scripts/make-traces

book: setup playground  ## the guide, as a book of HTML pages in target/book, with the playground and the crates' rustdoc
	@CARGO="$(CARGO)" scripts/book

.PHONY: setup-judges
setup-judges: setup  ## install what the judges of `brimful lab judge` run and make test can do without
	@$(AS_CALLER) scripts/setup --judges

.PHONY: packages
packages: setup web wheel  ## Debian package and wheels in dist/; the former checked by lintian and, as root, installed, upgraded from 0.2.0 and purged
	@scripts/setup --packages
	$(CARGO) build --profile dist --locked --quiet -p brimful
	@scripts/packages
	@cp target/wheels/brimful-*.whl dist/
	lintian --fail-on error,warning dist/brimful_*.deb
	@scripts/packages --try dist/brimful_*.deb

.PHONY: dist
dist: packages  ## what is released, in dist/: the packages, the sources, the tunnel for routers, bills of materials (CycloneDX), checksums
	@$(AS_CALLER) env CARGO="$(CARGO)" scripts/cross present
	@scripts/dist

.PHONY: kernels
kernels: setup web  ## Debian's kernels (KERNELS="6.1 6.12 host") under QEMU, a quarter of an hour each on a busy machine, once all is compiled: docs/operations/kernels.md
	@scripts/kernels

.PHONY: oci
oci:  ## the container image of proxy and radio information service, by podman, buildah or docker
	@scripts/oci

clean:  ## removes what was built
	$(CARGO) clean
