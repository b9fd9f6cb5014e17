# pipec: `make demo` installs, builds and runs the clickstream pipeline; `make test` passes all tests. `make help` lists the rest.
#
#   BUILD=dir        where objects and programs go        (build)
#   CC, CXX          compilers                            (gcc, g++)
#   SANITIZE=1       ASan and UBSan, debug checks         (BUILD defaults to build/asan)

CC := gcc
CXX := g++
ifeq ($(SANITIZE),1)
BUILD := build/asan
# Lines for the sanitizers' reports: variables too (-g) would be a third of the compiler's time.
MODE := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -DPIPE_DEBUG
LDMODE := -fsanitize=address,undefined
PROGRAM_CFLAGS := $(MODE)
else
BUILD := build
MODE := -O2 -g -D_FORTIFY_SOURCE=2
LDMODE :=
PROGRAM_CFLAGS :=
endif

# clang has no -Wformat-truncation, and takes an unknown warning for an error.
IS_CLANG := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
WARN := -Wall -Wextra -Werror $(if $(IS_CLANG),,-Wno-format-truncation) -Wshadow -Wvla -Wmissing-prototypes -Werror=switch
HARDEN := -fstack-protector-strong -fPIE
CFLAGS := -std=gnu11 $(MODE) $(WARN) $(HARDEN) -D_GNU_SOURCE=
# gcc 12 takes the buffer of open_memstream for a dangling pointer, and branches that a constant size rules out for real.
# Not optimised: that takes a third of the time, and what is tested is in the archives, as it is shipped.
TEST_OPTIMISE := -O0 -U_FORTIFY_SOURCE
TEST_CFLAGS = $(CFLAGS) $(TEST_OPTIMISE) -g1 -Wno-missing-prototypes -Wno-unknown-warning-option -Wno-dangling-pointer -Wno-array-bounds
CXXFLAGS := -std=gnu++17 $(MODE) -Wall -Wextra -Werror $(HARDEN)
LDFLAGS := -pie -Wl,-z,relro,-z,now $(LDMODE)
# What only tests run is linked by gold, if it is there: in a third of the time.
GOLD := $(if $(shell command -v ld.gold),-fuse-ld=gold)
COMPILER_LIBS := -ljansson -lre2 -lutf8proc -lxxhash -lcrypto -lm -lstdc++ -lpthread
RUNTIME_LIBS := -lrdkafka -lcurl -lmicrohttpd -lrocksdb -lre2 -lutf8proc -lxxhash -lcrypto -ljansson -llz4 -lz -lm -lstdc++ -lpthread

