//! Completion of the command line: scripts for shells, and the candidates that they ask for.
//!
//! A script calls `assay` with [`VARIABLE`] set. Such a call opens the store read-only, starts no
//! program, and prints no error: after a failure there are no candidates.

use crate::commands::command_of;
use crate::commands::language::localized;
use crate::commands::machines::targets::targets_in_files;
use crate::jobs;
use crate::scenarios::BUILT_IN;
use crate::stored::lookup::StoreArgs;
use assay_flash::part::DeviceModel;
use assay_model::condition::Subject;
use assay_model::device;
use assay_model::text::clean;
use assay_report::json::rfc3339;
use assay_store::{Location, SomeTrials, Store, StoredCandidate};
use clap::Command;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::Shells;
use std::ffi::{OsStr, OsString};
use std::fs;

/// Variable with the name of the shell that asks for candidates.
const VARIABLE: &str = "ASSAY_COMPLETE";
/// Maximum number of candidates from the store.
const MOST: u32 = 200;

/// Function that returns the candidates for a value that begins with a text.
type Candidates = fn(&str) -> Vec<CompletionCandidate>;

/// Candidate functions by the name of the value in the help. Files are completed if the value is a
/// path.
const CANDIDATES: [(&str, Candidates); 10] = [
    ("RUN", runs),
    ("SOURCE", |word| or_files(word, runs(word))),
    ("FILE|RUN", |word| or_files(word, runs(word))),
    ("TARGET", targets),
    ("NAMES", |word| beginning_with(word, jobs::names())),
    ("SUBJECT=VALUES", |word| beginning_with(word, subjects())),
    ("MODE", |word| {
        beginning_with(word, device::all_ceilings().into_iter().map(|bus| bus.mode))
    }),
    ("PART|FILE", |word| {
        or_files(word, beginning_with(word, parts()))
    }),
    ("SCENARIO|FILE", |word| or_files(word, scenarios(word))),
    ("SCENARIO", scenarios),
];

/// Bash function that is called before clap's. Bash splits words at `:`, `=` and `@`, and expects
/// candidates for the last piece (`$2`); assay needs words as they were typed.
const BASH: &str = r#"
_assay() {
    local words=() line="${COMP_LINE:0:COMP_POINT}" last=-1 index piece
    for ((index = 0; index <= COMP_CWORD; index++)); do
        if [[ $index == 0 || $line == [[:blank:]]* ]]; then
            words[++last]=
            line="${line#"${line%%[![:blank:]]*}"}"
        fi
        piece="${COMP_WORDS[index]}"
        ((index < COMP_CWORD)) || piece="$line"
        words[last]+="$piece"
        line="${line#"$piece"}"
    done
    words[last]="${words[last]#[\'\"]}"
    local before="${words[last]%"$2"}" COMP_WORDS=("${words[@]}") COMP_CWORD="$last"
    _clap_complete_assay "$1" "${words[last]}" "$3"
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
"#;

/// Last line of clap's script for zsh, which registers its function.
const ZSH_ENDS: &str = "compdef _clap_dynamic_completer_assay assay";
/// Replacement of that line, for a script that is sourced as well as for one that zsh loads as the
/// function `_assay` when it first completes.
const ZSH: &str = r#"if [[ "$funcstack[1]" == _assay ]]; then
    _clap_dynamic_completer_assay "$@"
else
    compdef _clap_dynamic_completer_assay assay
fi"#;

/// Returns the completion script of a shell, for `assay` on the search path.
pub fn script(shell: &str) -> Option<String> {
    let shells = Shells::builtins();
    let completer = shells.completer(shell)?;
    let mut script = Vec::new();
    let written = completer.write_registration(VARIABLE, "assay", "assay", "assay", &mut script);
    written.ok()?;
    let script = String::from_utf8(script).ok()?;
    Some(match completer.name() {
        "bash" => format!(
            "{BASH}{}",
            script.replace("-F _clap_complete_assay", "-F _assay")
        ),
        "zsh" => script.replace(ZSH_ENDS, ZSH),
        _ => script,
    })
}

/// Returns the candidates for a shell that completes the words after `--`; `None` without a request.
pub fn candidates(words: &[OsString]) -> Option<Vec<u8>> {
    let shell = std::env::var(VARIABLE).ok()?;
    let start = words.iter().position(|word| word == "--")?;
    let typed = words[start + 1..].to_vec();
    let mut answer = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&shell)
        && !typed.is_empty()
    {
        let folder = std::env::current_dir().ok();
        let mut command = with_candidates(localized());
        let _ = shell.write_complete(&mut command, typed, folder.as_deref(), &mut answer);
    }
    Some(answer)
}

fn with_candidates(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let names = arg.get_value_names().unwrap_or_default();
        let mut known = CANDIDATES.iter();
        match known.find(|(name, _)| names.iter().any(|own| own == name)) {
            Some((_, candidates)) if arg.get_possible_values().is_empty() => {
                arg.add(ArgValueCompleter::new(move |word: &OsStr| {
                    word.to_str().map(*candidates).unwrap_or_default()
                }))
            }
            _ => arg,
        }
    });
    command.mut_subcommands(with_candidates)
}

fn beginning_with(
    word: &str,
    all: impl IntoIterator<Item = impl Into<String>>,
) -> Vec<CompletionCandidate> {
    let all = all.into_iter().map(Into::into);
    let fitting = all.filter(|one: &String| one.starts_with(word));
    fitting.map(CompletionCandidate::new).collect()
}

fn or_files(word: &str, mut candidates: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    candidates.extend(PathCompleter::any().complete(OsStr::new(word)));
    candidates
}

