//! `cargo xtask board`: prepares an emulated aarch64 board for tests. All files
//! come from Debian's packages and stay in the build folder: it installs nothing
//! and changes no setting of the system's package manager.
//!
//! `assay_testkit::Board` starts the board.

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

/// Version of the prepared files. Raise it with every change to them.
const RECIPE: &str = "3";

/// Makes the folder unless it exists.
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

/// Returns the path of a program in a tree of unpacked packages, or else the
/// system's.
pub fn program(host: &Path, paths: &[&str]) -> PathBuf {
    let unpacked = paths.iter().map(|path| host.join(path));
    unpacked
        .into_iter()
        .find(|path| path.exists())
        .or_else(|| Some(PathBuf::from(Path::new(paths.first()?).file_name()?)))
        .unwrap_or_default()
}

/// Makes a symbolic link unless its name exists.
fn link(to: &str, at: &Path) -> Result<()> {
    if at.symlink_metadata().is_err() {
        symlink(to, at).with_context(|| at.display().to_string())?;
    }
    Ok(())
}
