//! The assay command: flags, wiring, progress, exit codes.

mod args;
mod exit;
mod host;
mod interrupt;
mod output;
mod owner;
mod progress;
mod qualify;
mod stored;
mod usage;

use args::Command;
use exit::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match usage::parse(std::env::args_os()) {
        Ok(args) => args,
        Err(ended) => return ended,
    };
    let outcome = match args.command {
        Command::Qualify(args) => qualify::run(&args),
        Command::List(args) => stored::list(&args),
        Command::Show(args) => stored::show(&args),
        Command::Report(args) => stored::report(&args),
        Command::Agent => serve_host(),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.tell(),
    }
}

/// The hidden command that the local target starts.
fn serve_host() -> Result<ExitCode, Failure> {
    assay_agent::serve(std::io::stdin(), std::io::stdout())
        .map(|()| exit::DONE)
        .map_err(|error| Failure::failed(error.to_string()))
}
