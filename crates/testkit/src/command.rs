//! Commands, and commands that undo them.

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::FORBIDDEN;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Once};
use std::time::Duration;
use std::{fs, io};
use tempfile::TempDir;
use thiserror::Error;

/// Variables that children inherit. All others would change their behaviour: locale, colours,
/// columns, folders, settings of tools.
const PASSED_ON: [&str; 2] = ["TMPDIR", "LLVM_PROFILE_FILE"];
/// Folders of system tools; not all are on every user's path.
pub(crate) const TOOLS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
/// Mask of new files that tests expect.
const UMASK: u32 = 0o022;
/// Signals with a fixed number, from 1 to this one.
const LAST_SIGNAL: i32 = 31;

/// Number of attempts to undo a command before its effect counts as left behind.
const ATTEMPTS: u32 = 10;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(200);

/// Reason why a test's environment cannot be set up here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// Returns a command that does not depend on the caller's environment: default signal
/// actions, no input, and no variables but a search path.
#[must_use]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    static SETTLED: Once = Once::new();
    SETTLED.call_once(|| {
        rustix::process::umask(UMASK.into());
        give_children_default_signals();
    });
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null());
    command.env("PATH", search_path());
    for name in PASSED_ON {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command
}

/// Copies a program to be run at once. A child writes the copy: a program that this
/// process has open for writing, or that a child of another thread inherited so for a
/// moment, cannot be started (ETXTBSY of execve(2)).
///
/// # Errors
/// Fails if the program cannot be read or the copy not be written.
pub fn copy_program(from: &str, to: &Path) -> Result<(), Unavailable> {
    run(&["cp", from, text(to)]).map(drop)
}

/// Writes a script that is run at once, executable for everybody. A child writes it, as
/// in [`copy_program`].
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write_program(path: &Path, script: &str) -> Result<(), Unavailable> {
    let write = "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"";
    run(&["sh", "-c", write, "sh", text(path), script]).map(drop)
}

/// The search path of [`command`]: the user's, and system tools.
#[must_use]
pub fn search_path() -> String {
    let own = std::env::var("PATH").unwrap_or_default();
    format!("{own}:{}", TOOLS.join(":"))
}

/// Resets signals in children: an ignored signal stays ignored across execve(2), a caught one
/// does not. `nohup`, `&` in a script and some CI runners ignore signals. Their handlers here
/// do nothing, so this process still ignores them.
fn give_children_default_signals() {
    for signal in (1..=LAST_SIGNAL).filter(|signal| is_ignored(*signal)) {
        // Rust resets SIGPIPE itself, and these cannot be caught.
        if signal != signal_hook::consts::SIGPIPE && !FORBIDDEN.contains(&signal) {
            signal_hook::flag::register(signal, Arc::default())
                .expect("a signal that can be ignored can be caught");
        }
    }
}

