//! The assay command: flags, wiring, progress, exit codes.

mod checks;
mod child;
mod commands;
mod config;
mod driver;
mod exit;
mod jobs;
mod judging;
mod output;
mod rounds;
mod scenarios;
mod sharing;
mod stored;
mod targets;
mod ui;

use crate::driver::acts::MeasureArgs;
use assay_lang::Language;
use assay_model::text::clean;
use assay_target::Target;
use commands::dropin::{androbench, dd, fio, iozone};
use commands::judge::{accept, compare, explain, model, rank, require, series};
use commands::machines::targets::{list_targets, run_agent_command};
use commands::machines::{campaign, config as settings, devices};
use commands::measure::{
    capacity, check, disks, load_curve, mark, mem, ping, powercut, qualify, replay,
    run as run_file, scenario, soak, sweep, traits, watch,
};
use commands::results::{entries, export, query, report, serve, transfer};
use commands::{Cli, Command, LabGroup, ModelGroup, StoreGroup, generate, language, resume};
use exit::Failure;
use signal_hook::consts::SIGXFSZ;
use std::ffi::{OsStr, OsString};
use std::panic::resume_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use targets::AGENT;

/// Stack size of the thread that carries out the command. The stack of the first thread depends on
/// `ulimit -s`.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    let thread = std::thread::Builder::new().name("main".to_owned());
    match thread.stack_size(STACK_BYTES).spawn(command) {
        Ok(command) => command.join().unwrap_or_else(|panic| resume_unwind(panic)),
        Err(_) => command(),
    }
}

fn command() -> ExitCode {
    // With the signal caught, a write beyond the limit of file sizes (`ulimit -f`) returns an error.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let code = run().unwrap_or_else(|failure| {
        let line = format!("assay: {}", clean(&failure.to_string()));
        output::say(&child::failure(&line));
        failure.code()
    });
    sharing::push_ended();
    code
}

fn run() -> Result<ExitCode, Failure> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    child::take(&mut words)?;
    if words.get(1).is_some_and(|word| word == AGENT) {
        return serve_host(&words[2..]);
    }
    // Pages of the manual must not depend on the settings.
    if words.get(1).is_none_or(|word| word != "--generate") {
        config::load();
    }
    assay_lang::speak(language::wanted(&words, &TOOLS.map(|(name, _)| name)));
    if let Some(candidates) = generate::completion::candidates(&words) {
        output::print(|out| out.write_all(&candidates))?;
        return Ok(exit::DONE);
    }
    for (name, run) in TOOLS {
        if let Some(words) = words_of(name, &words) {
            // A mistake in the settings must not break scripts that use the tool.
            if let Err(why) = config::current().check() {
                output::say(&clean(&format!("assay: {why}; {name} goes on without it")));
            }
            return run_tool(name, run, words);
        }
    }
    let own = words.get(1..).unwrap_or_default().to_vec();
    let parsed = commands::parse(words).or_else(|mistake| {
        // A setting that is not understood can be the cause of the mistake.
        config::current().check()?;
        Err(mistake)
    })?;
    match parsed {
        Some(Cli {
            generate: Some(words),
            ..
        }) => generate::run(&words),
        Some(Cli {
            command: Some(command),
            lang,
            ..
        }) => run_command(command, &own, lang.as_deref()),
        _ => Ok(exit::DONE),
    }
}

