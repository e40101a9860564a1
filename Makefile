# make help lists the targets.  `make` alone needs a C compiler, and no Python.
#
#   make CC=clang                  another compiler        make CFLAGS=-march=native   added flags
#   make SAN=address,undefined     a sanitizer's flavour   make test ARGS='-k order'   some tests
#   make WERROR=                   warnings that stay warnings          make V=1    shows the commands

SAN     ?=
WERROR  ?= -Werror
PYTHON  ?= python3
FLAVOUR ?= $(if $(findstring address,$(SAN)),asan,$(if $(findstring thread,$(SAN)),tsan,$(if $(SAN),san,release)))
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(or $(JOBS),$(shell nproc 2>/dev/null),2)
endif

BUILD    := build/$(FLAVOUR)
LIBRARY  := $(BUILD)/libpyflowdata.so
SOURCES  := $(sort $(shell find csrc -name '*.c'))
OBJECTS  := $(SOURCES:%.c=$(BUILD)/%.o)
# The conformance kit, a distribution of its own; see kit/README.md.
KIT_DIR  ?= kit
KIT      := $(BUILD)/libpyflowdata_kit.so
KIT_COMPILED := $(patsubst $(KIT_DIR)/csrc/%.c,$(BUILD)/kit/%.o, \
                  $(sort $(shell find $(KIT_DIR)/csrc -name '*.c' 2>/dev/null)))
KIT_OBJECTS := $(KIT_COMPILED) $(filter $(BUILD)/csrc/core/%,$(OBJECTS))
C_TESTS  := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/c/test_*.c)))
LAYOUT   := $(BUILD)/tests/c/abi_layout.o
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion $(WERROR)
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
# Sanitized code takes long to optimize, and it names lines without what a debugger needs.  GCC's
# guesses of what is not initialized are worse at -O1.
OPTIMIZE := $(if $(SAN),-O1 -g1,-O2 -g)

# Libraries for compressed files and images, used where pkg-config finds them.  pkg-config knows those
# of this machine: a cross build (CC=aarch64-linux-gnu-gcc) omits them, unless PKG_CONFIG names its own.
CODEC_LIBRARIES := zlib libzstd libjpeg libpng libwebp
PKG_CONFIG ?= pkg-config
IS_CROSS := $(if $(filter file default,$(origin PKG_CONFIG)),$(filter-out $(shell uname -m)-%, \
              $(patsubst powerpc%,ppc%,$(shell $(CC) -dumpmachine 2>/dev/null))))
find_libraries = $(strip $(if $(IS_CROSS),,$(foreach library,$(CODEC_LIBRARIES), \
                   $(shell $(PKG_CONFIG) --exists $(library) 2>/dev/null && echo $(library)))))
FOUND    := $(find_libraries)
ifneq ($(and $(filter test train,$(MAKECMDGOALS)),$(filter-out $(FOUND),$(CODEC_LIBRARIES))),)
INSTALL  := $(shell tools/install_packages 'compressed files and images' \
              $(filter-out $(FOUND),$(CODEC_LIBRARIES)) >&2)
FOUND    := $(find_libraries)
endif
ABSENT   := $(filter-out $(FOUND),$(CODEC_LIBRARIES))
CODECS   := $(if $(filter zlib,$(FOUND)),-DPFD_HAVE_ZLIB) \
            $(if $(filter libzstd,$(FOUND)),-DPFD_HAVE_ZSTD) \
            $(if $(filter libjpeg,$(FOUND)),-DPFD_HAVE_JPEG) \
            $(if $(filter libpng,$(FOUND)),-DPFD_HAVE_PNG) \
            $(if $(filter libwebp,$(FOUND)),-DPFD_HAVE_WEBP) \
            $(if $(FOUND),$(shell $(PKG_CONFIG) --cflags $(FOUND)))
LIBS     := -lm -ldl $(if $(FOUND),$(shell $(PKG_CONFIG) --libs $(FOUND)))
COMPILE   = $(CC) -std=c11 -ffp-contract=off -D_GNU_SOURCE -fPIC -fvisibility=hidden -pthread $(WARNINGS) \
            $(OPTIMIZE) -Icsrc -Icsrc/include $(CODECS) $(SANITIZE) $(CPPFLAGS) $(CFLAGS)

