//! A program of the user: run without a shell, in the folder of the scenario, with a time
//! limit, and killed together with its children.

use super::Play;
use super::scene::Scene;
use super::turn::Turn;
use crate::WorkError;
use assay_engine::held;
use assay_model::units::Nanos;
use assay_model::work::scenario::Command as Wanted;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Interval at which the program is polled.
const LOOK: Duration = Duration::from_millis(2);
/// Maximum number of bytes kept of the program's standard error.
const SAID_MOST: u64 = 4096;

/// A program to run.
pub(super) struct Program<'a> {
    wanted: &'a Wanted,
    root: PathBuf,
    said: File,
}

impl<'a> Program<'a> {
    pub(super) fn new(wanted: &'a Wanted, scene: &Scene) -> Result<Self, WorkError> {
        let root = scene.root()?;
        let path = scene.path("command.stderr")?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let said = held::open(&path, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| WorkError::io("make", &path, &errno.into()))?;
        let said = File::from(said);
        Ok(Self { wanted, root, said })
    }

    fn failed(&self, why: &str) -> WorkError {
        let name = self.wanted.words.first().map_or("", String::as_str);
        WorkError::failed(format!("{name}: {why}{}", self.complaint()))
    }

    /// Returns the last line of its standard error.
    fn complaint(&self) -> String {
        let mut text = Vec::new();
        let file = held::open_to_read(&self.root.join("command.stderr"));
        let read = file.and_then(|file| file.take(SAID_MOST).read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        match (read, text.trim().lines().last()) {
            (Ok(_), Some(line)) => format!(": {line}"),
            _ => String::new(),
        }
    }

    fn start(&self) -> Result<Running, WorkError> {
        let Some((program, arguments)) = self.wanted.words.split_first() else {
            return Err(self.failed("names no program to start"));
        };
        let said = self.said.try_clone();
        let said = said.map_err(|error| self.failed(&error.to_string()))?;
        let child = Command::new(program)
            .args(arguments)
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .process_group(0)
            .spawn();
        child
            .map(Running)
            .map_err(|error| self.failed(&format!("cannot be started: {error}")))
    }

    fn wait(&self, running: &mut Running, turn: &mut Turn<'_>) -> Result<ExitStatus, WorkError> {
        let began = Instant::now();
        let limit = Duration::from_nanos(self.wanted.limit_ns);
        loop {
            match running.0.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(error) => return Err(self.failed(&error.to_string())),
            }
            if began.elapsed() >= limit {
                let limit = Nanos(self.wanted.limit_ns);
                return Err(self.failed(&format!("was killed because it still ran after {limit}")));
            }
            turn.sleep(LOOK)?;
        }
    }
}

impl Play for Program<'_> {
    /// Returns the folder alone, because the files that the program writes are unknown and not
    /// counted.
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.root.clone()]
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), WorkError> {
        while let Some(due_ns) = turn.due()? {
            let mut running = self.start()?;
            let status = self.wait(&mut running, turn)?;
            turn.over(due_ns);
            if !status.success() {
                return Err(self.failed(&status.to_string()));
            }
            if !turn.again() {
                break;
            }
        }
        Ok(())
    }
}

/// A running program with its children; dropping it kills them.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(number) = i32::try_from(self.0.id())
            && let Some(group) = Pid::from_raw(number)
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
