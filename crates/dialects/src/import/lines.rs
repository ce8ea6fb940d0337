//! Lines of dd (the final ones of GNU, busybox, toybox and BSD, in any language) and of `vmstat` with
//! an interval (transfers from and to block devices).

use super::collect::{Collector, Key};
use super::{Headings, ImportError};
use assay_model::figures::Results;

/// Data of `104857600 bytes (105 MB, 100 MiB) copied, 0.259118 s, 405 MB/s`. The rate is computed
/// from it, because programs round it and use powers of 1000 or of 1024.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Copied {
    bytes: u64,
    seconds: f64,
}

/// Copy that a line of the text reports.
#[derive(Debug)]
struct Report {
    copied: Copied,
    line: usize,
    /// Number of the quoted command before it; 0: none.
    command: usize,
    operands: String,
}

/// Returns true if a line is dd's last one.
pub(super) fn is_copied(line: &str) -> bool {
    copied(line.trim()).is_some()
}

pub(super) fn read_dd(text: &str) -> Result<Results, ImportError> {
    let mut all = Collector::new("dd");
    let counted = super::unquoted(text).any(|line| is_count(line.text));
    let mut reports: Vec<Report> = Vec::new();
    let (mut commands, mut operands) = (0, String::new());
    let (mut marked, mut errors) = (Vec::new(), Vec::new());
    // Set if record counts followed the last figure. A figure without its counts is interim.
    let mut has_counts = false;
    let mut progress = 0;
    for line in super::unquoted(text) {
        let (number, text) = (line.number, line.text);
        let command = command(text);
        let own = is_count(text) || text.split('\r').any(is_copied);
        marked.push((
            line,
            command.as_ref().map(|it| it.file).or(own.then_some("")),
        ));
        if let Some(command) = command {
            (commands, operands) = (commands + 1, command.deciding);
        }
        has_counts |= is_count(text);
        errors.extend(text.starts_with("dd: ").then_some(text));
        let mut parts: Vec<&str> = text.split('\r').map(str::trim).collect();
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
        // This command reported fewer bytes before: that report was interim, after SIGUSR1.
        let interim = reports.pop_if(|last| {
            let grew = last.copied.bytes < copied.bytes && last.copied.seconds <= copied.seconds;
            commands > 0 && last.command == commands && grew
        });
        progress += usize::from(interim.is_some());
        reports.push(Report {
            copied,
            line: number,
            command: commands,
            operands: operands.clone(),
        });
    }
    let headings = Headings::find(marked).of_results(reports.iter().map(|report| report.line));
    for report in &reports {
        take(report, &headings, &mut all)?;
    }
    if progress > 0 {
        all.note("Figures of progress were left out (status=progress, SIGUSR1).");
    }
    all.errors("dd", &errors);
    all.note("Rates were computed from bytes and seconds; 1 MB is 1,000,000 bytes.");
    all.note(
        "dd states neither what was measured, device or page cache, nor on which machine: without \
         conv=fdatasync or a flag such as oflag=direct, it is mostly the page cache.",
    );
    Ok(all.finish())
}

fn take(report: &Report, headings: &Headings, all: &mut Collector) -> Result<(), ImportError> {
    let Copied { bytes, seconds } = report.copied;
    let heading = headings.above(report.line);
    // The operands contain the size. Without operands, only the size distinguishes copies.
    let (condition, start) = match (report.operands.as_str(), heading) {
        ("", heading) => (heading, format!("{bytes} bytes: ")),
        (operands, "") => (operands, String::new()),
        (operands, heading) => (heading, format!("{operands}: ")),
    };
    let key = |metric, unit: &str, primary| Key {
        condition: condition.to_owned(),
        metric: format!("{start}{metric}"),
        unit: unit.to_owned(),
        primary,
        measured: None,
    };
    let line = Some(report.line);
    let rate = bytes as f64 / 1e6 / seconds;
    all.value(key("rate", "MB/s", true), rate, None, line)?;
    all.value(key("time", "s", false), seconds, None, line)
}