/// Returns true if this process ignores a signal: a bit of `SigIgn` (`proc_pid_status(5)`).
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Runs a command and returns its output without surrounding white space.
///
/// # Errors
/// When it cannot be started or fails; the error holds the command and its output.
pub fn run(words: &[&str]) -> Result<String, Unavailable> {
    let (program, rest) = words
        .split_first()
        .ok_or_else(|| Unavailable("no command was given".to_owned()))?;
    let output = command(program)
        .args(rest)
        .output()
        .map_err(|error| Unavailable(format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let words = words.join(" ");
    Err(Unavailable(format!("{words}: {}", complaint.trim())))
}

/// Returns a path as text, for a command line.
///
/// # Panics
/// When the path is not UTF-8; paths of tests are.
#[must_use]
pub fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// Command that runs when this is dropped, to undo another one.
#[derive(Debug)]
pub struct Undo(Vec<String>);

impl Undo {
    /// Makes an undo step of the command `words`.
    #[must_use]
    pub fn by(words: &[&str]) -> Self {
        Self(words.iter().map(|&word| word.to_owned()).collect())
    }

    /// Runs `words`, and `undo` when the result is dropped.
    ///
    /// # Errors
    /// As [`run`].
    pub fn after(words: &[&str], undo: &[&str]) -> Result<Self, Unavailable> {
        run(words)?;
        Ok(Self::by(undo))
    }

    /// Returns true unless the undo step has run.
    pub(crate) fn is_pending(&self) -> bool {
        !self.0.is_empty()
    }

    /// Undoes now instead of at the drop. Retries, because the kernel may release a file some
    /// time after its last user.
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

/// A child process, killed when dropped.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts a child process.
    ///
    /// # Errors
    /// When the program is missing.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }

    /// Starts a shell script and waits until it prints `ready`; `None` if it
    /// ends without.
    ///
    /// # Panics
    /// When the shell cannot be started.
    #[must_use]
    pub fn ready(words: &[&str]) -> Option<Self> {
        let (program, rest) = words.split_first()?;
        let mut command = command(program);
        // An open input lets a script wait with `read`.
        command
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = Self::start(&mut command).expect("the program can be started");
        let mut line = String::new();
        let output = process.0.stdout.take()?;
        BufReader::new(output).read_line(&mut line).ok()?;
        (line.trim() == "ready").then_some(process)
    }

    /// Returns the child, to take its streams or to wait for it.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Process ID.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal. The process may have ended already.
    pub fn signal(&self, signal: Signal) {
        signal_to(self.id(), signal);
    }

    /// Waits until the process has ended.
    ///
    /// # Errors
    /// When the wait fails.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal to a process, which may have ended already.
pub fn signal_to(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Temporary folder, removed with its content when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    folder: TempDir,
}

impl Scratch {
    /// Makes a folder in the system's folder for temporary files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> Result<Self, Unavailable> {
        Self::within(&std::env::temp_dir())
    }

    /// Makes a folder in `parent`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn within(parent: &Path) -> Result<Self, Unavailable> {
        let failed = |error| {
            Unavailable(format!(
                "cannot make a folder in {}: {error}",
                parent.display()
            ))
        };
        let folder = TempDir::with_prefix_in("assay-test-", parent).map_err(failed)?;
        Ok(Self {
            // Without symbolic links, as the kernel reports paths.
            path: fs::canonicalize(folder.path()).map_err(failed)?,
            folder,
        })
    }

    /// Path of the folder, without symbolic links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path and does not remove the folder: the caller removes it.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        // The path with links resolved is the same folder.
        let _ = self.folder.keep();
        self.path
    }

    /// Path of a name in the folder.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Makes a sparse file of zeros to hold a device.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn image(&self, name: &str, mib: u64) -> Result<PathBuf, Unavailable> {
        let path = self.join(name);
        File::create_new(&path)
            .and_then(|file| file.set_len(mib << 20))
            .map_err(|error| Unavailable(format!("cannot make {}: {error}", path.display())))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_output_of_a_command_is_kept_on_success_and_failure() {
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

    /// Variable that is set when this program runs itself with ignored signals.
    const STARTED_BADLY: &str = "ASSAY_TEST_STARTED_BADLY";

    #[test]
    fn a_child_gets_nothing_from_whoever_starts_the_tests() {
        if std::env::var_os(STARTED_BADLY).is_some() {
            return child_of_a_badly_started_program();
        }
        let this = std::env::current_exe().unwrap();
        let test = "command::tests::a_child_gets_nothing_from_whoever_starts_the_tests";
        let script = "trap '' HUP INT QUIT TERM USR1 TSTP; umask 077; \"$0\" --exact \"$1\"";
        let mut bad = Command::new("sh");
        bad.args(["-c", script, text(&this), test]);
        for (name, value) in [
            (STARTED_BADLY, "1"),
            ("LC_ALL", "zh_CN.UTF-8"),
            ("NO_COLOR", "1"),
            ("COLUMNS", "20"),
            ("XDG_DATA_HOME", "/nowhere"),
            ("HOME", "/nowhere"),
        ] {
            bad.env(name, value);
        }
        let ended = bad.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(said.contains("1 passed"), "{said}");
    }

    fn child_of_a_badly_started_program() {
        assert!(is_ignored(signal_hook::consts::SIGHUP));
        let script = "grep SigIgn /proc/self/status; umask; read line || echo no input; env";
        let said = run(&["sh", "-c", script]).unwrap();
        let mut lines = said.lines();
        let ignored = lines.next().and_then(|line| line.strip_prefix("SigIgn:\t"));
        let ignored = u64::from_str_radix(ignored.unwrap(), 16).unwrap();
        assert_eq!(ignored & ((1 << LAST_SIGNAL) - 1), 0, "{ignored:x}");
        assert_eq!(lines.next(), Some("0022"));
        assert_eq!(lines.next(), Some("no input"));
        let names = lines.filter_map(|line| line.split('=').next());
        // A shell sets these itself.
        let mut names: Vec<_> = names.filter(|name| !["_", "PWD"].contains(name)).collect();
        names.retain(|name| !PASSED_ON.contains(name) && *name != "OLDPWD");
        assert_eq!(names, ["PATH"], "{said}");
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
        fs::create_dir(&made).unwrap();
        drop(guard);
        assert!(made.exists(), "undone twice");
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let process = Process::ready(&["sh", "-c", "echo ready; read x"]).unwrap();
        let entry = format!("/proc/{}", process.id());
        assert!(Path::new(&entry).exists());
        drop(process);
        assert!(!Path::new(&entry).exists());
        assert!(Process::ready(&["sh", "-c", "exit 1"]).is_none());
    }

    #[test]
    fn a_scratchfolder_goes_with_its_images() {
        let scratch = Scratch::new().unwrap();
        let image = scratch.image("disk", 3).unwrap();
        assert_eq!(fs::metadata(&image).unwrap().len(), 3 << 20);
        assert!(scratch.image("disk", 3).is_err(), "it is there already");
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
    }
}
