//! The page cache of one file: inspecting, emptying and filling it.

use crate::{EngineError, held, sys};
use assay_model::evidence::{CacheSource, FileCache};
use rustix::fs::{
    Access, Advice, AtFlags, CWD, SeekFrom, accessat, fadvise, fdatasync, fstat, seek,
};
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// Returns the part of a file that is in the page cache, and the part of that not yet on the
/// device. It uses `cachestat(2)` if present (Linux 6.5), else `mincore(2)`, which does not report
/// dirty pages, and only answers the file's owner or a process that may write it. `None` if neither
/// works. The file's position may change.
pub fn cached_pages(file: &File) -> Option<FileCache> {
    cached_range(file, 0, 0).or_else(|| cached_pages_by_mincore(file))
}

/// Returns the cached part of a range of a file, from `cachestat(2)` only. A `length` of 0 means to
/// the end of the file.
pub fn cached_range(file: &File, offset: u64, length: u64) -> Option<FileCache> {
    let page = rustix::param::page_size() as u64;
    let stat = sys::cachestat(file, offset, length).ok()?;
    Some(FileCache {
        source: CacheSource::Cachestat,
        cached_bytes: stat.cached * page,
        dirty_bytes: Some(stat.dirty * page),
        writeback_bytes: Some(stat.writeback * page),
    })
}

fn cached_pages_by_mincore(file: &File) -> Option<FileCache> {
    if !mincore_reports(file) {
        return None;
    }
    let page = rustix::param::page_size();
    // Unlike its metadata, this is the length of a block device too.
    let length = seek(file, SeekFrom::End(0)).ok()?;
    let pages = sys::resident_pages(file, usize::try_from(length).ok()?, page).ok()?;
    Some(FileCache {
        source: CacheSource::Mincore,
        cached_bytes: pages * page as u64,
        dirty_bytes: None,
        writeback_bytes: None,
    })
}

/// Returns true if `mincore(2)` reports the truth about this file: since Linux 5.2 it shows every
/// page as cached to a process that neither owns the file nor may write it (`can_do_mincore` of
/// mm/mincore.c).
fn mincore_reports(file: &File) -> bool {
    let Ok(stat) = fstat(file) else {
        return false;
    };
    let may_act_as_owner =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::FOWNER));
    if may_act_as_owner || stat.st_uid == geteuid().as_raw() {
        return true;
    }
    // The link resolves to this open file; EACCES checks the effective ids.
    let itself = held::link_to(file.as_fd());
    accessat(CWD, itself, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// Number of attempts to evict a file from the page cache: another process's `sync(2)` holds a page
/// for a moment after it was written back, and a held page stays.
const EVICTIONS: u32 = 5;
/// Time between two attempts.
const HELD: Duration = Duration::from_millis(10);

/// Writes a file's dirty pages back and asks the kernel to evict all its pages. Pages that another
/// process uses stay in the cache; [`cached_pages`] reports them.
///
/// # Errors
/// If the file cannot be written back.
pub fn evict(file: &File, path: &Path) -> Result<(), EngineError> {
    for left in (0..EVICTIONS).rev() {
        fdatasync(file).map_err(|errno| EngineError::file("write back", path, errno.into()))?;
        // The kernel may ignore the advice; the evidence records the result.
        let _ = fadvise(file, 0, None, Advice::DontNeed);
        if left == 0 || cached_pages(file).is_none_or(|cache| cache.cached_bytes == 0) {
            break;
        }
        std::thread::sleep(HELD);
    }
    Ok(())
}

/// Reads a region once, so that it is cached as far as memory allows.
///
/// # Errors
/// If the region cannot be read.
pub fn warm(file: &File, path: &Path, offset: u64, length: u64) -> Result<(), EngineError> {
    // Read-ahead is off: reads beyond the region would still be in flight when the clock starts,
    // and would be attributed to another process.
    let _ = fadvise(file, 0, None, Advice::Random);
    let mut buffer = vec![0; 1 << 20];
    let end = offset + length;
    let mut at = offset;
    while at < end {
        let want = usize::try_from(end - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        let got = file
            .read_at(&mut buffer[..want], at)
            .map_err(|error| EngineError::file("read", path, error))?;
        if got == 0 {
            break;
        }
        at += got as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mincore_counts_the_pages_that_cachestat_counts() {
        let page = rustix::param::page_size() as u64;
        let file = tempfile::tempfile().unwrap();
        file.set_len(1000 * page + 1).unwrap();
        for at in [0, 1, 7, 999, 1000] {
            file.write_all_at(&[1], at * page).unwrap();
        }
        let found = cached_pages_by_mincore(&file).unwrap();
        assert_eq!(found.source, CacheSource::Mincore);
        assert_eq!(found.cached_bytes, 5 * page);
        assert_eq!((found.dirty_bytes, found.writeback_bytes), (None, None));
        match sys::cachestat(&file, 0, 0) {
            Ok(stat) => assert_eq!(stat.cached, 5),
            Err(error) => assay_testkit::skip(&format!("no cachestat here: {error}")),
        }
    }

    /// Runs in a separate process, because user and group ids apply to the whole process.
    #[test]
    fn mincore_is_not_believed_about_a_file_of_somebody_else() {
        const AS_NOBODY: &str = "ASSAY_TEST_MINCORE_FILE";
        if let Ok(path) = std::env::var(AS_NOBODY) {
            assert!(!geteuid().is_root());
            let foreign = File::open(path).unwrap();
            assert_eq!(cached_pages_by_mincore(&foreign), None);
            let own = tempfile::tempfile().unwrap();
            assert!(cached_pages_by_mincore(&own).is_some());
            return;
        }
        if !geteuid().is_root() {
            assay_testkit::skip("only root can become somebody else");
            return;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        rustix::fs::chmod(file.path(), rustix::fs::Mode::from_raw_mode(0o644)).unwrap();
        assert!(cached_pages_by_mincore(file.as_file()).is_some());
        let this = "page_cache::tests::mincore_is_not_believed_about_a_file_of_somebody_else";
        let mut again = std::process::Command::new("/proc/self/exe");
        std::os::unix::process::CommandExt::uid(&mut again, 65_534);
        let output = again
            .args([this, "--exact", "--nocapture"])
            .env(AS_NOBODY, file.path())
            .output();
        match output {
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(
                    output.status.success() && said.contains("1 passed"),
                    "{said}"
                );
            }
            Err(error) => assay_testkit::skip(&format!("nobody may not run this program: {error}")),
        }
    }

    #[test]
    fn an_empty_file_has_no_pages() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(cached_pages_by_mincore(&file).unwrap().cached_bytes, 0);
    }
}
