//! Claiming the files that a work makes under names which others use too: two
//! works on one file would measure, and remove, each other's.

use crate::permission::refuse;
use assay_engine::held::shown;
use assay_model::wire::Refusal;
use assay_model::work::WorkSpec;
use rustix::io::Errno;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

/// Claims the files of a work as long as what this gives lives, at the longest
/// until the process ends. The claim is a name without a file (unix(7), abstract
/// sockets): a file beside the others would be left by a kill, and a lock on one
/// that is removed and made again holds nobody. Other works of this machine and
/// network namespace see it; other programs do not.
///
/// # Errors
/// When another work has claimed one of them.
pub(super) fn files_of(work: &dyn WorkSpec) -> Result<Vec<UnixListener>, Refusal> {
    let mut files = work.claims();
    files.sort();
    files.dedup();
    let mut claims = Vec::new();
    for path in files {
        let Some(name) = name_of(&path) else {
            continue;
        };
        let address = SocketAddr::from_abstract_name(name);
        match address.and_then(|address| UnixListener::bind_addr(&address)) {
            Ok(claim) => claims.push(claim),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::ADDRINUSE) => {
                return Err(refuse(format!(
                    "another assay works on {} now: wait for its end, or {}",
                    shown(&path),
                    work.claim_remedy()
                )));
            }
            // Where there are no such names, works are as free as other
            // programs.
            Err(_) => {}
        }
    }
    Ok(claims)
}

/// The name of a claim: the folder and the name in it, so that it is the same
/// before the file is made and after; `None` when there is no such folder.
fn name_of(path: &Path) -> Option<String> {
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(_) => fs::canonicalize(path.parent()?)
            .ok()?
            .join(path.file_name()?),
    };
    let folder = fs::metadata(real.parent()?).ok()?;
    let mut hasher = DefaultHasher::new();
    real.file_name()?.hash(&mut hasher);
    Some(format!(
        "assay/{}/{}/{:x}",
        folder.dev(),
        folder.ino(),
        hasher.finish()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::work::iozone::Iozone;
    use std::path::PathBuf;

    fn on(files: &[PathBuf]) -> Iozone {
        Iozone {
            files: files.to_vec(),
            ..Iozone::default()
        }
    }

    #[test]
    fn a_file_is_claimed_once_by_whatever_name_and_whether_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other] = ["iozone.tmp", "other"].map(|name| folder.path().join(name));
        let held = files_of(&on(&[file.clone(), file.clone()])).unwrap();
        fs::write(&file, "").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            let refusal = files_of(&on(&[other.clone(), path.clone()])).unwrap_err();
            assert!(refusal.message.contains("another assay works on"));
        }
        assert!(files_of(&on(&[other])).is_ok(), "and nothing stays claimed");
        drop(held);
        assert!(files_of(&on(&[file])).is_ok());
    }
}
