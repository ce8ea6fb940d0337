//! The agent as a program of its own: speaks on standard input and output.

use std::process::ExitCode;

fn main() -> ExitCode {
    match assay_agent::serve(std::io::stdin(), std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