fn run_command(
    command: Command,
    own: &[OsString],
    lang: Option<&str>,
) -> Result<ExitCode, Failure> {
    if !command.describes_settings() {
        config::current().check()?;
    }
    match command {
        Command::Check(args) => measure(own, &args.shared, |on| check::run(&args, on)),
        Command::Qualify(args) => measure(own, &args.shared, |on| qualify::run(&args, on)),
        Command::Sweep(args) => measure(own, &args.shared, |on| {
            sweep::run(&args, commands::repeated::parse, on)
        }),
        Command::Mark(args) => measure(own, &args.shared, |on| mark::run(&args, on)),
        Command::Run(args) => {
            targets::measure(&args.on, own, args.json, |on| run_file::run(&args, on))
        }
        Command::Replay(args) => {
            targets::measure(&args.on, own, args.json, |on| replay::run(&args, on))
        }
        Command::Fio(args) => run_tool("fio", fio::run, &args.words),
        Command::Dd(args) => run_tool("dd", dd::run, &args.words),
        Command::Androbench(args) => measure(own, &args.shared, |on| androbench::run(&args, on)),
        Command::Watch(args) => {
            targets::measure(&args.on, own, args.json, |on| watch::run(&args, on))
        }
        Command::Iozone(args) => run_tool("iozone", iozone::run, &args.words),
        Command::Disks(args) => measure(own, &args.shared, |on| disks::run(&args, on)),
        Command::LoadCurve(args) => measure(own, &args.shared, |on| load_curve::run(&args, on)),
        Command::Ping(args) => measure(own, &args.shared, |on| ping::run(&args, on)),
        Command::Capacity(args) => measure(own, &args.shared, |on| capacity::run(&args, on)),
        Command::Mem(args) => measure(own, &args.shared, |on| mem::run(&args, on)),
        Command::Scenario(args) => measure(own, &args.shared, |on| scenario::run(&args, on)),
        Command::Devices(args) => targets::measure(&args.on, own, args.output.json, |on| {
            devices::list_devices(&args, on)
        }),
        Command::Doctor(args) => targets::measure(&args.on, own, args.output.json, |on| {
            devices::examine_machine(&args, on)
        }),
        Command::Resume(args) => targets::measure(&args.on, own, args.json, |on| {
            resume::run(&args, check::present_resumed, on)
        }),
        Command::Accept(mut args) => accept::run(&mut args),
        Command::Compare(args) => compare::run(&args, commands::repeated::parse),
        Command::Require(args) => require::run(&args),
        Command::Rank(args) => rank::rank_conditions(&args),
        Command::Series(args) => series::list_series(&args),
        Command::List(args) => entries::list_results(&args, traits::in_brief),
        Command::Report(args) => report::run(&args),
        Command::Model(ModelGroup::Traits(args)) => {
            targets::measure(&args.on, own, args.output.json, |on| traits::run(&args, on))
        }
        Command::Model(ModelGroup::Power(args)) => rank::show_power(&args),
        Command::Model(ModelGroup::Explain(args)) => explain::run(&args),
        Command::Model(ModelGroup::Model(command)) => model::run(&command),
        Command::Store(command) => run_store_command(&command),
        Command::Lab(LabGroup::Targets(args)) => list_targets(&args),
        Command::Lab(LabGroup::Agent(args)) => run_agent_command(&args),
        Command::Lab(LabGroup::Campaign(args)) => campaign::run(&args),
        Command::Lab(LabGroup::Soak(args)) => measure(own, &args.shared, |on| soak::run(&args, on)),
        Command::Lab(LabGroup::Powercut(args)) => {
            let (on, json) = (args.shared.on.stopping(), args.shared.json);
            targets::measure(&on, own, json, |on| powercut::run(&args, on))
        }
        Command::Lab(LabGroup::Config(command)) => settings::run(&command, lang),
    }
}

fn run_store_command(command: &StoreGroup) -> Result<ExitCode, Failure> {
    match command {
        StoreGroup::Import(args) => entries::import_files(args),
        StoreGroup::Tag(args) => entries::tag_result(args),
        StoreGroup::Rm(args) => entries::remove_results(args),
        StoreGroup::Query(args) => query::run(args),
        StoreGroup::Export(args) => export::export_views(args),
        StoreGroup::Share(args) => export::share_runs(args),
        StoreGroup::Serve(args) => serve::run(args),
        StoreGroup::Push(args) => transfer::push_runs(args),
        StoreGroup::Pull(args) => transfer::pull_runs(args),
        StoreGroup::Upkeep(command) => transfer::keep_up(command),
    }
}

/// Measures on the targets that the arguments select.
fn measure(
    words: &[OsString],
    args: &MeasureArgs,
    run: impl FnOnce(&mut dyn Target) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    targets::measure(&args.on, words, args.json, run)
}

/// Function of a command that is a drop-in for another tool; it parses that tool's arguments.
type Tool = fn(&[OsString], &mut dyn Target) -> Result<ExitCode, Failure>;

/// Drop-in tools by name.
const TOOLS: [(&str, Tool); 3] = [("fio", fio::run), ("dd", dd::run), ("iozone", iozone::run)];

/// Runs a tool on the targets that its first arguments select.
fn run_tool(name: &str, tool: Tool, words: &[OsString]) -> Result<ExitCode, Failure> {
    // Programs that parse the output of the original tool expect English.
    assay_lang::speak(Language::English);
    let (on, own) = targets::take_flags(words)?;
    let json = own.iter().any(|word| word == "--json");
    let command = [&[name.into()], words].concat();
    targets::measure(&on, &command, json, |target| tool(own, target))
}

/// Returns the arguments after `assay TOOL`, or after a link named like the tool: they belong to
/// the tool, and no other parser may see them.
fn words_of<'a>(tool: &str, words: &'a [OsString]) -> Option<&'a [OsString]> {
    let (program, rest) = words.split_first()?;
    if Path::new(program).file_name() == Some(OsStr::new(tool)) {
        return Some(rest);
    }
    let (command, rest) = rest.split_first()?;
    (command == tool).then_some(rest)
}

/// Runs an agent for the local target: on the standard streams, or in the foreground on the two
/// descriptors that the arguments give.
fn serve_host(words: &[OsString]) -> Result<ExitCode, Failure> {
    let number = |word: &OsString| word.to_str()?.parse().ok();
    let served = match words {
        [requests, answers] => match (number(requests), number(answers)) {
            (Some(requests), Some(answers)) => {
                assay_agent::serve_in_foreground(requests, answers).map_err(std::io::Error::other)
            }
            _ => return Err(Failure::usage("a foreground agent needs two descriptors")),
        },
        _ => assay_agent::run(words),
    };
    served.map(|()| exit::DONE).map_err(Failure::failed)
}
