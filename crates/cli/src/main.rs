//! The assay command: flags, wiring, progress, exit codes.

mod args;
mod exit;
mod host;
mod interrupt;
mod output;
mod owner;
mod progress;
mod qualify;
mod runs;
mod stored;
mod usage;

use args::Command;
use assay_target::Local;
use exit::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    run().unwrap_or_else(|failure| {
        output::say(&format!("assay: {failure}"));
        failure.code()
    })
}

fn run() -> Result<ExitCode, Failure> {
    let Some(args) = usage::parse(std::env::args_os())? else {
        return Ok(exit::DONE);
    };
    match args.command {
        Command::Qualify(args) => qualify::run(&args, &mut Local),
        Command::List(args) => stored::list(&args),
        Command::Show(args) => stored::show(&args),
        Command::Report(args) => stored::report(&args),
        Command::Agent => serve_host(),
    }
}

/// The hidden command that the local target starts.
fn serve_host() -> Result<ExitCode, Failure> {
    assay_agent::serve(std::io::stdin(), std::io::stdout())
        .map(|()| exit::DONE)
        .map_err(|error| Failure::failed(error.to_string()))
}
