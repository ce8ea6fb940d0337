//! Debian packages, installed or only downloaded. apt runs with private folders and settings, so
//! that the machine's stay unchanged.

mod sources;

use crate::run::{build_folder, output, run};
use anyhow::{Context, Result, bail};
use sources::Mirror;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian architecture of the board.
pub const BOARD: &str = "arm64";

/// Folder of package sources, in the folder of apt's settings.
const SOURCES: &str = "sources.list.d";
const SETTINGS: &str = "apt.conf";

/// File with the recipe by which a folder was made; tests look for it.
const RECIPE: &str = "recipe";

/// Debian packages for this machine and for the board.
pub struct Packages {
    folder: PathBuf,
    mirror: Mirror,
}

impl Packages {
    /// Downloads the lists of packages.
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

    /// Downloads packages to run on this machine, with the dependencies that it lacks. Returns
    /// the files.
    pub fn to_run(&self, packages: &[&str]) -> Result<Vec<PathBuf>> {
        let mut install = self.apt("apt-get");
        install.args(["--quiet=2", "--yes", "--download-only", "--reinstall"]);
        // QEMU comes from the backports, for its newer devices, and so does adbd, which only they
        // have.
        install.args(["--target-release", &self.mirror.backports(), "install"]);
        run(install.args(packages))?;
        files(&self.folder.join("archives"))
    }

    /// Returns the kernel package that a metapackage depends on.
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

    /// Downloads a package for an architecture and returns the file.
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

    /// Downloads packages for an architecture with all their dependencies. Returns the files.
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

/// Installs packages on this machine from its configured sources, and non-free packages from
/// their mirror.
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
    // An unreachable source may not be needed.
    if let Err(error) = run(apt(&folder, "apt-get").args(["--quiet", "update"])) {
        eprintln!("xtask: {error:#}");
    }
    let install = |packages: &[&str]| {
        let words = ["--quiet=2", "install", "--yes", "--no-install-recommends"];
        run(apt(&folder, "apt-get").args(words).args(packages))
    };
    // One unavailable package prevents the installation of all: try each separately.
    if install(packages).is_err() {
        let single = packages.iter().map(|&package| install(&[package]));
        single.fold(Ok(()), Result::and)?;
    }
    Ok(())
}

/// Returns an apt command with the settings in a folder.
fn apt(folder: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("APT_CONFIG", folder.join(SETTINGS))
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Returns settings that make apt use the package sources and lists of a folder.
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

/// Makes a folder in the build folder with `make`, unless one of the same recipe exists. An
/// incomplete folder is never used: it has another name until it is complete.
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

/// Writes a script that starts a program which is not installed but unpacked below `host`.
/// `words` precede the arguments and may refer to the tree as `$here`.
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

/// Unpacks a package into a folder.
pub fn unpack(package: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    run(Command::new("dpkg")
        .arg("--extract")
        .args([package, folder]))
}

/// Returns the packages in a folder.
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
