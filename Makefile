# make demo      build, run a Plummer model on the CPU, print the energy error
# make test      install what the tests need (Debian) and run all that a change here can break
# make test-all  that, the whole conformance suite, the figures of articles, all images of the kernels,
#                a browser, ranks of another MPI and under Valgrind, and AMUSE built from its releases
# make loom      tries every order in which threads may go on, in their queue of jobs and in a lock
# make miri      looks for undefined behaviour in what is plain data; it needs a nightly toolchain with miri
# make sanitizers    C programs on the CPU with AddressSanitizer
# make mpi       the command kyoho-mpi, which runs over the ranks of the MPI whose compiler MPICC is
# make install   library, headers, files for pkg-config and CMake, and command below PREFIX; with
#                MPI=1 also kyoho-mpi, with DROPIN=1 also in the place of the libraries that old
#                codes link: libsapporo, libg6, libg5, libpg5, libpg6
# make library   the library alone, for which half of the time of a whole build is enough
# make wheel     the Python package with the library in it, in WHEEL (target/wheel)
# make command-wheel   a Python package that brings the command alone, kyoho-cli, in WHEEL too
# make release   from the tag vVERSION: sources, libraries and wheels for two processors, checksums
# make docs      the site of the documents, in SITE (target/docs); the first time it gets Sphinx for
#                Python 3.11 or newer, later it needs no network

PREFIX ?= /usr/local
DESTDIR ?=
DROPIN ?=
MPI ?=
MPICC ?= mpicc
# cargo's profile: release, or dev for a build that the tests have made already.
PROFILE ?= release
# The one that makes the wheel, which serves any from 3.9 on.
PYTHON ?= python3
# The folder for the wheels. Of each package it keeps the last one that was made.
WHEEL ?= $(TARGET)/wheel
# The folder for the files of a release.
RELEASE ?= $(TARGET)/release-$(VERSION)
# The processor and the oldest C library that a build is for: x86_64 or aarch64, with glibc 2.28.
# cargo-zigbuild and zig make it, which `make release` installs. Without it, it is this machine.
ARCH ?=
GLIBC := 2.28
# The folder for the site, and that for what builds it.
SITE ?= $(TARGET)/docs
SITE_TOOLS = $(TARGET)/docs-tools
# Tests give some dependencies more features. Cargo takes what they have built only together with
# them.
WITH_TESTS := $(if $(filter dev,$(PROFILE)),--lib --bins --tests)

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
MAJOR := $(firstword $(subst ., ,$(VERSION)))
# The number of the binary interface, as build.rs has it: before version 1 that of the minor version.
INTERFACE := $(if $(filter 0,$(MAJOR)),0.$(word 2,$(subst ., ,$(VERSION))),$(MAJOR))
TARGET := $(or $(CARGO_TARGET_DIR),target)
TRIPLE := $(if $(ARCH),$(ARCH)-unknown-linux-gnu,$(CARGO_BUILD_TARGET))
BUILT := $(TARGET)/$(if $(TRIPLE),$(TRIPLE)/)$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))
CARGO_BUILD := cargo $(if $(ARCH),zigbuild --target $(TRIPLE).$(GLIBC),build) --locked --profile $(PROFILE) $(WITH_TESTS)
# The C compiler and the tools for libraries of ARCH. Those of one processor cannot read another's.
ifneq ($(ARCH),)
export CC := $(PYTHON) -m ziglang cc -target $(ARCH)-linux-gnu.$(GLIBC)
export AR := $(ARCH)-linux-gnu-ar
export STRIP := $(ARCH)-linux-gnu-strip
OBJCOPY := $(ARCH)-linux-gnu-objcopy
endif
OBJCOPY ?= objcopy
ROOT := $(DESTDIR)$(PREFIX)
CMAKE := $(ROOT)/lib/cmake/kyoho
# The pages of the manual, and where bash, fish and zsh look for completions.
MANUAL := $(ROOT)/share/man/man1
COMPLETIONS := $(ROOT)/share/bash-completion/completions/kyoho $(ROOT)/share/fish/vendor_completions.d/kyoho.fish \
	$(ROOT)/share/zsh/site-functions/_kyoho
# A command that writes them, if that of a build for another processor cannot run here.
WRITER ?= $(BUILT)/kyoho
# Old interfaces whose plain names are in a library of their own: forwards/NAME.c, include/NAME.h.
FORWARDS := sapporo6 yebisu nbody6 nbody6pp

HEADERS := kyoho.h kyoho_mpi.h g6.h g5.h $(addsuffix .h,$(FORWARDS))
MODULES := kyoho.f90 kyoho_mpi.f90
# Whether a header is Kyoho's: other libraries have some of the names too.
IS_OURS := grep -qs '^\#ifndef KYOHO_'

