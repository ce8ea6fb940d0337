//! Tools besides Rust that build static programs: the source of the standard library, which is
//! rebuilt for them, and a C compiler and linker for all machines.

use crate::python;
use crate::run::{build_folder, output};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Zig, a C compiler with musl for all machines, and cargo-zigbuild, which makes cargo use it. The
/// limits of the agents hold for these versions.
const PACKAGES: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];

/// Build tools in a folder of the build folder; the system stays unchanged.
pub struct Toolchain {
    folder: PathBuf,
    /// Commit to embed in programs; `None`: that of the variable `ASSAY_COMMIT`, if any.
    commit: Option<String>,
}

impl Toolchain {
    /// Installs missing tools.
    ///
    /// # Errors
    /// If a tool cannot be installed, with the reason.
    pub fn provide() -> Result<Self> {
        provide_source()?;
        let folder = build_folder()?.join("zig");
        let toolchain = Self {
            folder,
            commit: None,
        };
        if !toolchain.zigbuild().exists() {
            let why = "static programs are built with Zig and cargo-zigbuild, which pip cannot get";
            python::install(&toolchain.folder, &PACKAGES).context(why)?;
        }
        Ok(toolchain)
    }

    /// Sets the commit to embed in programs.
    pub fn at(self, commit: Option<String>) -> Self {
        Self { commit, ..self }
    }

    fn zigbuild(&self) -> PathBuf {
        self.folder.join("bin/cargo-zigbuild")
    }

    /// Folder of Zig, which contains the licence of its C library.
    pub fn zig(&self) -> PathBuf {
        self.folder.join("ziglang")
    }

    /// Returns a `cargo zigbuild` for a profile and a package; the caller adds the targets. It also
    /// builds the standard library, with the crate `panics`, because some machines have no prebuilt
    /// one. It removes this machine's paths, so that a build is the same everywhere. Both are
    /// unstable features of cargo; the compiler's version is fixed.
    pub fn build(&self, profile: &str, package: &str, panics: &str) -> Command {
        let mut command = Command::new(self.zigbuild());
        command
            .args(["zigbuild", "--profile", profile, "--package", package])
            .arg(format!("-Zbuild-std=std,{panics}"))
            .arg("-Ztrim-paths")
            .arg(format!("--config=profile.{profile}.trim-paths='all'"))
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ZIGBUILD_ZIG_PATH", self.zig().join("zig"))
            .env("CARGO_ZIGBUILD_CACHE_DIR", self.folder.join("wrappers"))
            .env("ZIG_GLOBAL_CACHE_DIR", self.folder.join("cache"))
            .envs(self.commit.iter().map(|commit| ("ASSAY_COMMIT", commit)));
        command
    }
}

/// Installs the source of the standard library if it is missing.
fn provide_source() -> Result<()> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std");
    if source.is_dir() {
        return Ok(());
    }
    let added = Command::new("rustup")
        .args(["component", "add", "rust-src"])
        .output()
        .context("cannot start rustup, for the source of Rust's standard library")?;
    if added.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&added.stderr);
    let error = said.lines().find(|line| line.starts_with("error"));
    bail!(
        "rustup cannot get rust-src, the source of Rust's standard library: {}",
        error.unwrap_or(said.trim())
    )
}
