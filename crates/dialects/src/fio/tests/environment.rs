//! A machine made of what a test says.

use crate::fio::Environment;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// A machine with four processors and the files that a test says.
#[derive(Default)]
pub(in crate::fio) struct TestEnvironment {
    files: HashMap<PathBuf, Vec<u8>>,
    variables: HashMap<String, String>,
}

impl TestEnvironment {
    pub(in crate::fio) fn with_file(mut self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.files
            .insert(PathBuf::from(path), bytes.as_ref().to_vec());
        self
    }

    pub(in crate::fio) fn with_var(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }
}

impl Environment for TestEnvironment {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files
            .get(path)
            .cloned()
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn var(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn cpus(&self) -> u32 {
        4
    }

    fn memory_mib(&self) -> u64 {
        1024
    }

    fn page_bytes(&self) -> u32 {
        4096
    }

    fn entropy(&self) -> u64 {
        7
    }

    fn is_special(&self, path: &Path) -> bool {
        path == Path::new("/dev/special")
    }
}
