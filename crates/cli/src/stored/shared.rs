//! Shared runs in a folder, which may be a working copy of git, and the secret that hashes the
//! identities of the user's units.

use crate::checks::input;
use crate::exit::Failure;
use crate::output::say;
use crate::stored::lookup::data_folder;
use assay_model::text::clean;
use assay_report::shared::{Secret, SharedRun};
use rustix::rand::{GetRandomFlags, getrandom};
use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// File of the secret in the data folder.
const SECRET: &str = "share.key";
/// Mode of the secret's file: only the user may read it.
const OWN: u32 = 0o600;
const OTHERS: u32 = 0o077;

/// Maximum number of files that are read.
const MAX_FILES: usize = 100_000;
/// Depth of nested folders that are searched.
const DEPTH: usize = 4;

/// Returns the secret, which is created if it does not exist.
pub fn secret() -> Result<Secret, Failure> {
    let path = secret_path()?;
    if let Some(secret) = read_secret(&path)? {
        return Ok(secret);
    }
    make_secret(&path)
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))?;
    // Another command may have created it first: use the secret in the file.
    read_secret(&path)?.ok_or_else(|| Failure::failed(format!("{} is gone", path.display())))
}

/// Returns the secret if it exists: a user who never shared a run has no unit in the population.
pub fn known_secret() -> Result<Option<Secret>, Failure> {
    read_secret(&secret_path()?)
}

fn secret_path() -> Result<PathBuf, Failure> {
    let folder = data_folder().ok_or_else(|| {
        Failure::usage("neither XDG_DATA_HOME nor HOME is set: there is no place for the secret")
    })?;
    Ok(folder.join(SECRET))
}

fn read_secret(path: &Path) -> Result<Option<Secret>, Failure> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::in_file(path, error)),
    };
    let unusable = |error: io::Error| Failure::in_file(path, error);
    let meta = file.metadata().map_err(unusable)?;
    if meta.mode() & OTHERS != 0 {
        let why = "other users can read this secret: chmod 600 it, if none has";
        return Err(Failure::in_file(path, why));
    }
    let mut bytes = Vec::new();
    file.take(64).read_to_end(&mut bytes).map_err(unusable)?;
    let secret = bytes.try_into().map_err(|_| {
        Failure::in_file(path, "it is no secret of assay share, which has 32 bytes")
    })?;
    Ok(Some(Secret(secret)))
}

/// Writes the secret to a temporary file first, so that no process reads half of it.
fn make_secret(path: &Path) -> io::Result<()> {
    let mut bytes = [0; 32];
    if getrandom(&mut bytes, GetRandomFlags::empty())? != bytes.len() {
        return Err(io::Error::other("the kernel gave too few random bytes"));
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    let mut new = File::options();
    let mut file = new.write(true).create_new(true).mode(OWN).open(&beside)?;
    let written = file.write_all(&bytes).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| match fs::hard_link(&beside, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    fs::remove_file(&beside)?;
    linked
}

/// Reads all shared runs below a folder, and prints a warning for other files.
pub fn read(folder: &Path) -> Result<Vec<SharedRun>, Failure> {
    let mut files = Vec::new();
    search(folder, DEPTH, &mut files)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", folder.display())))?;
    files.sort();
    let mut runs = Vec::with_capacity(files.len());
    let mut damaged = Vec::new();
    for file in &files {
        match read_one(file) {
            Ok(run) => runs.push(run),
            Err(why) => damaged.push(format!("{}: {why}", file.display())),
        }
    }
    if let Some(first) = damaged.first() {
        say(&clean(&format!(
            "assay: warning: {} of {} files are no shared runs and do not count, such as {first}",
            damaged.len(),
            files.len()
        )));
    }
    Ok(runs)
}

/// Finds files that end in .json; hidden folders, such as git's own, and links are skipped.
fn search(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry: DirEntry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        if kind.is_dir() && !hidden && depth > 0 {
            search(&path, depth - 1, files)?;
        } else if kind.is_file() && !hidden && is_json {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            let why = format!("it has more than {MAX_FILES} files");
            return Err(io::Error::other(why));
        }
    }
    Ok(())
}

fn read_one(path: &Path) -> Result<SharedRun, String> {
    let text = input::small_text(path).map_err(|error| error.to_string())?;
    let run: SharedRun = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    match run.is_sound() {
        true => Ok(run),
        false => Err("it is of another version".to_owned()),
    }
}
