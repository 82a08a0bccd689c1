SUMMARY = "Tells how late Linux runs your code, and why"
DESCRIPTION = "Measures how late sleeps return and periodic threads wake, and explains the lateness; takes the command line of cyclictest"
HOMEPAGE = "https://github.com/howlate/howlate"
BUGTRACKER = "https://github.com/howlate/howlate/issues"
SECTION = "devel"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "\
    file://LICENSE-MIT;md5=7272a98b449904e36c20b9c7c6adfd33 \
    file://LICENSE-APACHE;md5=fa818a259cbed7ce8bc2a22d35a464fc \
"

# Rust 1.90 or newer. `bitbake -c update_crates howlate` writes the list of crates.
require howlate-crates.inc

# Of the tag, once there is one: SRCREV. Without it bitbake asks the server whenever it parses this.
SRC_URI += "git://github.com/howlate/howlate.git;protocol=https;branch=main;tag=v${PV}"

inherit cargo cargo-update-recipe-crates

CARGO_BUILD_FLAGS += "--package howlate --features parquet"
# As the profile `dist` has it: `release` is for whoever waits for the build.
export CARGO_PROFILE_RELEASE_OPT_LEVEL = "z"
export CARGO_PROFILE_RELEASE_LTO = "fat"
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = "1"

COMPATIBLE_HOST = "(x86_64|aarch64).*-linux"
