################################################################################
#
# assay
#
################################################################################

ASSAY_VERSION = v0.1.0
# To set: the repository, the same in assay-agent.
ASSAY_SITE = https://git.invalid/assay.git
ASSAY_SITE_METHOD = git
ASSAY_LICENSE = Apache-2.0 or MIT
ASSAY_LICENSE_FILES = LICENSE-APACHE LICENSE-MIT
ASSAY_SUBDIR = crates/cli
ASSAY_DEPENDENCIES = host-pkgconf sqlite
ASSAY_CARGO_ENV = PKG_CONFIG_ALLOW_CROSS=1
ASSAY_CARGO_BUILD_OPTS = --no-default-features
ASSAY_CARGO_INSTALL_OPTS = --no-default-features

define ASSAY_INSTALL_LINKS
	mkdir -p $(TARGET_DIR)/usr/libexec/assay/bin
	$(foreach tool,fio dd iozone,\
		ln -sf ../../../bin/assay $(TARGET_DIR)/usr/libexec/assay/bin/$(tool)
	)
endef
ASSAY_POST_INSTALL_TARGET_HOOKS += ASSAY_INSTALL_LINKS

$(eval $(cargo-package))