# Prints a short line in place of the command.
DO        = $(if $(V),,@echo '  $(1) $@' &&)

LIBRARIES := $(LIBRARY) $(KIT)
# In a clone the kit is found where the package is, by its name and by its commands.
IN_CLONE := pyflowdata/$(notdir $(LIBRARY)) kit/pyflowdata_kit/$(notdir $(KIT)) \
            pyflowdata_kit pyflowdata_kit.egg-info/entry_points.txt
all: $(LIBRARIES) $(if $(filter release,$(FLAVOUR)),$(IN_CLONE))
objects: $(OBJECTS) $(KIT_COMPILED) $(C_TESTS:%=%.o) $(LAYOUT)
c-tests: $(C_TESTS) $(LAYOUT)

# Only functions are exported: -Bsymbolic, for linkers that know no other, means the same.
SYMBOLIC ?= -Wl,-Bsymbolic-functions
LINK = $(COMPILE) -shared -Wl,-soname,$(@F) $(SYMBOLIC) $(if $(SAN),,-Wl,-z,defs) $(LDFLAGS)
$(LIBRARY): $(OBJECTS) csrc/pyflowdata.map
	$(call DO,link) $(LINK) -Wl,--version-script=csrc/pyflowdata.map -o $@ $(OBJECTS) $(LIBS)
	$(if $(ABSENT),@echo '  built without $(ABSENT): some compressed files or images will be refused')

# Uses the library that Python has loaded, or else the one beside it, in site-packages or in a clone.
$(KIT): $(KIT_OBJECTS) $(LIBRARY) $(KIT_DIR)/csrc/pyflowdata_kit.map
	$(call DO,link) $(LINK) -Wl,--version-script=$(KIT_DIR)/csrc/pyflowdata_kit.map -Wl,--gc-sections \
	    -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../pyflowdata:$$ORIGIN/../../pyflowdata' \
	    -o $@ $(KIT_OBJECTS) $(LIBRARY) -lm -ldl

# Moved into place, so that a process that has the old library mapped keeps it.
INTO_PACKAGE = @cp $< $@.new && mv -f $@.new $@
pyflowdata/%.so: $(BUILD)/%.so
	$(INTO_PACKAGE)
kit/pyflowdata_kit/%.so: $(BUILD)/%.so
	$(INTO_PACKAGE)
pyflowdata_kit:
	@ln -s kit/$@ $@
pyflowdata_kit.egg-info/entry_points.txt: kit/pyproject.toml
	@mkdir -p $(@D) && printf 'Name: pyflowdata-kit\nVersion: 0\n' > $(@D)/PKG-INFO
	@sed -n '/^.project.entry-points/,/^$$/ {s/project.entry-points.//; s/"//g; p}' $< > $@

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call DO,compile) $(COMPILE) -MMD -MP -c -o $@ $<

$(KIT_COMPILED): $(BUILD)/kit/%.o: $(KIT_DIR)/csrc/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call DO,compile) $(COMPILE) -I$(KIT_DIR)/csrc -I$(KIT_DIR)/pyflowdata_kit/include -MMD -MP -c -o $@ $<

$(C_TESTS): %: %.o $(OBJECTS)
	$(call DO,link) $(COMPILE) $(LDFLAGS) -o $@ $^ $(LIBS)

# Rewritten when compiler or flags have changed: then everything is compiled again.
$(BUILD)/flags: always
	@mkdir -p $(@D)
	@[ "$$(cat $@ 2>/dev/null)" = '$(COMPILE)' ] || echo '$(COMPILE)' > $@

-include $(OBJECTS:.o=.d) $(KIT_COMPILED:.o=.d) $(C_TESTS:%=%.d) $(LAYOUT:.o=.d)

# ---- Python: .venv holds numpy and cffi, for `make test` the test tools as well -----------------
# Hundreds of processes import the same modules: each of them once compiled, whatever is set outside.
unexport PYTHONDONTWRITEBYTECODE
IN_VENV := .venv/bin/python
.venv/train: requirements.txt
.venv/test: requirements-test.txt .venv/train
.venv/torch: requirements-torch.txt .venv/test
.venv/lightning: requirements-lightning.txt .venv/torch
.venv/accelerate: requirements-accelerate.txt .venv/torch
.venv/examples: requirements-examples.txt .venv/torch
.venv/transformers: requirements-transformers.txt .venv/accelerate
.venv/datasets: requirements-datasets.txt .venv/torch
.venv/trainers: requirements-trainers.txt .venv/lightning .venv/transformers .venv/datasets \
                .venv/examples .venv/flax .venv/ray .venv/titan
