################################################################################
#
# howlate
#
################################################################################

HOWLATE_VERSION = 0.1.0
HOWLATE_SITE = $(call github,howlate,howlate,v$(HOWLATE_VERSION))
HOWLATE_SUBDIR = crates/howlate
HOWLATE_LICENSE = MIT or Apache-2.0
HOWLATE_LICENSE_FILES = LICENSE-MIT LICENSE-APACHE

$(eval $(cargo-package))
