//! `cargo xtask quick`: the checks that need no root, no agents and no boards.

use crate::run::{announce, cargo, output, run};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

/// Checks the format, then runs lints and unit tests of the crates that a change can affect.
///
/// Always runs cargo on the whole workspace: for single packages it would unify features of
/// their dependencies differently and rebuild all of them.
pub fn run_checks(words: &[&str]) -> Result<()> {
    let workspace = Workspace::read()?;
    let changed = match words {
        [] => workspace.owners(&changed_files()?),
        names => names
            .iter()
            .map(|name| workspace.named(name))
            .collect::<Result<_>>()?,
    };
    let affected = workspace.affected(changed);
    run(cargo().args(["fmt", "--all", "--check"]))?;
    let lints = ["clippy", "--workspace", "--all-targets", "--locked"];
    run(cargo().args(lints).args(["--", "--deny", "warnings"]))?;
    let mut failed = Vec::new();
    for (folder, program) in test_programs()? {
        let Some(package) = workspace.packages.get(&folder) else {
            continue;
        };
        let tested = affected.contains(&folder);
        if tested && run(&mut unit_tests(&folder, &program)).is_err() {
            failed.push(package.name.as_str());
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!("unit tests failed: {}", failed.join(", "))
}

/// Package of the workspace.
struct Package {
    name: String,
    /// Folders of the workspace's packages that it depends on.
    uses: Vec<PathBuf>,
}

/// Packages of the workspace by folder.
struct Workspace {
    packages: BTreeMap<PathBuf, Package>,
}

impl Workspace {
    fn read() -> Result<Self> {
        let metadata = ["metadata", "--no-deps", "--format-version", "1"];
        let metadata: Value = serde_json::from_str(&output(cargo().args(metadata))?)?;
        Self::of(&metadata).context("cargo metadata lacks packages")
    }

    fn of(metadata: &Value) -> Option<Self> {
        let packages = metadata["packages"].as_array()?.iter();
        let packages = packages.map(|package| {
            let uses = package["dependencies"].as_array()?.iter();
            let uses = uses.filter_map(|used| used["path"].as_str().map(PathBuf::from));
            let name = package["name"].as_str()?.to_owned();
            let uses = uses.collect();
            Some((folder_of(package)?, Package { name, uses }))
        });
        let packages = packages.collect::<Option<_>>()?;
        Some(Self { packages })
    }

    /// Finds the package with this name, or in this folder of `crates`.
    fn named(&self, name: &str) -> Result<PathBuf> {
        let mut packages = self.packages.iter();
        let found = packages
            .find(|(folder, package)| package.name == name || folder.ends_with(name))
            .with_context(|| format!("no crate {name}"))?;
        Ok(found.0.clone())
    }

    /// Returns the packages that the files belong to. A file outside all packages, such as
    /// `Cargo.lock`, belongs to all; a page of documentation belongs to none.
    fn owners(&self, files: &[PathBuf]) -> BTreeSet<PathBuf> {
        let mut owners = BTreeSet::new();
        for file in files {
            let mut folders = self.packages.keys();
            match folders.find(|folder| file.starts_with(folder)) {
                Some(folder) => drop(owners.insert(folder.clone())),
                None if file.extension().is_some_and(|end| end == "md") => {}
                None => owners.extend(self.packages.keys().cloned()),
            }
        }
        owners
    }

    /// Returns these packages and all that depend on them.
    fn affected(&self, changed: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let mut affected = changed;
        loop {
            let users = self
                .packages
                .iter()
                .filter(|(_, package)| package.uses.iter().any(|used| affected.contains(used)));
            let users: Vec<PathBuf> = users.map(|(folder, _)| folder.clone()).collect();
            let before = affected.len();
            affected.extend(users);
            if affected.len() == before {
                return affected;
            }
        }
    }
}

/// Returns the folder of a package in cargo's JSON.
fn folder_of(package: &Value) -> Option<PathBuf> {
    let manifest = Path::new(package["manifest_path"].as_str()?);
    manifest.parent().map(Path::to_owned)
}

/// Returns uncommitted files or, if there are none, the files of the last commit.
fn changed_files() -> Result<Vec<PathBuf>> {
    let root = output(Command::new("git").args(["rev-parse", "--show-toplevel"]))?;
    let root = Path::new(root.trim_end());
    let list = |words: &[&str]| -> Result<Vec<PathBuf>> {
        let names = output(Command::new("git").args(words).current_dir(root))?;
        Ok(names.lines().map(|name| root.join(name)).collect())
    };
    let mut files = list(&["diff", "--name-only", "HEAD"])?;
    files.extend(list(&["ls-files", "--others", "--exclude-standard"])?);
    if files.is_empty() {
        return list(&["show", "--first-parent", "--name-only", "--format=", "HEAD"]);
    }
    Ok(files)
}

/// Builds the unit tests of all packages. Returns each package's folder and test program.
fn test_programs() -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut build = cargo();
    build.args(["test", "--workspace", "--lib", "--bins", "--no-run"]);
    build.args(["--locked", "--message-format", "json-render-diagnostics"]);
    announce(&build);
    build.stderr(std::process::Stdio::inherit());
    let messages = output(&mut build)?;
    let programs = messages.lines().map(|line| {
        let message: Value = serde_json::from_str(line)?;
        let program = message["executable"].as_str().map(PathBuf::from);
        let program = program.filter(|_| message["profile"]["test"] == true);
        Ok(folder_of(&message).zip(program))
    });
    let programs: Vec<_> = programs.collect::<Result<_>>()?;
    Ok(programs.into_iter().flatten().collect())
}

/// Returns the command for a package's unit tests, without those that need root.
fn unit_tests(folder: &Path, program: &Path) -> Command {
    let mut tests = Command::new(program);
    // Tests spend most of their time waiting for other programs.
    let threads = 2 * available_parallelism().map_or(1, usize::from);
    tests
        .arg("--quiet")
        .current_dir(folder)
        .env("RUST_TEST_THREADS", threads.to_string())
        .env(assay_testkit::QUICK, "1");
    tests
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workspace() -> Workspace {
        let package = |name: &str, uses: &[&str]| {
            let uses = uses
                .iter()
                .map(|used| json!({ "path": format!("/w/{used}") }));
            let uses: Vec<Value> = uses.chain([json!({ "path": null })]).collect();
            let manifest = format!("/w/{name}/Cargo.toml");
            json!({ "name": format!("assay-{name}"), "manifest_path": manifest, "dependencies": uses })
        };
        let packages = [
            package("model", &[]),
            package("link", &[]),
            package("stats", &["model"]),
            package("cli", &["stats", "link"]),
        ];
        Workspace::of(&json!({ "packages": packages })).unwrap()
    }

    fn affected(files: &[&str]) -> Vec<String> {
        let workspace = workspace();
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let affected = workspace.affected(workspace.owners(&files));
        let names = affected
            .iter()
            .map(|folder| workspace.packages[folder].name.clone());
        names.collect()
    }

    #[test]
    fn a_change_affects_all_that_use_the_crate() {
        let all = ["assay-cli", "assay-link", "assay-model", "assay-stats"];
        assert_eq!(
            affected(&["/w/link/src/lib.rs"]),
            ["assay-cli", "assay-link"]
        );
        assert_eq!(
            affected(&["/w/model/src/lib.rs"]),
            ["assay-cli", "assay-model", "assay-stats"]
        );
        assert_eq!(affected(&["/w/Cargo.lock"]), all);
        assert_eq!(affected(&["/w/docs/README.md"]), [""; 0]);
    }

    #[test]
    fn a_crate_is_named_by_package_or_folder() {
        let workspace = workspace();
        assert_eq!(workspace.named("cli").unwrap(), Path::new("/w/cli"));
        assert_eq!(workspace.named("assay-cli").unwrap(), Path::new("/w/cli"));
        assert!(workspace.named("lx").is_err());
    }
}