/// Opens the store of the incomplete command line, else the default one.
fn store() -> Option<Store> {
    // The shell passes the incomplete command line after `--`.
    let mut words = std::env::args_os().skip_while(|word| word != "--");
    let named = words.find_map(|word| match word.to_str()?.strip_prefix("--store")? {
        "" => Some(None),
        value => value.strip_prefix('=').map(|name| Some(name.into())),
    });
    let store = named.and_then(|name| name.or_else(|| words.next()));
    let store = store.map(|name: OsString| Location::parse(&name));
    Store::open_to_read(&StoreArgs { store }.location().ok()?).ok()
}

/// Returns runs and imports by name or id, with descriptions; after an @, the conditions of a run.
fn runs(word: &str) -> Vec<CompletionCandidate> {
    let Some(store) = store() else {
        return Vec::new();
    };
    if let Some((name, _)) = word.split_once('@') {
        let found = store.find(name).ok();
        // The conditions are in the header; one trial keeps the load short.
        let found = found.and_then(|found| store.load_some(found.id(), |_| SomeTrials::Last).ok());
        let conditions = found.map(|found| found.run.header.plan.conditions);
        let conditions = conditions.unwrap_or_default().into_iter();
        let conditions = conditions.map(|one| format!("{name}@{}", one.name));
        return beginning_with(word, conditions.filter(|one| is_plain(one)));
    }
    let stored = store.candidates(word, MOST).unwrap_or_default();
    let mut candidates = beginning_with(word, (!stored.is_empty()).then_some("last"));
    let stored = stored.iter().filter(|stored| is_plain(&stored.id));
    candidates.extend(stored.map(|stored| candidate(word, stored)));
    candidates
}

/// Returns `true` if a text has no special characters for a shell. Shells insert candidates
/// unquoted, and a text in a store from elsewhere could contain a command.
fn is_plain(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_alphanumeric() || "-_.,+:/@=".contains(c))
}

fn candidate(word: &str, stored: &StoredCandidate) -> CompletionCandidate {
    let name = stored.name.as_deref().filter(|name| is_plain(name));
    let name = name.filter(|name| name.starts_with(word));
    let command = match command_of(&stored.command) {
        "" => "import",
        command => command,
    };
    let date = rfc3339(stored.started_unix_ms);
    let known = [
        command,
        stored
            .name
            .as_deref()
            .filter(|_| name.is_none())
            .unwrap_or_default(),
        &stored.device,
        date.split('T').next().unwrap_or_default(),
    ];
    let known: Vec<&str> = known.into_iter().filter(|text| !text.is_empty()).collect();
    let value = name.unwrap_or(&stored.id);
    CompletionCandidate::new(value).help(Some(clean(&known.join(", ")).into()))
}

/// Returns kinds of targets, hosts of ssh's configuration, and targets of stored runs.
fn targets(word: &str) -> Vec<CompletionCandidate> {
    let kinds = ["local", "ssh://", "adb:", "labgrid:"].map(str::to_owned);
    let hosts = targets_in_files()
        .into_iter()
        .map(|known| known.name.unwrap_or_else(|| known.on.to_string()));
    let stored = store().and_then(|store| store.candidates("", MOST).ok());
    let measured = stored.unwrap_or_default().into_iter();
    let mut all: Vec<String> = kinds.into_iter().chain(hosts).collect();
    for target in measured.filter_map(|stored| stored.target) {
        if !all.contains(&target) {
            all.push(target);
        }
    }
    beginning_with(word, all.into_iter().filter(|one| is_plain(one)))
}

fn subjects() -> impl Iterator<Item = String> {
    let files = fs::read_dir("/proc/sys/vm").into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let mut names: Vec<String> = names.map(|name| format!("vm.{name}=")).collect();
    names.sort();
    let usual = Subject::USUAL.map(|name| format!("{name}="));
    let others = ["file:/", "cmd:"].map(str::to_owned);
    usual.into_iter().chain(others).chain(names)
}

fn parts() -> impl Iterator<Item = String> {
    DeviceModel::known().into_iter().map(|part| part.name)
}

fn scenarios(word: &str) -> Vec<CompletionCandidate> {
    beginning_with(word, BUILT_IN.map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Cli;
    use assay_model::condition::{Commands, Vary};
    use clap::CommandFactory;

    #[test]
    fn every_value_with_candidates_is_in_the_help() {
        fn names(command: &Command) -> Vec<String> {
            let values = command
                .get_arguments()
                .filter_map(|arg| arg.get_value_names());
            let own = values.flatten().map(ToString::to_string);
            own.chain(command.get_subcommands().flat_map(names))
                .collect()
        }
        let names = names(&Cli::command());
        for (name, _) in CANDIDATES {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn candidates_need_no_quoting() {
        for text in [
            "48nykhbx",
            "last@scheduler=none",
            "ssh://root@10.0.0.7:22",
            "a-b_c.d",
        ] {
            assert!(is_plain(text), "{text}");
        }
        for text in ["$(reboot)", "a;b", "a b", "a\nb", "`x`", "a|b", "*", "a'b"] {
            assert!(!is_plain(text), "{text}");
        }
    }

    #[test]
    fn every_subject_can_be_varied() {
        for subject in subjects().filter(|subject| subject.ends_with('=')) {
            let parsed = Vary::parse(&format!("{subject}1"), &Commands::default());
            assert!(parsed.is_ok(), "{subject}: {parsed:?}");
        }
    }

    #[test]
    fn the_end_of_the_script_for_zsh_is_replaced() {
        let script = script("zsh").unwrap();
        assert!(script.ends_with(&format!("{ZSH}\n")), "{script}");
    }
}
