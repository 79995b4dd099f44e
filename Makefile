# Names for groups of the steps in .ci/run, which itself needs no make.

.PHONY: check matrix generate fuzz bench

# What must pass before review.
check:
	bash .ci/run format vet staticcheck tidy
	go test ./...

# Other architectures, which are compiled; then the tests on 386, with portable code and fused multiply-adds, under the race detector,
# and with self-checks.
matrix:
	bash .ci/run platforms on386 portable race coverage

# The assembly, written again by its generator.
generate:
	go generate ./internal/kernel

fuzz:
	bash .ci/run fuzz

# make bench BASE=main runs every benchmark ten times at BASE and ten times in the working tree, and compares them.
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
