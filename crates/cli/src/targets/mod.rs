//! Targets of `--on`, the processes that measure on several at once, and sessions with a labgrid,
//! whose held boards a journal lists.

pub mod pool;

pub use crate::ui::On;

use crate::checks::input;
use crate::exit::{Failure, end_links_with_this};
use crate::output::say;
use crate::stored::lookup::data_folder;
use crate::targets::pool::run_on_several;
use crate::ui::progress::Messages;
use crate::ui::{parse_address, parse_unit};
use crate::{child, config};
use assay_model::annotation::parse_tag;
use assay_model::text::{clean, meant};
use assay_model::wire::Feature;
use assay_target::labgrid::{Board, BoardFilter, Lab};
use assay_target::{
    Adb, AgentOrder, AgentSession, AgentThere, GivenUpAgent, Local, Ssh, Target, TargetError,
    WhenLost, check_agents,
};
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Returns the targets of two sides that are measured in turn: the first and the second of the
/// arguments, or one for both.
pub fn pair(args: &OnArgs) -> Result<[Box<dyn Target>; 2], Failure> {
    if let Some(unit) = &args.unit {
        return Err(Failure::usage(format!(
            "--unit {unit} names one unit, and there are two sides: name them with assay store tag"
        )));
    }
    let named = |on: &On| -> Result<Box<dyn Target>, Failure> {
        let (inner, project) = (target(on, args.when_lost)?, args.project.clone());
        Ok(Box::new(Named::new(inner, &on.to_string(), project)))
    };
    match args.targets()?.as_slice() {
        [] => Ok([named(&On::Local)?, named(&On::Local)?]),
        [both] => Ok([named(both)?, named(both)?]),
        [a, b] => Ok([named(a)?, named(b)?]),
        more => Err(Failure::usage(format!(
            "{} targets for two sides: give --on once for both, or once for each",
            more.len()
        ))),
    }
}

/// Measures on the target of the arguments, or starts a process for each of several; `words` are
/// the arguments of the command.
pub fn measure(
    args: &OnArgs,
    words: &[OsString],
    json: bool,
    run: impl FnOnce(&mut dyn Target) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    if let Some(part) = child::this() {
        let address = parse(&part.address).map_err(Failure::usage)?;
        let inner = target(&address, args.when_lost)?;
        return run(&mut Named::new(inner, &part.name, args.project.clone()));
    }
    let named = |inner: Box<dyn Target>| Named {
        inner,
        name: None,
        unit: args
            .unit
            .as_ref()
            .or(config::values().unit.as_ref())
            .cloned(),
        project: args.project.clone(),
    };
    match (args.targets()?.as_slice(), &args.unit) {
        ([], _) => run(&mut named(this_machine()?)),
        ([only], _) => run(&mut named(target(only, args.when_lost)?)),
        (_, Some(unit)) => Err(Failure::usage(format!(
            "--unit {unit} names one unit, and there are several targets: measure them one after \
             the other"
        ))),
        (several, None) => run_on_several(several, words, json),
    }
}

/// Argument that makes this program an agent, independent of the program's name. It is no command
/// of assay, no option and no job file of fio.
pub const AGENT: &str = "--serve-as-assay-agent";
/// Name of the flag.
const FLAG: &str = "--on";
/// Prefix of a lab place's name.
const PLACE: &str = "labgrid:";

/// Machine that a command works on.
#[derive(Args, Clone, Debug, Default)]
pub struct OnArgs {
    /// Machine to use instead of this one: ssh://user@host:port (only the host is required),
    /// adb:SERIAL as listed by adb devices (adb: for the only one), a board of a labgrid
    /// (labgrid:PLACE or labgrid:reserve?TAG=VALUE), or a name of a config file. Paths are
    /// paths on that machine. With several --on, or @FILE with one target per line, the command
    /// runs on all of them at the same time, once for each.
    #[arg(long, value_name = "TARGET", value_parser = parse)]
    pub on: Vec<On>,

    /// Reaction to a lost link: stop at once and clean up, or wait (wait=TIME): the trial under
    /// way ends, and the run continues when the link is back.
    #[arg(long, value_name = "stop|wait[=TIME]", default_value = "wait=2m")]
    pub when_lost: WhenLost,

    /// Name of this unit of a part, for devices without CID, serial number, WWN or EUI. Runs
    /// with the same name count as one unit in a comparison.
    #[arg(long, value_name = "NAME", value_parser = parse_unit)]
    pub unit: Option<String>,

    /// Project of the run: series of different projects are kept apart (docs/series.md).
    #[arg(long, value_name = "NAME", value_parser = parse_tag)]
    pub project: Option<String>,
}

