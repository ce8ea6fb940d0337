//! Debian's packages, installed or not: apt with folders and settings of its own, so that
//! the machine's stay as they are.

mod sources;

use crate::run::{build_folder, output, run};
use anyhow::{Context, Result, bail};
use sources::Mirror;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The architecture of the board.
pub const BOARD: &str = "arm64";

/// Sources of packages, in the folder of apt's settings.
const SOURCES: &str = "sources.list.d";
const SETTINGS: &str = "apt.conf";

/// Says by what a folder was made; tests look for it.
const RECIPE: &str = "recipe";

/// Debian's packages for this machine and for the board.
pub struct Packages {
    folder: PathBuf,
    mirror: Mirror,
}

impl Packages {
    /// Fetches the lists of packages.
    pub fn update(folder: &Path) -> Result<Self> {
        for part in ["lists/partial", "archives/partial", "board"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let native = output(Command::new("dpkg").arg("--print-architecture"))?;
        let mirror = Mirror::of_machine()?;
        let sources = folder.join(SOURCES);
        fs::create_dir_all(&sources)?;
        fs::write(sources.join("release.sources"), mirror.with_backports())?;
        fs::write(folder.join(SETTINGS), settings(folder, native.trim()))?;
        run(apt(folder, "apt-get").args(["--quiet=2", "update"]))?;
        Ok(Self {
            folder: folder.to_owned(),
            mirror,
        })
    }

    /// Files of some of Debian's packages, and of those that this machine lacks to run
    /// them.
    pub fn to_run(&self, packages: &[&str]) -> Result<Vec<PathBuf>> {
        let mut install = self.apt("apt-get");
        install.args(["--quiet=2", "--yes", "--download-only", "--reinstall"]);
        // QEMU is from the backports, for its newer devices, and adbd, which is nowhere else.
        install.args(["--target-release", &self.mirror.backports(), "install"]);
        run(install.args(packages))?;
        files(&self.folder.join("archives"))
    }

    /// The kernel that a metapackage asks for.
    pub fn kernel_of(&self, meta: &str) -> Result<String> {
        let depends = output(self.apt("apt-cache").args(["depends", meta]))?;
        let images = depends
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Depends: "))
            .map(|name| name.trim_end_matches(&format!(":{BOARD}")));
        images
            .filter(|name| name.starts_with("linux-image-"))
            .map(str::to_owned)
            .next()
            .with_context(|| format!("{meta} depends on no kernel: {depends}"))
    }

    /// The file of a package for an architecture.
    pub fn download_of(&self, architecture: &str, package: &str) -> Result<PathBuf> {
        let folder = self.folder.join("board");
        let mut download = self.apt("apt-get");
        download
            .args(["--quiet=2", "download"])
            .current_dir(&folder);
        run(download.arg(format!("{package}:{architecture}")))?;
        let start = format!("{package}_");
        let found = files(&folder)?.into_iter().find(|file| {
            let name = file.file_name().map(|name| name.to_string_lossy());
            name.is_some_and(|name| name.starts_with(&start))
        });
        found.with_context(|| format!("apt-get downloaded no {package}"))
    }

    /// Files of packages for an architecture and of all that they depend on.
    pub fn all_of(&self, architecture: &str, packages: &[&str]) -> Result<Vec<PathBuf>> {
        let (status, archives) = (self.folder.join("nothing-installed"), "board/archives");
        fs::write(&status, "")?;
        fs::create_dir_all(self.folder.join(archives).join("partial"))?;
        let mut install = self.apt("apt-get");
        install.args(["--quiet=2", "--yes", "--download-only"]);
        for setting in [
            format!("APT::Architecture={architecture}"),
            format!("Dir::State::status={}", status.display()),
            format!(
                "Dir::Cache::Archives={}",
                self.folder.join(archives).display()
            ),
        ] {
            install.args(["--option", &setting]);
        }
        run(install.arg("install").args(packages))?;
        files(&self.folder.join(archives))
    }

    fn apt(&self, program: &str) -> Command {
        apt(&self.folder, program)
    }
}

/// Installs packages on this machine: from its own sources, and what Debian does not count as
/// free from their mirror.
pub fn install(packages: &[&str]) -> Result<()> {
    let folder = build_folder()?.join("apt");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let sources = folder.join(SOURCES);
    fs::create_dir_all(&sources)?;
    fs::create_dir_all(folder.join("lists/partial"))?;
    sources::link_all(&sources)?;
    match Mirror::of_machine() {
        Ok(mirror) => fs::write(sources.join("not-free.sources"), mirror.not_free())?,
        Err(error) => eprintln!("xtask: nothing of Debian's non-free: {error:#}"),
    }
    fs::write(folder.join(SETTINGS), own_sources(&folder))?;
    // A source that cannot be reached may not be needed.
    if let Err(error) = run(apt(&folder, "apt-get").args(["--quiet", "update"])) {
        eprintln!("xtask: {error:#}");
    }
    let install = |packages: &[&str]| {
        let words = ["--quiet=2", "install", "--yes", "--no-install-recommends"];
        run(apt(&folder, "apt-get").args(words).args(packages))
    };
    // One that cannot be had keeps all from being installed.
    if install(packages).is_err() {
        let single = packages.iter().map(|&package| install(&[package]));
        single.fold(Ok(()), Result::and)?;
    }
    Ok(())
}

/// A program of apt with the settings in a folder.
fn apt(folder: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("APT_CONFIG", folder.join(SETTINGS))
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Settings by which sources and lists of packages are those of a folder.
fn own_sources(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "Dir::Etc::SourceList \"/dev/null\";\n\
         Dir::Etc::SourceParts \"{folder}/{SOURCES}\";\n\
         Dir::State::Lists \"{folder}/lists\";\n\
         APT::Sandbox::User \"root\";\n\
         Acquire::Languages \"none\";\n"
    )
}

/// Returns apt settings that keep it away from the system's folders, except the list of installed
/// packages, which is only read.
fn settings(folder: &Path, native: &str) -> String {
    let own = own_sources(folder);
    let folder = folder.display();
    format!(
        "{own}\
         Dir::Etc::Preferences \"/dev/null\";\n\
         Dir::Etc::PreferencesParts \"/dev/null\";\n\
         Dir::Cache \"{folder}\";\n\
         Dir::Cache::Archives \"{folder}/archives\";\n\
         APT::Architectures {{ \"{native}\"; \"{BOARD}\"; }};\n\
         APT::Install-Recommends \"false\";\n\
         Debug::NoLocking \"true\";\n"
    )
}

/// Makes a folder of the build folder unless it is there already, made by the same
/// recipe. One that is half made is never taken for it.
pub fn prepare(name: &str, recipe: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let folder = build_folder()?.join(name);
    let made_by = fs::read_to_string(folder.join(RECIPE));
    if made_by.is_ok_and(|made_by| made_by == recipe) {
        return Ok(());
    }
    let unfinished = folder.with_extension("unfinished");
    for old in [&unfinished, &folder] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    fs::create_dir_all(&unfinished)?;
    make(&unfinished)?;
    fs::write(unfinished.join(RECIPE), recipe)?;
    fs::rename(&unfinished, &folder)?;
    println!("prepared: {}", folder.display());
    Ok(())
}

/// A script that starts a program which is not installed, but unpacked below
/// `host`; `words` come first, and may speak of `$here`, the tree.
pub fn launcher(folder: &Path, host: &Path, program: &str, words: &str) -> Result<()> {
    let host = host.strip_prefix(folder)?.display();
    let name = Path::new(program)
        .file_name()
        .context("a program without a name")?;
    let script = format!(
        "#!/bin/sh\n\
         # Its libraries that this system does not have lie beside it.\n\
         here=$(dirname \"$0\")/{host}\n\
         for folder in \"$here\"/lib/*-linux-gnu \"$here\"/usr/lib/*-linux-gnu \
         \"$here\"/usr/lib/*-linux-gnu/android; do\n    \
         LD_LIBRARY_PATH=$LD_LIBRARY_PATH${{LD_LIBRARY_PATH:+:}}$folder\n\
         done\n\
         export LD_LIBRARY_PATH\n\
         exec \"$here/{program}\" {words} \"$@\"\n"
    );
    let path = folder.join(name);
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Unpacks a package over a folder.
pub fn unpack(package: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    run(Command::new("dpkg")
        .arg("--extract")
        .args([package, folder]))
}

/// The packages in a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "deb") {
            found.push(path);
        }
    }
    if found.is_empty() {
        bail!("apt-get downloaded nothing to {}", folder.display());
    }
    found.sort();
    Ok(found)
}
