//! Bill of materials of the program: its crates and libraries, with their licences.

use crate::agents::toolchain::Toolchain;
use crate::run::{cargo, output};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
pub struct Bill(BTreeMap<String, Component>);

impl Bill {
    /// Reads the components of the program for a target. Crates that only run during its build are
    /// left out.
    pub fn read(target: &str) -> Result<Self> {
        let mut metadata = cargo();
        metadata.args(["metadata", "--locked", "--format-version", "1"]);
        metadata.args(["--filter-platform", target]);
        // The features of the archive's program.
        metadata.args(["--features", &format!("assay-cli/{}", super::FEATURES)]);
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
