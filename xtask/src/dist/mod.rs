//! `cargo xtask dist`: archives of the static program, each with the agents of all machines. The
//! same source gives the same bytes in any folder.

mod bill;
mod packages;

use crate::agents::toolchain::Toolchain;
use crate::agents::{self, MACHINES};
use crate::run::{build_folder, cargo, output, run, workspace};
use anyhow::{Context, Result, bail};
use bill::Bill;
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

const HELP: &str = "cargo xtask dist [--out DIR] [--profile PROFILE] [--packages] [MACHINE]...";

/// Folder of the archives in the build folder.
const FOLDER: &str = "archives";

/// Files and folders of the source that go to the top level of each archive.
const DOCUMENTS: [&str; 6] = [
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "docs",
    "examples",
];

/// Features of archives that a first build from source lacks, because they take long to build.
const FEATURES: &str = "parquet";

/// Compiler flags of the program. The bindings of io-uring are those of 64-bit machines;
/// `engines::uring` checks that they are valid on others.
const FLAGS: &str = "-Clink-self-contained=no --cfg=io_uring_skip_arch_check";

/// Completions by shell, each with the path below `share` that the shell reads.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "bash-completion/completions/assay"),
    ("zsh", "zsh/site-functions/_assay"),
    ("fish", "fish/vendor_completions.d/assay.fish"),
    ("elvish", "elvish/lib/assay.elv"),
    ("powershell", "powershell/assay.ps1"),
];

/// Script that writes the checksum of each file, sorted by name.
const SUMS: &str = "find * -type f ! -name SHA256SUMS -print0 | LC_ALL=C sort -z | \
                    xargs -0 sha256sum >SHA256SUMS";

/// Command-line arguments.
#[derive(Debug, PartialEq, Eq)]
struct DistArgs<'a> {
    /// Machines with their Rust targets.
    machines: Vec<(&'static str, &'static str)>,
    out: Option<&'a str>,
    profile: &'a str,
    /// Set to make Debian and RPM packages, too.
    packages: bool,
}

impl<'a> DistArgs<'a> {
    fn read(words: &[&'a str]) -> Result<Self> {
        let mut args = Self {
            machines: Vec::new(),
            out: None,
            profile: "dist",
            packages: false,
        };
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            match word {
                "--out" => args.out = Some(words.next().context(HELP)?),
                "--packages" => args.packages = true,
                "--profile" => args.profile = words.next().context(HELP)?,
                name => args.machines.push(machine(name)?),
            }
        }
        if args.machines.is_empty() {
            args.machines.extend(MACHINES);
        }
        Ok(args)
    }
}

fn machine(name: &str) -> Result<(&'static str, &'static str)> {
    let known = MACHINES.into_iter().find(|(machine, _)| *machine == name);
    known.with_context(|| {
        let names = MACHINES.map(|(machine, _)| machine).join(", ");
        format!("there is no machine {name}; there are {names}\n{HELP}")
    })
}

/// Makes archives for the given machines, or for all, and names those that cannot be made here.
pub fn run_builds(words: &[&str]) -> Result<()> {
    let args = DistArgs::read(words)?;
    let out = match args.out {
        Some(folder) => PathBuf::from(folder),
        None => build_folder()?.join(FOLDER),
    };
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    let toolchain = Toolchain::provide()?.at(commit());
    agents::build(&agents::names(), &toolchain)?;
    let builds = Builds {
        toolchain,
        profile: args.profile,
        packages: args.packages,
        version: version()?,
        date: source_date()?,
        out: fs::canonicalize(out)?,
    };
    let (_, native) = machine(ARCH)?;
    let native = builds.program(native)?;
    let mut missing = Vec::new();
    for (machine, target) in args.machines {
        match builds.archive(machine, target, &native) {
            Ok(archive) => {
                let bytes = fs::metadata(&archive)?.len();
                println!("{bytes:>9} bytes  {}", archive.display());
            }
            Err(error) => missing.push(format!("{machine}: {error:#}")),
        }
    }
    run(Command::new("sh")
        .args([
            "-c",
            r"ls | grep -E '\.(tar\.gz|deb|rpm)$' | xargs -r sha256sum >SHA256SUMS",
        ])
        .current_dir(&builds.out))?;
    if !missing.is_empty() {
        bail!("missing archives:\n  {}", missing.join("\n  "));
    }
    Ok(())
}

/// Properties that all archives of a command share.
struct Builds<'a> {
    toolchain: Toolchain,
    profile: &'a str,
    packages: bool,
    version: String,
    /// Date of all files, in seconds since the epoch.
    date: u64,
    out: PathBuf,
}

