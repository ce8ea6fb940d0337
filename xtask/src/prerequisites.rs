//! Programs that the tests need besides Rust. Installs them where possible; otherwise prints the
//! commands that do. labgrid, the servers of adb and ssh, and Python packages go into the build
//! folder.

use crate::packages;
use crate::packages::{Packages, launcher, unpack};
use crate::run::{build_folder, run};
use anyhow::{Context, Result};
use assay_testkit::Otava;
use assay_testkit::lab::LABGRID;
use assay_testkit::neighbour::SERVERS;
use rustix::process::geteuid;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Programs and libraries that tests start or open, each with its Debian
/// package.
const PROGRAMS: &[(&str, &str)] = &[
    ("/usr/bin/pip3", "python3-pip"),
    ("/usr/bin/python3", "python3"),
    ("/usr/lib/postgresql", "postgresql"),
    (
        "/usr/lib/python3/dist-packages/openpyxl",
        "python3-openpyxl",
    ),
    ("/usr/lib/python3/dist-packages/lava_common", "lava-common"),
    ("/usr/lib/python3/dist-packages/yaml", "python3-yaml"),
    ("addpart", "util-linux"),
    ("bash", "bash"),
    ("btrfs", "btrfs-progs"),
    ("busybox", "busybox-static"),
    ("chattr", "e2fsprogs"),
    ("chromium", "chromium"),
    ("chroot", "coreutils"),
    ("curl", "curl"),
    ("dd", "coreutils"),
    ("delpart", "util-linux"),
    ("e2fsck", "e2fsprogs"),
    ("f3probe", "f3"),
    ("f3read", "f3"),
    ("f3write", "f3"),
    ("filefrag", "e2fsprogs"),
    ("fio", "fio"),
    ("fio-verify-state", "fio"),
    ("fish", "fish"),
    ("gnuplot", "gnuplot-nox"),
    ("iozone", "iozone3"),
    ("ip", "iproute2"),
    ("losetup", "mount"),
    ("man", "man-db"),
    ("mandoc", "mandoc"),
    ("mkfifo", "coreutils"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.ext2", "e2fsprogs"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.ntfs", "ntfs-3g"),
    ("mkfs.vfat", "dosfstools"),
    ("mkfs.xfs", "xfsprogs"),
    ("mkswap", "util-linux"),
    ("mount", "mount"),
    ("nbdfuse", "libnbd-bin"),
    ("nsenter", "util-linux"),
    ("ntfs-3g", "ntfs-3g"),
    ("openssl", "openssl"),
    ("prlimit", "util-linux"),
    ("prove", "perl"),
    ("qemu-arm-static", "qemu-user-static"),
    ("qemu-riscv64-static", "qemu-user-static"),
    ("script", "bsdutils"),
    ("setpriv", "util-linux"),
    ("soffice", "libreoffice-calc-nogui"),
    ("setarch", "util-linux"),
    ("setsid", "util-linux"),
    ("shellcheck", "shellcheck"),
    ("ssh", "openssh-client"),
    ("ssh-keygen", "openssh-client"),
    ("swapoff", "mount"),
    ("swapon", "mount"),
    ("umount", "mount"),
    ("unshare", "util-linux"),
    ("xmllint", "libxml2-utils"),
    ("zsh", "zsh"),
];

