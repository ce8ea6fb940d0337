//! `cargo xtask dist`: archives of the static program, each with the agents of all machines, and
//! Debian and RPM packages made from the folder of an archive. The same source gives the same bytes
//! in any folder.
//!
//! The crates' manifests list the files of each package (`package.metadata`). A bill of materials
//! lists the program's crates and libraries, with their licences.

use crate::agents;
use crate::agents::{MACHINES, Toolchain};
use crate::run::{build_folder, cargo, output, run, workspace};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::ARCH;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
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
        copy(&agents::folder()?, &tree.join("lib/assay/agents"))?;
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

/// Package of the program.
const PROGRAM: &str = "assay-cli";

/// Prefixes of names of licence files.
const LICENCES: [&str; 5] = ["LICENSE", "LICENCE", "COPY", "NOTICE", "UNLICENSE"];

/// Component of the program.
struct Component {
    name: String,
    version: Option<String>,
    /// Licence as an SPDX expression.
    licence: String,
    /// Folder of a crate from a registry.
    registry: Option<PathBuf>,
    /// Identifiers of the components that it depends on.
    uses: Vec<String>,
}

/// Components of a program by SPDX identifier.
struct Bill(BTreeMap<String, Component>);

impl Bill {
    /// Reads the components of the program for a target. Crates that only run during its build are
    /// left out.
    pub fn read(target: &str) -> Result<Self> {
        let mut metadata = cargo();
        metadata.args(["metadata", "--locked", "--format-version", "1"]);
        metadata.args(["--filter-platform", target]);
        // The features of the archive's program.
        metadata.args(["--features", &format!("assay-cli/{}", FEATURES)]);
        let mut bill = Self::of(&serde_json::from_str(&output(&mut metadata)?)?)?;
        bill.add_libraries()?;
        Ok(bill)
    }

    fn of(metadata: &Value) -> Result<Self> {
        let nodes = by_id(&metadata["resolve"]["nodes"])?;
        let packages = by_id(&metadata["packages"])?;
        let program = packages.iter().find(|(_, p)| p["name"] == PROGRAM);
        let mut open = vec![*program.context("cargo metadata has no assay-cli")?.0];
        let mut components = BTreeMap::new();
        while let Some(id) = open.pop() {
            let package = packages.get(id).context("a crate without a package")?;
            let dependencies = nodes.get(id).and_then(|node| node["deps"].as_array());
            let dependencies = dependencies.into_iter().flatten();
            let used = dependencies.filter(|dependency| is_linked(dependency));
            let used: Vec<&str> = used.filter_map(|d| d["pkg"].as_str()).collect();
            let component = Component::of(package, used.iter().map(|id| packages[id]));
            if components.insert(spdx_id(package), component).is_none() {
                open.extend(used);
            }
        }
        Ok(Self(components))
    }

    /// Adds components that are no crates, as dependencies of the program.
    fn add_libraries(&mut self) -> Result<()> {
        let sqlite = self
            .registry_folder("libsqlite3-sys")?
            .join("sqlite3/sqlite3.h");
        let header = fs::read_to_string(&sqlite).with_context(|| sqlite.display().to_string())?;
        let sqlite = header.split("#define SQLITE_VERSION").nth(1);
        let rust = output(Command::new("rustc").arg("--version"))?;
        let libraries = [
            (
                "SQLite",
                sqlite.and_then(|rest| rest.split('"').nth(1)),
                "blessing",
            ),
            ("rust-std", rust.split(' ').nth(1), "MIT OR Apache-2.0"),
            ("musl", None, "MIT"),
            ("Roboto", None, "Apache-2.0"),
        ];
        for (name, version, licence) in libraries {
            let id = format!("SPDXRef-{name}");
            let program = self.0.values_mut().find(|c| c.name == PROGRAM);
            program.context("no program")?.uses.push(id.clone());
            let component = Component {
                name: name.to_owned(),
                version: version.map(str::to_owned),
                licence: licence.to_owned(),
                registry: None,
                uses: Vec::new(),
            };
            self.0.insert(id, component);
        }
        Ok(())
    }

    fn registry_folder(&self, name: &str) -> Result<&Path> {
        let component = self.0.values().find(|component| component.name == name);
        component
            .and_then(|component| component.registry.as_deref())
            .with_context(|| format!("the program has no {name}"))
    }

