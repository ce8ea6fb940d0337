//! Output of all modes: the table of single and automatic mode, the blocks of `-R`, and the lines
//! of throughput mode.
//!
//! The table has a row for each file size and record size, and is written cell by cell. The blocks,
//! one per test, are for spreadsheets.

use super::plan::MACHINE;
use super::{IozoneCommand, Output};
use assay_model::act::iozone::{Child, IozoneRow, IozoneStep, RateUnit, Test};
use assay_model::units::as_u64;

/// Columns of a table, unless `-A` or mapped files shorten it; `-E`, tests 11 and 12 add to them.
const USUAL: [Test; 13] = [
    Test::Write,
    Test::Rewrite,
    Test::Read,
    Test::Reread,
    Test::RandomRead,
    Test::RandomWrite,
    Test::BackwardRead,
    Test::RecordRewrite,
    Test::StrideRead,
    Test::Fwrite,
    Test::Frewrite,
    Test::Fread,
    Test::Freread,
];
/// Number of columns with `-A`.
const SHORT: usize = 4;
/// Number of columns before the stream tests (`fwrite`, ...). Mapped files have no stream columns.
const UNSTREAMED: usize = 9;
/// Number of columns up to `frewrite`.
const STREAM_WRITES: usize = 11;
const EXTENDED: [Test; 4] = [Test::Pwrite, Test::Repwrite, Test::Pread, Test::Repread];
const VECTORS: [Test; 4] = [Test::Pwritev, Test::Repwritev, Test::Preadv, Test::Repreadv];

/// Returns the columns of a table, in order.
pub fn columns(output: &Output) -> Vec<Test> {
    if output.short {
        return USUAL[..SHORT].to_vec();
    }
    if output.mapped {
        let end = match output.stream_blanks {
            true => STREAM_WRITES,
            false => UNSTREAMED,
        };
        return USUAL[..end].to_vec();
    }
    let mut columns = USUAL.to_vec();
    if output.extended {
        columns.extend(EXTENDED);
    }
    if output.vectors {
        columns.extend(VECTORS);
    }
    columns
}

/// Width of a cell in columns of text. Parsers of iozone's output split rows at these widths.
pub(crate) const fn width(test: Test) -> usize {
    match test {
        Test::RecordRewrite | Test::StrideRead => 10,
        Test::Pread => 8,
        _ => 9,
    }
}

/// Width of an empty cell: iozone's blanks may be narrower or wider than its
/// figures.
const fn blank(test: Test) -> usize {
    match test {
        Test::Fread => 8,
        Test::Pread => 9,
        other => width(other),
    }
}

/// Returns the two lines above the rows. The names are placed as in iozone, not
/// exactly above the figures.
pub(super) fn heading(output: &Output) -> String {
    let mut upper = "                                                            ".to_owned();
    let mut lower = "              kB  reclen    write  rewrite    read    reread".to_owned();
    if output.short {
        return format!("{upper}\n{lower}\n");
    }
    upper.push_str(
        "  random    random     bkwd    record    stride                                    ",
    );
    lower.push_str("    read     write     read   rewrite      read");
    lower.push_str(if output.mapped {
        "                                    "
    } else {
        "   fwrite frewrite    fread  freread"
    });
    if output.extended && !output.mapped {
        upper.push_str("                                   ");
        lower.push_str("  pwrite repwrite   pread   repread");
    }
    if output.vectors && !output.mapped {
        upper.push_str("                                    ");
        lower.push_str("  pwritev repwritev  preadv repreadv");
    }
    format!("{upper}\n{lower}\n")
}

/// Row that is being written. Write the text of [`RowText::cell`] and [`RowText::end`]
/// immediately: it completes the row on the screen.
#[derive(Debug)]
pub struct RowText {
    columns: Vec<Test>,
    unit: RateUnit,
    /// Tests left out by `-+n`, which appear as 0 instead of blanks.
    zeros: Vec<Test>,
    next: usize,
}

impl RowText {
    /// Begins a row and returns the text of its sizes.
    pub fn begin(output: &Output, tests: &[Test], row: IozoneRow) -> (Self, String) {
        let no_second = |test: &Test| test.repeats() && !tests.contains(test);
        let columns = columns(output);
        // A test and its repetition have one number of -i: 0 stands for one that -+n left out.
        let zeros = columns.iter().copied().filter(no_second);
        let zeros = zeros.filter(|test| tests.iter().any(|run| run.number() == test.number()));
        let text = format!("{:16}{:8}", row.file_kib, row.record_kib);
        let begun = Self {
            zeros: zeros.collect(),
            columns,
            unit: output.unit,
            next: 0,
        };
        (begun, text)
    }

