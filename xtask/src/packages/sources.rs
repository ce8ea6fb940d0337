//! Package sources: the Debian mirror of this machine's apt settings, with components and
//! suites that the machine itself may not use.

use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Settings of the machine.
const APT: &str = "/etc/apt";
const OS_RELEASE: &str = "/etc/os-release";

/// Names of a release that do not change with the next release.
const ALIASES: [&str; 2] = ["stable", "oldstable"];
/// Suffix of a suite with newer programs.
const BACKPORTS: &str = "-backports";
/// Fields that are set here; all others (a key, a date that is not checked) are kept.
const OWN_FIELDS: [&str; 6] = [
    "types",
    "suites",
    "components",
    "architectures",
    "arch",
    "enabled",
];

/// Mirror of this machine's release.
#[derive(Debug, PartialEq, Eq)]
pub struct Mirror {
    /// Name of the release in the machine's settings.
    suite: String,
    components: String,
    /// Other fields in the deb822 format of sources.list(5), one line each.
    fields: String,
}

impl Mirror {
    /// Returns the first mirror that the machine uses.
    pub fn of_machine() -> Result<Self> {
        let codename = codename(&fs::read_to_string(OS_RELEASE)?)
            .with_context(|| format!("{OS_RELEASE} names no VERSION_CODENAME"))?;
        let mirrors = stanzas(Path::new(APT))?;
        let named = |suite: &str| mirrors.iter().find_map(|stanza| mirror(stanza, suite));
        named(&codename)
            .or_else(|| ALIASES.into_iter().find_map(named))
            .with_context(|| format!("no source in {APT} has the release {codename}"))
    }

    /// Returns the suite with newer programs.
    pub fn backports(&self) -> String {
        format!("{}{BACKPORTS}", self.suite)
    }

    /// Returns a source of the release and of its backports.
    pub fn with_backports(&self) -> String {
        let suites = format!("{} {}", self.suite, self.backports());
        self.source(&suites, &self.components)
    }

    /// Returns a source of the component non-free only.
    pub fn not_free(&self) -> String {
        self.source(&self.suite, "non-free")
    }

    fn source(&self, suites: &str, components: &str) -> String {
        format!(
            "Types: deb\nSuites: {suites}\nComponents: {components}\n{}",
            self.fields
        )
    }
}

/// Links all of the machine's sources into a folder.
pub fn link_all(folder: &Path) -> Result<()> {
    for file in files(Path::new(APT))? {
        let name = file.file_name().context("a file without a name")?;
        symlink(&file, folder.join(name)).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// Returns the files of sources: `sources.list`, and those in `sources.list.d` that apt
/// reads.
fn files(apt: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if let Ok(entries) = fs::read_dir(apt.join("sources.list.d")) {
        for entry in entries {
            found.push(entry?.path());
        }
    }
    found.retain(|path| {
        let ending = path.extension();
        ending.is_some_and(|ending| ending == "list" || ending == "sources")
    });
    found.sort();
    let main = apt.join("sources.list");
    if main.exists() {
        found.insert(0, main);
    }
    Ok(found)
}

/// Reads all sources as deb822 stanzas, regardless of the format of their files.
fn stanzas(apt: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in files(apt)? {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        if file.extension().is_some_and(|ending| ending == "sources") {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            let text = lines.collect::<Vec<_>>().join("\n");
            found.extend(text.split("\n\n").map(str::to_owned));
        } else {
            found.extend(text.lines().filter_map(of_one_line));
        }
    }
    Ok(found)
}

/// Converts a line of a `sources.list` to a stanza: `deb [option=value ...] URI SUITE
/// COMPONENT...`.
fn of_one_line(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?, words.next()?);
    let components = words.collect::<Vec<_>>().join(" ");
    let options: String = options
        .split_whitespace()
        .filter_map(|option| option.split_once('='))
        .map(|(name, value)| format!("{name}: {}\n", value.replace(',', " ")))
        .collect();
    Some(format!(
        "Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: {components}\n{options}"
    ))
}

/// Returns the mirror of an enabled stanza for a suite.
fn mirror(stanza: &str, suite: &str) -> Option<Mirror> {
    let has = |name: &str, word: &str| {
        field(stanza, name).is_some_and(|value| value.split_whitespace().any(|own| own == word))
    };
    let is_on = field(stanza, "enabled").is_none_or(|value| value.trim() != "no");
    let is_disc = field(stanza, "uris")?.trim().starts_with("cdrom:");
    if !is_on || is_disc || !has("types", "deb") || !has("suites", suite) {
        return None;
    }
    let mut fields = String::new();
    let mut is_kept = false;
    for line in stanza.lines().filter(|line| !line.trim().is_empty()) {
        // A line that begins with white space continues the field before it.
        if !line.starts_with([' ', '\t']) {
            let name = line.split(':').next().unwrap_or_default();
            is_kept = !OWN_FIELDS.contains(&name.to_ascii_lowercase().as_str());
        }
        if is_kept {
            fields.push_str(line);
            fields.push('\n');
        }
    }
    Some(Mirror {
        suite: suite.to_owned(),
        components: field(stanza, "components")?.trim().to_owned(),
        fields,
    })
}

/// Returns the value of a field that has one line.
fn field<'a>(stanza: &'a str, name: &str) -> Option<&'a str> {
    stanza.lines().find_map(|line| {
        let (own, value) = line.split_once(':')?;
        own.eq_ignore_ascii_case(name).then_some(value)
    })
}

