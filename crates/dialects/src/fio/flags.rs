//! Flags of the program itself, in the same kind of table as the options of
//! jobs.

use super::options::Support;

/// A flag of the command line.
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
    /// None.
    Nothing,
    /// After `=` or as the next argument.
    Value,
    /// None, or after `=`.
    Maybe,
}

use Takes::{Maybe, Nothing, Value};

const fn works(name: &'static str, letter: char, value: Takes, help: &'static str) -> Flag {
    Flag {
        name,
        letter,
        value,
        help,
        support: Support::Works,
    }
}

const fn with(flag: Flag, support: Support) -> Flag {
    Flag { support, ..flag }
}

const fn refused(
    name: &'static str,
    letter: char,
    value: Takes,
    help: &'static str,
    why: &'static str,
) -> Flag {
    with(works(name, letter, value, help), Support::Refused(why))
}

const REMOTE: &str = "jobs on other machines are assay's own (assay run), not fio's protocol";
const TRIGGER: &str = "run the command from a script beside assay";
const SELF_TEST: &str = "it tests fio's own code";

/// Every flag.
pub(super) static FLAGS: &[Flag] = &[
    works("output", 'o', Value, "Write the output to this file"),
    works(
        "output-format",
        'F',
        Value,
        "normal, terse, json, json+; several with , between",
    ),
    works("append-terse", 'f', Maybe, "Write the terse output too"),
    works("minimal", 'm', Nothing, "Write the terse output only"),
    works(
        "terse-version",
        'V',
        Value,
        "Version of the terse output, 2 to 5",
    ),
    works(
        "status-interval",
        'L',
        Value,
        "Write a whole report that often",
    ),
    works("eta", 'e', Value, "Show progress: auto, always or never"),
    works(
        "eta-newline",
        'E',
        Value,
        "Begin a new line of progress that often",
    ),
    works("eta-interval", 'O', Value, "Renew progress that often"),
    works(
        "section",
        'x',
        Value,
        "Run only this section; may be repeated",
    ),
    works("parse-only", 'P', Nothing, "Check the jobs and run nothing"),
    works(
        "showcmd",
        's',
        Nothing,
        "Show job files as command lines and run nothing",
    ),
    works("readonly", 'r', Nothing, "Refuse jobs that write or trim"),
    works("warnings-fatal", 'w', Nothing, "Warnings are errors"),
    with(
        works("max-jobs", 'j', Value, "Most jobs, 4096 without it"),
        Support::Differs("fio ignores the number and never runs more than 4096"),
    ),
    works("aux-path", 'K', Value, "Put logs and verify states there"),
    works("cmdhelp", 'c', Maybe, "Explain an option, or list all"),
    works(
        "enghelp",
        'i',
        Maybe,
        "List the engines, or the options of one",
    ),
    with(
        works("version", 'v', Nothing, "Show the version"),
        Support::Differs("a version of fio that other programs accept, with assay's own behind it"),
    ),
    works("help", 'h', Nothing, "Show this"),
    with(
        works("alloc-size", 'a', Value, "Size of fio's own pool of memory"),
        Support::NoEffect("assay has no such pool"),
    ),
    with(
        works("debug", 'd', Value, "Show what fio does inside"),
        Support::Differs(
            "parse shows each option as it is read, random the seed of each job; the rest of \
             fio's insides is not here",
        ),
    ),
    works(
        "bandwidth-log",
        'b',
        Nothing,
        "Log the bandwidth of all jobs together",
    ),
    refused(
        "latency-log",
        'l',
        Value,
        "Not used any more",
        "fio dropped it; use write_lat_log",
    ),
    refused(
        "profile",
        'p',
        Value,
        "Use a built-in workload",
        "fio's profiles are programs within fio; write their jobs down",
    ),
    refused("server", 'S', Maybe, "Wait for jobs from elsewhere", REMOTE),
    refused("server-internal", 'N', Value, "For fio's own use", REMOTE),
    refused(
        "daemonize",
        'D',
        Value,
        "Run the server in the background",
        REMOTE,
    ),
    refused("client", 'C', Value, "Run jobs on another machine", REMOTE),
    refused(
        "remote-config",
        'R',
        Value,
        "Use a job file of the other machine",
        REMOTE,
    ),
    refused(
        "cpuclock-test",
        'T',
        Nothing,
        "Test the processor's clock",
        SELF_TEST,
    ),
    refused(
        "crctest",
        'G',
        Maybe,
        "Test the speed of checksums",
        SELF_TEST,
    ),
    refused(
        "memcpytest",
        'M',
        Maybe,
        "Test the speed of copying",
        SELF_TEST,
    ),
    refused(
        "idle-prof",
        'I',
        Value,
        "Report how idle processors are",
        "it runs a load of its own on all processors",
    ),
    works("inflate-log", 'X', Value, "Show a compressed log"),
    refused(
        "trigger-file",
        'W',
        Value,
        "Run a command when this file is there",
        TRIGGER,
    ),
    refused(
        "trigger-timeout",
        'B',
        Value,
        "Run a command after this time",
        TRIGGER,
    ),
    refused("trigger", 'H', Value, "The command", TRIGGER),
    refused(
        "trigger-remote",
        'J',
        Value,
        "The command on the other machine",
        TRIGGER,
    ),
    refused(
        "merge-blktrace-only",
        'A',
        Nothing,
        "Merge traces and run nothing",
        "traces are not merged; use blkparse or fio",
    ),
];

/// The flag of that name.
pub(super) fn find(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name == name)
}

/// The flag of that letter.
pub(super) fn by_letter(letter: char) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.letter == letter)
}
