//! Stages of `cargo xtask test`, with the time of each.

use super::TestArgs;
use anyhow::Result;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::time::{Duration, Instant};

/// Stage of the command.
pub struct TestStage {
    pub name: &'static str,
    pub stages: Stages,
    pub failure: StageFailure,
    pub run: fn(&TestArgs<'_>) -> Result<()>,
}

/// Commands that include a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stages {
    /// Every command.
    All,
    /// Commands that name no package.
    Workspace,
    /// Commands with `--full` that name no package.
    Full,
}

/// Effect of a failed stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageFailure {
    /// The named tests skip, with the reason.
    Skips(&'static str),
    /// The command fails.
    Fails,
}

/// Results of the completed stages.
#[derive(Debug, Default)]
pub struct Report {
    times: Vec<(&'static str, Times)>,
    failed: Vec<&'static str>,
}

impl Report {
    /// Runs a stage and prints its time.
    pub fn run(&mut self, stage: &TestStage, asked: &TestArgs<'_>) {
        eprintln!("\n== {}", stage.name);
        let (began, used) = (Instant::now(), used_by_children());
        let ended = (stage.run)(asked);
        let times = Times {
            took: began.elapsed(),
            processor: used_by_children().saturating_sub(used),
        };
        if let Err(error) = ended {
            eprintln!("xtask: {error:#}");
            match stage.failure {
                StageFailure::Skips(tests) => eprintln!("xtask: {tests} are skipped"),
                StageFailure::Fails => self.failed.push(stage.name),
            }
        }
        eprintln!("== {}: {times}", stage.name);
        self.times.push((stage.name, times));
    }

    /// Returns the stages that make the command fail.
    pub fn failed(&self) -> &[&'static str] {
        &self.failed
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut all = Times::default();
        for (name, times) in &self.times {
            all.took += times.took;
            all.processor += times.processor;
            writeln!(f, "{name:30} {times}")?;
        }
        write!(f, "{:30} {all}", "all")
    }
}

/// Times of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    took: Duration,
    /// CPU time of programs that the stage ran.
    processor: Duration,
}

impl Display for Times {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (took, processor) = (self.took.as_secs(), self.processor.as_secs());
        write!(f, "{took:5} s, {processor:5} s of processor time")
    }
}

/// Returns the CPU time of this process's ended children.
fn used_by_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    ticks_of_children(&stat).map_or(Duration::ZERO, |ticks| {
        Duration::from_secs_f64(ticks / rustix::param::clock_ticks_per_second() as f64)
    })
}

/// Returns `cutime` plus `cstime` of `proc_pid_stat(5)`, fields 16 and 17. Field 2 is a name
/// in brackets, which may contain spaces.
fn ticks_of_children(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let (user, system): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(f64::from(user) + f64::from(system))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn a_stage_that_fails_is_named_only_if_nothing_is_skipped_for_it() {
        let mut report = Report::default();
        let mut stage = TestStage {
            name: "one",
            stages: Stages::All,
            failure: StageFailure::Skips("tests"),
            run: |_| bail!("cannot"),
        };
        let asked = TestArgs::read(&[]);
        report.run(&stage, &asked);
        assert!(report.failed().is_empty());
        (stage.name, stage.failure) = ("two", StageFailure::Fails);
        report.run(&stage, &asked);
        assert_eq!(report.failed(), ["two"]);
        assert_eq!(report.to_string().lines().count(), 3);
    }

    #[test]
    fn times_of_children_stand_behind_the_name() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 300 50 20 0 1";
        assert_eq!(ticks_of_children(stat), Some(350.0));
    }
}
