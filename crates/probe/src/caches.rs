//! The page cache of the whole system.

use crate::roots::Roots;
use std::fs;
use std::io;
use std::path::PathBuf;

/// The page cache could not be dropped.
#[derive(Debug, thiserror::Error)]
#[error("cannot drop the page cache through {}: {source} (needs root)", path.display())]
pub struct DropCachesError {
    path: PathBuf,
    source: io::Error,
}

/// Evicts all clean pages of the whole system from the page cache; dirty ones
/// stay, so flush first. For when `posix_fadvise(2)` on the file is not
/// enough.
///
/// # Errors
/// Without root, or in a container that may not.
pub fn drop_caches(roots: &Roots) -> Result<(), DropCachesError> {
    let path = roots.proc.join("sys/vm/drop_caches");
    fs::write(&path, "1\n").map_err(|source| DropCachesError { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;

    #[test]
    fn pages_are_dropped_but_not_inodes() {
        let machine = Machine::new();
        machine.file("proc/sys/vm/drop_caches", "0\n");
        drop_caches(&machine.roots).unwrap();
        let written = fs::read_to_string(machine.roots.proc.join("sys/vm/drop_caches")).unwrap();
        assert_eq!(written, "1\n");
    }

    #[test]
    fn a_refusal_says_where_and_what_to_do() {
        let machine = Machine::new();
        let error = drop_caches(&machine.roots).unwrap_err().to_string();
        assert!(
            error.contains("drop_caches") && error.contains("root"),
            "{error}"
        );
    }
}
