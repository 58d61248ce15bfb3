# `make` prints the targets. `make check` is exactly CI.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
DURATION ?= 10m
MAKEFLAGS += --no-print-directory

# Linters are pinned in a module of their own, so that they are no dependency of
# ours.
TOOL := go tool -modfile=tools/go.mod

.PHONY: help
help: ## print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## show the queue at work, on a Redis of its own
	@scripts/demo.sh

.PHONY: test
test: ## run the tests with the race detector (installs redis-server, postgresql, mariadb-server and ruby if needed)
	@scripts/install-redis.sh
	@scripts/install-databases.sh
	@scripts/install-languages.sh
	go test -race ./...

.PHONY: bench
bench: ## measure Waybill beside asynq and a bare layout, for some ten minutes
	@scripts/install-redis.sh
	@cd bench/peers && go run . $(BENCH)

.PHONY: scale
scale: ## measure a queue in which millions of jobs wait, for some five minutes
	@scripts/install-redis.sh
	@go run ./bench/scale $(SCALE)

.PHONY: faults
faults: ## play the whole fault programme, for some twenty minutes (the tests play a part of it)
	@scripts/install-redis.sh
	@scripts/install-databases.sh
	@scripts/faults.sh full

.PHONY: soak
soak: ## play it for DURATION a tier: make soak DURATION=1h
	@scripts/install-redis.sh
	@scripts/install-databases.sh
	@scripts/faults.sh $(DURATION)

.PHONY: broken
broken: ## show that each of many deliberate faults is caught, for a quarter of an hour
	@scripts/install-redis.sh
	@scripts/install-databases.sh
	WAYBILL_FAULTS=full go test -count=1 -timeout 60m -v -run TestCaught ./test/fault/broken

.PHONY: check
check: fmt-check vet lint tidy-check compile test modules ## all that CI runs

.PHONY: fmt
fmt: ## format the Go code
	$(TOOL) gofumpt -w .

.PHONY: lint
lint: ## run the linters
	$(TOOL) golangci-lint run ./...

.PHONY: build
build: ## build bin/waybill
	go build -o bin/waybill ./cmd/waybill

.PHONY: fmt-check
fmt-check:
	@unformatted=$$($(TOOL) gofumpt -l .); \
	if [[ -n $$unformatted ]]; then \
	  echo "not formatted (make fmt mends it):" >&2; echo "$$unformatted" >&2; exit 1; \
	fi

.PHONY: vet
vet:
	go vet ./...

.PHONY: tidy-check
tidy-check:
	go mod tidy -diff

# What depends on asynq is no part of our module. The measurements beside it take
# half a minute and are only vetted.
.PHONY: modules
modules: ## check the modules beside the main one
	@scripts/install-redis.sh
	@for m in migrate/asynq bench/peers; do \
	  echo "$$m"; \
	  (cd "$$m" && go mod tidy -diff && go vet ./... && \
	    go tool -modfile=../../tools/go.mod golangci-lint run -c ../../.golangci.yml ./...); \
	done
	cd migrate/asynq && go test -race ./...

.PHONY: compile
compile:
	go build ./...