    /// Writes the licences of all components into a folder.
    pub fn write_licences(&self, toolchain: &Toolchain, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("crates.txt"), self.licences_of_crates()?)?;
        let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
        let rust = Path::new(sysroot.trim()).join("share/doc/rust/COPYRIGHT-library.html");
        let musl = toolchain.zig().join("lib/libc/musl/COPYRIGHT");
        for (file, name) in [(rust, "rust-std.html"), (musl, "musl.txt")] {
            fs::copy(&file, folder.join(name)).with_context(|| file.display().to_string())?;
        }
        Ok(())
    }

    /// Lists each licence text once, below the crates that have it.
    fn licences_of_crates(&self) -> Result<String> {
        let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for component in self.0.values() {
            let Some(folder) = &component.registry else {
                continue;
            };
            for file in licences(folder)? {
                let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
                let crates = texts.entry(text.trim_end().to_owned()).or_default();
                crates.insert(component.title());
            }
        }
        let mut all = String::new();
        for (text, crates) in texts {
            let crates: Vec<String> = crates.into_iter().collect();
            write!(
                all,
                "{}\n\n{text}\n\n{}\n\n",
                crates.join("\n"),
                "=".repeat(78)
            )?;
        }
        Ok(all)
    }

    /// Writes the bill as an SPDX 2.3 document; `date` is in seconds since the epoch.
    pub fn write_spdx(&self, name: &str, date: u64, file: &Path) -> Result<()> {
        let mut created = Command::new("date");
        created.args(["--utc", "+%Y-%m-%dT%H:%M:%SZ"]);
        let created = output(created.arg(format!("--date=@{date}")))?;
        let document = self.spdx(name, created.trim());
        fs::write(file, serde_json::to_string_pretty(&document)? + "\n")?;
        Ok(())
    }

    fn spdx(&self, name: &str, created: &str) -> Value {
        let relation = |from: &str, kind: &str, to: &str| {
            json!({
                "spdxElementId": from,
                "relationshipType": kind,
                "relatedSpdxElement": to,
            })
        };
        let mut relationships = Vec::new();
        for (id, component) in &self.0 {
            if component.name == PROGRAM {
                relationships.push(relation("SPDXRef-DOCUMENT", "DESCRIBES", id));
            }
            let used = component.uses.iter();
            relationships.extend(used.map(|used| relation(id, "DEPENDS_ON", used)));
        }
        json!({
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": name,
            "documentNamespace": format!("https://spdx.org/spdxdocs/{name}-{created}"),
            "creationInfo": {"created": created, "creators": ["Tool: cargo xtask dist"]},
            "packages": self.0.iter().map(|(id, it)| it.spdx(id)).collect::<Vec<_>>(),
            "relationships": relationships,
        })
    }
}

impl Component {
    fn of<'a>(package: &Value, uses: impl Iterator<Item = &'a Value>) -> Self {
        let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        let folder = Path::new(&text("manifest_path"))
            .parent()
            .map(PathBuf::from);
        Self {
            name: text("name"),
            version: Some(text("version")),
            // Old crates write MIT/Apache-2.0, which is no valid expression.
            licence: text("license").replace('/', " OR "),
            registry: folder.filter(|_| !package["source"].is_null()),
            uses: uses.map(spdx_id).collect(),
        }
    }

    fn title(&self) -> String {
        let version = self.version.as_deref().unwrap_or_default();
        format!("{} {version} ({})", self.name, self.licence)
    }

    fn spdx(&self, id: &str) -> Value {
        let mut package = json!({
            "SPDXID": id,
            "name": self.name,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": false,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": self.licence,
            "copyrightText": "NOASSERTION",
        });
        let Some(version) = &self.version else {
            return package;
        };
        package["versionInfo"] = json!(version);
        if self.registry.is_some() {
            let locator = format!("pkg:cargo/{}@{}", self.name, version.replace('+', "%2B"));
            package["externalRefs"] = json!([{
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": locator,
            }]);
        }
        package
    }
}

/// Returns the entries of one of cargo's lists by identifier.
fn by_id(list: &Value) -> Result<BTreeMap<&str, &Value>> {
    let list = list
        .as_array()
        .context("cargo metadata has another format")?;
    let entries = list
        .iter()
        .filter_map(|entry| Some((entry["id"].as_str()?, entry)));
    Ok(entries.collect())
}

/// Returns true for a dependency of the program itself, not of its tests or its build.
fn is_linked(dependency: &Value) -> bool {
    let kinds = dependency["dep_kinds"].as_array();
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
}