# What a program that links the static library may define itself.
WEAK := 'g6*' 'g5_*' get_device_count

$(if $(filter-out 0 1,$(DROPIN)),$(error DROPIN is '$(DROPIN)'; allowed: 1, 0, or nothing))
$(if $(filter-out 0 1,$(MPI)),$(error MPI is '$(MPI)'; allowed: 1, 0, or nothing))
$(if $(filter-out 1,$(words [$(ROOT)])),$(error the prefix is '$(ROOT)'; allowed: without spaces))

.PHONY: demo test test-all loom miri sanitizers suite-of-order-4 suite-of-other-orders \
	tests-of-ranks tests-with-amuse tests-of-wheels tests-of-packages \
	unit-tests other-tests-a-to-h other-tests-i-to-z check tests build library forwards mpi install uninstall \
	wheel command-wheel both-wheels release demo-tools test-tools docs docs-tools site

demo: demo-tools build
	$(BUILT)/kyoho info
	$(BUILT)/kyoho run --plummer 1024 --t-end 1 --eta 0.02 --eps 0.01

# The conformance suite takes one thread much of the time, as a process compiles one kernel of PoCL at
# a time; what it has compiled, it keeps for the others in the tests' own folder.
test: export POCL_CACHE_DIR := $(abspath $(TARGET))/tmp/opencl/pocl
test: test-tools
	$(MAKE) tests check
	$(MAKE) --jobs=6 --keep-going --output-sync=target other-tests-a-to-h other-tests-i-to-z suite-of-other-orders tests-of-packages suite-of-order-4 unit-tests

test-all: test
	cargo test --no-fail-fast --package kyoho-articles
	KYOHO_TEST_SWEEP=1 cargo test --no-fail-fast --test conformance
	kernels/generate --check
	packaging/need chromium:chromium
	cargo test --no-fail-fast --package kyoho-cli --test watch -- --include-ignored
	$(MAKE) tests-of-ranks
	$(MAKE) tests-with-amuse
	$(MAKE) tests-of-wheels

# What a driver for CPUs gives out as memory of a device is not zero, as that of a GPU may not be.
suite-of-order-4 suite-of-other-orders: export MALLOC_PERTURB_ := 165

suite-of-order-4:
	cargo test --no-fail-fast --test conformance -- order_4

suite-of-other-orders:
	cargo test --no-fail-fast --test conformance -- --skip order_4

tests-with-amuse:
	cargo test --no-fail-fast --test amuse

# The tests of ranks by MPICH, and a program of ranks under Valgrind.
tests-of-ranks: test-tools
	packaging/need valgrind:valgrind
	KYOHO_TEST_MPI=mpich cargo test --no-fail-fast --test ranks --test mpi
	cargo test --no-fail-fast --test ranks -- --ignored

