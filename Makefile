# make help lists the targets.  `make` alone needs a C compiler, and no Python.
#
#   make CC=clang                  another compiler        make CFLAGS=-march=native   added flags
#   make SAN=address,undefined     a sanitizer's flavour   make test ARGS='-k order'   some tests
#   make WERROR=                   warnings that stay warnings          make V=1    shows the commands

SAN     ?=
WERROR  ?= -Werror
PYTHON  ?= python3
FLAVOUR ?= $(if $(findstring address,$(SAN)),asan,$(if $(findstring thread,$(SAN)),tsan,$(if $(SAN),san,release)))
# One more than there are cores: some jobs and tests wait, for a download or for another process.
JOBS    := $(or $(JOBS),$(shell expr $$(nproc) + 1 2>/dev/null),3)
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif

BUILD    := build/$(FLAVOUR)
LIBRARY  := $(BUILD)/libpyflowdata.so
SOURCES  := $(sort $(shell find csrc -name '*.c'))
OBJECTS  := $(SOURCES:%.c=$(BUILD)/%.o)
# The conformance kit, a separate distribution; see kit/README.md.
KIT_DIR  ?= kit
KIT      := $(BUILD)/libpyflowdata_kit.so
KIT_COMPILED := $(patsubst $(KIT_DIR)/csrc/%.c,$(BUILD)/kit/%.o, \
                  $(sort $(shell find $(KIT_DIR)/csrc -name '*.c' 2>/dev/null)))
KIT_OBJECTS := $(KIT_COMPILED) $(filter $(BUILD)/csrc/core/%,$(OBJECTS))
C_TESTS  := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/c/test_*.c)))
ARCHIVE  := $(BUILD)/tests/c/objects.a
LAYOUT   := $(BUILD)/tests/c/abi_layout.o
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion $(WERROR)
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
# Sanitized code takes long to optimize: -O1 a quarter longer than -Og, for no faster tests.
# Backtraces have lines; CFLAGS=-g adds the variables for a debugger, which takes an eighth longer.
OPTIMIZE := $(if $(SAN),-Og,-O2) -g1

# Libraries for compressed files and images, used where pkg-config finds them.  pkg-config knows those
# of this machine: a cross build (CC=aarch64-linux-gnu-gcc) omits them, unless PKG_CONFIG names its own.
CODEC_LIBRARIES := zlib libzstd liblz4 libjpeg libpng libwebp
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
            $(if $(filter liblz4,$(FOUND)),-DPFD_HAVE_LZ4) \
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
DECLARED := pyflowdata/native/declared.py $(KIT_DIR)/pyflowdata_kit/declared.py
STUB := pyflowdata/ops.pyi
#: 1 all  the shared libraries, and what Python and editors know of them
all: $(LIBRARIES) $(DECLARED) $(if $(filter release,$(FLAVOUR)),$(IN_CLONE) $(STUB))
objects: $(OBJECTS) $(KIT_COMPILED) $(C_TESTS:%=%.o) $(LAYOUT)

# Only functions are exported: -Bsymbolic, for linkers that know no other, means the same.
SYMBOLIC ?= -Wl,-Bsymbolic-functions
LINK = $(COMPILE) -shared -Wl,-soname,$(@F) $(SYMBOLIC) $(if $(SAN),,-Wl,-z,defs) $(LDFLAGS)
$(LIBRARY): $(OBJECTS) csrc/pyflowdata.map
	$(call DO,link) $(LINK) -Wl,--version-script=csrc/pyflowdata.map -o $@ $(OBJECTS) $(LIBS)
	$(if $(ABSENT),@echo '  built without $(ABSENT): some compressed files or images will be refused')

# It uses the libpyflowdata.so that Python has loaded, or else the one beside it, in site-packages or a clone.
$(KIT): $(KIT_OBJECTS) $(LIBRARY) $(KIT_DIR)/csrc/pyflowdata_kit.map
	$(call DO,link) $(LINK) -Wl,--version-script=$(KIT_DIR)/csrc/pyflowdata_kit.map -Wl,--gc-sections \
	    -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../pyflowdata:$$ORIGIN/../../pyflowdata' \
	    -o $@ $(KIT_OBJECTS) $(LIBRARY) -lm -ldl