/// Returns the SPDX identifier of a package; it may only contain letters, digits, dots and hyphens.
fn spdx_id(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    let id = format!("SPDXRef-{}-{}", text("name"), text("version"));
    id.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-")
}

/// Returns licence files in the folder of a crate.
fn licences(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        if path.is_file() && LICENCES.iter().any(|licence| name.starts_with(licence)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Maintainer of the packages. To be set: the project has no address yet.
const MAINTAINER: &str = "The assay contributors <packages@assay.invalid>";

impl Builds<'_> {
    /// Makes the packages for a machine from the folder of its archive.
    fn packages(&self, machine: &str, target: &str, archive: &Path) -> Result<()> {
        let build = build_folder()?;
        // Manifests refer to target/release/package; both tools replace the prefix target/release.
        let contents = build.join(target).join("release/package");
        if contents.exists() {
            fs::remove_dir_all(&contents)?;
        }
        fs::create_dir_all(&contents)?;
        let agent = archive.join(format!("lib/assay/agents/assay-agent-{machine}-sqlite"));
        symlink(archive, contents.join("archive"))?;
        symlink(agent, contents.join("assay-agent"))?;
        self.write_changelog(&contents)?;
        let pack = "cp -R archive/share/man/man1 . && gzip -9n man1/* changelog.Debian";
        run(Command::new("sh").args(["-c", pack]).current_dir(&contents))?;
        let rpm_machine = match machine {
            "armv7l" => "armv7hl",
            machine => machine,
        };
        let deb = tool("cargo-deb", "3.8.0")?;
        let rpm = tool("cargo-generate-rpm", "0.21.1")?;
        for name in ["cli", "agent"] {
            run(Command::new(&deb)
                .args(["--locked", "--no-build", "--no-strip", "--target", target])
                .args(["--package", &format!("assay-{name}")])
                .args(["--maintainer", MAINTAINER, "--output"])
                .arg(&self.out)
                .env("SOURCE_DATE_EPOCH", self.date.to_string())
                .current_dir(workspace()))?;
            run(Command::new(&rpm)
                .args(["--auto-req", "disabled", "--target", target])
                .args(["--arch", rpm_machine])
                .args(["--package", &format!("crates/{name}"), "--target-dir"])
                .args([&build, Path::new("--output"), &self.out])
                .env("SOURCE_DATE_EPOCH", self.date.to_string())
                .current_dir(workspace()))?;
        }
        Ok(())
    }

    /// Writes a changelog of the packages, which Debian requires beside that of the program.
    fn write_changelog(&self, folder: &Path) -> Result<()> {
        let mut date = Command::new("date");
        date.args(["--utc", "--rfc-email", &format!("--date=@{}", self.date)]);
        let text = format!(
            "assay ({}-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- {MAINTAINER}  {}",
            self.version,
            output(&mut date)?
        );
        fs::write(folder.join("changelog.Debian"), text)?;
        Ok(())
    }
}

/// Returns a cargo subcommand of a fixed version, installed in the build folder.
fn tool(name: &str, version: &str) -> Result<PathBuf> {
    let folder = build_folder()?.join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !program.exists() {
        let package = format!("{name}@{version}");
        let install = ["install", "--quiet", "--locked", &package, "--root"];
        run(cargo().args(install).arg(&folder))?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::output;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

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

    #[test]
    fn the_bill_has_what_is_linked_and_not_what_tests() {
        let bill = Bill::read("aarch64-unknown-linux-musl").unwrap();
        let names: BTreeSet<&str> = bill.0.values().map(|c| c.name.as_str()).collect();
        for linked in ["assay-cli", "rusqlite", "SQLite", "musl", "rust-std"] {
            assert!(names.contains(linked), "{linked}");
        }
        for other in ["assay-testkit", "proptest", "cc"] {
            assert!(!names.contains(other), "{other}");
        }
        let sqlite = &bill.0["SPDXRef-SQLite"];
        assert!(sqlite.version.as_ref().unwrap().starts_with("3."));
        let used = bill.0.values().flat_map(|component| &component.uses);
        assert!(used.into_iter().all(|id| bill.0.contains_key(id)));
        let licences = bill.licences_of_crates().unwrap();
        assert!(licences.contains("\nrusqlite ") && licences.contains("Permission is hereby"));
    }

    #[test]
    fn a_document_names_each_component_and_all_that_it_uses() {
        let package = |name: &str, source: Option<&str>| {
            json!({
                "id": name, "name": name, "version": "1.0.0+2", "license": "MIT/Apache-2.0",
                "manifest_path": format!("/{name}/Cargo.toml"), "source": source,
            })
        };
        let metadata = json!({
            "packages": [package(PROGRAM, None), package("a_b", Some("registry"))],
            "resolve": {"nodes": [
                {"id": PROGRAM, "deps": [{"pkg": "a_b", "dep_kinds": [{"kind": null}]}]},
                {"id": "a_b", "deps": []},
            ]},
        });
        let document = Bill::of(&metadata)
            .unwrap()
            .spdx("name", "2026-01-01T00:00:00Z");
        let crates = document["packages"].as_array().unwrap();
        assert_eq!(crates.len(), 2);
        let used = crates.iter().find(|it| it["name"] == "a_b").unwrap();
        assert_eq!(used["SPDXID"], "SPDXRef-a-b-1.0.0-2");
        assert_eq!(used["licenseDeclared"], "MIT OR Apache-2.0");
        let locator = &used["externalRefs"][0]["referenceLocator"];
        assert_eq!(locator, "pkg:cargo/a_b@1.0.0%2B2");
        let relationships = document["relationships"].as_array().unwrap();
        assert_eq!(relationships[0]["relationshipType"], "DESCRIBES");
        assert_eq!(relationships[1]["relatedSpdxElement"], used["SPDXID"]);
    }

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn read(path: &str) -> String {
        fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Returns the list as `bitbake -c update_crates assay` writes it, with a note on this test.
    fn crates_of_lock(lock: &str) -> String {
        let (mut addresses, mut sums) = (String::new(), String::new());
        for package in lock.split("[[package]]").skip(1) {
            let field = |name: &str| {
                let start = format!("{name} = \"");
                let mut lines = package.lines();
                lines.find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'))
            };
            let (name, version) = (field("name").unwrap(), field("version").unwrap());
            if let Some(sum) = field("checksum") {
                writeln!(addresses, "    crate://crates.io/{name}/{version} \\").unwrap();
                writeln!(sums, "SRC_URI[{name}-{version}.sha256sum] = \"{sum}\"").unwrap();
            }
        }
        format!(
            "# Autogenerated with 'UPDATE_CRATES=1 cargo test -p xtask recipes', or with\n\
             # 'bitbake -c update_crates assay'\n\n\
             # from Cargo.lock\nSRC_URI += \" \\\n{addresses}\"\n\n{sums}"
        )
    }

    #[test]
    fn recipes_list_all_crates_of_the_lock() {
        let path = "contrib/yocto/assay-crates.inc";
        let wanted = crates_of_lock(&read("Cargo.lock"));
        assert!(
            wanted.contains("crate://crates.io/libsqlite3-sys/"),
            "{wanted}"
        );
        if std::env::var_os("UPDATE_CRATES").is_some() {
            fs::write(root().join(path), &wanted).unwrap();
        }
        let remedy = "UPDATE_CRATES=1 cargo test -p xtask recipes";
        assert!(
            read(path) == wanted,
            "{path} is not that of Cargo.lock: {remedy}"
        );
    }

    #[test]
    fn recipes_have_the_version_and_the_sums_of_the_licences() {
        let manifest = read("Cargo.toml");
        let version = manifest
            .lines()
            .find_map(|line| line.strip_prefix("version = "));
        let version = version.unwrap().trim_matches('"');
        let recipe = read(&format!("contrib/yocto/assay_{version}.bb"));
        for (path, line) in [
            ("contrib/aur/PKGBUILD", "pkgver="),
            ("contrib/buildroot/assay/assay.mk", "ASSAY_VERSION = v"),
            (
                "contrib/buildroot/assay-agent/assay-agent.mk",
                "ASSAY_AGENT_VERSION = v",
            ),
        ] {
            let line = format!("\n{line}{version}\n");
            assert!(read(path).contains(&line), "{path} lacks {line}");
        }
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let sum = |program: &str| {
                let printed = output(Command::new(program).arg(root().join(licence))).unwrap();
                printed.split_whitespace().next().unwrap().to_owned()
            };
            assert!(recipe.contains(&format!("file://{licence};md5={}", sum("md5sum"))));
            for package in ["assay", "assay-agent"] {
                let hashes = read(&format!("contrib/buildroot/{package}/{package}.hash"));
                assert!(hashes.contains(&format!("sha256  {}  {licence}\n", sum("sha256sum"))));
            }
        }
    }
}
