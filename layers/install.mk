# What the makefiles of layers of packages share: wheels for Lambda's Python and processor, without Docker.

PYTHON ?= $(firstword $(wildcard $(ROOT)/.venv/bin/python) python3)
RUNTIME := 3.13
ARCHITECTURE ?= x86_64
MACHINE := $(if $(filter arm64,$(ARCHITECTURE)),aarch64,x86_64)
TARGET = $(ARTIFACTS_DIR)/python

# $(call install,FILES): install the requirements of FILES, in the versions of requirements.lock, into an empty TARGET
define install
	rm -rf "$(TARGET)"
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --only-binary=:all: \
	  --platform manylinux_2_28_$(MACHINE) --platform manylinux2014_$(MACHINE) \
	  --implementation cp --python-version $(RUNTIME) --target "$(TARGET)" \
	  --constraint "$(ROOT)/requirements.lock" $(foreach file,$(1),--requirement "$(file)")
endef
