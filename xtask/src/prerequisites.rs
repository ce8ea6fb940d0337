//! Programs that the tests need besides Rust. Installs them where possible;
//! otherwise prints the commands that do.

use crate::packages;
use anyhow::Result;
use rustix::process::geteuid;

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
