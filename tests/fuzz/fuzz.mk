# Builds the fuzz targets into build/fuzz; run.sh calls it. From the root: make -f tests/fuzz/fuzz.mk
#   ENGINE=libfuzzer   clang's fuzzer (default)
#   ENGINE=replay      gcc, with replay.c for the fuzzer: runs given inputs, makes none
# What clang has to say to the sources of compiler and runtime it says here.

ENGINE := libfuzzer
BUILD := build/fuzz
SANITIZERS := address,undefined
MODE := -std=gnu11 -O1 -g1 -fno-omit-frame-pointer -DPIPE_DEBUG -D_GNU_SOURCE= -fno-sanitize-recover=all
ifeq ($(ENGINE),libfuzzer)
CC := clang
CXX := clang++
# These two need the C++ part of the runtime, which a program linked as C lacks.
NO_CXX_CHECKS := -fno-sanitize=function,vptr
INSTRUMENT := -fsanitize=fuzzer-no-link,$(SANITIZERS)
LINK := -fsanitize=fuzzer,$(SANITIZERS)
DRIVER := $(BUILD)/limits.o
LIMITS := -Wl,--wrap=LLVMFuzzerTestOneInput
WARN := -Wall -Wextra -Werror -Wvla
WARN_C := $(WARN) -Wshadow -Wmissing-prototypes -Werror=switch
else
CC := gcc
CXX := g++
WARN := -w
WARN_C := -w
INSTRUMENT := -fsanitize=$(SANITIZERS)
LINK := -fsanitize=$(SANITIZERS)
DRIVER := $(BUILD)/replay.o
endif
LINK += $(LIMITS) $(if $(shell command -v ld.gold),-fuse-ld=gold)
CFLAGS := $(MODE) $(INSTRUMENT)
CXXFLAGS := $(filter-out -std=gnu11 -D_GNU_SOURCE=,$(MODE)) -std=gnu++17 $(INSTRUMENT) $(NO_CXX_CHECKS)
COMPILER_LIBS := -ljansson -lre2 -lxxhash -lcrypto -lm -lstdc++ -lpthread
RUNTIME_LIBS := -lrdkafka -lcurl -lmicrohttpd -lrocksdb -lre2 -lutf8proc -lxxhash -lcrypto -ljansson -llz4 -lz -lm -lstdc++ -lpthread

