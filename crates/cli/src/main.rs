//! The assay command: flags, wiring, progress, exit codes.

mod androbench;
mod announce;
mod args;
mod capacity;
mod compare;
mod dd;
mod disks;
mod estimate;
mod exit;
mod figures;
mod fio;
mod formats;
mod host;
mod import;
mod interrupt;
mod iozone;
mod leftovers;
mod loads;
mod mark;
mod output;
mod owner;
mod place;
mod plans;
mod plot;
mod power;
mod progress;
mod qualify;
mod rank;
mod report;
mod room;
mod rounds;
mod run;
mod runs;
mod steps;
mod store_guard;
mod stored;
mod sweep;
mod usage;
mod watch;
mod works;

use args::Command;
use assay_model::text::clean;
use assay_target::Local;
use exit::Failure;
use host::AGENT;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    run().unwrap_or_else(|failure| {
        output::say(&format!("assay: {}", clean(&failure.to_string())));
        failure.code()
    })
}

fn run() -> Result<ExitCode, Failure> {
    let words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == AGENT) {
        return serve_host(&words[2..]);
    }
    if let Some(words) = words_of("fio", &words) {
        return fio::run(words, &mut Local);
    }
    if let Some(words) = words_of("dd", &words) {
        return dd::run(words, &mut Local);
    }
    if let Some(words) = words_of("iozone", &words) {
        return iozone::run(words, &mut Local);
    }
    let Some(args) = usage::parse(words)? else {
        return Ok(exit::DONE);
    };
    match args.command {
        Command::Qualify(args) => qualify::run(&args, &mut Local),
        Command::Sweep(args) => sweep::run(&args, &mut Local),
        Command::Mark(args) => mark::run(&args, &mut Local),
        Command::Run(args) => run::run(&args, &mut Local),
        Command::Fio(args) => fio::run(&args.words, &mut Local),
        Command::Dd(args) => dd::run(&args.words, &mut Local),
        Command::Androbench(args) => androbench::run(&args, &mut Local),
        Command::Watch(args) => watch::run(&args, &mut Local),
        Command::Iozone(args) => iozone::run(&args.words, &mut Local),
        Command::Disks(args) => disks::run(&args, &mut Local),
        Command::Capacity(args) => capacity::run(&args, &mut Local),
        Command::Compare(args) => compare::run(&args, &mut Local),
        Command::Rank(args) => rank::run(&args),
        Command::Power(args) => power::run(&args),
        Command::Import(args) => import::run(&args),
        Command::List(args) => stored::list(&args),
        Command::Show(args) => stored::show(&args),
        Command::Report(args) => report::run(&args),
        Command::Plot(args) => plot::run(&args),
    }
}

/// What follows `assay TOOL`, or the name of a link that is called like the tool:
/// its own words, which no other parser may see.
fn words_of<'a>(tool: &str, words: &'a [OsString]) -> Option<&'a [OsString]> {
    let (program, rest) = words.split_first()?;
    if Path::new(program).file_name() == Some(OsStr::new(tool)) {
        return Some(rest);
    }
    let (command, rest) = rest.split_first()?;
    (command == tool).then_some(rest)
}

/// What the local target starts: an agent on its standard streams, or one in
/// front, which is told its descriptors.
fn serve_host(descriptors: &[OsString]) -> Result<ExitCode, Failure> {
    let numbers: Vec<i32> = descriptors
        .iter()
        .filter_map(|word| word.to_str()?.parse().ok())
        .collect();
    let served = match numbers[..] {
        [requests, answers] => assay_agent::serve_in_front(requests, answers),
        _ => assay_agent::serve(std::io::stdin(), std::io::stdout()),
    };
    served
        .map(|()| exit::DONE)
        .map_err(|error| Failure::failed(error.to_string()))
}
