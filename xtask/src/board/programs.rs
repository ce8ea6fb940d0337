//! `cargo xtask board PROGRAM`: prepares a Debian program for the emulated board with all libraries
//! that it needs: fio, to compare its rates with assay's there, and the OpenSSH client, with which
//! an assay on the board reaches another machine. fio takes 60 MB from Debian's servers and a while
//! to copy to the board, so no other command prepares them.

use crate::packages::{self, BOARD, Packages, unpack};
use crate::run::run;
use anyhow::{Context, Result};
use assay_testkit::board;
use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, FileHeader};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version of the prepared files. Raise it with every change to them.
const RECIPE: &str = "1";
/// Programs with their packages.
const PROGRAMS: [(&str, &str); 2] = [("fio", "fio"), ("ssh", "openssh-client")];

/// Makes the folder of a program unless it exists.
pub fn prepare(program: &str) -> Result<()> {
    let known = PROGRAMS.iter().find(|(name, _)| *name == program);
    let (_, package) = known.context("programs for the board: fio, ssh")?;
    let make = |folder: &Path| make(folder, program, package);
    packages::prepare(&board::program_folder(program), RECIPE, make)
        .with_context(|| format!("cannot prepare the board's {program}"))
}

fn make(folder: &Path, program: &str, package: &str) -> Result<()> {
    let work = folder.join("work");
    let packages = Packages::update(&work.join("apt"))?;
    let tree = work.join("tree");
    for package in packages.all_of(BOARD, &[package])? {
        unpack(&package, &tree)?;
    }
    let chosen = work.join("chosen");
    fs::create_dir(&chosen)?;
    for file in with_libraries(&tree, program)? {
        let name = file.file_name().context("a file without a name")?;
        fs::copy(&file, chosen.join(name))?;
    }
    run(Command::new("tar")
        .arg("--create")
        .arg("--file")
        .arg(folder.join(board::PROGRAM_ARCHIVE))
        .arg("--directory")
        .args([chosen.as_path(), Path::new(".")]))?;
    fs::remove_dir_all(&work)?;
    Ok(())
}

/// Returns the program and its direct and indirect libraries.
fn with_libraries(tree: &Path, program: &str) -> Result<Vec<PathBuf>> {
    let mut there = BTreeMap::new();
    libraries(tree, &mut there)?;
    let mut found = vec![tree.join("usr/bin").join(program)];
    let mut looked_at = 0;
    while let Some(file) = found.get(looked_at) {
        for name in needed(file)? {
            // `remove` makes sure that each is added once.
            found.extend(there.remove(&name));
        }
        looked_at += 1;
    }
    Ok(found)
}

/// Finds files of a tree with names of libraries. Links in packages point to files beside them.
fn libraries(folder: &Path, found: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            libraries(&path, found)?;
        } else if path.is_file() && name.contains(".so") {
            found.insert(name, path);
        }
    }
    Ok(())
}

/// Names of the libraries that a file is linked to.
fn needed(file: &Path) -> Result<Vec<String>> {
    let image = fs::read(file)?;
    let read = || -> object::Result<Vec<String>> {
        let header = FileHeader64::<Endianness>::parse(&*image)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, &*image)?;
        let Some((entries, strings)) = sections.dynamic(endian, &*image)? else {
            return Ok(Vec::new());
        };
        let strings = sections.strings(endian, &*image, strings)?;
        let wanted = entries
            .iter()
            .filter(|entry| entry.tag(endian) == DT_NEEDED);
        wanted
            .map(|entry| entry.string(endian, strings))
            .map(|name| Ok(String::from_utf8_lossy(name?).into_owned()))
            .collect()
    };
    read().with_context(|| file.display().to_string())
}
