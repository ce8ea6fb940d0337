//! Blocks of `-R`: one per test, for spreadsheets.

use super::Output;
use super::table::{columns, whole};
use assay_model::work::iozone::{IozoneRow, IozoneStep, Test};

/// Returns all blocks, after the line that announces them.
pub fn blocks(output: &Output, tests: &[Test], rows: &[IozoneRow], steps: &[IozoneStep]) -> String {
    let mut text = "Excel output is below:\n".to_owned();
    let shown: Vec<Test> = columns(output)
        .into_iter()
        .filter(|test| tests.iter().any(|run| run.number() == test.number()))
        .collect();
    let mut files: Vec<u64> = rows.iter().map(|row| row.file_kib).collect();
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
