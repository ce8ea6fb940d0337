//! Methods to cut the power and to restore it.

use crate::exit::Failure;
use crate::output::say;
use assay_lang::tr;
use assay_target::labgrid::client;
use std::io::BufRead;
use std::process::{Command, Stdio};
use std::str::FromStr;

/// Prefix of `--cut` with a command.
const COMMAND: &str = "command:";

/// A command and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words(pub Vec<String>);

/// Splits words as a shell does; nothing else of a shell is interpreted.
pub fn words(text: &str) -> Result<Words, String> {
    match shlex::split(text) {
        Some(words) if !words.is_empty() => Ok(Words(words)),
        _ => Err("no command: write its words as for a shell".to_owned()),
    }
}

/// Method of cutting the power.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// By hand.
    Ask,
    /// By the power driver of a labgrid's place.
    Labgrid,
    /// By a command.
    Command(Words),
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ask" => Ok(Self::Ask),
            "labgrid" => Ok(Self::Labgrid),
            _ => match text.strip_prefix(COMMAND) {
                Some(command) => words(command).map(Self::Command),
                None => Err("one of ask, labgrid, command:'WORDS'".to_owned()),
            },
        }
    }
}

/// Power switch of a board.
#[derive(Clone, Debug)]
pub enum Switch {
    /// The user, who is asked to switch.
    Hand,
    /// External commands.
    Commands {
        /// Cuts the power.
        off: Words,
        /// Restores the power; `None` if `off` does so, too.
        on: Option<Words>,
    },
}

impl Switch {
    /// Returns the switch of a method, for the target of that name.
    pub fn new(method: &Method, restore: Option<&Words>, target: &str) -> Result<Self, Failure> {
        let place = target.strip_prefix("labgrid:");
        match (method, place) {
            (Method::Ask | Method::Labgrid, _) if restore.is_some() => {
                Err(Failure::usage("--restore is for --cut command:'WORDS'"))
            }
            (Method::Ask, _) => Ok(Self::Hand),
            (Method::Command(off), _) => Ok(Self::Commands {
                off: off.clone(),
                on: restore.cloned(),
            }),
            (Method::Labgrid, Some(place)) => {
                let power = |what: &str| {
                    let mut words = client();
                    words.extend(["-p", place, "power", what].map(str::to_owned));
                    Words(words)
                };
                Ok(Self::Commands {
                    off: power("off"),
                    on: Some(power("on")),
                })
            }
            (Method::Labgrid, None) => Err(Failure::usage(
                "--cut labgrid is for a board of a labgrid: --on labgrid:PLACE",
            )),
        }
    }

    /// Cuts the power.
    pub fn off(&self) -> Result<(), Failure> {
        match self {
            Self::Hand => ask(tr!("NOW: cut the power of the board, then press Enter")),
            Self::Commands { off, .. } => run(off),
        }
    }

    /// Restores the power.
    pub fn on(&self) -> Result<(), Failure> {
        match self {
            Self::Hand => ask(tr!("Give the power back, then press Enter")),
            Self::Commands { on: Some(on), .. } => run(on),
            Self::Commands { on: None, .. } => Ok(()),
        }
    }
}

fn ask(what: &str) -> Result<(), Failure> {
    say(what);
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(length) if length > 0 => Ok(()),
        _ => Err(Failure::usage("--cut ask needs somebody at the keyboard")),
    }
}

/// Runs a command. Its output goes to standard error: standard output is for results.
fn run(words: &Words) -> Result<(), Failure> {
    let Some((program, arguments)) = words.0.split_first() else {
        return Ok(());
    };
    let shown = words.0.join(" ");
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(Failure::failed(format!(
            "{shown}: {}: {}",
            output.status,
            said.trim().lines().last().unwrap_or_default()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_a_word_or_a_command() {
        assert_eq!("ask".parse(), Ok(Method::Ask));
        let relay = Words(vec!["relay".to_owned(), "off 3".to_owned()]);
        assert_eq!("command:relay 'off 3'".parse(), Ok(Method::Command(relay)));
        for bad in ["", "relay", "command:", "command:'"] {
            assert!(bad.parse::<Method>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_place_of_a_labgrid_is_switched_by_its_client() {
        let switch = Switch::new(&Method::Labgrid, None, "labgrid:b3").unwrap();
        let Switch::Commands { off, on } = switch else {
            panic!("{switch:?}");
        };
        let words = off.0.join(" ");
        assert!(
            words.ends_with("-m labgrid.remote.client -p b3 power off"),
            "{words}"
        );
        assert_eq!(on.unwrap().0.last().unwrap(), "on");
        assert!(Switch::new(&Method::Labgrid, None, "ssh://b").is_err());
        assert!(Switch::new(&Method::Ask, Some(&Words(Vec::new())), "ssh://b").is_err());
    }

    #[test]
    fn a_command_that_fails_says_so() {
        let failed = run(&words("sh -c 'echo no relay >&2; exit 3'").unwrap());
        let said = failed.unwrap_err().to_string();
        assert!(
            said.contains("no relay") && said.contains("exit status: 3"),
            "{said}"
        );
    }
}
