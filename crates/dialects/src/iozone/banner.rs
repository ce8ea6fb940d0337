//! Banner before the results.

use super::plan::MACHINE;
use super::{IozoneCommand, table, throughput};
use assay_model::work::iozone::RateUnit;

/// Values that the banner shows about the time and the machine.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
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
pub fn banner(command: &IozoneCommand, moment: Moment<'_>) -> String {
    let output = &command.output;
    let mut lines = vec![
        "\tIozone: Performance Test of File I/O, as assay measures it".to_owned(),
        format!("\t        assay {}, like iozone 3.489", moment.version),
        String::new(),
        format!("\tRun began: {}", moment.began),
        String::new(),
    ];
    for remark in &output.remarks {
        if remark == MACHINE {
            lines.push(format!("\n\t{remark}{}\n", moment.machine));
        } else {
            lines.push(format!("\t{remark}"));
        }
    }
    lines.push(format!("\tCommand line used: {}", moment.command));
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
        table::heading(output)
    } else {
        throughput::heading(command)
    });
    text
}