/// Parses a line in any language: the first number is the bytes, the last but one the seconds and
/// the last the rate, with sizes in brackets between them.
fn copied(line: &str) -> Option<Copied> {
    let numbers = numbers(line);
    let [(first, words), sizes @ .., (seconds, unit), (rate, per)] = &numbers[..] else {
        return None;
    };
    let is_size = |(_, unit): &(&str, &str)| !unit.contains('/');
    let bytes: u64 = first.replace(SEPARATORS, "").parse().ok()?;
    let seconds = decimal(seconds)?;
    let is_dd = !words.is_empty()
        && sizes.len() <= 2
        && sizes.iter().all(is_size)
        && unit.starts_with(char::is_alphabetic)
        && !unit.contains('/')
        && per.contains('/')
        && is_rate(bytes as f64 / seconds, rate);
    is_dd.then_some(Copied { bytes, seconds })
}

/// Returns the numbers of a line, each with the text behind it without blanks and brackets.
fn numbers(line: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[start..];
        let end = number.find(|c: char| !c.is_ascii_digit() && !SEPARATORS.contains(&c));
        let mut end = end.unwrap_or(number.len());
        if let Some(power) = number[end..].strip_prefix("e-") {
            end = number.len() - power.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        }
        let (number, behind) = number.split_at(end);
        let words = behind
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(behind.len());
        let unit = behind[..words].trim_matches(|c: char| !c.is_alphabetic());
        found.push((number.trim_end_matches(SEPARATORS), unit));
        rest = &behind[words..];
    }
    found
}

/// Decimal marks and digit group separators of the languages.
const SEPARATORS: [char; 5] = ['.', ',', '\u{66b}', '\u{a0}', '\u{202f}'];

fn decimal(number: &str) -> Option<f64> {
    number.replace([',', '\u{66b}'], ".").parse().ok()
}

/// Returns true if a program may print `rate` for `bytes` per second, in some unit.
fn is_rate(bytes: f64, rate: &str) -> bool {
    let Some(printed) = decimal(rate) else {
        return false;
    };
    let rounding = if rate.contains(SEPARATORS) { 0.11 } else { 1.1 };
    [1000.0_f64, 1024.0].iter().any(|base| {
        (0..5).any(|power| {
            let differs = (bytes / base.powi(power) - printed).abs();
            differs <= rounding + printed * 0.01
        })
    })
}

/// Returns true for `100+0 records in`, in any language.
pub(super) fn is_count(line: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || c == '+';
    let mut counts = line.split(|c| !is_part(c)).filter(|part| !part.is_empty());
    let count = counts.next().and_then(|count| count.split_once('+'));
    count.is_some_and(|(full, partial)| {
        let is_number = |text: &str| !text.is_empty() && !text.contains('+');
        is_number(full) && is_number(partial) && counts.next().is_none()
    })
}

/// Command quoted with its output.
struct QuotedCommand<'a> {
    /// Operands that affect the figures.
    deciding: String,
    /// File that was written or, for a copy to /dev/null, read.
    file: &'a str,
}

fn command(line: &str) -> Option<QuotedCommand<'_>> {
    let mut words = line.split_whitespace();
    words.find(|word| *word == "dd" || word.ends_with("/dd"))?;
    let words = words.map(|word| word.trim_end_matches(';'));
    let (mut deciding, mut input, mut file) = (Vec::new(), None, None);
    for word in words.take_while(|word| word.contains('=')) {
        match word.split_once('=') {
            Some(("if", name)) => input = Some(name),
            Some(("of", name)) => file = Some(name).filter(|name| *name != "/dev/null"),
            Some(("status", _)) => {}
            _ => deciding.push(word),
        }
    }
    let has_operands = input.is_some() || file.is_some() || !deciding.is_empty();
    has_operands.then(|| QuotedCommand {
        deciding: deciding.join(" "),
        file: file.or(input).unwrap_or(""),
    })
}

/// Columns to read, with their meaning.
const VMSTAT_COLUMNS: [(&str, &str); 2] = [("bi", "read from"), ("bo", "written to")];

/// Returns true if a line names vmstat's columns.
pub(super) fn is_vmstat_head(line: &str) -> bool {
    let has = |name| line.split_whitespace().any(|word| word == name);
    has("bi") && has("bo") && has("free")
}

