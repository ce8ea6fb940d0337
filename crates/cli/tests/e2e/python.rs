//! Python with the packages that `cargo xtask test` installs; and OpenMetrics for node_exporter, read
//! by the parsers of Prometheus' own client, of both text formats.

use crate::assay::{Bed, text};
use std::fs;
use std::path::{Path, PathBuf};

/// Python that finds them.
pub struct Python {
    packages: PathBuf,
}

/// Finds Python, if a package is there.
pub fn with(package: &str) -> Result<Python, String> {
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    let packages = program.ancestors().nth(2).map(|build| build.join("python"));
    match packages {
        Some(packages) if packages.join(package).exists() => Ok(Python { packages }),
        _ => Err(format!(
            "Python has no {package}: cargo xtask test installs it"
        )),
    }
}

impl Python {
    /// Output of a script, which must succeed.
    pub fn run(&self, script: &str, words: &[&str]) -> String {
        let mut python = assay_testkit::command("/usr/bin/python3");
        python.env("PYTHONPATH", &self.packages);
        let ended = python.args(["-c", script]).args(words).output();
        let ended = ended.expect("python");
        let failed = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{failed}");
        String::from_utf8(ended.stdout).expect("text")
    }
}

/// Prints each figure with its labels, in one line; fails on what neither format allows.
const SCRIPT: &str = "
import sys
from prometheus_client import parser
from prometheus_client.openmetrics import parser as open_parser
written = open(sys.argv[1]).read()
assert list(parser.text_string_to_metric_families(written))
for family in open_parser.text_string_to_metric_families(written):
    assert family.type == 'gauge', family
    for sample in family.samples:
        assert sample.timestamp is None
        print(sample.name, sample.labels.get('job'), sample.labels.get('measured'), sample.value)
";

#[test]
fn prometheus_reads_a_run_with_labels() {
    let python = assay_testkit::or_skip!(with("prometheus_client"));
    let bed = Bed::new();
    let words = ["--quick", "--only", "seq-read-1m", "--trials", "2"];
    bed.run(&[&["qualify", "sim:emmc-8gb-hs400,noise=5"], &words[..]].concat())
        .assert_code(0);
    let file = bed.join("assay.prom");
    bed.run(&["report", "last", "-o", text(&file)])
        .assert_code(0);
    let printed = bed.run(&["report", "last", "--format", "openmetrics"]);
    assert_eq!(
        printed.out,
        fs::read_to_string(&file).expect("it is written")
    );
    let read = python.run(SCRIPT, &[text(&file)]);
    let figure = "assay_read_bw_bytes_per_second seq-read-1m simulated ";
    let figures: Vec<&str> = read
        .lines()
        .filter(|line| line.starts_with(figure))
        .collect();
    assert_eq!(figures.len(), 1, "{read}");
    assert!(read.contains("assay_run_info"), "{read}");
}

#[test]
fn verdicts_are_no_metrics() {
    let bed = Bed::new();
    let words = ["--quick", "--only", "seq-read-1m", "--trials", "2"];
    bed.run(&[&["qualify", "sim:emmc-8gb-hs400,noise=5"], &words[..]].concat())
        .assert_code(0);
    let line = bed.refused(&["compare", "last", "last", "-o", "x.prom"]);
    assert!(line.contains("openmetrics"), "{line}");
}
