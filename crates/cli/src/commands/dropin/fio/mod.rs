//! `assay fio ARGS`, or the program called as `fio`: fio's job files, command line and outputs on
//! assay's engine.

mod inflate;
mod live;
mod results;
mod verdict;

use crate::child;
use crate::commands::dropin::texts;
use crate::driver::acts;
use crate::driver::host::Host;
use crate::driver::notes::Repeats;
use crate::exit::{DONE, Failure};
use crate::interrupt::Interrupts;
use crate::jobs::job_file::{Talk, machine, warn};
use crate::output::{print, prints_to_terminal, say};
use assay_dialects::fio::{self, Eta, FioCommand, Invocation, OutputOptions};
use assay_model::load::Load;
use assay_model::plan::Place;
use assay_model::text::clean;
use assay_model::units::Nanos;
use assay_model::wire::Feature;
use assay_model::work::Work;
use assay_target::Target;
use live::LiveLine;
use results::{Results, Sink, Words};
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

/// Carries out a command line of fio; `words` does not include the program's name.
pub fn run(words: &[OsString], target: &mut dyn Target) -> Result<ExitCode, Failure> {
    texts(words)?;
    target.needs(Feature::Loads);
    // Only the agent knows which options another machine supports.
    let mut there = match target.name() {
        Some(_) => Some(Host::start(target)?),
        None => None,
    };
    let machine = machine(there.as_mut())?;
    match fio::parse(words, machine.as_ref()).map_err(Failure::usage)? {
        FioCommand::Print(text) => print(|out| out.write_all(text.as_bytes())).map(|()| DONE),
        FioCommand::InflateLog(path) => inflate::run(&path).map(|()| DONE),
        FioCommand::ParsedOnly { warnings, parsing } => {
            show(&parsing)?;
            warn(&warnings, say);
            Ok(DONE)
        }
        FioCommand::Run(invocation) => {
            show(&invocation.parsing)?;
            warn(&invocation.warnings, talk(&invocation.output));
            if invocation.warnings_fatal && !invocation.warnings.is_empty() {
                return Err(Failure::usage("warnings are fatal (--warnings-fatal)"));
            }
            let load = acts::permit_devices(invocation.load.clone());
            let host = match there {
                Some(host) => host,
                None => Host::start(target)?,
            };
            run_jobs(&invocation, &load, host)
        }
    }
}

/// Returns the function that prints messages that are no failures: to standard output if the results
/// go to a file, as in fio, since programs that run fio take text on standard error for a failure.
/// Otherwise to standard error, so that standard output holds only results.
fn talk(output: &OutputOptions) -> Talk {
    match output.path {
        // The load continues if the reader of standard output is gone.
        Some(_) => |line| drop(print(|out| writeln!(out, "{line}"))),
        None => say,
    }
}

/// Prints the options as they were parsed.
fn show(parsing: &[String]) -> Result<(), Failure> {
    if parsing.is_empty() {
        return Ok(());
    }
    print(|out| {
        parsing
            .iter()
            .try_for_each(|line| writeln!(out, "{}", clean(line)))
    })
}

fn run_jobs(invocation: &Invocation, load: &Load, mut host: Host) -> Result<ExitCode, Failure> {
    if invocation.output.path.is_some() && child::this().is_some() {
        return Err(Failure::usage(
            "--output: all targets would write the same file; results on standard output are \
             kept apart",
        ));
    }
    let sink = Sink::open(invocation.output.path.as_deref())?;
    let live = live_line(&invocation.output, load, &sink);
    let mut results = Results {
        load,
        words: Words {
            jobs: &invocation.jobs,
            global: &invocation.global_options,
            remarks: &invocation.notes,
        },
        formats: invocation.output.formats,
        terse: (invocation.output.formats.terse).then_some(invocation.output.terse_version),
        sink,
        live,
        random_seeds: invocation.output.random_seeds,
        opened: false,
        talk: talk(&invocation.output),
        repeats: Repeats::default(),
    };
    let interrupt = host.obey_signals(Interrupts::Caught, || {
        say("assay: stopping; the results so far follow");
    })?;
    let (act, seed) = (Work::Streams(Box::new(load.clone())), load.entropy);
    let order = acts::single("", Place::Memory, act, seed, true);
    let (_, outcome) = acts::once(&mut host, order, &mut results)?;
    let report = outcome.and_then(|outcome| outcome.streams);
    let report = report.ok_or_else(|| Failure::lost("the agent sent no report"))?;
    results.close_notes();
    results.present(&report)?;
    if let Some(lost) = &report.lost {
        say(&format!("assay: {lost}"));
    }
    Ok(verdict::exit_code(&report, interrupt.exit_code().is_some()))
}

/// Makes the live line on standard output, as fio does it; it is not shown if standard output has
/// results for a program.
fn live_line<'a>(output: &OutputOptions, load: &'a Load, sink: &Sink) -> LiveLine<'a> {
    let OutputOptions {
        formats,
        eta,
        eta_newline,
        eta_interval,
        ..
    } = output;
    let apart = formats.normal || !sink.is_stdout();
    let wanted = match eta {
        Eta::Always => true,
        Eta::Auto => prints_to_terminal(),
        Eta::Never => false,
    };
    let duration = |nanos: Nanos| Duration::from_nanos(nanos.0);
    LiveLine::new(
        load,
        apart && wanted,
        duration(*eta_interval),
        eta_newline.map(duration),
    )
}
