//! Claims on the files that a work makes under names that other works use too: two works
//! on one file would measure, and remove, each other's data.

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

/// Claims the files of a work until the returned value is dropped or the process ends. A
/// claim is an abstract socket (unix(7)): a kill would leave a lock file behind, and a
/// lock on a file has no effect once the file is removed and made again. Other works on
/// this machine in the same network namespace see the claim; other programs do not.
///
/// # Errors
/// If another work has claimed one of the files.
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
            // Without abstract sockets, there is no protection.
            Err(_) => {}
        }
    }
    Ok(claims)
}

/// Returns the name of a claim: the folder and the file's name in it, so that it is the
/// same before and after the file is made. `None` if the folder does not exist.
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