COMPILER := $(patsubst compiler/%.c,$(BUILD)/compiler/%.o,$(filter-out compiler/main.c,$(wildcard compiler/*.c))) \
    $(patsubst compiler/%.cc,$(BUILD)/compiler/%.o,$(wildcard compiler/*.cc)) \
    $(BUILD)/compiler/parser.o $(BUILD)/compiler/lexer.o $(BUILD)/compiler/help_texts.o
RUNTIME := $(patsubst runtime/%.c,$(BUILD)/runtime/%.o,$(wildcard runtime/*.c)) \
    $(patsubst runtime/%.cc,$(BUILD)/runtime/%.o,$(wildcard runtime/*.cc))

COMPILER_TARGETS := program format
RUNTIME_TARGETS := writer_schema resolve decoder json csv state log container inputs functions metadata checkpoint native
BOTH_TARGETS := schema
TARGETS := $(COMPILER_TARGETS) $(RUNTIME_TARGETS) $(BOTH_TARGETS)

.PHONY: all archives
.DELETE_ON_ERROR:
.SECONDARY:
all: $(TARGETS:%=$(BUILD)/%) $(BUILD)/keywords.dict

archives: $(BUILD)/compiler.a $(BUILD)/runtime.a

$(BUILD)/compiler/parser.c $(BUILD)/compiler/parser.h &: compiler/parser.y
	@mkdir -p $(@D)
	bison -o $(BUILD)/compiler/parser.c --header=$(BUILD)/compiler/parser.h $<

$(BUILD)/compiler/lexer.c: compiler/lexer.l $(BUILD)/compiler/parser.h
	flex -o $@ $<

$(BUILD)/compiler/help_texts.c: compiler/embed_help.py compiler/codes.def
	@mkdir -p $(@D)
	python3 compiler/embed_help.py compiler/codes.def tests/errors $@

$(BUILD)/compiler/%.o: $(BUILD)/compiler/%.c $(BUILD)/compiler/parser.h
	$(CC) $(CFLAGS) $(WARN) -Wno-unused-function -Wno-unused-but-set-variable -Icompiler -I$(BUILD)/compiler -MMD -c -o $@ $<

$(BUILD)/compiler/%.o: compiler/%.c $(BUILD)/compiler/parser.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WARN_C) -Icompiler -I$(BUILD)/compiler -MMD -c -o $@ $<

$(BUILD)/compiler/%.o: compiler/%.cc
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(WARN) -Icompiler -MMD -c -o $@ $<

$(BUILD)/runtime/%.o: runtime/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WARN_C) -Iruntime -MMD -c -o $@ $<

$(BUILD)/runtime/%.o: runtime/%.cc
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(WARN) -Iruntime -MMD -c -o $@ $<

$(BUILD)/compiler.a: $(COMPILER)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/runtime.a: $(RUNTIME)
	@rm -f $@
	ar rcs $@ $^

# The decoders of a contract with every type, as pipec generates them, without their main().
$(BUILD)/sample/sample.c: tests/fuzz/sample.pipe $(wildcard tests/fuzz/contracts/*) build/pipec
	build/pipec $< --out $(BUILD)
	sed '/^int main(/,/^}/d' $@ >$@.part
	mv $@.part $@

# A program that has traffic, likewise.
$(BUILD)/traffic/traffic.c: tests/golden/c/traffic.pipe $(wildcard tests/golden/contracts/*) build/pipec
	build/pipec $< --out $(BUILD)
	sed '/^int main(/,/^}/d' $@ >$@.part
	mv $@.part $@

# Every keyword, operator and unit as a token of its own.
$(BUILD)/keywords.dict: compiler/keywords.def compiler/functions.def tests/fuzz/fuzz.mk
	@mkdir -p $(@D)
	sed -nE 's/^KEYWORD\(([a-z_]+),.*/"\1"/p' compiler/keywords.def >$@
	sed -nE 's/^[A-Z]+\("?([a-z0-9_]+)"?,.*/"\1("/p' compiler/functions.def >>$@
	printf '"%s"\n' ' 5s' ' 1h' '10ms' ' 1d' '64KiB' '<>' '<=' '||' '..' '--' ' int64' ' string' ' timestamp_ms' \
	    ' decimal(10,2)' ' float64' ' null' '%' >>$@

$(BUILD)/%.o: tests/fuzz/%.c tests/fuzz/fuzz.h $(BUILD)/compiler/parser.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -w -Icompiler -Iruntime -I$(BUILD) -I$(BUILD)/compiler -MMD -c -o $@ $<

$(BUILD)/decoder.o: $(BUILD)/sample/sample.c
$(BUILD)/resolve.o: $(BUILD)/sample/sample.c
$(BUILD)/json.o: $(BUILD)/sample/sample.c
$(BUILD)/csv.o: $(BUILD)/sample/sample.c
$(BUILD)/state.o: $(BUILD)/sample/sample.c
$(BUILD)/native.o: $(BUILD)/sample/sample.c
$(BUILD)/metadata.o: $(BUILD)/traffic/traffic.c

# Of the runtime what pipec has of it too.
$(COMPILER_TARGETS:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/%.o $(DRIVER) $(BUILD)/compiler.a $(BUILD)/runtime.a
	$(CC) $(LINK) -o $@ $^ $(COMPILER_LIBS)

# The inputs read in pieces whose size the fuzzer chooses.
$(BUILD)/inputs $(BUILD)/container: WRAP := -Wl,--wrap=read
# No engine stands behind the operators.
$(BUILD)/state: WRAP := -Wl,--wrap=engine_fail
$(RUNTIME_TARGETS:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/%.o $(DRIVER) $(BUILD)/runtime.a
	$(CC) $(LINK) $(WRAP) -o $@ $^ $(RUNTIME_LIBS)

$(BOTH_TARGETS:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/%.o $(DRIVER) $(BUILD)/compiler.a $(BUILD)/runtime.a
	$(CC) $(LINK) -o $@ $^ $(COMPILER_LIBS) $(RUNTIME_LIBS)

-include $(wildcard $(BUILD)/*.d $(BUILD)/*/*.d)