COMPILER_SOURCES := $(wildcard compiler/*.c)
COMPILER_OBJECTS := $(COMPILER_SOURCES:compiler/%.c=$(BUILD)/compiler/%.o) \
    $(patsubst compiler/%.cc,$(BUILD)/compiler/%.o,$(wildcard compiler/*.cc)) \
    $(BUILD)/compiler/parser.o $(BUILD)/compiler/lexer.o $(BUILD)/compiler/help_texts.o
COMPILER_LIBRARY := $(BUILD)/libpipec.a
RUNTIME_OBJECTS := $(patsubst runtime/%.c,$(BUILD)/runtime/%.o,$(wildcard runtime/*.c)) \
    $(patsubst runtime/%.cc,$(BUILD)/runtime/%.o,$(wildcard runtime/*.cc))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/*.c))
PIPELINES := $(patsubst pipelines/%.pipe,%,$(wildcard pipelines/*.pipe))
PROGRAMS := $(PIPELINES:%=$(BUILD)/%)

# V=1 shows the commands.
ifeq ($(V),1)
Q :=
say := @true
else
Q := @
say := @printf '  %-5s%s\n'
endif

.PHONY: all deps demo test unit unit-programs programs bench bench-operators docs generated golden-update fuzz soak tidy clean help \
    deps-test deps-clickhouse test-clickhouse deps-kafka test-kafka chaos contract-check bench-kafka bench-tables bench-native bench-reconcile bench-spill nth soak-run \
    deps-stack up demo-stack scale down stack-test
.DELETE_ON_ERROR:

# Unless the one who called it has said how many (make -j).
two_jobs = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j2)

all: $(BUILD)/pipec $(BUILD)/libpipe.a

help:
	@sed -n '1,6s/^# \{0,1\}//p' Makefile
	@echo 'Targets: demo test test-kafka test-clickhouse chaos contract-check up demo-stack scale down stack-test unit bench bench-operators bench-spill bench-reconcile bench-kafka bench-tables bench-native docs generated golden-update fuzz nth sim mutants soak soak-run tidy clean'

deps:
	@docker/install-packages.sh

# What the tests need besides.
deps-test: deps
	@docker/install-packages.sh packages-test.txt

# What the tests on real brokers need besides: Java and Maven.
deps-kafka: deps-test
	@docker/install-packages.sh packages-kafka.txt

$(BUILD)/compiler/parser.c $(BUILD)/compiler/parser.h &: compiler/parser.y
	@mkdir -p $(@D)
	$(say) GEN $@
	$(Q)bison -Wall -Werror -o $(BUILD)/compiler/parser.c --header=$(BUILD)/compiler/parser.h $<

$(BUILD)/compiler/lexer.c: compiler/lexer.l $(BUILD)/compiler/parser.h
	@mkdir -p $(@D)
	$(say) GEN $@
	$(Q)flex -o $@ $<

$(BUILD)/compiler/help_texts.c: compiler/embed_help.py compiler/codes.def $(wildcard tests/errors/*)
	@mkdir -p $(@D)
	$(say) GEN $@
	$(Q)python3 compiler/embed_help.py compiler/codes.def tests/errors $@

$(BUILD)/compiler/%.o: $(BUILD)/compiler/%.c $(BUILD)/compiler/parser.h
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) -Wno-missing-prototypes -Wno-shadow -Wno-unused-function -Wno-unused-but-set-variable -Icompiler -I$(BUILD)/compiler -MMD -c -o $@ $<

$(BUILD)/compiler/%.o: compiler/%.c $(BUILD)/compiler/parser.h
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) -Icompiler -I$(BUILD)/compiler -MMD -c -o $@ $<

$(BUILD)/compiler/%.o: compiler/%.cc
	@mkdir -p $(@D)
	$(say) CXX $@
	$(Q)$(CXX) $(CXXFLAGS) -Icompiler -MMD -c -o $@ $<

$(BUILD)/runtime/%.o: runtime/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) -Iruntime -MMD -c -o $@ $<

$(BUILD)/runtime/%.o: runtime/%.cc
	@mkdir -p $(@D)
	$(say) CXX $@
	$(Q)$(CXX) $(CXXFLAGS) -Iruntime -MMD -c -o $@ $<

$(BUILD)/libpipe.a: $(RUNTIME_OBJECTS)
	@rm -f $@
	$(say) AR $@
	$(Q)ar rcs $@ $^
	@echo '$(RUNTIME_LIBS) $(LDMODE)' >$(BUILD)/libpipe.flags

$(COMPILER_LIBRARY): $(filter-out %/main.o,$(COMPILER_OBJECTS))
	@rm -f $@
	$(say) AR $@
	$(Q)ar rcs $@ $^

# Of the runtime pipec itself uses process*: closed standard descriptors are held, no memory stops it.
$(BUILD)/pipec: $(BUILD)/compiler/main.o $(COMPILER_LIBRARY) $(BUILD)/libpipe.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(COMPILER_LIBS)

$(BUILD)/unit/compiler_%: tests/unit/compiler_%.c $(COMPILER_LIBRARY) | $(BUILD)/libpipe.a
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(TEST_CFLAGS) -Icompiler -I$(BUILD)/compiler $(LDFLAGS) $(GOLD) -o $@ $^ $(BUILD)/libpipe.a -lcmocka $(COMPILER_LIBS)

$(BUILD)/unit/runtime_%: tests/unit/runtime_%.c $(BUILD)/libpipe.a
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(TEST_CFLAGS) -Iruntime $(LDFLAGS) $(GOLD) -o $@ $^ -lcmocka $(RUNTIME_LIBS)

# These calculate much themselves.
$(BUILD)/unit/runtime_window $(BUILD)/unit/runtime_session: TEST_OPTIMISE := -O1

# The compiled pipelines. PIPEC_HOME tells where runtime/ and libpipe.a are, for a build outside build/.
$(PROGRAMS): $(BUILD)/%: pipelines/%.pipe $(BUILD)/pipec $(BUILD)/libpipe.a $(wildcard contracts/*/*.avsc)
	$(say) PIPE $@
	$(Q)CC=$(CC) CFLAGS='$(PROGRAM_CFLAGS)' $(BUILD)/pipec build $< --out $(BUILD)/generated -o $@

docs: all
	@python3 compiler/errors_page.py compiler/codes.def tests/errors docs/errors.md

generated: $(BUILD)/pipec
	@for name in $(PIPELINES); do $(BUILD)/pipec pipelines/$$name.pipe || exit 1; done

unit-programs: $(UNIT_TESTS)

programs: $(PROGRAMS)

unit: all
	@tests/run.sh unit

golden-update: all
	@tests/golden/run.py --build $(BUILD) --update

demo: deps
	@$(MAKE) --no-print-directory -s $(two_jobs) $(BUILD)/pipec $(BUILD)/libpipe.a
	@pipelines/demo.sh $(BUILD)

test: deps-test
	@tests/run.sh

bench: all $(BUILD)/clickstream
	@python3 tests/bench/run.py --build $(BUILD)

$(BUILD)/bench-operators: tests/bench/operators.c $(BUILD)/libpipe.a
	@echo '  CC   $@'
	@$(CC) $(CFLAGS) -Iruntime $(LDFLAGS) -o $@ $^ $(RUNTIME_LIBS)

bench-operators: $(BUILD)/bench-operators
	@$<

