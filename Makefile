# etgen's targets. `make demo` needs Go and gcc; `make test` installs the rest
# when it may (as root), else it says what is missing.

GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 60s
MODULE = github.com/etgen/etgen

.PHONY: all setup build test test-all demo bench fuzz fuzz-long generate lines check

all: build

# The cross compilers, the emulator and clang, for the tests.
setup:
	@golden/toolchain/setup.sh

# Packages that compile and do not compute: without inlined calls the binary is 2 MB smaller, and
# compiles models as fast. make build SMALL= takes what go test has compiled.
SMALL = cmd/... codegen/... golden/... ir/... lower/... plan \
	kernels/expr kernels/math kernels/ops kernels/schedule kernels/tuned

# One static binary: the same commit makes the same bytes in every folder.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags="-s -w" $(SMALL:%=-gcflags=$(MODULE)/%=-l) \
		-o bin/etgen ./cmd/etgen

# What a change has to pass. go test -short ./... tries less, in a minute; docs/tests.md
# says what each tier holds. Less garbage collection saves a tenth of the time.
test: setup
	GOGC=400 $(GO) test -timeout 40m ./...

# The same tests with larger numbers: all compilers and targets, sanitizers over all
# cases, long random programs. Then every fuzz target.
test-all: setup
	ETGEN_TESTS=all $(GO) test -timeout 4h ./...
	$(MAKE) fuzz

demo:
	@golden/toolchain/setup.sh demo
	@$(GO) run ./golden/demo

bench:
	@$(GO) run ./golden/bench

# Every fuzz target for FUZZTIME.
fuzz:
	@golden/toolchain/fuzz.sh $(FUZZTIME)

# Mutants of models through C, Go and the interpreter, from seed FIRST on: some
# hours on two cores. The counts stand after each thousand or so; FIRST goes on
# where a run ended. PTE=1 mutates ExecuTorch programs, not archives.
comma := ,
FIRST ?= 0
MUTANTS ?= 100000
fuzz-long:
	@mkdir -p finds
	$(GO) run ./golden/mutate $(if $(PTE),-pte) -first $(FIRST) -count $(MUTANTS) -from golden/cases,../shared/ops,../shared/models$(if $(PTE),$(comma)../shared/pte) -finds finds

generate:
	$(GO) generate ./...

# The hand-written lines outside tests, folder by folder.
lines:
	@golden/toolchain/lines.sh

check: build
	@headers=$$(readelf -l bin/etgen) && case $$headers in *INTERP*) echo "bin/etgen is not static" >&2; exit 1;; esac
	@unformatted=$$(gofmt -l .) && { [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted" >&2; exit 1; }; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	@golden/toolchain/fresh.sh