/// Remedy for missing programs.
#[derive(Debug, PartialEq, Eq)]
enum Remedy {
    /// No program is missing.
    Nothing,
    /// Install these packages.
    Install(Vec<&'static str>),
    /// Print this advice.
    Advise(String),
}

/// Installs the programs that the tests need, or prints the commands that do.
pub fn provide() -> Result<()> {
    let root = geteuid().is_root();
    let missing: Vec<_> = PROGRAMS
        .iter()
        .copied()
        .filter(|(program, _)| !is_there(program))
        .collect();
    match remedy(&missing, root, is_there("apt-get")) {
        Remedy::Nothing => {}
        Remedy::Install(packages) => packages::install(&packages)?,
        Remedy::Advise(advice) => eprintln!("{advice}"),
    }
    if !root {
        eprintln!("{WITHOUT_ROOT}");
    }
    Ok(())
}

fn is_there(program: &str) -> bool {
    assay_testkit::missing(&[program]).is_none()
}

fn remedy(missing: &[(&str, &'static str)], root: bool, apt: bool) -> Remedy {
    if missing.is_empty() {
        return Remedy::Nothing;
    }
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.sort_unstable();
    packages.dedup();
    if root && apt {
        return Remedy::Install(packages);
    }
    let programs: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    let (programs, packages) = (programs.join(", "), packages.join(" "));
    Remedy::Advise(format!(
        "xtask: not installed: {programs}; tests that need them are skipped. To install them \
         (iozone3 is in Debian's component non-free):\n  {}",
        if apt {
            format!("sudo apt-get update && sudo apt-get install --yes {packages}")
        } else {
            format!("the packages that Debian calls {packages}, by this system's own means")
        }
    ))
}

/// Advice for users other than root. The build stays with the user; only the
/// test programs run as root.
const WITHOUT_ROOT: &str = "\
xtask: tests on loop devices and mounts need root and are skipped. To run them too:
  cargo test --workspace --config \"target.'cfg(unix)'.runner = 'sudo --preserve-env'\"";

/// Version that the tests were written for; a change of it rebuilds the folder.
const LABGRID_PACKAGE: &str = "labgrid==26.0.1";
const PYTHON: &str = "/usr/bin/python3";

/// `cargo xtask labgrid`: installs labgrid with its coordinator and exporter into a virtual
/// environment in the build folder, for tests, unless the folder exists. `assay_testkit::Lab` starts
/// them.
pub fn prepare_labgrid() -> Result<()> {
    packages::prepare(LABGRID, LABGRID_PACKAGE, make_labgrid).context("cannot prepare labgrid")
}

/// Makes the virtual environment. Debian's Python has no pip that could be put into it,
/// so the system's pip installs the package.
fn make_labgrid(folder: &Path) -> Result<()> {
    let mut venv = Command::new(PYTHON);
    run(venv.args(["-m", "venv", "--without-pip"]).arg(folder))?;
    let mut pip = Command::new(PYTHON);
    pip.args(["-m", "pip", "--python"])
        .arg(folder.join("bin/python3"));
    run(pip.args([
        "install",
        "--quiet",
        "--disable-pip-version-check",
        LABGRID_PACKAGE,
    ]))
}

/// Version of the prepared files. Raise it with every change to them.
const SERVER_RECIPE: &str = "1";

const SERVER_PACKAGES: [&str; 3] = ["adb", "adbd", "dropbear-bin"];

const SERVER_PROGRAMS: [&str; 4] = [
    "usr/bin/dropbearkey",
    "usr/lib/android-sdk/platform-tools/adb",
    "usr/lib/android-sdk/platform-tools/adbd",
    "usr/sbin/dropbear",
];

/// `cargo xtask servers`: adb and ssh servers for tests that reach this machine like a board. Makes
/// their folder unless it exists. All files come from Debian's packages and stay in the build
/// folder, as for the board. `assay_testkit::Neighbour` starts them.
pub fn prepare_servers() -> Result<()> {
    packages::prepare(SERVERS, SERVER_RECIPE, make_servers)
        .context("cannot prepare the servers of adb and ssh")
}

fn make_servers(folder: &Path) -> Result<()> {
    let work = folder.join("work");
    let host = folder.join("host");
    for package in Packages::update(&work)?.to_run(&SERVER_PACKAGES)? {
        unpack(&package, &host)?;
    }
    for program in SERVER_PROGRAMS {
        launcher(folder, &host, program, "")?;
    }
    fs::remove_dir_all(&work)?;
    Ok(())
}

/// Modules and their packages, at the versions for which the tests were written.
const PYTHON_PACKAGES: [(&str, &str); 6] = [
    ("axe_core_python", "axe-core-python==0.1.0"),
    ("check_jsonschema", "check-jsonschema==0.39.0"),
    ("kcidb_io", "kcidb-io==141"),
    ("nbformat", "nbformat==5.11.1"),
    ("polars", "polars==2.1.0"),
    ("prometheus_client", "prometheus-client==0.26.0"),
];

/// Installs the Python packages that tests check documents and pages with, if one is missing, into a
/// folder of the build folder, so that the system stays unchanged.
pub fn provide_python() -> Result<()> {
    provide_otava()?;
    let folder = build_folder()?.join("python");
    if PYTHON_PACKAGES
        .iter()
        .all(|(module, _)| folder.join(module).exists())
    {
        return Ok(());
    }
    install_python(&folder, &PYTHON_PACKAGES.map(|(_, package)| package))
}

/// Installs packages into a folder.
pub fn install_python(folder: &Path, packages: &[&str]) -> Result<()> {
    let mut pip = Command::new("/usr/bin/python3");
    pip.args(["-m", "pip", "install", "--quiet"]);
    pip.args(["--disable-pip-version-check", "--target"]);
    run(pip.arg(folder).args(packages))
}

/// Installs Apache Otava, an oracle for change points, with the packages that its analysis
/// imports.
pub fn provide_otava() -> Result<()> {
    let folder = build_folder()?.join(Otava::FOLDER);
    if folder.join("otava").exists() {
        return Ok(());
    }
    let packages = [
        "--no-deps",
        "apache-otava==0.8.0",
        "numpy==2.2.0",
        "scipy==1.16.3",
    ];
    install_python(&folder, &packages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::{Path, PathBuf};

    const MISSING: [(&str, &str); 3] = [
        ("mkfs.xfs", "xfsprogs"),
        ("mkfs.btrfs", "btrfs-progs"),
        ("btrfs", "btrfs-progs"),
    ];

    #[test]
    fn only_root_with_apt_installs_and_only_what_is_missing() {
        assert_eq!(remedy(&[], true, true), Remedy::Nothing);
        assert_eq!(
            remedy(&MISSING, true, true),
            Remedy::Install(vec!["btrfs-progs", "xfsprogs"])
        );
        for (root, apt) in [(true, false), (false, true), (false, false)] {
            let Remedy::Advise(advice) = remedy(&MISSING, root, apt) else {
                panic!("root {root}, apt {apt}: no advice");
            };
            assert!(advice.contains("mkfs.btrfs"), "{advice}");
            assert!(advice.contains("btrfs-progs xfsprogs"), "{advice}");
            assert_eq!(advice.contains("apt-get install"), apt, "{advice}");
        }
    }

    /// Checks that every tool in a `needs!(root, "mkfs.ext4")` of a test is
    /// listed in this module.
    #[test]
    fn every_program_that_a_test_needs_is_known_here() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let mut needed = Vec::new();
        for source in sources(&crates) {
            let text = fs::read_to_string(&source).unwrap();
            for call in text.split("needs!(").skip(1) {
                let words = call
                    .split(')')
                    .next()
                    .unwrap()
                    .split('"')
                    .skip(1)
                    .step_by(2);
                needed.extend(words.map(|word| (word.to_owned(), source.clone())));
            }
        }
        let no_program = ["root", "full", "no-such-tool"];
        needed.retain(|(word, _)| !no_program.contains(&word.as_str()));
        assert!(needed.iter().any(|(word, _)| word == "mkfs.ext4"));
        for (program, source) in needed {
            assert!(
                PROGRAMS.iter().any(|(known, _)| *known == program),
                "{} needs {program}, which PROGRAMS does not have",
                source.display()
            );
        }
    }

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(sources(&path));
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
        found
    }
}