# 50 M ids in 512 MiB: a quarter of an hour.
bench-spill: all
	@python3 tests/bench/spill.py --build $(BUILD)

# 100 M events: 25 GB of disk, half an hour of one processor.
bench-reconcile: all
	@python3 tests/bench/reconcile.py --build $(BUILD)

$(BUILD)/kafka-tool: tests/kafka/tool.c tests/kafka/calls.h
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< -lrdkafka -ljansson

$(BUILD)/kafka-passthrough: tests/bench/kafka_passthrough.c tests/kafka/calls.h
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< -lrdkafka -lpthread

$(BUILD)/transport-driver: tests/kafka/transport_driver.c $(BUILD)/libpipe.a
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) -Iruntime $(LDFLAGS) -o $@ $^ $(RUNTIME_LIBS)

# On real brokers, from Maven jars; KAFKA_SUITES='--suite NAME …' are other than the short ones.
KAFKA_SUITES := --suite services --suite brokers --suite transport --suite topics --suite reconcile --suite checkpoints --suite chaos --suite follow
test-kafka: deps-kafka deps-clickhouse
	@tests/kafka/run.py --require --build $(BUILD) $(KAFKA_SUITES)

# A compiled pipeline through every fault, on one broker and on three; each test ends exact.
# CHAOS_SEED=N makes a run again.
chaos: deps-kafka deps-clickhouse
	@tests/kafka/run.py --require --build $(BUILD) --suite chaos --suite chaos_long --suite chaos_idle --suite chaos_brokers --suite follow
	@CHAOS_AWAY_S=120 python3 tests/clickhouse/run.py --require --build $(BUILD) --suite faults --only away

# The contracts against a live registry: the versions are accepted, breaking changes are not.
# STACK=1: against that of `make up`.
ifdef STACK
contract-check:
	@docker/stack.sh contract-check
else
contract-check: deps-kafka
	@tests/kafka/run.py --require --build $(BUILD) --suite registry_contracts
endif

# The whole stack, by docker compose: docker/stack.sh says what can be set.
up:
	@docker/stack.sh up

demo-stack: up
	@docker/stack.sh demo

scale:
	@docker/stack.sh scale $(N)

down:
	@docker/stack.sh down

# What make stack-test needs besides; a Docker daemon only if there is none.
deps-stack: deps-kafka
	@docker/install-packages.sh packages-stack.txt
	@command -v dockerd >/dev/null || RUNLEVEL=1 docker/install-packages.sh packages-docker.txt

# The compose file from up to down, on a Docker daemon of its own, with stand-ins for pulled images.
stack-test: deps-stack
	@tests/stack/run.py --require --build $(BUILD)

# What a row costs as Native and as RowBinary, on both sides.
bench-native: deps-clickhouse $(BUILD)/clickstream
	@tests/bench/native.py --build $(BUILD)

# The bare pass-through, and the compiled pipeline beside it.
bench-kafka: all deps-kafka $(BUILD)/kafka-passthrough $(BUILD)/kafka-tool $(BUILD)/clickstream
	@tests/bench/kafka.py --build $(BUILD)
	@tests/bench/pipeline.py --build $(BUILD)

# Rows into ClickHouse, through real brokers: a quarter of an hour.
bench-tables: all deps-kafka deps-clickhouse $(BUILD)/kafka-tool $(BUILD)/clickstream
	@tests/bench/tables.py --build $(BUILD) $(TABLES)

$(BUILD)/clickhouse-driver: tests/clickhouse/client_driver.c $(BUILD)/libpipe.a
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CFLAGS) -Iruntime $(LDFLAGS) -o $@ $^ $(RUNTIME_LIBS)

# What the tests on the real ClickHouse engine need besides: a Python environment with chdb.
deps-clickhouse: deps-test
	@tests/clickhouse/install.sh $(BUILD)/clickhouse/venv

# On the engine of ClickHouse 26.9; CLICKHOUSE_SUITES='--suite NAME …' are some of them.
test-clickhouse: deps-clickhouse
	@tests/clickhouse/run.py --require --build $(BUILD) $(CLICKHOUSE_SUITES)

# Every parser of untrusted bytes, a minute each; SECONDS_EACH changes that.
fuzz: all
	@SECONDS_EACH=$${SECONDS_EACH:-60} tests/fuzz/run.sh

# Calls from every place that makes one fail. NTH='--only run --way db' are some; NTH=--every fails
# every single call: many hours.
nth: all
	@tests/nth/run.py --build $(BUILD) --sites $(NTH)

# Twenty minutes at a fixed rate: memory and state stay flat. SOAK='--minutes 60' changes that.
soak-run: all
	@tests/soak/run.py --build $(BUILD) $(SOAK)

# Random pipelines against the independent model, without end.
soak: all
	@tests/model/run.py --build $(BUILD) --endless

include tests/sim/sim.mk

tidy:
	@tests/tidy.sh

clean:
	rm -rf build run

-include $(wildcard $(BUILD)/*/*.d)