# torchtitan asks for an older datasets; what its loaders need is in the list.
.venv/titan: requirements-titan.txt .venv/torch
.venv/titan: private PIP_FLAGS = --no-deps
.venv/types: requirements-types.txt .venv/test
.venv/jax: requirements-jax.txt .venv/test
.venv/flax: requirements-flax.txt .venv/jax
.venv/numba: requirements-numba.txt .venv/test
.venv/ray: requirements-ray.txt .venv/test
.venv/pages: requirements-pages.txt .venv/test
.venv/docs: requirements-docs.txt .venv/train
.venv/%:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	    { echo 'Python 3.10 or newer is needed; name one with make PYTHON=...'; exit 1; }
	@[ -x $(IN_VENV) ] || $(PYTHON) -m venv .venv || { rm -rf .venv; \
	    echo 'No venv could be made: install the venv module (Debian, Ubuntu: python3-venv)'; exit 1; }
	$(IN_VENV) -m pip install --quiet --disable-pip-version-check --no-compile $(PIP_FLAGS) -r $< -c constraints.txt
	@touch $@

train: all .venv/train
	$(IN_VENV) tests/test_mini_dataloader.py $(ARGS)

# Runs the C tests beside each other.  LAUNCH: what is in front of each.
run-c-tests: $(LAYOUT) $(C_TESTS:%=%-run)
$(C_TESTS:%=%-run): %-run: %
	@ulimit -c 0; echo '$<' && $(LAUNCH) $<

PYTEST = $(IN_VENV) -m pytest -q -rs
# One process more than there are cores: some tests wait, for a lock or for another process.
PARALLEL = -n $(or $(JOBS),$(shell expr $$(nproc) + 1 2>/dev/null),3) --maxprocesses 8 --dist worksteal

test: all run-c-tests .venv/test
	$(PYTEST) $(PARALLEL) $(ARGS)

# The tests of the conformance kit: most compile a plugin and check it.
test-kit: all .venv/test
	$(PYTEST) $(PARALLEL) kit/tests $(ARGS)

# The C tests on aarch64, which qemu emulates: for its bits, not for its speed.  `make check` compiles
# the same objects.
test-arm:
	@tools/install_packages 'tests on aarch64' aarch64
	@$(MAKE) --no-print-directory CC=aarch64-linux-gnu-gcc CFLAGS='$(CFLAGS) -g0' \
	    FLAVOUR=check-aarch64-linux-gnu-gcc run-arm
run-arm: $(C_TESTS:%=%-on-arm)
$(C_TESTS:%=%-on-arm): %-on-arm: %
	@ulimit -c 0; echo '$<' && qemu-aarch64 -L /usr/aarch64-linux-gnu $<

# Loaders with planted bottlenecks: their reports name these, and the remedies help.  It measures, so
# it is for a machine that does nothing else.
test-reports: all .venv/test
	$(PYTEST) -p no:xdist tests/reports/planted_suite.py $(ARGS)

# With the packages of an integration, which go into .venv; `make test` skips what is not there.
# Their libraries have threads and processes of their own.
test-torch test-jax test-numba test-trainers: JOBS = 2
test-torch: all .venv/lightning .venv/accelerate .venv/examples
	$(PYTEST) $(PARALLEL) $(addprefix tests/integrations/test_,torch.py torch_sink.py torch_trace.py) \
	    $(addprefix tests/project/test_,examples.py gallery.py pages.py port_pages.py) $(ARGS)
test-jax: all .venv/flax
	$(PYTEST) $(PARALLEL) $(addprefix tests/integrations/test_,jax.py jax_bfloat16.py jax_sink.py) \
	    tests/project/test_example_jax.py $(ARGS)
test-numba: all .venv/numba
	$(PYTEST) $(PARALLEL) tests/integrations/test_numba_ops.py \
	    tests/project/test_pages.py $(ARGS)