# The wheels of a release, in a folder of their own.
tests-of-wheels: export PATH := $(abspath $(TARGET))/release-tools/bin:$(PATH)
tests-of-wheels:
	packaging/release/tools $(TARGET)/release-tools x86_64 aarch64
	$(MAKE) wheel ARCH=x86_64 WHEEL=$(TARGET)/wheels-for-all
	$(MAKE) wheel ARCH=aarch64 WHEEL=$(TARGET)/wheels-for-all
	packaging/wheels/try $(TARGET)/wheels-for-all/*.whl

# Each is one long test, beside which others have a core.
tests-of-packages:
	cargo test --no-fail-fast --test python --test install --test site

# The excluded crates have none, or are no default members.
unit-tests:
	cargo test --no-fail-fast --lib --workspace $(addprefix --exclude kyoho-,laws verify neighbours articles mpi)

# By their files' names. In one job they would end long after all others.
other-tests-a-to-h: FILES := [a-h]*
other-tests-i-to-z: FILES := [i-z]*
other-tests-a-to-h other-tests-i-to-z:
	cargo test --no-fail-fast --test '$(FILES)' -- --skip conforms --skip with_amuse --skip the_wheel_keeps_its_promises \
		--skip programs_build_and_run_against_an_installation --skip the_site_is_built

# Comments have no programs (tests/floors.rs), for which rustdoc would read every crate again.
tests:
	cargo test --no-run

loom: export CARGO_TARGET_DIR := $(TARGET)/loom
loom:
	RUSTFLAGS="--cfg loom" cargo test --package kyoho-hal --lib -- loom_

miri: export CARGO_TARGET_DIR := $(TARGET)/miri
miri: export MIRIFLAGS := -Zmiri-disable-isolation
miri:
	cargo +nightly miri test --package kyoho-core --lib
	cargo +nightly miri test --package kyoho-laws --test numbers
	cargo +nightly miri test --package kyoho-hal --lib -- threads:: lock:: grow_buffer:: late::tests
	cargo +nightly miri test --package kyoho-engine --lib -- journal::
	cargo +nightly miri test --package kyoho --lib -- handles::

sanitizers:
	packaging/sanitize address $(TARGET)/sanitize-address

# In the folder of the tests, whose build has made the macros and build scripts that this needs.
check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --quiet

build:
	$(CARGO_BUILD)
	$(MAKE) forwards

# A build for tests has made it with everything else.
library: export CARGO_PROFILE_RELEASE_LTO := off
library:
	$(CARGO_BUILD) $(if $(WITH_TESTS),,--package kyoho --lib)
	$(MAKE) forwards

# The command has no MPI in it: a program of C, which MPICC compiles, hands its ranks in.
mpi: export CARGO_PROFILE_RELEASE_LTO := off
mpi:
	@command -v $(firstword $(MPICC)) > /dev/null || { \
		echo "MPICC is '$(MPICC)', which is not there; allowed: the C compiler of an MPI" >&2; \
		exit 1; \
	}
	$(CARGO_BUILD) $(if $(WITH_TESTS),--workspace --exclude kyoho-articles,--package kyoho-mpi)
	$(MPICC) -std=c99 -O2 -Iinclude crates/kyoho-mpi/main.c $(BUILT)/libkyoho_mpi.a -lpthread -ldl -lm -o $(BUILT)/kyoho-mpi

forwards:
	set -e; for name in $(FORWARDS); do forwards/build $$name $(BUILT); done

# In the place of what was there: the name has the version and the newest C library.
WHEEL_OF = rm -f $(WHEEL)/$(1)-*_$(or $(ARCH),$(shell uname -m)).whl && KYOHO_BUILT=$(abspath $(BUILT)) $(PYTHON) -m pip wheel --quiet \
	--disable-pip-version-check --no-deps --wheel-dir $(WHEEL) $(2)

wheel: library
	$(call WHEEL_OF,kyoho,./python)

command-wheel: build
	$(call WHEEL_OF,kyoho_cli,./python/command)

both-wheels: build
	$(call WHEEL_OF,kyoho,./python)
	$(call WHEEL_OF,kyoho_cli,./python/command)

release:
	packaging/release/make $(VERSION) $(RELEASE)

docs: build
	$(MAKE) site

# The package that is described is a copy with the library in it.
site: docs-tools
	rm -rf $(SITE_TOOLS)/package
	mkdir -p $(SITE_TOOLS)/package
	cp -r python/kyoho $(SITE_TOOLS)/package
	rm -rf $(SITE_TOOLS)/package/kyoho/lib
	mkdir $(SITE_TOOLS)/package/kyoho/lib
	ln -s $(abspath $(BUILT))/libkyoho.so $(SITE_TOOLS)/package/kyoho/lib/libkyoho.so.$(INTERFACE)
	KYOHO_PACKAGE=$(abspath $(SITE_TOOLS))/package KYOHO_COMMAND=$(abspath $(BUILT))/kyoho \
		$(SITE_TOOLS)/bin/python -m sphinx -q -W --keep-going -E -d $(SITE_TOOLS)/doctrees docs $(SITE)

install: build $(if $(filter 1,$(MPI)),mpi)
	@for header in $(HEADERS); do \
		file=$(ROOT)/include/$$header; \
		if [ -e $$file ] && ! $(IS_OURS) $$file; then \
			echo "$$file is not Kyoho's; allowed: another PREFIX, or to take it away first" >&2; \
			exit 1; \
		fi; \
	done
	install -d $(ROOT)/lib/pkgconfig $(CMAKE) $(ROOT)/include $(ROOT)/bin
	install -m 755 $(BUILT)/libkyoho.so $(ROOT)/lib/libkyoho.so.$(VERSION)
	ln -sf libkyoho.so.$(VERSION) $(ROOT)/lib/libkyoho.so.$(INTERFACE)
	ln -sf libkyoho.so.$(INTERFACE) $(ROOT)/lib/libkyoho.so
	$(OBJCOPY) --wildcard --remove-section=.llvmbc --remove-section=.llvmcmd $(addprefix --weaken-symbol=,$(WEAK)) \
		$(BUILT)/libkyoho.a $(ROOT)/lib/libkyoho.a
	chmod 644 $(ROOT)/lib/libkyoho.a
	install -m 644 $(addprefix include/,$(HEADERS)) $(addprefix include/,$(MODULES)) $(ROOT)/include
	install -m 755 $(BUILT)/kyoho $(ROOT)/bin/kyoho
	$(if $(filter 1,$(MPI)),install -m 755 $(BUILT)/kyoho-mpi $(ROOT)/bin/kyoho-mpi)
	$(WRITER) manual $(MANUAL)
	install -d $(dir $(COMPLETIONS))
	$(WRITER) completions bash > $(word 1,$(COMPLETIONS))
	$(WRITER) completions fish > $(word 2,$(COMPLETIONS))
	$(WRITER) completions zsh > $(word 3,$(COMPLETIONS))
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' packaging/kyoho.pc.in > $(ROOT)/lib/pkgconfig/kyoho.pc
	install -m 644 packaging/kyoho-config.cmake $(CMAKE)
	sed -e 's|@VERSION@|$(VERSION)|' packaging/kyoho-config-version.cmake.in > $(CMAKE)/kyoho-config-version.cmake
	set -e; for name in $(FORWARDS); do \
		install -m 755 $(BUILT)/libkyoho_$$name.so $(ROOT)/lib/libkyoho_$$name.so.$(VERSION); \
		ln -sf libkyoho_$$name.so.$(VERSION) $(ROOT)/lib/libkyoho_$$name.so.$(INTERFACE); \
		ln -sf libkyoho_$$name.so.$(INTERFACE) $(ROOT)/lib/libkyoho_$$name.so; \
		install -m 644 $(BUILT)/libkyoho_$$name.a $(ROOT)/lib; \
		sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e "s|@NAME@|$$name|" packaging/kyoho_forward.pc.in \
			> $(ROOT)/lib/pkgconfig/kyoho_$$name.pc; \
	done
# Other versions of this interface: the link of its number leads to these now. Those of other
# interfaces stay for the programs that were linked with them.
	find $(ROOT)/lib -maxdepth 1 -name 'libkyoho*.so.$(INTERFACE).*' ! -name '*.so.$(VERSION)' -exec rm -f {} +
# A link of the major number alone, which builds of 0.2 once made, would give this library to
# programs of 0.1.
	find $(ROOT)/lib -maxdepth 1 -name 'libkyoho*.so.0' -lname '*.so.$(INTERFACE).*' -exec rm -f {} +
	$(if $(filter 1,$(DROPIN)),packaging/dropin install '$(ROOT)' '$(PREFIX)' $(VERSION) $(INTERFACE))

uninstall:
	packaging/dropin remove '$(ROOT)' '$(PREFIX)' $(VERSION) $(INTERFACE)
	rm -f $(ROOT)/lib/libkyoho.a $(ROOT)/lib/libkyoho_*.a $(ROOT)/lib/libkyoho.so* $(ROOT)/lib/libkyoho_*.so*
	rm -f $(ROOT)/lib/pkgconfig/kyoho.pc $(ROOT)/lib/pkgconfig/kyoho_*.pc
	rm -f $(CMAKE)/kyoho-config.cmake $(CMAKE)/kyoho-config-version.cmake
	if [ -d $(CMAKE) ]; then rmdir --ignore-fail-on-non-empty $(CMAKE); fi
	rm -f $(ROOT)/bin/kyoho $(ROOT)/bin/kyoho-mpi $(addprefix $(ROOT)/include/,$(MODULES)) $(MANUAL)/kyoho.1 $(MANUAL)/kyoho-*.1 $(COMPLETIONS)
	for header in $(HEADERS); do \
		file=$(ROOT)/include/$$header; \
		if $(IS_OURS) $$file; then rm -f $$file; fi; \
	done

demo-tools:
	packaging/need gcc:gcc

test-tools:
	packaging/need gcc:gcc g++:g++ gfortran:gfortran autoconf:autoconf aclocal:automake pkg-config:pkgconf cmake:cmake \
		python3:python3 pip3:python3-pip abidiff:abigail-tools readelf:binutils mpicc.openmpi:libopenmpi-dev \
		mpirun.openmpi:openmpi-bin mpicc.mpich:libmpich-dev mpirun.mpich:mpich \
		libOpenCL.so.1:ocl-icd-libopencl1 libpocl.so.2:pocl-opencl-icd /etc/OpenCL/vendors/pocl.icd:pocl-opencl-icd

docs-tools:
	packaging/need python3:python3 pip3:python3-pip
	if ! cmp -s docs/requirements.txt $(SITE_TOOLS)/requirements.txt; then \
		rm -rf $(SITE_TOOLS); \
		$(PYTHON) -m venv --without-pip $(SITE_TOOLS); \
		$(PYTHON) -m pip --python $(SITE_TOOLS)/bin/python install --quiet --disable-pip-version-check \
			-r docs/requirements.txt && cp docs/requirements.txt $(SITE_TOOLS)/requirements.txt; \
	fi
