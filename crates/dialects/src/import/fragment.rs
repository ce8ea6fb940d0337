//! Parts of outputs, and outputs without results to compare.

use super::{dd, fio_text};
use serde::de::IgnoredAny;

/// Test for a kind of incomplete text, with the message for the user.
type Fragment = (fn(&str) -> bool, &'static str);

const FRAGMENTS: [Fragment; 5] = [
    (
        is_log,
        "these seem to be rows of a log of fio (write_bw_log, write_lat_log ...): they are samples \
         of one run, not results of several; take fio's output (--output-format=json)",
    ),
    (
        |text| text.get(1..).is_some_and(|text| text.starts_with(";fio-")),
        "this seems to be fio's terse output, which is not understood: use --output-format=json",
    ),
    (
        is_json,
        "this seems to be a part of a JSON document: take all of the file, which begins with a \
         brace (fio: --output=FILE)",
    ),
    (
        |text| text.lines().any(dd::is_count),
        "this seems to be dd's output without its last line, which has bytes and seconds: \
         status=noxfer leaves it out, and some builds of busybox lack it",
    ),
    (
        |text| {
            text.lines()
                .any(|line| fio_text::direction(line.trim().to_lowercase().as_str()).is_some())
        },
        "this seems to be a part of fio's normal output: take all of it, above all the line \
         'NAME: (groupid=' of each job",
    ),
];

/// Returns the message for a text that is not a complete output.
pub(super) fn of(text: &str) -> Option<&'static str> {
    let mut fragments = FRAGMENTS.iter().filter(|_| !text.contains('\0'));
    let found = fragments.find(|(is_it, _)| is_it(text));
    found.map(|(_, problem)| *problem)
}

/// Returns true for rows of `msec, value, direction, bytes, ...`, or of a
/// histogram log.
fn is_log(text: &str) -> bool {
    let number = |cell: &str| cell.trim().trim_start_matches("0x").parse::<u64>().ok();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.all(|line| {
        let cells: Option<Vec<u64>> = line.split(',').map(number).collect();
        cells.is_some_and(|cells| cells.len() >= 4 && (cells[1] <= 2 || cells[2] <= 2))
    })
}

fn is_json(text: &str) -> bool {
    let is_member = |line: &str| {
        let member = line.trim_start().strip_prefix('"');
        let value = member.and_then(|member| member.split_once('"'));
        value.is_some_and(|(_, value)| value.trim_start().starts_with(':'))
    };
    text.lines().any(is_member) && serde_json::from_str::<IgnoredAny>(text).is_err()
}
