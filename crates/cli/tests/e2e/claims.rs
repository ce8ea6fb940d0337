//! What the user says of a device, `--bus` and `--datasheet`: rates stand beside it.

use crate::assay::{Bed, Ended, text};
use std::fs;

const SHEET: &str = "\
part = \"SanDisk DG4008\"
source = \"product brief, revision 1.2\"
seq_read_mb_s = 300
seq_write_mb_s = 60
rand_read_iops = 6000
";

/// A qualification of a simulated card by two jobs, once each.
fn qualify(bed: &Bed, words: &[&str]) -> Ended {
    let jobs = "seq-read-1m,rand-read-4k";
    let own = ["qualify", "sim:emmc-8gb-hs400", "--quick"];
    let more = ["--trials", "1", "--seed", "1", "--only", jobs];
    bed.run(&[&own, &more[..], words].concat())
}

fn with_sheet(bed: &Bed, sheet: &str) -> Ended {
    let file = bed.join("sheet.toml");
    fs::write(&file, sheet).expect("it can be written");
    qualify(bed, &["--datasheet", text(&file)])
}

#[test]
fn rates_stand_beside_the_bus_and_the_datasheet() {
    let bed = Bed::new();
    let sheet = bed.join("sheet.toml");
    fs::write(&sheet, SHEET).expect("it can be written");
    let ended = qualify(&bed, &["--bus", "HS400", "--datasheet", text(&sheet)]);
    ended.assert_code(0);
    let page = bed.join("page.html");
    let words = ["report", "last", "-o", text(&page)];
    bed.run(&words).assert_code(0);
    let page = fs::read_to_string(page).expect("it was written");
    for said in [
        "eMMC hs400 (as given) carries at most 363 MB/s read",
        "SanDisk DG4008 (product brief, revision 1.2)",
        "of the ceiling",
        "of the typical 300 MB/s",
        "of the typical 6000 IOPS",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(ended.out.contains("of the ceiling"), "{}", ended.out);
    let run = bed.stored("last");
    let placed = run["limits"]["placed"].as_array().expect("a list");
    let read = placed.iter().find(|one| one["job"] == "seq-read-1m");
    let read = read.expect("it was measured");
    let number = |field: &str| read[field].as_f64().expect("a number");
    assert!((number("share") - number("measured") / number("ceiling")).abs() < 1e-9);
    assert!((number("typical_share") - number("measured") / 300e6).abs() < 1e-9);
}

#[test]
fn a_rate_above_the_ceiling_is_named() {
    let bed = Bed::new();
    let ended = qualify(&bed, &["--bus", "sd-ds"]);
    ended.assert_code(0);
    let said = "more than the bus carries (12.2 MB/s)";
    assert!(ended.out.contains(said), "{}", ended.out);
}

#[test]
fn a_bus_that_is_not_known_is_refused() {
    let bed = Bed::new();
    let refused = qualify(&bed, &["--bus", "hs500"]).refusal();
    assert!(refused.contains("'hs500'"), "{refused}");
    assert!(refused.contains("assay model limits"), "{refused}");
}

#[test]
fn a_datasheet_that_is_none_is_refused_with_the_line_and_the_reason() {
    let bed = Bed::new();
    for (sheet, said) in [
        (
            format!("{SHEET}seq_reed_mb_s = 3\n"),
            "line 6: there is no key seq_reed_mb_s (did you mean seq_read_mb_s?)",
        ),
        (SHEET.replace("300", "\"300\""), "line 3: "),
        (SHEET.replace("= 60", "="), "line 4: "),
        (
            SHEET.replace("300", "-3"),
            "seq_read_mb_s must be a number above 0",
        ),
        (SHEET.replace("part = ", "# "), "part is missing"),
    ] {
        let refused = with_sheet(&bed, &sheet).refusal();
        assert!(refused.contains("sheet.toml"), "{refused}");
        assert!(refused.contains(said), "{said}: {refused}");
    }
    let gone = bed.join("gone.toml");
    let refused = qualify(&bed, &["--datasheet", text(&gone)]).refusal();
    assert!(refused.contains("gone.toml"), "{refused}");
}
