//! The examples that come with fio's source, when `FIO_SOURCE` says where that
//! is.

use crate::fio::{Environment, FioCommand, parse};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The real files, and nothing else of this machine.
struct RealFiles;

impl Environment for RealFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn var(&self, _: &str) -> Option<String> {
        None
    }

    fn cpus(&self) -> u32 {
        128
    }

    fn memory_mib(&self) -> u64 {
        4096
    }

    fn page_bytes(&self) -> u32 {
        4096
    }

    fn entropy(&self) -> u64 {
        1
    }

    fn is_special(&self, path: &Path) -> bool {
        path.starts_with("/dev")
    }
}

/// What becomes of a job file: `runs`, or the error.
fn outcome(path: &Path) -> Result<(), String> {
    let args = [OsString::from(path)];
    match parse(&args, &RealFiles) {
        Ok(FioCommand::Run(_)) => Ok(()),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn examples_run_or_are_refused_for_a_named_reason() {
    let Some(source) = std::env::var_os("FIO_SOURCE") else {
        assay_testkit::skip("FIO_SOURCE does not say where fio's source is");
        return;
    };
    let mut wrong = Vec::new();
    for folder in ["examples", "t/jobs"] {
        let folder = PathBuf::from(&source).join(folder);
        let entries = std::fs::read_dir(&folder).expect("a folder of job files");
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "fio"))
            .collect();
        paths.sort();
        assert!(!paths.is_empty(), "{}", folder.display());
        for path in paths {
            match outcome(&path) {
                Ok(()) => eprintln!("runs     {}", path.display()),
                Err(error) => {
                    eprintln!("refused  {error}");
                    // The second: a value is to come from the environment.
                    let named = ["not supported", "needs a value"];
                    if !named.iter().any(|reason| error.contains(reason)) {
                        wrong.push(error);
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