# The matrix of docs/how-to/trainers.md with every trainer, of the versions in constraints.txt, and torch's own
# tests of its DataLoader, where they can be fetched.  QUICK=1, as in CI, leaves out what takes seconds.
QUICK ?= $(CI)
test-trainers: all .venv/trainers
	$(if $(QUICK),,-$(IN_VENV) -m tools.fetch_torch_tests)
	PYFLOWDATA_NO_SKIP=1 $(PYTEST) $(PARALLEL) tests/trainers $(if $(QUICK),-m 'not slow') $(ARGS)
test-ray: all .venv/ray
	$(PYTEST) tests/integrations/test_ray.py tests/trainers/test_ray_train.py $(ARGS)
# The pages that reports are, and the site, in a browser.
test-pages: docs .venv/pages
	@tools/install_packages 'pages in a browser' chromium
	$(PYTEST) tests/reports/test_page_in_browser.py tests/project/test_site_in_browser.py $(ARGS)

# Processes that are killed and resumed with other world sizes, and random pipelines of views; for a
# short one make soak CYCLES=20 PIPELINES=100.
soak: all .venv/train
	$(IN_VENV) tests/loader/soak.py $(if $(CYCLES),--cycles $(CYCLES)) $(ARGS)
	$(IN_VENV) tests/support/views/soak.py $(if $(PIPELINES),--pipelines $(PIPELINES),--pipelines 5000)

# Files that other libraries wrote, made again and compared; make fixtures LIBRARY="numpy tensorflow"
fixtures:
	$(PYTHON) tools/fixtures.py $(LIBRARY)

# Thousands of damaged files for every format, under AddressSanitizer.
fuzz:
	@FUZZ_FLIPS=$(or $(FLIPS),5000) $(MAKE) --no-print-directory SAN=address,undefined run-fuzz
run-fuzz: all .venv/test
	ASAN_OPTIONS=detect_leaks=0 $(call SANITIZED,libasan.so) tests/formats/test_fuzz.py \
	    tests/images/test_damaged_images.py $(ARGS)

# The parts run beside each other.  `objects` has the warnings of one compiler.  Those of clang do not
# depend on optimization, and none depend on debugging symbols.
COMPILER = $(realpath $(shell command -v $(firstword $(CC))))
check: check-warnings check-lines check-types check-tests
check-warnings: objects
	@tools/install_packages 'warnings of every compiler' clang aarch64 || [ -z "$$CI" ]
	@for cc in gcc clang aarch64-linux-gnu-gcc; do command -v $$cc >/dev/null || \
	    { echo "check: no $$cc here, left out"; continue; }; \
	    [ "$$(realpath "$$(command -v $$cc)")" != "$(COMPILER)" ] || continue; \
	    flags='$(CFLAGS) -g0'; [ $$cc != clang ] || flags="$$flags -O0"; \
	    $(MAKE) --no-print-directory CC=$$cc CFLAGS="$$flags" FLAVOUR=check-$$cc objects \
	        >/dev/null || exit 1; done
check-lines:
	@! LC_ALL=C.UTF-8 grep -nE '	| $$|.{101}' \
	    $$(find csrc pyflowdata kit tests examples bench tools -name '*.[ch]' -o -name '*.py' ! -name declared.py) || \
	    { echo 'check: tabs, blanks at the end or more than 100 columns in these lines'; exit 1; }