    /// Returns a figure, after blanks for the tests before it that were not
    /// run.
    pub fn cell(&mut self, step: &IozoneStep) -> String {
        let Some(at) = self.columns.iter().position(|test| *test == step.test) else {
            return String::new();
        };
        let mut text = self.up_to(at);
        let rate = whole(self.unit.of(step));
        text.push_str(&format!("{rate:width$}", width = width(step.test)));
        self.next = at + 1;
        text
    }

    /// Returns the end of the row.
    pub fn end(mut self) -> String {
        self.up_to(self.columns.len()) + "\n"
    }

    fn up_to(&mut self, at: usize) -> String {
        let left_out = self.columns.get(self.next..at).unwrap_or_default();
        self.next = self.next.max(at);
        left_out
            .iter()
            .map(|test| {
                if self.zeros.contains(test) {
                    format!("{:width$}", 0, width = width(*test))
                } else {
                    " ".repeat(blank(*test))
                }
            })
            .collect()
    }
}

/// Rounds a rate: iozone's figures have no fractions.
pub(super) fn whole(rate: f64) -> u64 {
    as_u64(rate)
}

/// Facts about the program, the run and the machine that the banner shows.
#[derive(Clone, Copy, Debug)]
pub struct BannerFacts<'a> {
    /// Version of assay.
    pub version: &'a str,
    /// Start time in the format of `date`.
    pub began: &'a str,
    /// Command line as given.
    pub command: &'a str,
    /// Output of `uname -a`, for `-M`.
    pub machine: &'a str,
}

/// Returns all lines up to the first row.
pub fn banner(command: &IozoneCommand, facts: BannerFacts<'_>) -> String {
    let output = &command.output;
    let mut lines = vec![
        "\tIozone: Performance Test of File I/O, as assay measures it".to_owned(),
        format!("\t        assay {}, like iozone 3.489", facts.version),
        String::new(),
        format!("\tRun began: {}", facts.began),
        String::new(),
    ];
    for remark in &output.remarks {
        if remark == MACHINE {
            lines.push(format!("\n\t{remark}{}\n", facts.machine));
        } else {
            lines.push(format!("\t{remark}"));
        }
    }
    lines.push(format!("\tCommand line used: {}", facts.command));
    if output.unit == RateUnit::KibPerSec {
        lines.push("\tOutput is in kBytes/sec".to_owned());
    }
    let work = &command.work;
    if work.think_ms > 0 {
        let seconds = work.think_ms as f64 / 1000.0;
        lines.push(format!(
            "\tCompute time {seconds:.6} seconds for reads and writes."
        ));
    }
    lines.push("\tTime Resolution = 0.000001 seconds.".to_owned());
    lines.push(format!(
        "\tProcessor cache size set to {} kBytes.",
        work.cache_kib
    ));
    lines.push(format!(
        "\tProcessor cache line size set to {} bytes.",
        output.line_bytes
    ));
    lines.push(format!(
        "\tFile stride size set to {} * record size.",
        work.stride
    ));
    let mut text = lines.join("\n") + "\n";
    text.push_str(&if work.children.is_empty() {
        heading(output)
    } else {
        throughput_heading(command)
    });
    text
}

/// Returns all blocks, after the line that announces them.
pub fn blocks(output: &Output, tests: &[Test], rows: &[IozoneRow], steps: &[IozoneStep]) -> String {
    let mut text = "Excel output is below:\n".to_owned();
    let shown: Vec<Test> = columns(output)
        .into_iter()
        .filter(|test| tests.iter().any(|run| run.number() == test.number()))
        .collect();
    let mut files: Vec<u64> = rows.iter().map(|row| row.file_kib).collect();
    // Rows of one file size follow each other.
    files.dedup();
    for test in &shown {
        text.push_str(&format!("\n\"{} report\"\n", test.title()));
        block(output, *test, &files, steps, &mut text, |step| {
            format!("{} ", whole(output.unit.of(step)))
        });
    }
    if output.cpu {
        for test in &shown {
            let title = test.title();
            text.push_str(&format!(
                "\n\"{title} CPU utilization report (Zero values should be ignored)\"\n"
            ));
            block(output, *test, &files, steps, &mut text, |step| {
                format!("{:6.2}", processor_percent(step))
            });
        }
    }
    text
}