impl OnArgs {
    /// Returns the arguments for links that are cut on purpose: a lost link is not waited for.
    pub fn stopping(&self) -> Self {
        Self {
            when_lost: WhenLost::Stop,
            ..self.clone()
        }
    }
}

/// Parses a target of a flag or a list: a name of a config file, or an address.
pub fn parse(text: &str) -> Result<On, String> {
    let names = &config::values().targets;
    if let Some(on) = names.get(text) {
        return Ok(on.clone());
    }
    let meant = meant(text, names.keys().map(String::as_str));
    parse_address(text).map_err(|why| why + &meant)
}

impl OnArgs {
    /// Returns all targets, with those in files; empty for this machine.
    pub fn targets(&self) -> Result<Vec<On>, Failure> {
        let mut targets = Vec::new();
        for on in &self.on {
            match on {
                On::File(path) => targets.extend(from_file(path)?),
                other => targets.push(other.clone()),
            }
        }
        for (index, target) in targets.iter().enumerate() {
            let is_one = !matches!(target, On::Labgrid(BoardFilter::Any(_)));
            if is_one && targets[..index].contains(target) {
                return Err(Failure::usage(format!(
                    "--on {target} is given twice: two runs at a time would measure each other"
                )));
            }
        }
        Ok(targets)
    }
}

/// Reads a target from each line of a file; text after a `#` is a comment.
fn from_file(path: &Path) -> Result<Vec<On>, Failure> {
    let refuse = |why: String| Failure::in_file(path, why);
    let text = input::text(path)?;
    let mut targets = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line
            .split_once('#')
            .map_or(line, |(target, _)| target)
            .trim();
        match parse(line) {
            _ if line.is_empty() => {}
            Ok(On::File(_)) => {
                return Err(refuse(format!(
                    "line {}: a file names no files",
                    number + 1
                )));
            }
            Ok(target) => targets.push(target),
            Err(why) => return Err(refuse(format!("line {}: {why}", number + 1))),
        }
    }
    match targets.is_empty() {
        true => Err(refuse("it names no target".to_owned())),
        false => Ok(targets),
    }
}

/// Returns this machine as a target.
pub fn this_machine() -> Result<Box<dyn Target>, Failure> {
    target(&On::Local, WhenLost::Stop)
}

/// Returns one machine as a target.
pub fn target(on: &On, when_lost: WhenLost) -> Result<Box<dyn Target>, Failure> {
    if !matches!(on, On::Local) {
        check_agents()?;
        end_links_with_this()?;
    }
    match on {
        On::Ssh(address) => Ok(Box::new(
            Ssh::new(address.clone()).when_lost(when_lost, print_link_state),
        )),
        On::Adb(device) => Ok(Box::new(
            Adb::new(device.clone()).when_lost(when_lost, print_link_state),
        )),
        On::Local => {
            let program = this_program()?;
            Ok(Box::new(Local::new(program, &[AGENT])))
        }
        On::Labgrid(wanted) => {
            if matches!(wanted, BoardFilter::Any(_)) {
                say(&waiting_for(wanted));
            }
            let board = Board::new(open_lab()?, wanted.clone());
            Ok(Box::new(board.when_lost(when_lost, print_link_state)))
        }
        On::File(path) => Err(Failure::usage(format!(
            "@{} is a list of targets",
            path.display()
        ))),
    }
}

/// Prints the state of a link, without breaking a live line.
fn print_link_state(line: &str) {
    Messages::new().say(&format!("assay: {}", clean(line)));
}

/// Returns the path of this program.
pub fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::failed(format!("cannot find the assay program: {error}")))
}

/// Target with the user's name for it, the measured unit and the project.
struct Named {
    pub inner: Box<dyn Target>,
    /// Name; `None` for the target's own, which may be known only after it is reached.
    pub name: Option<String>,
    /// Unit that is measured.
    pub unit: Option<String>,
    /// Project of the runs.
    pub project: Option<String>,
}

impl Named {
    /// Wraps one of several targets. This machine keeps its name. Only places of a lab are known to be
    /// distinct boards, and so units: two addresses may belong to one machine.
    pub fn new(inner: Box<dyn Target>, name: &str, project: Option<String>) -> Self {
        Self {
            name: inner.name().map(|_| name.to_owned()),
            inner,
            unit: name.starts_with(PLACE).then(|| name.to_owned()),
            project,
        }
    }
}

impl Target for Named {
    fn name(&self) -> Option<String> {
        self.name.clone().or_else(|| self.inner.name())
    }

    fn unit(&self) -> Option<String> {
        self.unit.clone()
    }

    fn project(&self) -> Option<String> {
        self.project.clone()
    }

    fn needs(&mut self, feature: Feature) {
        self.inner.needs(feature);
    }

    fn needed(&self) -> Option<Feature> {
        self.inner.needed()
    }