check-types: all .venv/types
	$(IN_VENV) tools/abi_layout.py
	$(IN_VENV) tools/declarations.py
	$(IN_VENV) -m mypy --strict --explicit-package-bases pyflowdata pyflowdata_kit tools/declarations.py \
	    tools/page_types.py tools/site/*.py
	$(IN_VENV) -m tools.page_types build/pages
	$(IN_VENV) -m mypy --cache-dir build/mypy-pages --follow-imports=silent --ignore-missing-imports \
	    --allow-redefinition --local-partial-types $$(find build/pages docs examples -name '*.py') \
	    tests/project/typed_uses.py tests/test_mini_dataloader.py
	.venv/bin/basedpyright --project tools/pyright.json --pythonpath $(IN_VENV)
check-tests: all .venv/test
	$(PYTEST) tests/project/test_layering_c.py tests/project/test_layering_python.py kit/tests/test_layering.py \
	    tests/project/test_messages.py tests/plugins/test_abi.py tests/project/test_stubs.py -m 'not slow'

stubs: all .venv/train
	$(IN_VENV) -m tools.write_stubs

# The site of docs/ in build/site; a link that leads nowhere is an error.  `make docs-serve` shows it and
# follows changes of the pages.
docs: all .venv/docs
	NO_MKDOCS_2_WARNING=1 $(IN_VENV) -m mkdocs --quiet build
	@echo 'the site: build/site/index.html'
docs-serve: all .venv/docs
	NO_MKDOCS_2_WARNING=1 $(IN_VENV) -m mkdocs serve

# docs/pictures/*.svg, which a test compares with what this writes.
pictures: all .venv/train
	$(IN_VENV) -m tools.site.pictures

# After a change of the headers: the files that pin the layout of op.h, which may only grow, and the
# declarations that Python reads.
abi: .venv/train
	$(IN_VENV) tools/abi_layout.py --write
	$(IN_VENV) tools/declarations.py --write

# The same tests under other flags.  Leaks are looked for in the C tests: CPython has its own.
# Without address randomisation, where that may be set: older sanitizers trip over it.
# AddressSanitizer runs the folders that use the library in pytest's process; the others start
# compilers, installers and commands, or test only Python, as do worker processes of Python ops.
# ThreadSanitizer runs the tests with threads: the loader, the Python that its threads call, and C
# tests that start some.
# What only compares orders, statistics and words is left out: of the 19,737 arcs of C code that all
# of them take here (gcc --coverage), 6 are theirs alone; of the 9,139 under ThreadSanitizer, 4.
ORDERS     := loader/test_order.py loader/test_shuffle.py
WORDS      := loader/test_order_sample.py loader/test_speeds.py datasets/test_field_names.py \
              images/test_images_page.py formats/csv/test_csv_commands.py $(addprefix python/test_, \
              epoch_steps.py first_words.py other_names.py plain_text.py nodes.py)
ASAN_TESTS := $(addprefix tests/,core loader datasets formats images ops python test_mini_dataloader.py) \
              $(addprefix --ignore=tests/,$(ORDERS) $(WORDS) python/test_processes.py)
TSAN_TESTS := $(addprefix tests/,loader datasets/test_properties.py formats/objects \
              python/test_python_ops.py python/test_python_op_errors.py test_mini_dataloader.py) \
              $(addprefix --ignore=tests/,$(ORDERS))
TSAN_C_TESTS := $(addprefix $(BUILD)/tests/c/test_,core dataset files image_regions loader plugin \
                registry samplers)
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)
SANITIZED = PYFLOWDATA_LIBRARY=$(CURDIR)/$(LIBRARY) PYTHONMALLOC=malloc $(FIXED_ADDRESSES) \
            env SANITIZER_FLAGS='$(SANITIZE)' LD_PRELOAD=$(shell $(CC) -print-file-name=$(1)) \
            $(PYTEST) --capture=sys
# ThreadSanitizer takes the 16 bytes in front of a library's thread-local memory for its size and start,
# where they begin a page, as glibc 2.19 had them.  Now they are any block of the heap: one thread in
# some hundred crashed.  malloc() already tells the sanitizer of this memory.
TSAN_FLAGS := intercept_tls_get_addr=0:suppressions=$(CURDIR)/tests/support/tsan_suppressions.txt
asan:
	@$(MAKE) --no-print-directory SAN=address,undefined run-asan
tsan:
	@$(MAKE) --no-print-directory SAN=thread run-tsan
run-asan: LAUNCH = ASAN_OPTIONS=detect_leaks=1 $(FIXED_ADDRESSES)
run-asan: all run-c-tests .venv/test
	ASAN_OPTIONS=detect_leaks=0 $(call SANITIZED,libasan.so) $(PARALLEL) -m 'not slow' $(ASAN_TESTS) $(ARGS)
run-tsan: LAUNCH = TSAN_OPTIONS=$(TSAN_FLAGS) $(FIXED_ADDRESSES)
run-tsan: all $(TSAN_C_TESTS:%=%-run) .venv/test
	TSAN_OPTIONS=$(TSAN_FLAGS) $(call SANITIZED,libtsan.so) $(PARALLEL) -m 'not slow' $(TSAN_TESTS) $(ARGS)

# make bench WORKLOADS="W1a W1b" PEERS="tf polars" ROUNDS=3 SCALE=0.1; all of them may be left out.
# RECORD=1 keeps the rates in bench/recorded.json, and draws docs/pictures/speed.svg.
bench: all .venv/test
	$(IN_VENV) -m bench.run $(if $(WORKLOADS),--workloads $(WORKLOADS)) \
	    $(if $(PEERS),--peers $(PEERS)) $(if $(ROUNDS),--rounds $(ROUNDS)) \
	    $(if $(SCALE),--scale $(SCALE)) $(if $(RECORD),--record) $(ARGS)
bench-smoke: all .venv/test
	OPENBLAS_NUM_THREADS=1 $(IN_VENV) -m bench.run --smoke
	OPENBLAS_NUM_THREADS=1 $(IN_VENV) -m bench.conversions --smoke

# Instructions per record and per batch against bench/instructions.json; RECORD=1 writes it.
instructions: all .venv/train
	@tools/install_packages 'counted instructions' valgrind
	$(IN_VENV) -m bench.instructions $(if $(RECORD),--record) $(ARGS)

# What is released, in dist/, and its tests in bare venvs: tools/wheel/Makefile.
wheel sdist test-wheel release-check:
	@$(MAKE) --no-print-directory -f tools/wheel/Makefile $@

clean:
	rm -rf build dist pyflowdata/*.so pyflowdata_kit kit/pyflowdata_kit/*.so kit/build *.egg-info kit/*.egg-info

help:
	@echo 'make          the shared libraries, in build/release and pyflowdata/'
	@echo 'make train    trains the example model on data/ (first makes .venv with numpy and cffi)'
	@echo 'make test     all tests (first adds the test tools to .venv)'
	@echo 'make test-kit  the tests of the conformance kit'
	@echo 'make test-torch  the tests with torch, Lightning and accelerate, which it adds to .venv'
	@echo 'make test-trainers  the matrix of trainers, with packages that it adds to .venv'
	@echo 'make test-reports  the tests that measure planted bottlenecks, on an idle machine'
	@echo 'make test-arm the C tests for aarch64 under qemu'
	@echo 'make soak     kills and resumes 200 times, with 1, 4, 2 and 3 processes'
	@echo 'make test-jax the tests with jax, which it adds to .venv'
	@echo 'make test-ray the tests with Ray, which it adds to .venv'
	@echo 'make test-numba  the tests with numba, which it adds to .venv'
	@echo 'make test-pages  report pages in Chromium, which it installs, and playwright in .venv'
	@echo 'make check    warnings of every compiler here, types, stubs, layers, exported symbols'
	@echo 'make asan     the tests under AddressSanitizer and UBSan'
	@echo 'make tsan     the tests of the threads under ThreadSanitizer'
	@echo 'make bench    measures beside the peers, see bench/README.md'
	@echo 'make bench-smoke  runs every workload with tiny data: are the sums right?'
	@echo 'make instructions  counts what a record and a batch cost; are they as recorded?'
	@echo 'make fuzz     every format with thousands of damaged files, under AddressSanitizer'
	@echo 'make fixtures makes the files in tests/fixtures again with their libraries, and compares'
	@echo 'make stubs    writes the .pyi stubs'
	@echo 'make docs     the site of docs/ in build/site, with its tools in .venv'
	@echo 'make docs-serve  the same in a browser, at port 8000; pages follow the files'
	@echo 'make pictures writes the pictures of the docs'
	@echo 'make abi      writes the declarations for Python, and the files that pin the layout of op.h'
	@echo 'make wheel    wheels for x86_64 and aarch64 in dist/, with the codecs in them'
	@echo 'make sdist    the source distribution in dist/'
	@echo 'make test-wheel  installs wheels and sdist into bare venvs and uses them there'
	@echo 'make release-check  all that a release needs, its files too: see RELEASING.md'
	@echo 'make clean    removes all that make made, except .venv'

.PHONY: all objects c-tests run-c-tests train test test-kit test-arm test-reports test-torch test-jax \
        test-numba test-ray test-trainers test-pages soak check check-warnings check-lines check-types \
        check-tests stubs abi asan tsan fixtures fuzz run-fuzz run-asan run-tsan bench \
        bench-smoke instructions wheel sdist test-wheel \
        release-check clean docs docs-serve run-arm help pictures always
.DELETE_ON_ERROR:
