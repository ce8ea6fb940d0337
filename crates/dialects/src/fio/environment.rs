//! Questions of a job file about the machine it is read on.

use std::io;
use std::path::Path;

/// Questions of a job file about the machine it is read on: other files, variables, sizes. A trait,
/// because the dialects do no I/O.
pub trait Environment {
    /// The contents of a file: a job file, an included one, a pattern. The path
    /// `-` is standard input.
    ///
    /// # Errors
    ///
    /// Whatever the system says.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// A variable of the process's environment.
    fn var(&self, name: &str) -> Option<String>;
    /// Configured processors (`$ncpus`).
    fn cpus(&self) -> u32;
    /// Physical memory in MiB (`$mb_memory`).
    fn memory_mib(&self) -> u64;
    /// Size of a page of memory (`$pagesize`).
    fn page_bytes(&self) -> u32;
    /// A number that differs from run to run.
    fn entropy(&self) -> u64;
    /// Something lies at this path that is not a regular file, such as a
    /// device: a job of that name works on it.
    fn is_special(&self, path: &Path) -> bool;
}
