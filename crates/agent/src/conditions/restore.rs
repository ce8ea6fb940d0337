//! What is done before a trial, so that it does not inherit what the one before it
//! left.

use assay_model::condition::Restore;
use assay_model::storage::Storage;
use assay_probe::roots::Roots;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A stop is heard that soon.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Discards free blocks, empties the page cache, then waits.
///
/// # Errors
/// What could not be done: one line.
pub(crate) fn before_trial(
    roots: &Roots,
    storage: &Storage,
    restore: &Restore,
    stop: &AtomicBool,
) -> Result<(), String> {
    if restore.trim {
        let mount = storage.mount.as_ref();
        let mount = mount.ok_or("free blocks can be discarded only of a mounted file system")?;
        trim(&mount.point)?;
    }
    if restore.drop_caches {
        drop_caches(roots)?;
    }
    let end = Instant::now() + Duration::from_nanos(restore.idle.0);
    while !stop.load(Ordering::Relaxed) && Instant::now() < end {
        sleep(LOOK_AGAIN.min(end.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

fn trim(point: &Path) -> Result<(), String> {
    let mut command = Command::new("fstrim");
    command.arg(point).stdin(Stdio::null());
    let output = command
        .output()
        .map_err(|error| format!("cannot run fstrim: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("cannot discard free blocks: {}", said.trim())),
    }
}

/// Dirty pages cannot be dropped: they are written first. 3 is the page cache and
/// what is known of files (Documentation/admin-guide/sysctl/vm.rst).
fn drop_caches(roots: &Roots) -> Result<(), String> {
    rustix::fs::sync();
    let path = roots.proc.join("sys/vm/drop_caches");
    fs::write(&path, "3\n").map_err(|error| {
        format!(
            "cannot empty the page cache: {}: {error} (it needs root)",
            path.display()
        )
    })
}