pub(super) fn read_vmstat(text: &str) -> Result<Results, ImportError> {
    let mut all = Collector::new("vmstat");
    let rows = vmstat_rows(text)?;
    // The first line is a mean since boot.
    let rows = match rows.len() {
        0 | 1 => {
            return Err(ImportError::at(
                None,
                "vmstat without an interval has only the means since boot: take the lines of \
                 vmstat 1",
            ));
        }
        _ => &rows[1..],
    };
    all.circumstance(format!("{} intervals", rows.len()));
    for (at, (name, what)) in VMSTAT_COLUMNS.into_iter().enumerate() {
        let values: Vec<f64> = rows.iter().map(|row| row[at]).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let most = values.iter().copied().fold(0.0, f64::max);
        for (statistic, value, primary) in [("mean", mean, true), ("max", most, false)] {
            let key = Key {
                metric: format!("{name}_{statistic}"),
                unit: "KiB/s".to_owned(),
                primary,
                ..Key::default()
            };
            all.value(key, value, None, None)?;
        }
        let idle = values.iter().filter(|value| **value == 0.0).count();
        if idle > 0 {
            all.note(format!(
                "In {idle} of {} intervals nothing was {what} a device.",
                values.len()
            ));
        }
    }
    all.note("The first line is since boot and was left out; all others count alike.");
    all.note(
        "A log is one trial: its intervals follow from each other and are no trials. What was \
         written, and by whom, is not recorded.",
    );
    Ok(all.finish())
}

/// Returns the figures of [`VMSTAT_COLUMNS`] in each line.
fn vmstat_rows(text: &str) -> Result<Vec<[f64; 2]>, ImportError> {
    let mut places: Option<[usize; 2]> = None;
    let mut rows = Vec::new();
    for line in super::unquoted(text) {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        if is_vmstat_head(line.text) {
            let place = |name| words.iter().position(|word| *word == name);
            places = place(VMSTAT_COLUMNS[0].0)
                .zip(place(VMSTAT_COLUMNS[1].0))
                .map(|(bi, bo)| [bi, bo]);
            continue;
        }
        let starts_as_row = words
            .first()
            .is_some_and(|word| word.parse::<f64>().is_ok());
        let (Some(places), true) = (places, starts_as_row) else {
            continue;
        };
        let mut row = [0.0; 2];
        for (value, place) in row.iter_mut().zip(places) {
            *value = vmstat_rate(&words, place, line.number)?;
        }
        rows.push(row);
    }
    Ok(rows)
}

