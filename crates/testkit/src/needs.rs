//! Skipping a test, with its reason.

use std::io::Write;
use std::path::Path;

/// Folders of system tools; not all are on every user's path.
const TOOLS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Prints why a test is skipped, and which. Past `eprintln!`, whose output the
/// test harness keeps to itself when a test passes.
pub fn skip(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "skipped {test}: {why}");
}

/// The first of `needs` that is not there: `root`, or the name of a tool.
#[must_use]
pub fn missing(needs: &[&str]) -> Option<String> {
    needs.iter().find_map(|&need| match need {
        "root" => {
            let is_root = rustix::process::geteuid().is_root();
            (!is_root).then(|| "loop devices and mounts need root".to_owned())
        }
        tool => {
            let found = TOOLS.iter().any(|dir| Path::new(dir).join(tool).exists());
            (!found).then(|| format!("{tool} is not installed"))
        }
    })
}

/// Ends the test, with the reason printed, unless all is there: `root`, and
/// tools by their names.
#[macro_export]
macro_rules! needs {
    (root $(, $tool:literal)* $(,)?) => {
        $crate::needs!("root" $(, $tool)*)
    };
    ($($need:literal),+ $(,)?) => {
        if let Some(why) = $crate::missing(&[$($need),+]) {
            $crate::skip(&why);
            return;
        }
    };
}

/// The value, or the end of the test with the reason printed.
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
    fn what_is_missing_is_named() {
        assert_eq!(missing(&["sh"]), None);
        let why = missing(&["sh", "no-such-tool"]);
        assert_eq!(why.as_deref(), Some("no-such-tool is not installed"));
    }

    #[test]
    fn a_skip_ends_the_test() {
        needs!("no-such-tool");
        panic!("not skipped");
    }
}
