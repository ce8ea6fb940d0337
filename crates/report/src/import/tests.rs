//! What is written of an import.

use super::{moments, write_csv, write_json};
use crate::terminal::{Style, write_import};
use assay_model::figures::{Better, Figure, Import, Results, Sample};
use serde_json::Value;

fn import() -> Import {
    let figure = |condition: &str, metric: &str, sample| Figure {
        condition: condition.to_owned(),
        metric: metric.to_owned(),
        unit: "MB/s".to_owned(),
        better: Some(Better::Higher),
        primary: true,
        sample,
        measured: None,
    };
    let values = Sample::Values {
        values: vec![0.1 + 0.2, 86.9],
        positions: vec![0.0, 3.0],
    };
    let moments = Sample::Moments {
        n: 3,
        mean: 65.28,
        stdev: Some(0.77),
    };
    Import {
        id: "k3v9d2ma".to_owned(),
        imported_unix_ms: 1_773_480_413_589,
        assay_version: "0.1.0".to_owned(),
        files: vec!["a, b.csv".to_owned()],
        results: Results {
            tool: "table\u{1b}[31m".to_owned(),
            circumstances: vec!["phone".to_owned()],
            notes: vec!["What was measured is not recorded.".to_owned()],
            figures: vec![
                figure("bfq", "seq, read", moments),
                figure("", "seq_write", values),
            ],
        },
    }
}

#[test]
fn csv_has_every_digit() {
    let mut out = Vec::new();
    write_csv(&import(), &mut out).unwrap();
    let expected = "condition,metric,unit,trial,value,position,n,mean,stdev,measured\n\
        bfq,\"seq, read\",MB/s,,,,3,65.28,0.77,\n\
        ,seq_write,MB/s,1,0.30000000000000004,0,,,,\n\
        ,seq_write,MB/s,2,86.9,3,,,,\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn json_says_what_is_not_known() {
    let mut out = Vec::new();
    write_json(&import(), &mut out).unwrap();
    let json: Value = serde_json::from_slice(&out).unwrap();
    let figures = json["figures"].as_array().unwrap();
    assert_eq!(figures[0]["values"], Value::Null);
    assert_eq!(figures[0]["measured"], Value::Null);
    assert_eq!(figures[0]["better"], "higher");
    assert_eq!(figures[1]["values"][1], 86.9);
    assert_eq!(figures[1]["positions"][1], 3.0);
    assert_eq!(json["import"]["imported"], "2026-03-14T09:26:53.589Z");
}

#[test]
fn a_single_value_has_no_spread() {
    let values = |values: &[f64]| Sample::Values {
        values: values.to_vec(),
        positions: Vec::new(),
    };
    assert_eq!(moments(&values(&[5.0])).stdev, None);
    let two = moments(&values(&[1.0, 3.0]));
    assert_eq!((two.n, two.mean, two.stdev), (2, 2.0, Some(2.0_f64.sqrt())));
}

#[test]
fn the_terminal_shows_a_line_for_each_figure() {
    let style = Style {
        color: false,
        width: 80,
        ascii: false,
    };
    let mut out = Vec::new();
    write_import(&import(), style, &["Stored".to_owned()], &mut out).unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}
