//! `cargo xtask fio-tests`: runs fio's own test programs and example jobs with
//! assay in place of fio.

mod document;
mod examples;
mod programs;

use crate::run;
use crate::run::{build_folder, shipped};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

const HELP: &str = "\
cargo xtask fio-tests SOURCE [--only N,N...] [--write]

Runs the test programs of fio's source tree and reads its example jobs, with
assay under the name of fio.

  SOURCE    the tree: `apt-get source fio` gives one
  --only    only these numbers of t/run-fio-tests.py, and no examples
  --write   update the results in docs/compat/fio.md

As root, all parts of the programs run. What fails leaves its output in the
folder fio-tests beside the build.";

/// Command-line request.
#[derive(Debug, PartialEq, Eq)]
struct FioTestArgs {
    source: PathBuf,
    only: Vec<u32>,
    write: bool,
}

/// Runs the programs and the examples. Returns an error if a program failed.
pub fn run(words: &[&str]) -> Result<()> {
    if words.iter().any(|word| ["--help", "-h"].contains(word)) {
        println!("{HELP}");
        return Ok(());
    }
    let request = request(words)?;
    let scratch = scratch()?;
    let fio = fio(&scratch)?;
    let results = programs::run(&request, &fio, &scratch)?;
    println!("\n{}", document::programs(&results));
    if request.only.is_empty() {
        let examples = examples::run(&request.source, &fio, &scratch)?;
        println!("{}", document::examples(&examples));
        if request.write {
            let version = document::version(&request.source)?;
            document::write(&version, &results, &examples)?;
        }
    }
    let failed = results.iter().filter(|result| result.failed()).count();
    if failed > 0 {
        bail!("{failed} failed; see {}", scratch.display());
    }
    Ok(())
}

fn request(words: &[&str]) -> Result<FioTestArgs> {
    let (mut source, mut only, mut write) = (None, Vec::new(), false);
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--write" => write = true,
            "--only" => only = numbers(words.next().copied())?,
            word if word.starts_with('-') => bail!("no such option: {word}\n\n{HELP}"),
            word => source = Some(PathBuf::from(word)),
        }
    }
    let source = source.with_context(|| format!("fio's source tree is not named\n\n{HELP}"))?;
    if write && !only.is_empty() {
        bail!("--write needs the results of all programs: leave out --only");
    }
    let source = source
        .canonicalize()
        .with_context(|| format!("{} is not there", source.display()))?;
    Ok(FioTestArgs {
        source,
        only,
        write,
    })
}

fn numbers(list: Option<&str>) -> Result<Vec<u32>> {
    let list = list.context("--only needs numbers, as in --only 1,1010")?;
    list.split(',')
        .map(|number| {
            number
                .trim()
                .parse()
                .with_context(|| format!("--only: '{number}' is not a number"))
        })
        .collect()
}

/// Makes an empty folder beside the build, on a real disk: some programs use
/// direct I/O, which a file system in memory may not support.
fn scratch() -> Result<PathBuf> {
    let folder = build_folder()?.join("fio-tests");
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Builds the released assay and links it under the name fio.
fn fio(scratch: &Path) -> Result<PathBuf> {
    let link = scratch.join("fio");
    symlink(shipped()?, &link).with_context(|| format!("cannot make {}", link.display()))?;
    Ok(link)
}

/// Returns a search path whose first Python has SciPy, six and statsmodels; `None` if the
/// system's Python has them.
fn with_modules() -> Result<Option<OsString>> {
    let has_modules = |python: &mut Command| {
        python
            .args(["-c", "import scipy, six, statsmodels"])
            .stderr(Stdio::null());
        python.status().is_ok_and(|status| status.success())
    };
    if has_modules(&mut Command::new("python3")) {
        return Ok(None);
    }
    let folder = build_folder()?.join("fio-tests-python");
    let programs = folder.join("bin");
    if !has_modules(&mut Command::new(programs.join("python3"))) {
        run::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut install = Command::new(programs.join("pip"));
        run::run(install.args(["install", "--quiet", "scipy", "six", "statsmodels"]))?;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let all = [programs].into_iter().chain(env::split_paths(&path));
    env::join_paths(all)
        .map(Some)
        .context("the build's folder cannot be part of PATH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_any_order() {
        let expected = FioTestArgs {
            source: "/".into(),
            only: vec![1, 1010],
            write: false,
        };
        assert_eq!(request(&["/", "--only", "1,1010"]).unwrap(), expected);
        assert_eq!(request(&["--only", "1,1010", "/"]).unwrap(), expected);
        for wrong in [
            &["--only", "1"][..],
            &["/", "--only", "x"],
            &["/", "--write", "--only", "1"],
            &["/", "--rite"],
        ] {
            assert!(request(wrong).is_err(), "{wrong:?}");
        }
    }
}
