//! Tools for building static programs besides Rust: the source of its standard library, which is
//! rebuilt for them, and a C compiler and linker for all machines.

use crate::python;
use crate::run::{build_folder, output};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Zig is a C compiler for all machines, with musl for each; cargo-zigbuild is cargo
/// with that. Both at the versions that the agents' limits were taken with.
const PACKAGES: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];

/// The tools, in a folder of their own under the build folder: nothing of the system
/// changes.
pub struct Toolchain {
    folder: PathBuf,
    /// The commit that programs name as theirs; `None`: that of the variable `ASSAY_COMMIT`, if any.
    commit: Option<String>,
}

impl Toolchain {
    /// Installs what is missing.
    ///
    /// # Errors
    /// What cannot be had, and why.
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

    /// The same, for programs that name a commit.
    pub fn at(self, commit: Option<String>) -> Self {
        Self { commit, ..self }
    }

    fn zigbuild(&self) -> PathBuf {
        self.folder.join("bin/cargo-zigbuild")
    }

    /// The folder of Zig, which has the licence of its C library in it.
    pub fn zig(&self) -> PathBuf {
        self.folder.join("ziglang")
    }

    /// `cargo zigbuild` of a profile and package, to which targets are added. The standard library
    /// is built as well, with this crate for panics: no built one can be had for some machines.
    /// No path of this machine gets into programs, so that they are the same wherever they are
    /// built. Neither is a stable part of cargo yet; the version that is built with is fixed.
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

/// Gets the source of the standard library where it is missing.
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
