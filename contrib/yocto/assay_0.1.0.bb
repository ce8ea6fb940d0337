SUMMARY = "Measures storage, and says what each figure measured"
DESCRIPTION = "assay measures eMMC, SD, UFS, USB, NVMe and other block devices, with evidence \
               of what each figure measured, and compares runs. The package assay-agent is the \
               part that runs on a board for a host that has assay: an image that is measured \
               from a host needs only that."
SECTION = "console/tests"
LICENSE = "Apache-2.0 OR MIT"
LIC_FILES_CHKSUM = "file://LICENSE-MIT;md5=82d98c912751870da0e2614c873c082c \
                    file://LICENSE-APACHE;md5=3b83ef96387f14655fc854ddc3c6bd57"

# To set: the repository that you build from, and the commit of its tag.
ASSAY_GIT ?= "git.invalid/assay.git"
SRC_URI = "git://${ASSAY_GIT};protocol=https;nobranch=1"
SRCREV ?= "0000000000000000000000000000000000000000"

require ${BPN}-crates.inc

inherit cargo cargo-update-recipe-crates pkgconfig bash-completion manpages

# Without system-sqlite the SQLite of the crate libsqlite3-sys is built in. That of the system must be
# 3.45.3 or newer.
PACKAGECONFIG ??= "system-sqlite"
PACKAGECONFIG[system-sqlite] = "--no-default-features,,sqlite3"
# The program built for the build host writes pages and completions.
PACKAGECONFIG[manpages] = ",,assay-native"

# Two builds, since cargo would give the agent the features of the program.
do_compile() {
    # The class asks for the system's SQLite whatever the feature says.
    export LIBSQLITE3_SYS_USE_PKG_CONFIG="${@bb.utils.contains('PACKAGECONFIG', 'system-sqlite', '1', '0', d)}"
    cargo_do_compile --package assay-cli
    cargo_do_compile --package assay-agent --features sqlite
}

do_install:append() {
    install -d ${D}${libexecdir}/assay/bin
    for tool in fio dd iozone; do
        ln -rs ${D}${bindir}/assay ${D}${libexecdir}/assay/bin/$tool
    done
    if ${@bb.utils.contains('PACKAGECONFIG', 'manpages', 'true', 'false', d)}; then
        install -d ${D}${mandir}/man1
        assay --generate man ${D}${mandir}/man1
        install -d ${D}${datadir}/bash-completion/completions
        assay --generate complete-bash > ${D}${datadir}/bash-completion/completions/assay
    fi
}

SUMMARY:${PN}-agent = "Runs on a board what assay on a host measures"
PACKAGES =+ "${PN}-agent"
FILES:${PN}-agent += "${bindir}/assay-agent"

BBCLASSEXTEND = "native"
