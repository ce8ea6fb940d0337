//! Preparation before a trial, so that it does not inherit state from the previous one.

use assay_model::condition::{InForce, Restore, TEMPERATURE, TemperatureWindow, celsius};
use assay_model::storage::Storage;
use assay_probe::roots::Roots;
use assay_probe::system::Thermometer;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Interval at which a stop is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Interval at which the temperature is read.
const READ_AGAIN: Duration = Duration::from_millis(500);

/// Checks that every preparation is possible, without performing it.
///
/// # Errors
/// The preparation that is not possible, in one line.
pub(crate) fn can_restore(
    roots: &Roots,
    storage: &Storage,
    restore: &Restore,
) -> Result<(), String> {
    match restore.temperature {
        Some(_) => thermometer(roots, storage).map(drop),
        None => Ok(()),
    }
}

/// Discards free blocks, drops the page cache, then waits for the idle time and for the
/// temperature. Returns the temperature, if one was requested.
///
/// # Errors
/// The preparation that failed, in one line.
pub(crate) fn before_trial(
    roots: &Roots,
    storage: &Storage,
    restore: &Restore,
    stop: &AtomicBool,
) -> Result<Option<InForce>, String> {
    if restore.trim {
        let mount = storage.mount.as_ref();
        let mount = mount.ok_or("free blocks can be discarded only of a mounted file system")?;
        trim(&mount.point)?;
    }
    if restore.drop_caches {
        drop_caches(roots)?;
    }
    wait(Duration::from_nanos(restore.idle.0), stop);
    let window = restore.temperature.as_ref();
    window
        .map(|window| await_temperature(roots, storage, window, stop))
        .transpose()
}

fn wait(span: Duration, stop: &AtomicBool) {
    let end = Instant::now() + span;
    while !stop.load(Ordering::Relaxed) && Instant::now() < end {
        sleep(LOOK_AGAIN.min(end.saturating_duration_since(Instant::now())));
    }
}

fn thermometer(roots: &Roots, storage: &Storage) -> Result<Thermometer, String> {
    let found = Thermometer::of(roots, storage);
    found.ok_or_else(|| {
        "no sensor tells a temperature, neither of the device nor of the board: leave out \
         --temperature"
            .to_owned()
    })
}

/// Waits until the temperature is within the window. A sensor may fail to answer for a
/// while.
fn await_temperature(
    roots: &Roots,
    storage: &Storage,
    window: &TemperatureWindow,
    stop: &AtomicBool,
) -> Result<InForce, String> {
    let thermometer = thermometer(roots, storage)?;
    let began = Instant::now();
    loop {
        let read = thermometer.read();
        let is_over = stop.load(Ordering::Relaxed);
        if is_over || read.is_some_and(|now| window.holds(now)) {
            return Ok(InForce {
                subject: TEMPERATURE.to_owned(),
                knob: thermometer.name,
                value: read.map(celsius),
            });
        }
        if began.elapsed() >= Duration::from_nanos(window.limit.0) {
            let now = read.map_or_else(
                || "does not answer".to_owned(),
                |now| format!("has {} °C", celsius(now)),
            );
            return Err(format!(
                "{} {now}, and did not come within {window} in {}: cool it, or give a wider \
                 --temperature",
                thermometer.name, window.limit
            ));
        }
        wait(READ_AGAIN, stop);
    }
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

/// Dirty pages cannot be dropped, so they are written first. The value 3 drops the page
/// cache, dentries and inodes (Documentation/admin-guide/sysctl/vm.rst).
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

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::storage::Backing;
    use assay_model::units::Nanos;
    use std::path::PathBuf;

    /// A machine made of files with one thermal zone.
    struct Board {
        folder: tempfile::TempDir,
        roots: Roots,
    }

    impl Board {
        fn at(temperature: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let roots = Roots::under(folder.path());
            let board = Self { folder, roots };
            fs::create_dir_all(board.zone()).unwrap();
            board.becomes(temperature);
            board
        }

        fn zone(&self) -> PathBuf {
            let class = self.folder.path().join("sys/class/thermal");
            class.join("thermal_zone0")
        }

        /// Replaces the file in one step, so that a partial value is never read.
        fn becomes(&self, temperature: &str) {
            let new = self.folder.path().join("new");
            fs::write(&new, temperature).unwrap();
            fs::rename(new, self.zone().join("temp")).unwrap();
        }

        fn before_trial(&self, restore: &Restore) -> Result<Option<InForce>, String> {
            let stop = AtomicBool::new(false);
            before_trial(&self.roots, &storage(), restore, &stop)
        }
    }

    fn storage() -> Storage {
        Storage {
            path: "/".into(),
            mount: None,
            backing: Backing::Unknown { why: String::new() },
            layers: Vec::new(),
            total: None,
            available: None,
        }
    }

    fn within(width_mk: u32, around: Option<i64>, limit: Nanos) -> Restore {
        Restore {
            temperature: Some(TemperatureWindow {
                width_mk,
                limit,
                around,
            }),
            ..Restore::default()
        }
    }

    #[test]
    fn a_trial_begins_when_it_is_as_warm_as_the_first_one() {
        let board = Board::at("40000\n");
        let read = |found: Result<Option<InForce>, String>| found.unwrap().unwrap().value;
        let long = Nanos::secs(100);
        let first = read(board.before_trial(&within(3000, None, long)));
        assert_eq!(first.as_deref(), Some("40.000"));
        board.becomes("43000\n");
        let later = read(board.before_trial(&within(3000, Some(40_000), long)));
        assert_eq!(later.as_deref(), Some("43.000"));
        board.becomes("50000\n");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| board.before_trial(&within(3000, Some(40_000), long)));
            board.becomes("42000\n");
            let cooled = read(waits.join().unwrap());
            assert_eq!(cooled.as_deref(), Some("42.000"));
        });
    }

    #[test]
    fn what_stays_hot_is_told() {
        let board = Board::at("50000\n");
        let restore = within(3000, Some(40_000), Nanos(0));
        let error = board.before_trial(&restore).unwrap_err();
        for words in ["50.000 °C", "3 K around 40.000 °C", "--temperature"] {
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn without_a_sensor_there_is_no_window() {
        let board = Board::at("40000\n");
        let silent = Board::at("");
        let restore = within(3000, None, Nanos(0));
        let error = silent.before_trial(&restore).unwrap_err();
        assert!(error.contains("does not answer"), "{error}");
        fs::remove_dir_all(board.zone()).unwrap();
        let error = can_restore(&board.roots, &storage(), &restore).unwrap_err();
        assert!(error.contains("no sensor"), "{error}");
        assert_eq!(
            can_restore(&board.roots, &storage(), &Restore::default()),
            Ok(())
        );
    }
}
