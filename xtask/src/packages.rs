//! Debian packages, installed or only downloaded. apt runs with private folders and settings, so
//! that the machine's stay unchanged.
//!
//! The package sources are the Debian mirror of this machine's apt settings, with components and
//! suites that the machine itself may not use.

use crate::run::{build_folder, output, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
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
    link_all(&sources)?;
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
struct Mirror {
    /// Name of the release in the machine's settings.
    suite: String,
    components: String,
    /// Other fields in the deb822 format of sources.list(5), one line each.
    fields: String,
}

impl Mirror {
    /// Returns the first mirror that the machine uses.
    fn of_machine() -> Result<Self> {
        let codename = codename(&fs::read_to_string(OS_RELEASE)?)
            .with_context(|| format!("{OS_RELEASE} names no VERSION_CODENAME"))?;
        let mirrors = stanzas(Path::new(APT))?;
        let named = |suite: &str| mirrors.iter().find_map(|stanza| mirror(stanza, suite));
        named(&codename)
            .or_else(|| ALIASES.into_iter().find_map(named))
            .with_context(|| format!("no source in {APT} has the release {codename}"))
    }

    /// Returns the suite with newer programs.
    fn backports(&self) -> String {
        format!("{}{BACKPORTS}", self.suite)
    }

    /// Returns a source of the release and of its backports.
    fn with_backports(&self) -> String {
        let suites = format!("{} {}", self.suite, self.backports());
        self.source(&suites, &self.components)
    }

    /// Returns a source of the component non-free only.
    fn not_free(&self) -> String {
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
fn link_all(folder: &Path) -> Result<()> {
    for file in source_files(Path::new(APT))? {
        let name = file.file_name().context("a file without a name")?;
        symlink(&file, folder.join(name)).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// Returns the files of sources: `sources.list`, and those in `sources.list.d` that apt
/// reads.
fn source_files(apt: &Path) -> Result<Vec<PathBuf>> {
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
    for file in source_files(apt)? {
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
