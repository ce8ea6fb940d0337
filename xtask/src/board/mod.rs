//! `cargo xtask board`: what an emulated aarch64 board is started from, for
//! tests. Everything comes from Debian's packages and stays in the build folder:
//! nothing is installed, and no settings of the system's package manager change.
//!
//! `assay_testkit::Board` starts it.

pub mod initramfs;
pub mod programs;

use crate::packages::{self, BOARD, Packages, launcher, unpack};
use crate::run::run;
use anyhow::{Context, Result};
use assay_testkit::board;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// To be raised with every change of what is prepared here.
const RECIPE: &str = "3";

/// Makes the folder unless it is there already.
pub fn prepare() -> Result<()> {
    packages::prepare(board::FOLDER, RECIPE, make).context("cannot prepare the emulated board")
}

fn make(folder: &Path) -> Result<()> {
    let work = folder.join("work");
    let packages = Packages::update(&work.join("apt"))?;

    let host = folder.join("host");
    let needed = ["qemu-system-arm", "kmod", "cpio"];
    for package in packages.to_run(&needed)? {
        unpack(&package, &host)?;
    }
    let data = "-L \"$here/usr/share/qemu\"";
    launcher(folder, &host, &format!("usr/bin/{}", board::QEMU), data)?;

    let kernel = work.join("kernel");
    let image = packages.kernel_of(&format!("linux-image-arm64:{BOARD}"))?;
    unpack(&packages.download_of(BOARD, &image)?, &kernel)?;
    let version = image.trim_start_matches("linux-image-");
    fs::copy(
        kernel.join(format!("boot/vmlinuz-{version}")),
        folder.join(board::KERNEL),
    )?;

    let key = folder.join(board::KEY);
    run(Command::new("ssh-keygen")
        .args([
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            "emulated board",
            "-f",
        ])
        .arg(&key))?;
    let guest = work.join("guest");
    for package in initramfs::PACKAGES {
        unpack(&packages.download_of(BOARD, package)?, &guest)?;
    }
    initramfs::make(&initramfs::Parts {
        guest: &guest,
        kernel: &kernel,
        version,
        host: &host,
        public_key: &key.with_extension("pub"),
        image: &folder.join(board::INITRAMFS),
    })?;
    fs::remove_dir_all(&work)?;
    Ok(())
}

/// A program of a tree of unpacked packages, or the system's own.
pub fn program(host: &Path, paths: &[&str]) -> PathBuf {
    let unpacked = paths.iter().map(|path| host.join(path));
    unpacked
        .into_iter()
        .find(|path| path.exists())
        .or_else(|| Some(PathBuf::from(Path::new(paths.first()?).file_name()?)))
        .unwrap_or_default()
}

/// A link by a name that may be there already.
fn link(to: &str, at: &Path) -> Result<()> {
    if at.symlink_metadata().is_err() {
        symlink(to, at).with_context(|| at.display().to_string())?;
    }
    Ok(())
}
