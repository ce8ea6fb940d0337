//! Flags of the program, in the same kind of table as the options of jobs.

use super::options::Support;

/// Flag of the command line.
#[derive(Clone, Copy)]
pub(super) struct Flag {
    /// Name of the flag.
    pub(super) name: &'static str,
    /// fio's letter for it.
    pub(super) letter: char,
    /// Presence of a value after the flag.
    pub(super) value: Takes,
    /// Help text.
    pub(super) help: &'static str,
    /// Level of support.
    pub(super) support: Support,
}

/// Presence of a value after a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// No value.
    Nothing,
    /// Value after `=` or in the next argument.
    Value,
    /// Optional value after `=`.
    Maybe,
}

/// Table of flags: letter, name with `=` for a required or `[=]` for an optional value, help; if
/// assay differs from fio, also the level of support and its reason.
const TABLE: &str = "\
o output=                 Write the output to this file
F output-format=          normal, terse, json, json+; several with , between
f append-terse[=]         Write the terse output too
m minimal                 Write the terse output only
V terse-version=          Version of the terse output, 2 to 5
L status-interval=        Write a whole report that often
e eta=                    Show progress: auto, always or never
E eta-newline=            Begin a new line of progress that often
O eta-interval=           Renew progress that often
x section=                Run only this section; may be repeated
P parse-only              Check the jobs and run nothing
s showcmd                 Show job files as command lines and run nothing
r readonly                Refuse jobs that write or trim
w warnings-fatal          Warnings are errors
j max-jobs=               Most jobs, 4096 without it | differs: fio ignores the number and never runs more than 4096
K aux-path=               Put logs and verify states there
c cmdhelp[=]              Explain an option, or list all
i enghelp[=]              List the engines, or the options of one
v version                 Show the version | differs: a version of fio that other programs accept, with assay's own behind it
h help                    Show this
a alloc-size=             Size of fio's own pool of memory | no effect: assay has no such pool
d debug=                  Show what fio does inside | differs: parse shows each option as it is read, random the seed of each job; the rest of fio's insides is not here
b bandwidth-log           Log the bandwidth of all jobs together
l latency-log=            Not used any more | refused: fio dropped it; use write_lat_log
p profile=                Use a built-in workload | refused: fio's profiles are programs within fio; write their jobs down
S server[=]               Wait for jobs from elsewhere | refused: jobs on other machines are assay's own (assay run), not fio's protocol
N server-internal=        For fio's own use | refused: jobs on other machines are assay's own (assay run), not fio's protocol
D daemonize=              Run the server in the background | refused: jobs on other machines are assay's own (assay run), not fio's protocol
C client=                 Run jobs on another machine | refused: jobs on other machines are assay's own (assay run), not fio's protocol
R remote-config=          Use a job file of the other machine | refused: jobs on other machines are assay's own (assay run), not fio's protocol
T cpuclock-test           Test the processor's clock | refused: it tests fio's own code
G crctest[=]              Test the speed of checksums | refused: it tests fio's own code
M memcpytest[=]           Test the speed of copying | refused: it tests fio's own code
I idle-prof=              Report how idle processors are | refused: it runs a load of its own on all processors
X inflate-log=            Show a compressed log
W trigger-file=           Run a command when this file is there | refused: run the command from a script beside assay
B trigger-timeout=        Run a command after this time | refused: run the command from a script beside assay
H trigger=                The command | refused: run the command from a script beside assay
J trigger-remote=         The command on the other machine | refused: run the command from a script beside assay
A merge-blktrace-only     Merge traces and run nothing | refused: traces are not merged; use blkparse or fio";

/// Returns every flag, in the order of the help.
pub(super) fn flags() -> impl Iterator<Item = Flag> {
    TABLE.lines().map(flag)
}

/// Parses a line of the table.
fn flag(line: &'static str) -> Flag {
    let (left, rest) = line.split_once("  ").unwrap_or((line, ""));
    let (letter, name) = left.split_once(' ').unwrap_or((left, ""));
    let (help, support) = rest.split_once(" | ").unwrap_or((rest, ""));
    let (name, value) = match (name.strip_suffix("[=]"), name.strip_suffix('=')) {
        (Some(name), _) => (name, Takes::Maybe),
        (None, Some(name)) => (name, Takes::Value),
        (None, None) => (name, Takes::Nothing),
    };
    Flag {
        name,
        letter: letter.chars().next().unwrap_or('-'),
        value,
        help: help.trim_start(),
        support: match support.split_once(": ") {
            Some(("differs", how)) => Support::Differs(how),
            Some(("no effect", why)) => Support::NoEffect(why),
            Some((_, why)) => Support::Refused(why),
            None => Support::Works,
        },
    }
}

/// Finds a flag by name.
pub(super) fn find(name: &str) -> Option<Flag> {
    flags().find(|flag| flag.name == name)
}

/// Finds a flag by letter.
pub(super) fn by_letter(letter: char) -> Option<Flag> {
    flags().find(|flag| flag.letter == letter)
}
