//! `--on`: on which machine a command measures.

use crate::exit::Failure;
use crate::host::AGENT;
use crate::progress::Voice;
use assay_model::text::clean;
use assay_target::adb::AdbDevice;
use assay_target::ssh::SshAddress;
use assay_target::{Adb, Local, Ssh, Target, WhenLost};
use clap::Args;
use std::ffi::OsString;

/// The flag.
const FLAG: &str = "--on";

/// Where to measure.
#[derive(Args, Clone, Debug, Default)]
pub struct OnArgs {
    /// Measure on another machine: ssh://user@host:port, as far as ssh needs them, or
    /// adb:SERIAL, as adb devices lists it (adb: for the only one). Paths are those of
    /// that machine.
    #[arg(long, value_name = "TARGET", value_parser = parse)]
    pub on: Option<On>,

    /// When the link to that machine is lost: stop (and clean up) at once, or wait for
    /// it, wait=TIME: what was under way there ends, and goes on when the link is back.
    #[arg(long, value_name = "stop|wait[=TIME]", default_value = "wait=2m")]
    pub when_lost: WhenLost,
}

/// Another machine, or this one by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// `local`.
    Local,
    /// `ssh://...`.
    Ssh(SshAddress),
    /// `adb:...`.
    Adb(AdbDevice),
}

/// Reads a target.
fn parse(text: &str) -> Result<On, String> {
    match text.split_once(':') {
        None if text == "local" => Ok(On::Local),
        Some(("ssh", _)) => text.parse().map(On::Ssh).map_err(|why| why.to_string()),
        Some(("adb", _)) => text.parse().map(On::Adb).map_err(|why| why.to_string()),
        _ => Err(
            "no machine is called so; write ssh://user@host:port, adb:SERIAL or local".to_owned(),
        ),
    }
}

/// The machine to measure on.
pub fn target(args: &OnArgs) -> Result<Box<dyn Target>, Failure> {
    match &args.on {
        Some(On::Ssh(address)) => {
            let ssh = Ssh::new(address.clone());
            Ok(Box::new(ssh.when_lost(args.when_lost, tell)))
        }
        Some(On::Adb(device)) => {
            let adb = Adb::new(device.clone());
            Ok(Box::new(adb.when_lost(args.when_lost, tell)))
        }
        Some(On::Local) | None => {
            let program = std::env::current_exe().map_err(|error| {
                Failure::failed(format!("cannot find the assay program: {error}"))
            })?;
            Ok(Box::new(Local::new(program, &[AGENT])))
        }
    }
}

/// What becomes of a link; a line that is drawn over may be there.
fn tell(line: &str) {
    Voice::new().say(&format!("assay: {}", clean(line)));
}

/// Takes `--on TARGET` from the front of another tool's words, which are all that
/// tool's from there on.
pub fn take(words: &[OsString]) -> Result<(OnArgs, &[OsString]), Failure> {
    let (value, rest) = match words {
        [flag, value, rest @ ..] if flag == FLAG => (value.to_str(), rest),
        [flag] if flag == FLAG => return Err(Failure::usage("--on needs a value")),
        [word, rest @ ..] if starts(word) => (
            word.to_str().and_then(|w| w.split_once('=')).map(|w| w.1),
            rest,
        ),
        _ => return Ok((OnArgs::default(), words)),
    };
    let value = value.ok_or_else(|| Failure::usage("the value of --on is not UTF-8"))?;
    let on = parse(value).map_err(|error| Failure::usage(format!("--on {value}: {error}")))?;
    let on = OnArgs {
        on: Some(on),
        ..OnArgs::default()
    };
    Ok((on, rest))
}

fn starts(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"--on=")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(words: &[&str]) -> Result<(Option<On>, usize), String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        take(&words)
            .map(|(args, rest)| (args.on, rest.len()))
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn only_the_first_words_are_not_the_tools_own() {
        let board = || Some(On::Ssh("ssh://board".parse().unwrap()));
        assert_eq!(taken(&["--on", "ssh://board", "-a"]), Ok((board(), 1)));
        assert_eq!(taken(&["--on=ssh://board"]), Ok((board(), 0)));
        let phone = Some(On::Adb("adb:0123".parse().unwrap()));
        assert_eq!(taken(&["--on", "adb:0123", "-a"]), Ok((phone, 1)));
        assert_eq!(taken(&["--on", "local", "x"]), Ok((Some(On::Local), 1)));
        assert_eq!(taken(&["-a", "--on", "ssh://board"]), Ok((None, 3)));
        assert_eq!(taken(&["--only"]), Ok((None, 1)));
        assert_eq!(taken(&[]), Ok((None, 0)));
        for words in [
            &["--on"][..],
            &["--on", "board"],
            &["--on="],
            &["--on", "adb:a b"],
        ] {
            assert!(taken(words).is_err(), "{words:?}");
        }
    }
}
