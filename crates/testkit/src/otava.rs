//! Apache Otava (Python) as an oracle for change points.

use crate::{Unavailable, command};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Reads the settings from its arguments and one series a line from its input; writes the indices
/// of each series' change points on a line.
const SCRIPT: &str = "
import sys
from otava.analysis import compute_change_points
window, max_p, magnitude = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
for line in sys.stdin:
    series = [float(word) for word in line.split()]
    points, _ = compute_change_points(
        series, window_len=window, max_pvalue=max_p, min_magnitude=magnitude)
    print(*[int(point.index) for point in points])
";

/// Installed Otava.
#[derive(Clone, Debug)]
pub struct Otava {
    packages: PathBuf,
}

impl Otava {
    /// Folder below the build folder into which `cargo xtask test` installs Otava.
    pub const FOLDER: &'static str = "otava";

    /// Returns the Otava in a folder of Python packages.
    ///
    /// # Errors
    /// If Otava is not installed there.
    pub fn within(packages: &Path) -> Result<Self, Unavailable> {
        if packages.join("otava").exists() {
            let packages = packages.to_owned();
            return Ok(Self { packages });
        }
        let why = "Apache Otava is not installed: cargo xtask test does that";
        Err(Unavailable(why.to_owned()))
    }

    /// Returns the Otava in the build folder of the running test program.
    ///
    /// # Errors
    /// If Otava is not installed there.
    pub fn of_tests() -> Result<Self, Unavailable> {
        let program = std::env::current_exe().map_err(|why| Unavailable(why.to_string()))?;
        let folders = program.ancestors().take(5);
        let mut folders = folders.map(|folder| folder.join(Self::FOLDER));
        let found = folders.find(|folder| folder.join("otava").exists());
        Self::within(&found.unwrap_or_default())
    }

    /// Returns indices of the change points of each series. `window` is a number of values; the p
    /// value and the relative change are limits.
    ///
    /// # Errors
    /// If Otava fails or prints something else.
    pub fn change_points(
        &self,
        series: &[Vec<f64>],
        window: usize,
        max_p: f64,
        min_magnitude: f64,
    ) -> Result<Vec<Vec<usize>>, Unavailable> {
        let failed = |why: &dyn std::fmt::Display| Unavailable(format!("Otava: {why}"));
        let settings = [
            window.to_string(),
            max_p.to_string(),
            min_magnitude.to_string(),
        ];
        let mut python = command("/usr/bin/python3");
        python.env("PYTHONPATH", &self.packages);
        python.args(["-c", SCRIPT]).args(settings);
        python.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = python.spawn().map_err(|why| failed(&why))?;
        let asked = python.stdin.take();
        let text = lines(series);
        // Otava writes results before it has read all input: write and read concurrently to avoid
        // a deadlock.
        let asking = std::thread::spawn(move || match asked {
            Some(mut asked) => asked.write_all(text.as_bytes()),
            None => Ok(()),
        });
        let ended = python.wait_with_output().map_err(|why| failed(&why))?;
        let asked = asking.join().is_ok_and(|asked| asked.is_ok());
        if !asked || !ended.status.success() {
            return Err(failed(&ended.status));
        }
        let answers = String::from_utf8_lossy(&ended.stdout);
        let answers = answers.lines().map(indices);
        let answers: Option<Vec<_>> = answers.collect();
        answers
            .filter(|answers| answers.len() == series.len())
            .ok_or_else(|| failed(&"no answer for each series"))
    }
}

fn lines(series: &[Vec<f64>]) -> String {
    let mut text = String::new();
    for values in series {
        for value in values {
            let _ = write!(text, "{value} ");
        }
        text.push('\n');
    }
    text
}

fn indices(line: &str) -> Option<Vec<usize>> {
    line.split_whitespace()
        .map(|word| word.parse().ok())
        .collect()
}
