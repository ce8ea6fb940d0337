//! Throughput mode: a block of lines for each test.

use super::blocks::processor_percent;
use super::{IozoneCommand, Output};
use assay_model::work::iozone::{Child, IozoneRow, IozoneStep, RateUnit, Test};

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
pub(super) fn heading(command: &IozoneCommand) -> String {
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
