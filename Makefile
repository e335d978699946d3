# The test command is `make test`; `make test-quick` is for the inner loop.

export PIEDMONT_TEST_CACHE ?= $(HOME)/.cache/piedmont-test
export GOFLAGS := -trimpath

bin   := $(PIEDMONT_TEST_CACHE)/build
tools := $(PIEDMONT_TEST_CACHE)/bin

# Stages and their budgets in seconds: what stops one that hangs, with room for empty caches
# on a busy machine. All together are stopped after WHOLE. With warm caches they take less
# than 30 minutes, which .ci/stages says when they don't.
WHOLE  := 4500
STAGES := tools:480 build:600 lint:600 unit:1500 fuzz:720 differential:420 storage:240 upstreams:420 postgres:420 hive:480 federated:480 e2e:600 histories:360 engines:1200 kit:420 vuln:120

.PHONY: test test-quick soak build clean $(foreach s,$(STAGES),stage-$(firstword $(subst :, ,$s)))

test:
	@.ci/stages $(WHOLE) $(STAGES)

# The inner loop: no race detector, no components.
test-quick:
	@go vet ./... && go test -short ./...

# As many histories as SEEDS says, of each kind, up to the first that fails. It prints how
# to see that one again.
SEEDS ?= 1000
soak: stage-build
	.ci/install postgres
	PIEDMONT_TEST_SEEDS=$(SEEDS) $(histories) -failfast -parallel 1 -timeout 0 ./cmd/piedmont/e2e
	PIEDMONT_TEST_SEEDS=$(SEEDS) go test -race -v -count=1 -run '^TestHistories$$' -timeout 0 ./native

build:
	CGO_ENABLED=0 go build -o piedmont ./cmd/piedmont

clean:
	rm -f piedmont

stage-tools:
	.ci/install golangci govulncheck weed pyiceberg postgres moto

stage-build:
	go mod tidy -diff
	CGO_ENABLED=0 go build -o $(bin)/piedmont ./cmd/piedmont

stage-lint:
	go vet ./...
	$(tools)/golangci-lint run ./...

stage-unit:
	go test -race -v -count=1 -timeout 15m ./...

# Every fuzz target runs for a few seconds on top of its seeds.
stage-fuzz:
	.ci/fuzz 3s

# The other side of the metadata tests is iceberg-go's table package, which takes long to
# compile, so it has a stage and a module file of its own.
stage-differential:
	go test -v -count=1 -tags differential -modfile native/metadata/testdata/differential.mod -run Differential -timeout 15m ./native/metadata

# Real S3, a real upstream REST catalog and somebody else's Glue for the packages that speak
# to them.
stage-storage:
	rm -rf $(PIEDMONT_TEST_CACHE)/run/storage
	mkdir -p $(PIEDMONT_TEST_CACHE)/run/storage
	PIEDMONT_BIN=$(bin)/piedmont .ci/weed run $(PIEDMONT_TEST_CACHE)/run/storage go test -race -v -count=1 -tags e2e -timeout 3m ./vend/s3 ./mounts/rest
	.ci/moto run $(PIEDMONT_TEST_CACHE)/run/storage go test -race -v -count=1 -tags e2e -run '^TestReal' -timeout 3m ./mounts/glue

# Other upstream REST catalogs: Iceberg's reference over two backends, and Nessie.
upstream := env PIEDMONT_BIN=$(bin)/piedmont go test -race -v -count=1 -tags e2e -run '^TestRealUpstream$$' -timeout 3m ./mounts/rest

stage-upstreams:
	.ci/install weed fixture nessie
	rm -rf $(PIEDMONT_TEST_CACHE)/run/upstreams
	mkdir -p $(PIEDMONT_TEST_CACHE)/run/upstreams
	.ci/fixture run memory $(PIEDMONT_TEST_CACHE)/run/upstreams/memory $(upstream)
	.ci/fixture run jdbc $(PIEDMONT_TEST_CACHE)/run/upstreams/jdbc $(upstream)
	.ci/weed run $(PIEDMONT_TEST_CACHE)/run/upstreams .ci/nessie run $(PIEDMONT_TEST_CACHE)/run/upstreams/nessie $(upstream)

# The registry in a real PostgreSQL, with faults.
stage-postgres:
	.ci/postgres remove $(PIEDMONT_TEST_CACHE)/run/postgres
	.ci/postgres run $(PIEDMONT_TEST_CACHE)/run/postgres go test -race -v -count=1 -tags e2e -timeout 6m ./native/postgres