impl Builds<'_> {
    /// Builds the program for a target.
    fn program(&self, target: &str) -> Result<PathBuf> {
        let mut build = self
            .toolchain
            .build(self.profile, "assay-cli", "panic_unwind");
        run(build
            .args(["--locked", "--target", target])
            .args(["--features", FEATURES])
            // Seed of the crate const-random; without it, hash tables of Parquet differ between
            // builds.
            .env("CONST_RANDOM_SEED", "assay")
            .env("RUSTFLAGS", FLAGS))?;
        let folder = match self.profile {
            "dev" => "debug",
            profile => profile,
        };
        Ok(build_folder()?.join(target).join(folder).join("assay"))
    }

    /// Builds the program of a machine and packs it; `native` is the program for this machine.
    fn archive(&self, machine: &str, target: &str, native: &Path) -> Result<PathBuf> {
        let program = self.program(target)?;
        let name = format!("assay-{}-{machine}-linux-musl", self.version);
        let tree = self.out.join(&name);
        if tree.exists() {
            fs::remove_dir_all(&tree)?;
        }
        copy(&program, &tree.join("bin/assay"))?;
        copy(&agents::build::folder()?, &tree.join("lib/assay/agents"))?;
        generate(native, &tree.join("share"), self.date)?;
        for document in DOCUMENTS {
            copy(&workspace().join(document), &tree.join(document))?;
        }
        let bill = Bill::read(target)?;
        bill.write_licences(&self.toolchain, &tree.join("licences"))?;
        bill.write_spdx(&name, self.date, &tree.join("assay.spdx.json"))?;
        run(Command::new("sh").args(["-c", SUMS]).current_dir(&tree))?;
        if self.packages {
            self.packages(machine, target, &tree)?;
        }
        self.pack(&name)
    }

    /// Packs a folder without owner, file dates or order that depend on this machine.
    fn pack(&self, name: &str) -> Result<PathBuf> {
        let archive = self.out.join(format!("{name}.tar.gz"));
        run(Command::new("tar")
            .args(["--create", "--format=ustar", "--sort=name"])
            .args(["--owner=0", "--group=0", "--numeric-owner"])
            .args(["--mode=u=rwX,go=rX", "--use-compress-program=gzip -9n"])
            .arg(format!("--mtime=@{}", self.date))
            .arg("--file")
            .arg(&archive)
            .arg("--directory")
            .arg(&self.out)
            .arg(name))?;
        Ok(archive)
    }
}

/// Runs this machine's program to write its man pages, dated `date`, and completions below a
/// folder.
fn generate(native: &Path, share: &Path, date: u64) -> Result<()> {
    let pages = share.join("man/man1");
    fs::create_dir_all(&pages)?;
    let generate = |what: &str| {
        let mut command = Command::new(native);
        command.args(["--generate", what]);
        command.env("SOURCE_DATE_EPOCH", date.to_string());
        command
    };
    run(generate("man").arg(&pages))?;
    for (shell, file) in COMPLETIONS {
        let file = share.join(file);
        fs::create_dir_all(file.parent().unwrap_or(share))?;
        fs::write(file, output(&mut generate(&format!("complete-{shell}")))?)?;
    }
    Ok(())
}

/// Copies a file, or a folder with its content.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    run(Command::new("cp").arg("-RL").args([from, to]))
}

fn version() -> Result<String> {
    let id = output(cargo().args(["pkgid", "--package", "assay-cli"]))?;
    let version = id.trim().rsplit(['#', '@']).next();
    version
        .map(str::to_owned)
        .context("cargo pkgid: no version")
}

/// Returns the commit of the source; `None` without git, with uncommitted changes, or if
/// `ASSAY_COMMIT` is set.
fn commit() -> Option<String> {
    if std::env::var_os("ASSAY_COMMIT").is_some() {
        return None;
    }
    let mut changed = git();
    changed.args(["status", "--porcelain", "--untracked-files=no"]);
    let clean = output(&mut changed).map(|changes| changes.trim().is_empty());
    let commit = output(git().args(["rev-parse", "--short=8", "HEAD"]));
    match (clean, commit) {
        (Ok(true), Ok(commit)) => Some(commit.trim().to_owned()),
        (Ok(false), _) => {
            println!("no commit is named: the source has changes that are not committed");
            None
        }
        (Err(error), _) | (_, Err(error)) => {
            println!("no commit is named: {error:#}");
            None
        }
    }
}

/// Returns a git command for this source's own repository. A repository around an unpacked source
/// is not used.
fn git() -> Command {
    let mut git = Command::new("git");
    git.current_dir(workspace())
        .arg("--git-dir")
        .arg(workspace().join(".git"))
        .arg("--work-tree")
        .arg(workspace());
    git
}

/// Returns the date of the last commit or, without git, the date of the source from its archive.
fn source_date() -> Result<u64> {
    if let Ok(date) = std::env::var("SOURCE_DATE_EPOCH") {
        return date.parse().context("SOURCE_DATE_EPOCH is no number");
    }
    if let Ok(date) = output(git().args(["log", "-1", "--format=%ct"])) {
        return date.trim().parse().context("git log: no date");
    }
    let modified = fs::metadata(workspace().join("Cargo.lock"))?.modified()?;
    Ok(modified.duration_since(UNIX_EPOCH)?.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_those_of_agents_and_all_without_a_name() {
        let args = DistArgs::read(&["armv7l", "--out", "here"]).unwrap();
        assert_eq!(
            args.machines,
            [("armv7l", "armv7-unknown-linux-musleabihf")]
        );
        assert_eq!((args.out, args.profile), (Some("here"), "dist"));
        let all = DistArgs::read(&["--packages", "--profile", "dev"]).unwrap();
        assert!(all.packages && !args.packages);
        assert_eq!((all.machines.len(), all.profile), (5, "dev"));
        let error = DistArgs::read(&["s390x"]).unwrap_err().to_string();
        assert!(error.contains("aarch64, armv7l"), "{error}");
        assert!(DistArgs::read(&["--out"]).is_err());
    }

    #[test]
    fn the_version_is_that_of_the_program() {
        assert_eq!(version().unwrap(), env!("CARGO_PKG_VERSION"));
    }
}
