################################################################################
#
# assay-agent
#
################################################################################

ASSAY_AGENT_VERSION = v0.1.0
# To set: the repository, the same in assay.
ASSAY_AGENT_SITE = https://git.invalid/assay.git
ASSAY_AGENT_SITE_METHOD = git
ASSAY_AGENT_DL_SUBDIR = assay
ASSAY_AGENT_LICENSE = Apache-2.0 or MIT
ASSAY_AGENT_LICENSE_FILES = LICENSE-APACHE LICENSE-MIT
ASSAY_AGENT_SUBDIR = crates/agent
ASSAY_AGENT_DEPENDENCIES = host-pkgconf sqlite
ASSAY_AGENT_CARGO_ENV = PKG_CONFIG_ALLOW_CROSS=1
ASSAY_AGENT_CARGO_BUILD_OPTS = --no-default-features --features sqlite
ASSAY_AGENT_CARGO_INSTALL_OPTS = --no-default-features --features sqlite

$(eval $(cargo-package))
