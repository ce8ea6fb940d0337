//! Commands, and what undoes them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use thiserror::Error;

/// How often, and how long apart, something is undone before it counts as left
/// behind.
const ATTEMPTS: u32 = 10;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(200);

/// Why something cannot be set up here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// The command's output without the spaces around it.
///
/// # Errors
/// When it cannot be started or fails: the command, and what it said.
pub fn run(words: &[&str]) -> Result<String, Unavailable> {
    let (program, rest) = words
        .split_first()
        .ok_or_else(|| Unavailable("no command was given".to_owned()))?;
    let output = Command::new(program)
        .args(rest)
        .output()
        .map_err(|error| Unavailable(format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let command = words.join(" ");
    Err(Unavailable(format!("{command}: {}", complaint.trim())))
}

/// A path as a word of a command.
///
/// # Panics
/// When it is not text; paths of tests are.
#[must_use]
pub fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// A command that undoes another one when this is dropped.
#[derive(Debug)]
pub struct Undo(Vec<String>);

impl Undo {
    /// Undoes by `words`.
    #[must_use]
    pub fn by(words: &[&str]) -> Self {
        Self(words.iter().map(|&word| word.to_owned()).collect())
    }

    /// Runs `words`; `undo` undoes them.
    ///
    /// # Errors
    /// As [`run`].
    pub fn after(words: &[&str], undo: &[&str]) -> Result<Self, Unavailable> {
        run(words)?;
        Ok(Self::by(undo))
    }

    /// Whether there is something left to undo.
    pub(crate) fn is_pending(&self) -> bool {
        !self.0.is_empty()
    }

    /// Undoes now; nothing is left to do later. The kernel lets go of a file
    /// some time after its last user, so a few attempts are made.
    ///
    /// # Errors
    /// As [`run`].
    pub fn now(&mut self) -> Result<(), Unavailable> {
        let command = std::mem::take(&mut self.0);
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let mut undone = run(&words);
        for _ in 1..ATTEMPTS {
            if undone.is_ok() {
                break;
            }
            std::thread::sleep(BETWEEN_ATTEMPTS);
            undone = run(&words);
        }
        undone.map(drop)
    }
}

impl Drop for Undo {
    #[expect(clippy::print_stderr, reason = "what is left behind is named")]
    fn drop(&mut self) {
        if !self.is_pending() {
            return;
        }
        if let Err(why) = self.now() {
            eprintln!("warning: cannot clean up: {why}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_says_is_kept_either_way() {
        assert_eq!(run(&["echo", "hello"]).unwrap(), "hello");
        let failed = run(&["sh", "-c", "echo no >&2; exit 3"]).unwrap_err();
        assert_eq!(failed.0, "sh -c echo no >&2; exit 3: no");
        assert!(
            run(&["no-such-tool"])
                .unwrap_err()
                .0
                .contains("no-such-tool")
        );
    }

    #[test]
    fn a_command_is_undone_once() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("d");
        let make = || Undo::after(&["mkdir", text(&made)], &["rmdir", text(&made)]);
        let guard = make().unwrap();
        assert!(made.exists());
        drop(guard);
        assert!(!made.exists());
        let mut guard = make().unwrap();
        guard.now().unwrap();
        std::fs::create_dir(&made).unwrap();
        drop(guard);
        assert!(made.exists(), "undone twice");
    }
}
