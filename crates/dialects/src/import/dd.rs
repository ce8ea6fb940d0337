//! The lines at the end of dd: GNU's, busybox's and toybox's, in any language.

use super::collect::{Collector, Key};
use super::error::ImportError;
use super::lines;
use super::number::leading;
use assay_model::figures::Results;

/// `104857600 bytes (105 MB, 100 MiB) copied, 0.259118 s, 405 MB/s`.
#[derive(Debug, PartialEq)]
struct Copied<'a> {
    bytes: u64,
    seconds: f64,
    rate: f64,
    unit: &'a str,
}

/// `true` if a line is dd's last one.
pub(super) fn is_copied(line: &str) -> bool {
    copied(line.trim()).is_some()
}

pub(super) fn read(text: &str) -> Result<Results, ImportError> {
    let mut all = Collector::new("dd");
    let counted = lines::unquoted(text).any(|line| is_count(line.text));
    let mut operands = String::new();
    // Since the last figure: without its counts, a figure is one of progress.
    let mut has_counts = false;
    let mut progress = 0;
    for line in lines::unquoted(text) {
        if let Some(given) = command(line.text) {
            operands = given;
        }
        has_counts |= is_count(line.text);
        let mut parts: Vec<&str> = line.text.split('\r').map(str::trim).collect();
        let last = parts.pop().unwrap_or_default();
        progress += parts.iter().filter(|part| is_copied(part)).count();
        let Some(copied) = copied(last) else {
            continue;
        };
        if counted && !has_counts {
            progress += 1;
            continue;
        }
        has_counts = false;
        take(&copied, &operands, line.number, &mut all)?;
    }
    if progress > 0 {
        all.note("Figures of progress were left out (status=progress).");
    }
    all.note(
        "dd tells neither what was measured, device or page cache, nor on which machine: without \
         conv=fdatasync or a flag such as oflag=direct, it is mostly the page cache.",
    );
    Ok(all.finish())
}

fn take(
    copied: &Copied<'_>,
    operands: &str,
    line: usize,
    all: &mut Collector,
) -> Result<(), ImportError> {
    // The operands tell the size; without them it is all that tells copies apart.
    let start = match operands {
        "" => format!("{} bytes: ", copied.bytes),
        _ => String::new(),
    };
    let key = |metric, unit: &str, primary| Key {
        condition: operands.to_owned(),
        metric: format!("{start}{metric}"),
        unit: unit.to_owned(),
        primary,
        measured: None,
    };
    all.value(
        key("rate", copied.unit, true),
        copied.rate,
        None,
        Some(line),
    )?;
    all.value(key("time", "s", false), copied.seconds, None, Some(line))
}

/// The words are those of the user's language; numbers may have a comma then.
fn copied(line: &str) -> Option<Copied<'_>> {
    let (bytes, rest) = line.split_once(' ')?;
    let bytes = bytes.parse().ok()?;
    if !rest.get(..4)?.eq_ignore_ascii_case("byte") {
        return None;
    }
    let (rest, rate) = rest.rsplit_once(", ")?;
    let (rest, time) = rest.rsplit_once(", ")?;
    if !rest.ends_with(char::is_alphabetic) {
        return None;
    }
    let (seconds, time_unit) = number_and_unit(time)?;
    let (rate, unit) = number_and_unit(rate)?;
    let is_dd = time_unit.starts_with('s') && unit.ends_with("/s");
    is_dd.then_some(Copied {
        bytes,
        seconds,
        rate,
        unit,
    })
}

fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | ',' | 'e' | '-' | '+'))?;
    let (number, unit) = text.split_at(end);
    let (value, rest) = leading(number)?;
    let value = match rest {
        "" => value,
        // The comma of other languages.
        _ => number.replacen(',', ".", 1).parse().ok()?,
    };
    Some((value, unit.trim()))
}

/// `100+0 records in`, in any language.
fn is_count(line: &str) -> bool {
    let count = line.split_whitespace().next().unwrap_or_default();
    let Some((full, partial)) = count.split_once('+') else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number(full) && is_number(partial)
}

/// Returns the operands that decide about the copy, from a command that was quoted with its output.
fn command(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    words.find(|word| *word == "dd" || word.ends_with("/dd"))?;
    let operands: Vec<&str> = words
        .map(|word| word.trim_end_matches(';'))
        .take_while(|word| word.contains('='))
        .collect();
    let deciding = operands.iter().filter(|word| {
        let name = word.split('=').next().unwrap_or_default();
        !matches!(name, "if" | "of" | "status")
    });
    let deciding: Vec<&str> = deciding.copied().collect();
    (!operands.is_empty()).then(|| deciding.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_all_dds_are_read() {
        for (line, seconds, rate, unit) in [
            (
                "104857600 bytes (105 MB, 100 MiB) copied, 0.259118 s, 405 MB/s",
                0.259118,
                405.0,
                "MB/s",
            ),
            (
                "0 bytes copied, 3.6067e-05 s, 0.0 kB/s",
                3.6067e-5,
                0.0,
                "kB/s",
            ),
            (
                "104857600 bytes (100.0MB) copied, 2.594 seconds, 38.5MB/s",
                2.594,
                38.5,
                "MB/s",
            ),
            (
                "104857600 bytes (100 M) copied, 0.26 s, 386 M/s",
                0.26,
                386.0,
                "M/s",
            ),
            (
                "104857600 Bytes (105 MB, 100 MiB) kopiert, 0,259118 s, 405 MB/s",
                0.259118,
                405.0,
                "MB/s",
            ),
            ("1 byte copied, 0.5 s, 0.0 kB/s", 0.5, 0.0, "kB/s"),
        ] {
            let read = copied(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((read.seconds, read.rate, read.unit), (seconds, rate, unit));
        }
        for line in [
            "",
            "100+0 records in",
            "5 bytes",
            "5 bytes copied",
            "5 bytes, 1 s, 2 MB/s,",
        ] {
            assert_eq!(copied(line), None, "{line}");
        }
    }

    #[test]
    fn a_quoted_command_is_the_condition() {
        let read = |line| command(line);
        assert_eq!(
            read("root@board:~# dd if=/dev/zero of=f bs=1M count=128 conv=fdatasync; sync"),
            Some("bs=1M count=128 conv=fdatasync".to_owned())
        );
        assert_eq!(read("for dd in 1 2"), None);
        assert_eq!(read("$ sudo /bin/dd if=a of=b"), Some(String::new()));
    }
}