/// Processor time in percent of the elapsed time.
pub(super) fn processor_percent(step: &IozoneStep) -> f64 {
    let cpu: u64 = step.children.iter().map(|child| child.cpu_ns).sum();
    let elapsed = step.children.iter().map(|child| child.elapsed_ns).max();
    match elapsed {
        Some(elapsed) if elapsed > 0 => cpu as f64 * 100.0 / elapsed as f64,
        _ => 0.0,
    }
}

/// Writes a head of record sizes, and a line for each file size with the
/// records that fit into it. Tests that were not run are 0, as in iozone.
fn block(
    output: &Output,
    test: Test,
    files: &[u64],
    steps: &[IozoneStep],
    text: &mut String,
    figure: impl Fn(&IozoneStep) -> String,
) {
    let head: Vec<String> = output
        .records
        .iter()
        .map(|size| format!("\"{size}\""))
        .collect();
    text.push_str(&format!("        {}\n", head.join("  ")));
    let none = |file_kib, record_kib| IozoneStep {
        test,
        file_kib,
        record_kib,
        children: Vec::new(),
        parent_ns: None,
        mismatch: false,
    };
    for &file in files {
        let of_file = |step: &&IozoneStep| step.test == test && step.file_kib == file;
        let cells: Vec<String> = output
            .records
            .iter()
            .filter(|&&record| record <= file)
            .map(|&record| {
                let mut found = steps.iter().filter(of_file);
                let step = found.rfind(|step| step.record_kib == record);
                figure(step.unwrap_or(&none(file, record)))
            })
            .collect();
        text.push_str(&format!("\"{file}\"   {}\n", cells.join(" ")));
    }
}

/// Names of a test in throughput mode.
struct TestLabels {
    /// Name of the children that run the test; some are indented.
    doers: &'static str,
    /// Tabs after it, for the children's line and the parent's.
    tabs: [&'static str; 2],
    /// Name in the report of `-R`.
    report: &'static str,
}

const fn names(test: Test) -> TestLabels {
    let (doers, tabs, report) = match test {
        Test::Write => (" initial writers", ["\t", "\t"], "Initial write"),
        Test::Rewrite => (" rewriters", ["\t", "\t"], "Rewrite"),
        Test::Read => (" readers", ["\t\t", "\t\t"], "Read"),
        Test::Reread => ("re-readers", ["\t", "\t"], "Re-read"),
        Test::BackwardRead => ("reverse readers", ["\t", "\t"], "Reverse Read"),
        Test::StrideRead => ("stride readers", ["\t", "\t"], "Stride read"),
        Test::RandomRead => ("random readers", ["\t", "\t"], "Random read"),
        Test::Mixed => ("mixed workload", ["\t", "\t"], "Mixed workload"),
        Test::RandomWrite => ("random writers", ["\t", "\t"], "Random write"),
        Test::RecordRewrite => ("record rewriters", ["\t", "\t"], "Record rewrite"),
        Test::Pwrite => ("pwrite writers", ["\t", "\t"], "Pwrite"),
        Test::Repwrite => ("pwrite rewriters", ["\t", "\t"], "Re-Pwrite"),
        Test::Pread => ("pread readers", ["\t", "\t"], "Pread"),
        Test::Repread => ("pread re-readers", ["\t", "\t"], "Re-Pread"),
        Test::Pwritev => ("pwritev writers", ["\t", "\t"], "Pwritev"),
        Test::Repwritev => ("pwritev rewriters", ["\t", "\t"], "Re-Pwritev"),
        Test::Preadv => ("preadv readers", ["\t", "\t"], "Preadv"),
        Test::Repreadv => ("preadv re-readers", ["\t", "\t"], "Re-Preadv"),
        Test::Fwrite => (" fwriters", ["\t", "\t\t"], "Fwrite"),
        Test::Frewrite => (" refwriters", ["\t", "\t\t"], "Re-Fwrite"),
        Test::Fread => (" freaders", ["\t", "\t\t"], "Fread"),
        Test::Freread => (" refreaders", ["\t", "\t\t"], "Re-Fread"),
    };
    TestLabels {
        doers,
        tabs,
        report,
    }
}

impl TestLabels {
    /// Formats `for  2 readers `, `for 2 re-readers `: the number has two
    /// places for some tests.
    fn of(&self, children: usize) -> String {
        match self.doers.strip_prefix(' ') {
            Some(doers) => format!("{children:2} {doers} "),
            None => format!("{children} {} ", self.doers),
        }
    }
}

const fn child_word(output: &Output) -> &'static str {
    if output.threads { "thread" } else { "process" }
}

