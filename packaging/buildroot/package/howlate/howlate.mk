################################################################################
#
# howlate
#
################################################################################

HOWLATE_VERSION = 0.1.0
HOWLATE_SITE = $(call github,howlate,howlate,v$(HOWLATE_VERSION))
HOWLATE_SUBDIR = crates/program/howlate
HOWLATE_LICENSE = MIT or Apache-2.0
HOWLATE_LICENSE_FILES = LICENSE-MIT LICENSE-APACHE

# As the profile `dist` has it: `release` is for whoever waits for the build.
HOWLATE_CARGO_ENV = \
	CARGO_PROFILE_RELEASE_OPT_LEVEL=z \
	CARGO_PROFILE_RELEASE_LTO=fat \
	CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1
HOWLATE_CARGO_BUILD_OPTS = --features parquet
HOWLATE_CARGO_INSTALL_OPTS = --features parquet

$(eval $(cargo-package))