fn codename(os_release: &str) -> Option<String> {
    let mut lines = os_release.lines();
    let value = lines.find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(value.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirror_of(name: &str, text: &str, suite: &str) -> Option<Mirror> {
        let apt = tempfile::tempdir().unwrap();
        let file = apt.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        let stanzas = stanzas(apt.path()).unwrap();
        stanzas.iter().find_map(|stanza| mirror(stanza, suite))
    }

    #[test]
    fn the_mirror_is_the_machines_own_in_both_forms_of_sources() {
        let lines = "# deb http://old/debian b main\n\
                     deb http://security/debian b-security main\n\
                     deb [arch=amd64 signed-by=/k.gpg] http://near/debian b main contrib\n";
        let stanzas = "Types: deb\n# http://old/debian\nURIs: http://near/debian\n\
                       Suites: b b-updates\nComponents: main contrib\nsigned-by: /k.gpg\n\n\
                       Types: deb\nURIs: http://security/debian\nSuites: b-security\n\
                       Components: main\n";
        for (file, text) in [
            ("sources.list", lines),
            ("sources.list.d/debian.sources", stanzas),
        ] {
            let found = mirror_of(file, text, "b").unwrap();
            assert_eq!(
                found.with_backports(),
                "Types: deb\nSuites: b b-backports\nComponents: main contrib\n\
                 URIs: http://near/debian\nsigned-by: /k.gpg\n"
            );
            assert!(
                found
                    .not_free()
                    .contains("Suites: b\nComponents: non-free\n")
            );
        }
    }

    #[test]
    fn sources_that_apt_does_not_use_name_no_mirror() {
        let off = "Enabled: no\nTypes: deb\nURIs: http://x\nSuites: b\nComponents: main\n";
        assert_eq!(mirror_of("sources.list.d/a.sources", off, "b"), None);
        let disc = "deb cdrom:[Debian]/ b main\n";
        assert_eq!(mirror_of("sources.list", disc, "b"), None);
        assert_eq!(
            mirror_of("sources.list.d/a.list.disabled", "deb x b m", "b"),
            None
        );
        let key =
            "Types: deb\nURIs: http://x\nSuites: b\nComponents: main\nSigned-By:\n -----\n .\n";
        let found = mirror_of("sources.list.d/a.sources", key, "b").unwrap();
        assert!(found.not_free().ends_with("Signed-By:\n -----\n .\n"));
    }

    #[test]
    fn the_release_is_that_of_the_system() {
        assert_eq!(
            codename("ID=x\nVERSION_CODENAME=\"b\"\n").as_deref(),
            Some("b")
        );
        assert_eq!(codename("ID=x\n"), None);
    }
}
