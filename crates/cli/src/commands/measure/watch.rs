//! `assay watch`: shows the page cache at work, live, while a command runs.
//!
//! Nothing is stored: the samples go to the screen, the CSV or the JSON.

use crate::driver::trials::Listener;
use crate::driver::{Host, Requests, acts};
use crate::exit::{
    DONE, Failure, SIGNALLED, code_of_signal, signals_not_caught, take_over_signals,
};
use crate::output::{print_json, print_while_read, say};
use crate::targets::OnArgs;
use crate::ui::parse_time;
use assay_agent::is_ignored;
use assay_model::act::watch::{CommandEnd, Phase, Watch, WatchReport, WatchSample};
use assay_model::act::{Act, ActReport};
use assay_model::plan::Place;
use assay_model::units::Nanos;
use assay_model::wire::{Feature, RunEnd, ToAgent};
use assay_report::watch::{Csv, Name, WatchTable, document, sentences};
use assay_target::Target;
use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::Builder;

/// Runs the command, or none, and shows samples.
pub fn run(args: &WatchArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let watch = Watch {
        command: args.command.clone(),
        interval_ns: args.interval.0,
        samples: args.samples,
        device: args.device.clone(),
        drain_limit_ns: args.wait.0,
    };
    let mut host = start(&watch, target)?;
    let stop = Stop::listen(host.requests(), !watch.command.is_empty())?;
    // Nothing is stored, so that it needs no run.
    let act = Act::Watch(Box::new(watch.clone()));
    let order = acts::single("", Place::Memory, act, 0, false);
    let mut seen = Seen {
        output: SampleOutput::of(args),
        samples: Vec::new(),
        stop: &stop,
    };
    let (end, outcome) = acts::once(&mut host, order, &mut seen)?;
    let report = match outcome.and_then(|outcome| outcome.report) {
        Some(ActReport::Watch(report)) => report,
        _ => WatchReport::default(),
    };
    if let RunEnd::Failed { error } | RunEnd::DeviceLost { error } = end {
        return Err(Failure::failed(error));
    }
    if args.json {
        let (command, interval) = (&watch.command, watch.interval_ns);
        print_json(&document(command, interval, &seen.samples, &report))?;
    }
    for line in sentences(&Name::of(&watch.command), &seen.samples, &report) {
        say(&line);
    }
    Ok(exit_code(report.ended, &stop))
}

/// Starts the agent. A command on this machine gets its terminal; on another machine no command
/// can be started.
fn start(watch: &Watch, target: &mut dyn Target) -> Result<Host, Failure> {
    match target.name() {
        None => Host::start_in_foreground(target),
        Some(_) if watch.command.is_empty() => {
            target.needs(Feature::Works);
            Host::start(target)
        }
        Some(target) => Err(Failure::usage(format!(
            "assay watch starts commands on this machine only: start it on {target} by hand, and \
             watch without a command"
        ))),
    }
}

/// Display and list of the samples so far.
struct Seen<'a> {
    output: SampleOutput,
    samples: Vec<WatchSample>,
    stop: &'a Stop,
}

impl Listener for Seen<'_> {
    fn act_interim(&mut self, report: &ActReport) -> Result<(), Failure> {
        if let ActReport::Watching(sample) = report {
            self.stop.phase(sample.phase);
            if !self.output.write(sample)? {
                self.stop.nobody_reads();
            }
            self.samples.push(*sample.clone());
        }
        Ok(())
    }
}