# Three generations of the Hive Metastore, the newest over PostgreSQL, and every transport.
stage-hive:
	.ci/install hive2 hive3 hive4 postgres
	.ci/postgres remove $(PIEDMONT_TEST_CACHE)/run/hive/postgres
	rm -rf $(PIEDMONT_TEST_CACHE)/run/hive
	mkdir -p $(PIEDMONT_TEST_CACHE)/run/hive
	.ci/hive run 2 $(PIEDMONT_TEST_CACHE)/run/hive/2 go test -race -v -count=1 -tags e2e -run '^TestReal' -skip SickDatabase -timeout 3m ./mounts/hive
	.ci/hive run 3 $(PIEDMONT_TEST_CACHE)/run/hive/3 go test -race -v -count=1 -tags e2e -run '^TestReal' -skip SickDatabase -timeout 3m ./mounts/hive
	.ci/postgres run $(PIEDMONT_TEST_CACHE)/run/hive/postgres .ci/hive run 4 $(PIEDMONT_TEST_CACHE)/run/hive/4 go test -race -v -count=1 -tags e2e -run '^TestReal' -timeout 3m ./mounts/hive
	go test -race -v -count=1 -tags e2e -run '^TestTransports' -timeout 3m ./mounts/hive

# One Piedmont over a native catalog, a Hive Metastore, a Glue and a REST catalog.
stage-federated:
	.ci/install weed moto pyiceberg-hive hive2 hive3 hive4
	rm -rf $(PIEDMONT_TEST_CACHE)/run/federated
	PIEDMONT_BIN=$(bin)/piedmont .ci/moto run $(PIEDMONT_TEST_CACHE)/run/federated go test -v -count=1 -tags e2e -run '^TestFederated' -skip '^TestFederatedEngines$$' -parallel 4 -timeout 6m ./cmd/piedmont/e2e

stage-e2e:
	PIEDMONT_BIN=$(bin)/piedmont go test -v -count=1 -tags e2e -skip '^(TestEngines|TestFederated.*|TestHistories.*)$$' -timeout 10m ./cmd/piedmont/e2e

# Histories of concurrent changes under faults, checked for linearizability: over three
# replicas on Postgres, and over one process and its file.
histories := PIEDMONT_BIN=$(bin)/piedmont go test -v -count=1 -tags e2e -run '^TestHistories'

stage-histories:
	$(histories) -timeout 4m ./cmd/piedmont/e2e

# What real engines can do, one after the other, and across mounts.
stage-engines:
	.ci/install weed postgres engines trino spark flink moto pyiceberg-hive hive3
	PIEDMONT_BIN=$(bin)/piedmont go test -v -count=1 -tags e2e -run '^TestEngines$$' -timeout 10m ./cmd/piedmont/e2e
	rm -rf $(PIEDMONT_TEST_CACHE)/run/engines
	PIEDMONT_BIN=$(bin)/piedmont .ci/moto run $(PIEDMONT_TEST_CACHE)/run/engines go test -v -count=1 -tags e2e -run '^TestFederatedEngines$$' -timeout 3m ./cmd/piedmont/e2e

# Iceberg's own compatibility kit over both registries, with two generations of the Java
# client, and a transaction of the client's that loses against a competitor. Over the file
# also the two tests of names with a slash, which only older kits run. And the client reads
# the documents that mutated requests of clients make.
stage-kit:
	.ci/kit $(bin)/piedmont whole 1.11.0
	.ci/kit $(bin)/piedmont whole 1.12.0
	.ci/kit $(bin)/piedmont slashes
	.ci/kit $(bin)/piedmont documents 1.12.0
	.ci/kit $(bin)/piedmont transaction 1.12.0
	rm -rf $(PIEDMONT_TEST_CACHE)/run/kit
	mkdir -p $(PIEDMONT_TEST_CACHE)/run/kit
	.ci/postgres run $(PIEDMONT_TEST_CACHE)/run/kit .ci/kit $(bin)/piedmont whole 1.11.0
	.ci/postgres run $(PIEDMONT_TEST_CACHE)/run/kit .ci/kit $(bin)/piedmont whole 1.12.0
	.ci/postgres run $(PIEDMONT_TEST_CACHE)/run/kit .ci/kit $(bin)/piedmont transaction 1.12.0

# The vulnerability database is asked where it can be reached.
stage-vuln:
	@if out=$$($(tools)/govulncheck ./... 2>&1); then echo "$$out"; echo "--- PASS: govulncheck"; \
	elif echo "$$out" | grep -q 'fetching vulnerabilities'; then \
	  echo "--- SKIP: govulncheck: the vulnerability database can't be reached from here"; \
	else echo "$$out"; exit 1; fi
