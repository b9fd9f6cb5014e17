# The simulation (docs/testing.md): libpipe's objects with crash points, the pipelines of
# tests/sim/pipelines, and surroundings that are functions of a seed.

SIM_PIPELINES := $(patsubst tests/sim/pipelines/%.pipe,%,$(wildcard tests/sim/pipelines/*.pipe))
SIM_CFLAGS := -std=gnu11 $(if $(LDMODE),$(MODE),-O2 -g1) $(WARN) -D_GNU_SOURCE= -UPIPE_DEBUG -DPIPE_DEBUG -Iruntime
SIM_OBJECTS := $(patsubst tests/sim/%.c,$(BUILD)/sim/%.o,$(wildcard tests/sim/*.c)) \
    $(SIM_PIPELINES:%=$(BUILD)/sim/pipelines/%.o)
# What differs in the simulation: crash points, checks, and calls that hardening would give names of
# their own (realpath: __realpath_chk). All else is as it is shipped.
SIM_DIFFERS := $(shell grep -lE 'PIPE_CRASH_POINT|def PIPE_DEBUG|\<(open|realpath)\>' runtime/*.c)
SIM_RUNTIME := $(SIM_DIFFERS:runtime/%.c=$(BUILD)/sim/runtime/%.o) \
    $(filter-out $(SIM_DIFFERS:runtime/%.c=$(BUILD)/runtime/%.o) %/rocksdb_shim.o,$(RUNTIME_OBJECTS))
SIM_WRAPPED := clock_gettime nanosleep getrandom open close write fdatasync fsync ftruncate \
    realpath stat statx pipe_crash_point pipe_main engine_count_rejects_in
SIM_LIBS = $(filter-out -lrocksdb,$(RUNTIME_LIBS))

$(BUILD)/sim/runtime/%.o: runtime/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(SIM_CFLAGS) -MMD -c -o $@ $<

$(BUILD)/sim/%.o: tests/sim/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(SIM_CFLAGS) -MMD -c -o $@ $<

$(BUILD)/sim/pipelines/%.o: tests/sim/pipelines/%.pipe tests/sim/pipelines/event.avsc $(BUILD)/pipec
	@mkdir -p $(@D)
	$(say) PIPE $@
	$(Q)$(BUILD)/pipec $< --out $(BUILD)/sim/generated >/dev/null 2>$@.log || { cat $@.log; false; }
	$(Q)$(CC) $(SIM_CFLAGS) -Dmain=sim_main_$* -Wno-missing-prototypes -c -o $@ \
	    $(BUILD)/sim/generated/sim_$*/sim_$*.c

# From an archive: only what the engine and the commands need.
$(BUILD)/sim/libpipe.a: $(SIM_RUNTIME)
	@rm -f $@
	$(say) AR $@
	$(Q)ar rcs $@ $^

$(BUILD)/sim/sim: $(SIM_OBJECTS) $(BUILD)/sim/libpipe.a
	$(say) LD $@
	$(Q)$(CC) $(LDMODE) $(GOLD) -o $@ $^ $(SIM_WRAPPED:%=-Wl,--wrap=%) $(SIM_LIBS)

.PHONY: sim mutants

# SEED=n runs one seed, TRACE=1 prints its schedule; else COUNT (2000) from FROM (1).
sim: $(BUILD)/sim/sim
	@$< $(if $(SEED),--from $(SEED) --count 1,--from $(or $(FROM),1) --count $(or $(COUNT),2000)) $(if $(TRACE),--trace)

# Planted bugs, each of which must be caught.
mutants: $(BUILD)/sim/sim
	@tests/mutants/run.py --build $(BUILD)

-include $(wildcard $(BUILD)/sim/*.d $(BUILD)/sim/runtime/*.d)