    fn start(&mut self) -> Result<AgentSession, TargetError> {
        self.inner.start()
    }

    fn give_up_installed(&mut self) -> Option<GivenUpAgent> {
        self.inner.give_up_installed()
    }

    fn start_in_foreground(&mut self) -> Result<AgentSession, TargetError> {
        self.inner.start_in_foreground()
    }

    fn agents(&mut self, order: AgentOrder) -> Result<Vec<AgentThere>, TargetError> {
        self.inner.agents(order)
    }
}

/// Parses each `--on TARGET` at the front of another tool's arguments; the rest belongs to that
/// tool.
pub fn take_flags(words: &[OsString]) -> Result<(OnArgs, &[OsString]), Failure> {
    let mut args = OnArgs::default();
    let mut rest = words;
    loop {
        let (value, after) = match rest {
            [flag, value, after @ ..] if flag == FLAG => (value.to_str(), after),
            [flag] if flag == FLAG => return Err(Failure::usage("--on needs a value")),
            [word, after @ ..] if word.as_encoded_bytes().starts_with(b"--on=") => (
                word.to_str().and_then(|w| w.split_once('=')).map(|w| w.1),
                after,
            ),
            _ => return Ok((args, rest)),
        };
        let value = value.ok_or_else(|| Failure::usage("the value of --on is not UTF-8"))?;
        let on = parse(value).map_err(|error| Failure::usage(format!("--on {value}: {error}")))?;
        args.on.push(on);
        rest = after;
    }
}

/// Opens a session with the coordinator that the environment names.
pub fn open_lab() -> Result<Arc<Lab>, Failure> {
    Ok(Lab::open(&lab_journals()?)?)
}

/// Returns the folder of the journal of held boards.
pub fn lab_journals() -> Result<PathBuf, Failure> {
    data_folder().ok_or_else(|| {
        Failure::usage(
            "neither XDG_DATA_HOME nor HOME is set: there is no folder to note in which boards \
             are held, so none could be released after a kill",
        )
    })
}

/// Returns the message that the command waits for a board.
pub fn waiting_for(wanted: &BoardFilter) -> String {
    clean(&format!("{wanted}: waiting for a board"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::Scratch;

    fn taken(words: &[&str]) -> Result<(Vec<String>, usize), String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        take_flags(&words)
            .map(|(args, rest)| (args.on.iter().map(On::to_string).collect(), rest.len()))
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn only_the_first_words_are_not_the_tools_own() {
        let of = |on: &[&str], rest| Ok((on.iter().map(ToString::to_string).collect(), rest));
        let board = "ssh://board";
        assert_eq!(taken(&["--on", board, "-a"]), of(&[board], 1));
        assert_eq!(taken(&["--on=ssh://board"]), of(&[board], 0));
        assert_eq!(taken(&["--on", "local", "x"]), of(&["local"], 1));
        assert_eq!(taken(&["--on", "adb:0123", "-a"]), of(&["adb:0123"], 1));
        let both = ["--on", "local", "--on=ssh://board", "-a"];
        assert_eq!(taken(&both), of(&["local", board], 1));
        assert_eq!(taken(&["-a", "--on", board]), of(&[], 3));
        assert_eq!(taken(&["--only"]), of(&[], 1));
        assert_eq!(taken(&[]), of(&[], 0));
        for words in [
            &["--on"][..],
            &["--on", "board"],
            &["--on="],
            &["--on=@"],
            &["--on", "adb:a b"],
        ] {
            assert!(taken(words).is_err(), "{words:?}");
        }
    }

    fn targets(list: &str) -> Result<Vec<String>, String> {
        let folder = Scratch::new().unwrap();
        let file = folder.join("list");
        std::fs::write(&file, list).unwrap();
        let args = OnArgs {
            on: vec![On::Local, On::File(file)],
            ..OnArgs::default()
        };
        let targets = args.targets().map_err(|failure| failure.to_string())?;
        Ok(targets.iter().map(On::to_string).collect())
    }

    #[test]
    fn a_file_names_a_target_on_each_line() {
        let any = "labgrid:reserve?media=sd";
        let list = format!("# the lab\nssh://a  # old part\n\n  ssh://root@b:22\n{any}\n{any}\n");
        let expected = ["local", "ssh://a", "ssh://root@b:22", any, any];
        assert_eq!(targets(&list).unwrap(), expected);
        for (list, expected) in [
            ("", "names no target"),
            ("ssh://a\nboard\n", "line 2"),
            ("@more\n", "names no files"),
            ("ssh://a\nssh://a\n", "given twice"),
            ("local\n", "given twice"),
            ("labgrid:sd1\nlabgrid:sd1\n", "given twice"),
        ] {
            let why = targets(list).unwrap_err();
            assert!(why.contains(expected), "{list:?}: {why}");
        }
    }
}