/// Returns the command's exit code. Without a command, Ctrl-C is the normal end.
fn exit_code(ended: Option<CommandEnd>, stop: &Stop) -> ExitCode {
    let Some(ended) = ended else {
        return stop.exit_code().map_or(DONE, ExitCode::from);
    };
    let signalled = |signal| u8::try_from(signal).ok()?.checked_add(SIGNALLED);
    let code = match (ended.exit_code, ended.signal) {
        (Some(code), _) => u8::try_from(code).ok(),
        (None, signal) => signal.and_then(signalled),
    };
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Output of samples.
pub enum SampleOutput {
    /// A table on standard error.
    Talk(WatchTable),
    /// A table on standard output.
    Table(WatchTable),
    /// CSV on standard output.
    Csv(Csv),
    /// Nothing: a document follows.
    Silent,
}

impl SampleOutput {
    /// Returns the output that the arguments select.
    pub fn of(args: &WatchArgs) -> Self {
        match (args.csv, args.json, args.command.is_empty()) {
            (true, ..) => Self::Csv(Csv::default()),
            (_, true, _) => Self::Silent,
            (.., true) => Self::Table(WatchTable::default()),
            _ => Self::Talk(WatchTable::default()),
        }
    }

    /// Outputs a sample; returns `false` once the reader has closed the pipe.
    pub fn write(&mut self, sample: &WatchSample) -> Result<bool, Failure> {
        match self {
            Self::Silent => Ok(true),
            Self::Csv(csv) => print_while_read(|out| csv.write(sample, out)),
            Self::Talk(table) => {
                table.lines(sample).iter().for_each(|line| say(line));
                Ok(true)
            }
            Self::Table(table) => {
                let lines = table.lines(sample);
                print_while_read(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))
            }
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  assay watch -- cp video.mp4 /mnt/usb
  assay watch --device mmcblk0 --csv --samples 60 > writes.csv
";

const EXIT_CODES: &str = "\
Exit codes: those of the command, 128 and the number of the signal that ended it;
without a command 0 after Ctrl-C; 2 for wrong usage.";

/// `assay watch`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct WatchArgs {
    /// Time between two samples: 1s, 500ms, 2min; at least 50 ms.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    pub interval: Nanos,
    /// Device to watch: its name, its node, or a path on it [default: that of the last path of
    /// the command, else of the current directory].
    #[arg(long, value_name = "DEV|PATH")]
    pub device: Option<PathBuf>,
    /// Longest wait for dirty pages after the command. Without a flush the kernel writes them
    /// about 30 s after they became dirty.
    #[arg(long, value_name = "TIME", default_value = "90s", value_parser = parse_time)]
    pub wait: Nanos,
    /// Without a command: end after this many samples.
    #[arg(long, value_name = "N", conflicts_with = "command", value_parser = clap::value_parser!(u64).range(1..))]
    pub samples: Option<u64>,
    /// Print one row per sample as CSV on standard output, with one header.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print all samples as one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub on: OnArgs,
    /// Command and its arguments, which uses this terminal. Without a command: until Ctrl-C.
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// Parses an interval of at least 50 ms.
fn parse_interval(text: &str) -> Result<Nanos, String> {
    const SHORTEST: Nanos = Nanos(50_000_000);
    match parse_time(text)? {
        time if time < SHORTEST => Err(format!("{text} is too short: at least {SHORTEST}")),
        time => Ok(time),
    }
}

/// Stop requests that end a watch. A Ctrl-C on the terminal is for the user's command, which gets
/// it too and may continue.
#[derive(Clone)]
struct Stop {
    requests: Requests,
    command_runs: Arc<AtomicBool>,
    /// Signal that ended the watch; 0: none.
    signal: Arc<AtomicI32>,
}

impl Stop {
    /// Catches signals from now on.
    pub fn listen(requests: Requests, command_runs: bool) -> Result<Self, Failure> {
        let stop = Self {
            requests,
            command_runs: Arc::new(AtomicBool::new(command_runs)),
            signal: Arc::default(),
        };
        take_over_signals();
        let caught = stop.clone();
        let mut signals = signals().map_err(signals_not_caught)?;
        let handle = move || signals.forever().for_each(|signal| caught.handle(signal));
        Builder::new().spawn(handle).map_err(Failure::no_thread)?;
        Ok(stop)
    }

    fn handle(&self, signal: i32) {
        if signal == SIGINT && self.command_runs.load(Ordering::Relaxed) {
            return;
        }
        self.signal.store(signal, Ordering::Relaxed);
        self.cancel();
    }

    /// Notes the phase of the last sample.
    pub fn phase(&self, phase: Phase) {
        let runs = phase == Phase::Command;
        self.command_runs.store(runs, Ordering::Relaxed);
    }

    /// Ends the watch when the reader of the table is gone, unless a command is running.
    pub fn nobody_reads(&self) {
        if !self.command_runs.load(Ordering::Relaxed) {
            self.cancel();
        }
    }

    /// Returns the exit code for the signal; `None` for a Ctrl-C, which is the normal end.
    pub fn exit_code(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 | SIGINT => None,
            signal => Some(code_of_signal(signal)),
        }
    }

    fn cancel(&self) {
        // A failed send means that the agent has ended, which is noticed elsewhere.
        let _ = self.requests.send(&ToAgent::Cancel);
    }
}

fn signals() -> io::Result<Signals> {
    let signals = Signals::new([SIGINT, SIGTERM])?;
    if !is_ignored(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    Ok(signals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_not_too_short() {
        assert!(parse_interval("10ms").is_err());
        assert!(parse_interval("1s").is_ok());
    }
}
