# The steps are in .ci/run, which needs no make; here are names for groups of them.

.PHONY: check matrix fuzz bench

# What must pass before review.
check:
	bash .ci/run format vet staticcheck tidy
	go test ./...

# Other architectures (compiled and vetted), and the tests with 32 bits, portable code, fused multiply-adds, the race detector,
# self-checks.
matrix:
	bash .ci/run platforms on386 portable fused race verify

fuzz:
	bash .ci/run fuzz

# make bench BASE=main: every benchmark, ten runs at BASE and ten in the working tree, compared.
BASE ?= main
COUNT ?= 10
BENCH ?= .
bench: SHELL := bash
bench:
	set -euo pipefail; \
	base=$$(mktemp -d); trap 'git worktree remove --force "$$base"' EXIT; \
	git worktree add --quiet --detach "$$base" $(BASE); \
	(cd "$$base" && go test -run '^$$' -bench '$(BENCH)' -count $(COUNT) ./...) >"$$base/old.txt"; \
	go test -run '^$$' -bench '$(BENCH)' -count $(COUNT) ./... >"$$base/new.txt"; \
	go tool -modfile=tools/go.mod benchstat "$$base/old.txt" "$$base/new.txt"