/// Returns the lines before the first test.
pub(super) fn throughput_heading(command: &IozoneCommand) -> String {
    let word = child_word(&command.output);
    let mut text = String::new();
    let (least, most) = (command.work.children.first(), command.work.children.last());
    let (Some(least), Some(most)) = (least, most) else {
        return text;
    };
    if command.output.sweep {
        text.push_str(&format!(
            "\tMin {word} = {least} \n\tMax {word} = {most} \n"
        ));
    }
    let plural = match (*least, command.output.threads) {
        (1, _) => "",
        (_, true) => "s",
        (_, false) => "es",
    };
    text.push_str(&format!("\tThroughput test with {least} {word}{plural}\n"));
    text
}

/// Returns the line before the tests of each number of children.
pub fn opening(output: &Output, row: IozoneRow) -> String {
    format!(
        "\tEach {} writes a {} kByte file in {} kByte records\n",
        child_word(output),
        row.file_kib,
        row.record_kib
    )
}

/// Text after the tests of each number of children.
pub const CLOSING: &str = "\n\n";

/// Returns the lines of a test.
pub fn test(output: &Output, step: &IozoneStep) -> String {
    let names = names(step.test);
    let (rate_unit, count_unit) = match output.unit {
        RateUnit::OpsPerSec => ("ops/sec", "ops"),
        RateUnit::KibPerSec | RateUnit::MicrosPerOp => ("kB/sec", "kB"),
    };
    let rates: Vec<f64> = step
        .children
        .iter()
        .map(|&child| rate(output, step, child))
        .collect();
    let counts = step
        .children
        .iter()
        .map(|&child| count(output, step, child));
    let counts: Vec<f64> = counts.collect();
    let sum: f64 = rates.iter().sum();
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let whom = names.of(step.children.len());
    let [tab, parent_tab] = names.tabs;
    let each = child_word(output);
    let mut text = format!("\n\tChildren see throughput for {whom}{tab}= {sum:10.2} {rate_unit}\n");
    let parent = Child {
        bytes: step.children.iter().map(|child| child.bytes).sum(),
        elapsed_ns: step.parent_ns.unwrap_or(0),
        cpu_ns: 0,
        idle_ns: 0,
    };
    let parent = rate(output, step, parent);
    text.push_str(&format!(
        "\tParent sees throughput for {whom}{parent_tab}= {parent:10.2} {rate_unit}\n\
         \tMin throughput per {each} \t\t\t= {:10.2} {rate_unit} \n\
         \tMax throughput per {each} \t\t\t= {:10.2} {rate_unit}\n\
         \tAvg throughput per {each} \t\t\t= {:10.2} {rate_unit}\n\
         \tMin xfer \t\t\t\t\t= {:10.2} {count_unit}\n",
        least(&rates),
        rates.iter().copied().fold(0.0, f64::max),
        sum / rates.len().max(1) as f64,
        least(&counts),
    ));
    if output.cpu {
        text.push_str(&processor(step));
    }
    if output.children {
        for (child, (count, rate)) in counts.iter().zip(&rates).enumerate() {
            text.push_str(&format!(
                "\tChild[{child}] xfer count = {count:10.2} {count_unit}, Throughput = {rate:10.2} {rate_unit}\n"
            ));
        }
    }
    text
}

fn processor(step: &IozoneStep) -> String {
    let word = if step.test == Test::Write {
        "Utilization"
    } else {
        "utilization"
    };
    let cpu: u64 = step.children.iter().map(|child| child.cpu_ns).sum();
    let wall = step
        .children
        .iter()
        .map(|child| child.elapsed_ns)
        .max()
        .unwrap_or(0);
    format!(
        "\tCPU {word}: Wall time {:8.3}    CPU time {:8.3}    CPU utilization {:6.2} %\n\n",
        wall as f64 / 1e9,
        cpu as f64 / 1e9,
        processor_percent(step)
    )
}

