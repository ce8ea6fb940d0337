//! `assay watch`: shows the page cache at work, live, while a command runs.
//!
//! Nothing is stored: the samples go to the screen, the CSV or the JSON.

pub mod args;
mod signals;

use crate::driver::acts;
use crate::driver::host::Host;
use crate::driver::trials::Listener;
use crate::exit::{DONE, Failure, SIGNALLED};
use crate::output::{print_json, print_while_read, say};
use args::WatchArgs;
use assay_model::plan::Place;
use assay_model::wire::{Feature, RunEnd};
use assay_model::work::watch::{CommandEnd, Watch, WatchReport, WatchSample};
use assay_model::work::{Work, WorkReport};
use assay_report::watch::{Csv, Name, WatchTable, document, sentences};
use assay_target::Target;
use signals::Stop;
use std::process::ExitCode;

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
    let act = Work::Watch(Box::new(watch.clone()));
    let order = acts::single("", Place::Memory, act, 0, false);
    let mut seen = Seen {
        voice: Voice::of(args),
        samples: Vec::new(),
        stop: &stop,
    };
    let (end, outcome) = acts::once(&mut host, order, &mut seen)?;
    let report = match outcome.and_then(|outcome| outcome.report) {
        Some(WorkReport::Watch(report)) => report,
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
        None => Host::start_in_front(target),
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
    voice: Voice,
    samples: Vec<WatchSample>,
    stop: &'a Stop,
}

impl Listener for Seen<'_> {
    fn stands(&mut self, report: &WorkReport) -> Result<(), Failure> {
        if let WorkReport::Watching(sample) = report {
            self.stop.phase(sample.phase);
            if !self.voice.tell(sample)? {
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
pub enum Voice {
    /// A table on standard error.
    Talk(WatchTable),
    /// A table on standard output.
    Table(WatchTable),
    /// CSV on standard output.
    Csv(Csv),
    /// Nothing: a document follows.
    Silent,
}

impl Voice {
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
    pub fn tell(&mut self, sample: &WatchSample) -> Result<bool, Failure> {
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