fn vmstat_rate(words: &[&str], place: usize, line: usize) -> Result<f64, ImportError> {
    let Some(word) = words.get(place) else {
        let problem = "it has fewer figures than columns: the log may be cut off here";
        return Err(ImportError::at(Some(line), problem));
    };
    match word.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err(ImportError::at(
            Some(line),
            format!("'{word}' is not a rate of vmstat"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_all_dds_are_read() {
        for (line, bytes, seconds) in [
            (
                "104857600 bytes (105 MB, 100 MiB) copied, 0.259118 s, 405 MB/s",
                104_857_600,
                0.259118,
            ),
            ("0 bytes copied, 3.6067e-05 s, 0.0 kB/s", 0, 3.6067e-5),
            (
                "104857600 bytes (100.0MB) copied, 2.594000 seconds, 38.5MB/s",
                104_857_600,
                2.594,
            ),
            (
                "104857600 bytes (100 M) copied, 0.26 s, 385 M/s",
                104_857_600,
                0.26,
            ),
            (
                "104857600 bytes transferred in 0.259118 secs (404671231 bytes/sec)",
                104_857_600,
                0.259118,
            ),
            ("1 byte copied, 0.5 s, 0.0 kB/s", 1, 0.5),
            // Lines in the languages of coreutils 9.1, 8.32 and older ones.
            (
                "104857600 Bytes (105 MB, 100 MiB) kopiert, 0,259118 s, 405 MB/s",
                104_857_600,
                0.259118,
            ),
            (
                "1024000 baiti (1,0 MB, 1000 KiB) kopeeritud, 0,000875045 s, 1,2 GB/s",
                1_024_000,
                0.000875045,
            ),
            ("512 octets copiés, 6,3665e-05 s, 8,0 MB/s", 512, 6.3665e-5),
            (
                "512 octets copiats, 4,1352e-05 s, 12,4 MB/s",
                512,
                4.1352e-5,
            ),
            (
                "1024000 bajtova (1,0 MB, 1000 KiB) je kopirano, 0,000772152 s, 1,3 GB/s",
                1_024_000,
                0.000772152,
            ),
            (
                "1024000 바이트 (1.0 MB, 1000 KiB) 복사함, 0.000769698 s, 1.3 GB/s",
                1_024_000,
                0.000769698,
            ),
            (
                "512 bytes gekopieerd, 5,8417e-05 s, 8,8 MB/s",
                512,
                5.8417e-5,
            ),
            (
                "512 bayt kopyalandı, 6,2413e-05 s, 8,2 MB/s",
                512,
                6.2413e-5,
            ),
            (
                "скопійовано 1024000 байтів (1,0 MB, 1000 KiB), 0,000700825 s, 1,5 GB/s",
                1_024_000,
                0.000700825,
            ),
            (
                "изкопирани са 512 байта 5,2388e-05 s, 9,8 MB/s",
                512,
                5.2388e-5,
            ),
            (
                "512 bajtů zkopírováno, 5,2509e-05 s, 9,8 MB/s",
                512,
                5.2509e-5,
            ),
            (
                "19\u{202f}660\u{202f}800 bajtů (20 MB, 19 MiB) zkopírováno, 0,000306407 s, 64,2 GB/s",
                19_660_800,
                0.000306407,
            ),
            ("512 bájt másolva, 4,5137e-05 s, 11,3 MB/s", 512, 4.5137e-5),
            (
                "skopiowane 512 bajtów, 0,0005768 s, 888 kB/s",
                512,
                0.0005768,
            ),
            ("512 byte kopierade, 5,4771e-05 s, 9,3 MB/s", 512, 5.4771e-5),
            ("512 bytes copiados, 5,359e-05 s, 9,6 MB/s", 512, 5.359e-5),
            (
                "512 байт скопировано, 5,8187e-05 s, 8,8 MB/s",
                512,
                5.8187e-5,
            ),
            ("đã chép 512 byte, 7,4471e-05 s, 6,9 MB/s", 512, 7.4471e-5),
            ("512 字节已复制，4.6039e-05 s，11.1 MB/s", 512, 4.6039e-5),
            (
                "1024000字节（1.0 MB，1000 KiB）已复制，0.000716529 s，1.4 GB/s",
                1_024_000,
                0.000716529,
            ),
            (
                "1024000位元組（1.0 MB，1000 KiB）已複製，0.000709328 s，1.4 GB/s",
                1_024_000,
                0.000709328,
            ),
            (
                "104857600字节(105 MB)已复制，0.259118 秒，405 MB/秒",
                104_857_600,
                0.259118,
            ),
            (
                "104857600 байт (105 MB) скопирован, 0,259118 c, 405 MB/c",
                104_857_600,
                0.259118,
            ),
        ] {
            assert_eq!(copied(line), Some(Copied { bytes, seconds }), "{line}");
        }
        for line in [
            "",
            "100+0 records in",
            "5 bytes",
            "5 bytes copied",
            "5 bytes, 1 s, 2 MB/s, 3",
            "2 files in 3 s, 500 MB/s",
            "100 bytes copied, 1 s",
        ] {
            assert_eq!(copied(line), None, "{line}");
        }
    }

    #[test]
    fn counts_are_known_in_any_language() {
        for line in [
            "100+0 records in",
            "输入了 1+0 块记录",
            "记录了100+0 的读入",
        ] {
            assert!(is_count(line), "{line}");
        }
        for line in [
            "1 truncated record",
            "2026-11-27T16:34:41+00:00",
            "+ sync",
            "1++2",
        ] {
            assert!(!is_count(line), "{line}");
        }
    }

    #[test]
    fn a_quoted_command_is_the_condition() {
        let read = |line| command(line).map(|command| (command.deciding, command.file.to_owned()));
        let of = |deciding: &str, place: &str| Some((deciding.to_owned(), place.to_owned()));
        assert_eq!(
            read("root@board:~# dd if=/dev/zero of=/mnt/f bs=1M count=128 conv=fdatasync; sync"),
            of("bs=1M count=128 conv=fdatasync", "/mnt/f")
        );
        assert_eq!(read("for dd in 1 2"), None);
        assert_eq!(
            read("$ sudo /bin/dd if=/dev/sda of=/dev/null"),
            of("", "/dev/sda")
        );
    }
}