fn count(output: &Output, step: &IozoneStep, child: Child) -> f64 {
    let kib = child.bytes as f64 / 1024.0;
    match output.unit {
        RateUnit::OpsPerSec => kib / step.record_kib.max(1) as f64,
        RateUnit::KibPerSec | RateUnit::MicrosPerOp => kib,
    }
}

fn rate(output: &Output, step: &IozoneStep, child: Child) -> f64 {
    if child.elapsed_ns == 0 {
        return 0.0;
    }
    count(output, step, child) * 1e9 / child.elapsed_ns as f64
}

/// Returns the report of `-R`: a line for each test with a figure for each
/// number of children; with `-+u` another line of processor use.
pub fn report(command: &IozoneCommand, steps: &[IozoneStep]) -> String {
    let output = &command.output;
    let unit = match output.unit {
        RateUnit::OpsPerSec => "ops/sec",
        RateUnit::KibPerSec | RateUnit::MicrosPerOp => "kBytes/sec",
    };
    let of_all = |step: &IozoneStep| -> f64 {
        let rates = step.children.iter().map(|&child| rate(output, step, child));
        rates.sum()
    };
    let mut text = lines(command, steps, ["Throughput", unit], of_all);
    if output.cpu {
        text.push_str(&lines(
            command,
            steps,
            ["CPU utilization", "CPU%"],
            processor_percent,
        ));
    }
    text
}

fn lines(
    command: &IozoneCommand,
    steps: &[IozoneStep],
    [title, unit]: [&str; 2],
    figure: impl Fn(&IozoneStep) -> f64,
) -> String {
    let record = command.work.rows.first().map_or(0, |row| row.record_kib);
    let each = if command.output.threads {
        "threads"
    } else {
        "processes"
    };
    let mut text = format!(
        "\"{title} report Y-axis is type of test X-axis is number of {each}\"\n\
         \"Record size = {record} kBytes \"\n\"Output is in {unit}\"\n\n"
    );
    for test in &command.work.tests {
        let mut its = steps.iter().filter(|step| step.test == *test).peekable();
        if its.peek().is_none() {
            continue;
        }
        text.push_str(&format!("\"{:>15} \"", names(*test).report));
        for step in its {
            text.push_str(&format!(" {:10.2} ", figure(step)));
        }
        text.push_str("\n\n");
    }
    text.push('\n');
    text
}

/// Letters of the labels.
pub(crate) const LABEL_LETTERS: [(&str, &str); 6] = [
    ("device", "D"),
    ("device-unflushed", "d"),
    ("page-cache", "P"),
    ("mixed", "M"),
    ("differs", "x"),
    ("unknown", "?"),
];

/// Formats the labels of all cells, a letter at the position of each figure of the table, without
/// the last line break. Each line begins with `#`, so that no program reads it as a row. `label`
/// returns the common label of a cell's trials; `None` if the cell was not run or has no evidence.
pub fn marks(
    output: &Output,
    tests: &[Test],
    rows: &[IozoneRow],
    label: impl Fn(Test, IozoneRow) -> Option<String>,
) -> String {
    let shown: Vec<Test> = columns(output)
        .into_iter()
        .filter(|test| tests.contains(test))
        .collect();
    let mut text =
        "# What was measured: D device, d device but not all of it flushed, P page cache,\n\
         # M both, x not the same in all trials, ? unknown\n"
            .to_owned();
    let mut head = format!("# {:>14}{:>8}", "kB", "reclen");
    for test in &shown {
        head.push_str(&format!(" {test:>width$}", width = mark_width(*test)));
    }
    text.push_str(&head);
    text.push('\n');
    for &row in rows {
        let letters: Vec<String> = shown
            .iter()
            .map(|&test| {
                let letter = label(test, row).map_or("-", |label| letter_of(&label));
                format!(" {letter:>width$}", width = mark_width(test))
            })
            .collect();
        text.push_str(&format!(
            "# {:14}{:8}{}\n",
            row.file_kib,
            row.record_kib,
            letters.concat()
        ));
    }
    text.pop();
    text
}

fn mark_width(test: Test) -> usize {
    test.name().len().max(5)
}

fn letter_of(label: &str) -> &'static str {
    let known = LABEL_LETTERS.iter().find(|(word, _)| *word == label);
    known.map_or("?", |(_, letter)| letter)
}