# The declarations of the headers for cffi, and the types of the ops.  Any Python writes them, without
# packages.  Without Python they are left out, and the libraries are made all the same.
WRITE = @$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || \
    { echo '  $@ is left out: there is no $(PYTHON) of 3.10 or newer'; exit 0; }; echo '  write $@' && $(PYTHON)
LISTS := $(wildcard csrc/registry/builtin_*.c)
HEADERS := $(wildcard csrc/include/pyflowdata/*.h $(KIT_DIR)/pyflowdata_kit/include/pyflowdata_kit/*.h)
$(DECLARED): $(HEADERS) $(LISTS) tools/c_headers.py tools/declarations.py | $(LIBRARY)
	$(WRITE) -m tools.declarations $@
$(STUB): $(LIBRARY) $(addprefix pyflowdata/nodes/,op_facts.py op_texts.py stubs.py) \
         tools/c_headers.py tools/write_stubs.py
	$(WRITE) -m tools.write_stubs $(LIBRARY) $@

# A new file is moved into place, so that a process that has mapped the old library keeps the old one.
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

# An object without code marks that the compiler has read the file.
MARK = $(if $(findstring -fsyntax-only,$(CFLAGS)),&& touch $@)
$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call DO,compile) $(COMPILE) -MMD -MP -c -o $@ $< $(MARK)

$(KIT_COMPILED): $(BUILD)/kit/%.o: $(KIT_DIR)/csrc/%.c $(BUILD)/flags
	$(call DO,compile) $(COMPILE) -I$(KIT_DIR)/csrc -I$(KIT_DIR)/pyflowdata_kit/include -MMD -MP -c -o $@ $< $(MARK)

# Half of the time of -O2, for code that runs once.
$(C_TESTS:%=%.o): private OPTIMIZE := -O1 -g1
# Each takes what it needs from an archive: linking all objects into each took more than twice as long.
$(C_TESTS): %: %.o $(ARCHIVE)
	$(call DO,link) $(COMPILE) $(LDFLAGS) -o $@ $^ $(LIBS)
$(ARCHIVE): $(OBJECTS)
	@rm -f $@ && $(shell $(CC) -print-prog-name=ar) qcs $@ $^

# Rewritten when compiler or flags have changed: then everything is compiled again.
$(BUILD)/flags: always
	@mkdir -p $(sort $(dir $(OBJECTS) $(KIT_COMPILED) $(C_TESTS)))
	@[ "$$(cat $@ 2>/dev/null)" = '$(COMPILE)' ] || echo '$(COMPILE)' > $@

$(BUILD)/tests/c/fuzz_reader: %: %.o $(ARCHIVE)
	$(call DO,link) $(COMPILE) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LIBS)

-include $(OBJECTS:.o=.d) $(BUILD)/tests/c/fuzz_reader.d $(KIT_COMPILED:.o=.d) $(C_TESTS:%=%.d) $(LAYOUT:.o=.d)

# ---- Python: .venv holds numpy and cffi, for `make test` the test tools as well -----------------
# Tests start hundreds of processes that import the same modules: Python may keep their bytecode.
unexport PYTHONDONTWRITEBYTECODE
IN_VENV := .venv/bin/python
# Two jobs that make one venv, or install into it, may write the same files.
ONE_AT_A_TIME := $(shell command -v flock >/dev/null && echo flock .venv)
# tools/requirements.py knows each name.  The names on the right of a colon are installed first.
.venv/docs: .venv/train
.venv/mypy .venv/torch .venv/jax .venv/numba .venv/ray .venv/pages .venv/servers: .venv/test
.venv/lightning .venv/accelerate .venv/examples .venv/datasets: .venv/torch
.venv/transformers: .venv/accelerate
.venv/flax: .venv/jax
# These come with one call of pip, as each call takes 3 seconds; titan comes alone.
.venv/test: private WITH = train
.venv/types: private WITH = train test mypy
.venv/trainers: .venv/test
.venv/trainers: private WITH = torch jax numba ray lightning accelerate examples datasets transformers flax
.venv/titan: .venv/trainers
.venv/titan: private PIP_FLAGS = --no-deps
.venv/%: pyproject.toml lock.txt tools/requirements.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	    { echo 'Python 3.10 or newer is needed; name one with make PYTHON=...'; exit 1; }
	@mkdir -p .venv
	@$(ONE_AT_A_TIME) sh -c '[ -x $(IN_VENV) ] || $(PYTHON) -m venv .venv' || { rm -rf .venv; \
	    echo 'No venv could be made: install the venv module (Debian, Ubuntu: python3-venv)'; exit 1; }
	@$(IN_VENV) tools/requirements.py $* $(WITH) > $@.txt
	$(ONE_AT_A_TIME) $(IN_VENV) -m pip install --quiet --disable-pip-version-check --no-compile \
	    $(PIP_FLAGS) -r $@.txt -c lock.txt
	@touch $@ $(if $(WITH),&& touch -r $@ $(WITH:%=.venv/%))

#: 1 train  trains the example model on data/ (first makes .venv with NumPy and cffi)
train: all .venv/train
	$(IN_VENV) tests/test_mini_dataloader.py $(ARGS)

# Runs the C tests in parallel.  LAUNCH is the command in front of each.
run-c-tests: $(LAYOUT) $(C_TESTS:%=%-run)
$(C_TESTS:%=%-run): %-run: %
	@ulimit -c 0; echo '$<' && $(LAUNCH) $<

# The plugin of anyio, which another package brings, imports asyncio in each process.
PYTEST = $(IN_VENV) -m pytest -q -rs -p no:anyio
PARALLEL = -n $(JOBS) --maxprocesses 8 --dist worksteal

# Tests of the tree and of types, which open no data: `make check` runs them, and `make test` all others.
TREE_TESTS := $(addprefix tests/project/test_,doors.py layering_c.py layering_python.py messages.py \
              stubs.py)
#: 1 test  all tests of the product; ARGS='-k order' runs some (adds the test tools to .venv)
# In this order: pip begins at once, beside the compiler.
test: .venv/test all build/tests.txt run-c-tests
	$(PYTEST) $(PARALLEL) $(if $(ARGS),$(ARGS),$(addprefix --ignore=,$(TREE_TESTS)))

# Once, beside the C tests: processes that start at a time would each rewrite the asserts of all files,
# and compile all that they import.
build/tests.txt: .venv/test | all
build/trainers.txt: .venv/titan | all
build/trainers.txt: private COLLECTED = tests/trainers tests/integrations
build/tests.txt build/trainers.txt:
	@-$(PYTEST) --collect-only $(COLLECTED) > $@ 2>&1

# The tests of the conformance kit: most compile a plugin and check it.
#: 2 test-kit  the conformance kit
test-kit: all .venv/test .venv/mypy
	$(PYTEST) $(PARALLEL) kit/tests $(ARGS)

# The C tests on aarch64, which qemu emulates: for its bits, not for its speed.  With -O1 they take three
# quarters of the time of -O2.  `make check` compiles the same objects.
ARM_FLAGS = -g0 -O1 $(CFLAGS)
#: 2 test-arm  the C tests for aarch64 under qemu
test-arm:
	@tools/install_packages 'tests on aarch64' aarch64
	@$(MAKE) --no-print-directory CC=aarch64-linux-gnu-gcc CFLAGS='$(ARM_FLAGS)' \
	    FLAVOUR=check-aarch64-linux-gnu-gcc run-arm
run-arm: $(C_TESTS:%=%-on-arm)
$(C_TESTS:%=%-on-arm): %-on-arm: %
	@ulimit -c 0; echo '$<' && qemu-aarch64 -L /usr/aarch64-linux-gnu $<

# Loaders with planted bottlenecks: the reports name them, and the remedies help.  And all else that is
# compared with a clock.  So run them on a machine that does nothing else.
#: 2 test-reports  planted bottlenecks, and times that are compared: on an idle machine
test-reports: all .venv/test
	$(PYTEST) -p no:xdist $(addprefix tests/reports/,planted_suite.py measured_suite.py) $(ARGS)

# Tests that need the packages of an integration, which go into .venv; `make test` skips the tests of
# absent packages, and runs the others.  Names tell by -k which tests need them.  These libraries have
# threads and processes of their own, so JOBS is small.
test-torch test-jax test-numba test-trainers: JOBS = 2
# Where jax is in .venv, `make test-jax` runs the page that needs both.
#: 2 test-torch  with torch, Lightning and accelerate, which it adds to .venv
test-torch: all .venv/lightning .venv/accelerate .venv/examples
	$(PYTEST) $(PARALLEL) $(addprefix tests/integrations/test_,torch.py torch_sink.py torch_trace.py) \
	    $(addprefix tests/project/test_,examples.py gallery.py pages.py port_pages.py) \
	    -k '(torch $(if $(wildcard .venv/jax),and not jax)) or lightning or test_examples.py' $(ARGS)
#: 2 test-jax  with jax, which it adds to .venv
test-jax: all .venv/flax
	$(PYTEST) $(PARALLEL) $(addprefix tests/integrations/test_,jax.py jax_bfloat16.py jax_sink.py) \
	    tests/project/test_example_jax.py tests/project/test_pages.py -k jax $(ARGS)
#: 2 test-numba  with numba, which it adds to .venv
test-numba: all .venv/numba
	$(PYTEST) $(PARALLEL) tests/integrations/test_numba_ops.py \
	    kit/tests/test_native.py tests/project/test_pages.py -k numba $(ARGS)
#: 2 test-remote  remote files on nginx, on moto's S3, which it adds to .venv, and on Ceph's if it is there; all with SAN=thread, or address,undefined
test-remote: $(if $(SAN),$(LIBRARY) $(DECLARED),all) .venv/test .venv/servers
	@tools/install_packages 'tests with a web server' nginx
	$(if $(SAN),$(IN_SANITIZER) -m 'not slow',$(PYTEST)) -p no:xdist \
	    tests/remote/$(if $(SAN),,test_servers.py) $(ARGS)
# The matrix of docs/how-to/trainers.md with every trainer, of the versions in lock.txt, and torch's own
# tests of its DataLoader, where they can be fetched.  QUICK=1, as in CI, leaves out what takes seconds.
QUICK ?= $(CI)
#: 2 test-trainers  the matrix of trainers, with packages that it adds to .venv
test-trainers: all build/trainers.txt
	$(if $(QUICK),,-$(IN_VENV) -m tools.fetch_torch_tests)
	PYFLOWDATA_NO_SKIP=1 $(PYTEST) $(PARALLEL) tests/trainers $(if $(QUICK),-m 'not slow') $(ARGS)
#: 2 test-ray  with Ray, which it adds to .venv
test-ray: all .venv/ray
	$(PYTEST) tests/integrations/test_ray.py tests/trainers/test_ray_train.py $(ARGS)
# The pages of reports, and the site, in a browser.
#: 2 test-pages  report pages in Chromium, which it installs, and playwright in .venv
test-pages: docs .venv/pages
	@tools/install_packages 'pages in a browser' chromium
	$(PYTEST) tests/reports/test_page_in_browser.py tests/project/test_site_in_browser.py $(ARGS)

# Processes that are killed and resumed with other world sizes, calls of the system that fail, and
# random pipelines of views whose files change on the way, and remote files whose server fails; for a short one
# make soak CYCLES=20 FAULTS=300 PIPELINES=100 MUTATIONS=1.  MUTATIONS=15 damages 3,000 files,
# and JSON_LINES=100000 as many lines, which Python's json reads too.  The
# tests that take some of many random values (tests/support/oracle.py, fewer()) take all of them, and those
# that flip bits flip more.
RANDOM_VALUES = $(shell grep -rlE 'fewer.[0-9]+|"SOAK"|\.damage import' tests --include='test_*.py')
#: 3 soak  kills and resumes, failing calls, random pipelines, damaged files, all random values
soak: all .venv/test
	$(IN_VENV) tests/loader/soak.py $(if $(CYCLES),--cycles $(CYCLES)) $(ARGS)
	$(IN_VENV) tests/loader/fault_runs.py $(if $(FAULTS),--runs $(FAULTS))
	$(IN_VENV) tests/remote/soak.py --faults $(or $(FAULTS),2000)
	$(IN_VENV) tests/support/views/soak.py --pipelines $(or $(PIPELINES),10000)
	MUTATIONS=$(or $(MUTATIONS),15) $(PYTEST) tests/formats/test_mutations.py
	JSON_LINES=$(or $(JSON_LINES),100000) $(PYTEST) tests/formats/json/test_json_lines_reader.py -k mutated
	SOAK=1 $(PYTEST) $(PARALLEL) $(RANDOM_VALUES) $(addprefix kit/tests/test_kit_,builtin.py power.py)

# Files that other libraries wrote, made again and compared; make fixtures LIBRARY="numpy tensorflow"
#: 3 fixtures  the files of tests/fixtures made again with their libraries, and compared
fixtures:
	$(PYTHON) tools/fixtures.py $(LIBRARY)

# Thousands of damaged files for every format, under AddressSanitizer.
#: 3 fuzz  every format with thousands of damaged files, under AddressSanitizer
fuzz:
	@FUZZ_FLIPS=$(or $(FLIPS),5000) $(MAKE) --no-print-directory SAN=address,undefined run-fuzz
run-fuzz: all .venv/test
	PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 $(call SANITIZED,libasan.so) \
	    tests/formats/test_fuzz.py tests/images/test_damaged_images.py $(ARGS)

# libFuzzer starts from the fixtures of SEEDS, and keeps inputs that reach new code in build/.
SEEDS  ?= tests/fixtures/arrow tests/fixtures/arrow/hf
CORPUS := build/corpus/$(or $(READER),ArrowReader)
#: 3 fuzz-reader  one reader by libFuzzer: READER=ArrowReader SECONDS=600; needs clang
fuzz-reader:
	@tools/install_packages 'libFuzzer' clang || [ -z "$$CI" ]
	@$(MAKE) --no-print-directory CC=clang SAN=address,undefined,fuzzer-no-link FLAVOUR=fuzzer run-fuzz-reader
run-fuzz-reader: $(BUILD)/tests/c/fuzz_reader
	@mkdir -p $(CORPUS)
	FUZZ_READER=$(READER) $< -max_total_time=$(or $(SECONDS),600) -timeout=20 -rss_limit_mb=2048 \
	    -print_final_stats=1 -artifact_prefix=$(CORPUS)- $(ARGS) $(CORPUS) $(SEEDS)

# The parts run in parallel.  `objects` gives the warnings of one compiler.  Clang has all of its
# warnings before it makes any code, so its objects are empty; no warnings depend on debugging symbols.
COMPILER = $(realpath $(shell command -v $(firstword $(CC))))
#: 1 check  warnings of every compiler, types, layers, exported symbols
check: check-warnings check-lines check-types check-tests
check-warnings: objects
	@tools/install_packages 'warnings of every compiler' clang aarch64 || [ -z "$$CI" ]
	@for cc in gcc clang aarch64-linux-gnu-gcc; do command -v $$cc >/dev/null || \
	    { echo "check: no $$cc here, left out"; continue; }; \
	    [ "$$(realpath "$$(command -v $$cc)")" != "$(COMPILER)" ] || continue; \
	    flags='$(CFLAGS) -g0'; case $$cc in clang) flags="$$flags -fsyntax-only" ;; \
	        aarch64*) flags='$(ARM_FLAGS)' ;; esac; \
	    $(MAKE) --no-print-directory CC=$$cc CFLAGS="$$flags" FLAVOUR=check-$$cc objects \
	        >/dev/null || exit 1; done
check-lines:
	@found=$$(LC_ALL=C.UTF-8 grep -nE '	| $$|.{101}' \
	    $$(find csrc pyflowdata kit tests examples bench tools -name '*.[ch]' -o -name '*.py' ! -name declared.py)) || exit 0; \
	    printf 'the rule: no tab, no blank at the end and at most 100 columns\n%s\n' "$$found"; exit 1
# Each type checker works on one core: first those that take longest.
check-types: types-of-package types-by-pyright types-of-pages
	$(IN_VENV) tools/abi_layout.py
types-of-package: all .venv/types
	$(IN_VENV) -m mypy --strict --explicit-package-bases pyflowdata pyflowdata_kit tools/c_headers.py \
	    tools/declarations.py tools/write_stubs.py tools/page_types.py tools/site/*.py
page-modules: all .venv/types
	$(IN_VENV) -m tools.page_types build/pages
types-of-pages: page-modules
	$(IN_VENV) -m mypy --cache-dir build/mypy-pages --follow-imports=silent --ignore-missing-imports \
	    --allow-redefinition --local-partial-types $$(find build/pages docs examples -name '*.py') \
	    tests/project/typed_uses.py tests/test_mini_dataloader.py
types-by-pyright: page-modules
	.venv/bin/basedpyright --project tools/pyright.json --pythonpath $(IN_VENV)
# After mypy has read the package: a test of the types takes this from mypy's cache.
check-tests: all .venv/types | types-of-package
	$(PYTEST) $(TREE_TESTS) kit/tests/test_layering.py tests/plugins/test_abi.py

# The site of docs/ in build/site; a link that leads nowhere is an error.  `make docs-serve` shows it and
# follows changes of the pages.
#: 5 docs  the site of docs/ in build/site, with its tools in .venv
docs: all .venv/docs
	NO_MKDOCS_2_WARNING=1 $(IN_VENV) -m mkdocs --quiet build
	@echo 'the site: build/site/index.html'
#: 5 docs-serve  the same in a browser, at port 8000; pages follow the files
docs-serve: all .venv/docs
	NO_MKDOCS_2_WARNING=1 $(IN_VENV) -m mkdocs serve

# docs/pictures/*.svg, which a test compares with what this writes.
#: 5 pictures  writes the pictures of the docs
pictures: all .venv/train
	$(IN_VENV) -m tools.site.pictures

# For use after a change of the headers.  The layout of op.h may only grow.
#: 5 abi  writes the files that pin the layout of op.h
abi: .venv/train
	$(IN_VENV) tools/abi_layout.py --write

# The same tests under other flags.  Leaks are looked for in the C tests: CPython has its own.
# Without address randomisation, where that may be set: older sanitizers trip over it.
# AddressSanitizer runs the folders that use the library in pytest's process; the others start
# compilers, installers and commands, or test only Python, as do worker processes of Python ops.
# ThreadSanitizer runs the tests with threads: the loader, the Python that its threads call, and C
# tests that start some.
# tests/support/left_out_of_sanitizers.txt lists what they leave out, whose C code other tests reach.
# AddressSanitizer also leaves out tests marked `slow`.
# Under it, Python's small objects have memory of malloc(), which it watches, in the tests that hand
# such objects to the library, and take twice as long.  The others read files and NumPy's arrays: their
# memory it always watches.
ASAN_OBJECT_TESTS := $(addprefix tests/,core/test_registry.py formats/objects python \
                     $(addprefix ops/test_,bfloat16.py record_encoder.py))
ASAN_FILE_TESTS := $(addprefix tests/,core datasets formats images loader ops) \
                   $(addprefix --ignore=,$(ASAN_OBJECT_TESTS))
TSAN_TESTS := $(addprefix tests/,loader datasets/test_properties.py formats/objects \
              python/test_python_ops.py python/test_python_op_errors.py test_mini_dataloader.py)
TSAN_C_TESTS := $(addprefix $(BUILD)/tests/c/test_,core dataset files image_regions loader plugin \
                registry samplers)
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)
# The sanitizer's library finds throw() of C++, which pyarrow calls, only if it is loaded with it.
SANITIZED = PYFLOWDATA_LIBRARY=$(CURDIR)/$(LIBRARY) $(FIXED_ADDRESSES) \
            env SANITIZER_FLAGS='$(SANITIZE)' \
            LD_PRELOAD='$(shell $(CC) -print-file-name=$(1)) libstdc++.so.6' \
            $(PYTEST) --capture=sys
# ThreadSanitizer takes the 16 bytes in front of a library's thread-local memory for its size and start,
# where they begin a page, as glibc 2.19 had them.  Now they are any block of the heap: one thread in
# some hundred crashed.  malloc() already tells the sanitizer of this memory.
TSAN_FLAGS := intercept_tls_get_addr=0:suppressions=$(CURDIR)/tests/support/tsan_suppressions.txt
# pytest under the sanitizer of SAN; PYTHONMALLOC=malloc before it: also for what Python allocates.
IN_SANITIZER = $(if $(findstring thread,$(SAN)), \
    PYTHONMALLOC=malloc TSAN_OPTIONS=$(TSAN_FLAGS) $(call SANITIZED,libtsan.so), \
    ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=64 $(call SANITIZED,libasan.so))
#: 3 asan  the tests under AddressSanitizer and UBSan
asan:
	@$(MAKE) --no-print-directory --output-sync SAN=address,undefined run-asan
#: 3 tsan  the tests of the threads under ThreadSanitizer
tsan:
	@$(MAKE) --no-print-directory SAN=thread run-tsan
# ARGS may choose no test of one of the two: pytest then ends with 5.
OR_NONE = $(if $(ARGS),|| [ $$? = 5 ])
run-asan: LAUNCH = ASAN_OPTIONS=detect_leaks=1 $(FIXED_ADDRESSES)
run-asan: run-asan-files run-asan-objects run-c-tests
# In one process, beside those of run-asan-files: the start of another one takes as long as a third of
# these tests.
run-asan-objects: $(LIBRARY) $(DECLARED) .venv/test
	PYTHONMALLOC=malloc $(IN_SANITIZER) -p no:xdist -m 'not slow' $(ASAN_OBJECT_TESTS) $(ARGS) $(OR_NONE)
run-asan-files: private JOBS := $(shell expr $(JOBS) - 1)
run-asan-files: $(LIBRARY) $(DECLARED) .venv/test
	$(IN_SANITIZER) $(PARALLEL) -m 'not slow' $(ASAN_FILE_TESTS) $(ARGS) $(OR_NONE)
run-tsan: LAUNCH = TSAN_OPTIONS=$(TSAN_FLAGS) $(FIXED_ADDRESSES)
run-tsan: $(LIBRARY) $(DECLARED) $(TSAN_C_TESTS:%=%-run) .venv/test
	$(IN_SANITIZER) $(PARALLEL) -m 'not slow' $(TSAN_TESTS) $(ARGS)

# make bench WORKLOADS="W1a W1b" PEERS="tf polars" ROUNDS=3 SCALE=0.1; all of them may be left out.
# RECORD=1 keeps the rates in bench/recorded.json, and draws docs/pictures/speed.svg.
#: 4 bench  measures beside the peers, see bench/README.md
bench: all .venv/test
	$(IN_VENV) -m bench.run $(if $(WORKLOADS),--workloads $(WORKLOADS)) \
	    $(if $(PEERS),--peers $(PEERS)) $(if $(ROUNDS),--rounds $(ROUNDS)) \
	    $(if $(SCALE),--scale $(SCALE)) $(if $(RECORD),--record) $(ARGS)
#: 4 bench-smoke  every workload with tiny data: are the sums right?
bench-smoke: all .venv/test
	OPENBLAS_NUM_THREADS=1 $(IN_VENV) -m bench.run --smoke
	OPENBLAS_NUM_THREADS=1 $(IN_VENV) -m bench.conversions --smoke

# Instructions per record and per batch against bench/instructions.json; RECORD=1 writes it.
#: 4 instructions  what a record and a batch cost: is it as recorded?
instructions: all .venv/train
	@tools/install_packages 'counted instructions' valgrind
	$(IN_VENV) -m bench.instructions $(if $(RECORD),--record) $(ARGS)

# What is released, in dist/, and its tests in bare venvs: tools/wheel/Makefile.
#: 5 wheel  wheels with their codecs in dist/; ARCHS=x86_64 for one of the two architectures
#: 5 sdist  the source distributions in dist/
#: 5 test-wheel  installs wheels and sdists into bare venvs and uses them there
#: 5 release-check  all that a release needs, its files too: see RELEASING.md
wheel sdist test-wheel release-check:
	@$(MAKE) --no-print-directory -f tools/wheel/Makefile $@

#: 1 clean  removes all that make made, except .venv
clean:
	rm -rf build dist pyflowdata/*.so $(DECLARED) $(STUB) pyflowdata_kit kit/pyflowdata_kit/*.so kit/build \
	    *.egg-info kit/*.egg-info

# `make help` prints the lines "#: GROUP TARGET  text" above the targets.
GROUPS := Begin here|More tests|Deep checks|Speed|Docs and releases
help:
	@awk -v titles='$(GROUPS)' '/^#: / { target = $$3 == "all" ? "" : " " $$3; group = $$2; \
	    sub(/^#: [0-9] [^ ]+ +/, ""); text[group] = text[group] sprintf("  make%-15s %s\n", target, $$0) } \
	    END { n = split(titles, title, "|"); \
	    for (i = 1; i <= n; i++) printf "%s%s\n%s", (i > 1 ? "\n" : ""), title[i], text[i] }' $(firstword $(MAKEFILE_LIST))

.PHONY: all objects run-c-tests train test test-kit test-arm test-reports test-remote test-torch test-jax \
        test-numba test-ray test-trainers test-pages soak check check-warnings check-lines check-types \
        check-tests abi asan tsan fixtures fuzz run-fuzz fuzz-reader run-fuzz-reader run-asan run-tsan bench \
        bench-smoke instructions wheel sdist test-wheel release-check clean docs docs-serve run-arm \
        run-asan-files run-asan-objects help pictures always
.DELETE_ON_ERROR:
