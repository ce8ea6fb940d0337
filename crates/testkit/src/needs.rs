//! Skipping a test, with its reason.

use crate::command::TOOLS;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Environment variable with the file to which each skip is appended: a line with program, test and
/// reason, separated by tabs. `cargo xtask test` counts them.
pub const SKIPS: &str = "ASSAY_TEST_SKIPS";

/// Environment variable that enables long simulations.
pub const FULL: &str = "ASSAY_TEST_FULL";

/// Environment variable that skips all tests that need root.
pub const QUICK: &str = "ASSAY_TEST_QUICK";

/// Prints the test's name and why it is skipped. Bypasses `eprintln!`, whose output the test
/// harness captures when a test passes.
pub fn skip(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "skipped {test}: {why}");
    if let Some(file) = std::env::var_os(SKIPS) {
        // A single write, because other test programs append lines at the same time.
        let program = std::env::current_exe().unwrap_or_default();
        let program = program.file_name().unwrap_or_default().display();
        let why = why.replace(['\t', '\n'], " ");
        let line = format!("{program}\t{test}\t{why}\n");
        let file = OpenOptions::new().append(true).create(true).open(file);
        let added = file.and_then(|mut file| file.write_all(line.as_bytes()));
        added.expect("the skip can be counted");
    }
}

/// Returns the first of `needs` that is missing: `root`, `full`, or the name of a tool.
#[must_use]
pub fn missing(needs: &[&str]) -> Option<String> {
    needs.iter().find_map(|&need| match need {
        "root" => {
            let is_root = rustix::process::geteuid().is_root();
            let allowed = is_root && std::env::var_os(QUICK).is_none();
            (!allowed).then(|| "loop devices and mounts need root".to_owned())
        }
        "full" => {
            let full = std::env::var_os(FULL).is_some();
            (!full).then(|| "a long simulation, for cargo xtask test --full".to_owned())
        }
        tool => {
            let found = TOOLS.iter().any(|dir| Path::new(dir).join(tool).exists());
            (!found).then(|| format!("{tool} is not installed"))
        }
    })
}

/// Skips the test, with the reason printed, unless all needs are met: `root`, tools by their names,
/// and `full` for tests that run only if `ASSAY_TEST_FULL` is set.
#[macro_export]
macro_rules! needs {
    (root $(, $tool:literal)* $(,)?) => {
        $crate::needs!("root" $(, $tool)*)
    };
    (full) => {
        $crate::needs!("full")
    };
    ($($need:literal),+ $(,)?) => {
        if let Some(why) = $crate::missing(&[$($need),+]) {
            $crate::skip(&why);
            return;
        }
    };
}

/// Returns the value, or skips the test with the reason printed.
#[macro_export]
macro_rules! or_skip {
    ($attempt:expr) => {
        match $attempt {
            Ok(value) => value,
            Err(why) => {
                $crate::skip(&why.to_string());
                return;
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named() {
        assert_eq!(missing(&["sh"]), None);
        let why = missing(&["sh", "no-such-tool"]);
        assert_eq!(why.as_deref(), Some("no-such-tool is not installed"));
    }

    /// Runs itself as a process that skips: here no test is skipped.
    #[test]
    fn a_skip_ends_the_test_and_is_noted() {
        const ITSELF: &str = "needs::tests::a_skip_ends_the_test_and_is_noted";
        const SKIPPING: &str = "ASSAY_TEST_SKIPPING";
        if std::env::var_os(SKIPPING).is_some() {
            needs!("no-such-tool");
            panic!("not skipped");
        }
        let folder = tempfile::tempdir().unwrap();
        let noted = folder.path().join("noted");
        let ended = crate::command(std::env::current_exe().unwrap())
            .args(["--exact", ITSELF])
            .envs([(SKIPPING, "1".as_ref()), (SKIPS, noted.as_os_str())])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(said.contains("1 passed"), "{said}");
        let noted = std::fs::read_to_string(noted).unwrap();
        let end = format!("\t{ITSELF}\tno-such-tool is not installed\n");
        assert!(noted.ends_with(&end), "{noted}");
    }
}
