//! dd, iozone, vmstat.

use super::{error, figure, of_all, results, trials, values};
use assay_model::figures::Better;

#[test]
fn lines_of_dd_are_trials_of_their_command() {
    let text = "$ dd if=/dev/zero of=f bs=1M count=100\n\
        100+0 records in\n100+0 records out\n\
        104857600 bytes (105 MB, 100 MiB) copied, 3.11532 s, 33.7 MB/s\n\
        100+0 records in\n100+0 records out\n\
        52428800 bytes (52 MB, 50 MiB) copied, 1 s, 52.4 MB/s\r104857600 bytes (105 MB, 100 MiB) copied, 0.09 s, 1.1 GB/s\n\
        $ dd if=f of=/dev/null bs=1M\n100+0 records in\n100+0 records out\n\
        104857600 bytes (105 MB, 100 MiB) copied, 1.5 s, 69.9 MB/s\n";
    let results = results(text);
    let rate = figure(&results, "bs=1M count=100", "rate");
    assert_eq!(
        (trials(rate), &*rate.unit),
        (vec![104.8576 / 3.11532, 104.8576 / 0.09], "MB/s")
    );
    assert_eq!(trials(figure(&results, "bs=1M", "time")), [1.5]);
    let noted = |words: &str| results.notes.iter().any(|note| note.contains(words));
    assert!(
        noted("computed from bytes") && noted("progress"),
        "{results:#?}"
    );
}

#[test]
fn bare_lines_of_dd_are_told_apart_by_their_size() {
    let results = results(
        "> 100 bytes copied, 1 s, 0.1 kB/s\n> 200 bytes copied, 1 s, 0.2 kB/s\n\
         > 100 bytes copied, 2 s, 0.0 kB/s\n",
    );
    assert_eq!(values(&results, "100 bytes: rate").0, [1e-4, 0.5e-4]);
    assert_eq!(values(&results, "200 bytes: rate").0, [2e-4]);
}

#[test]
fn vmstat_without_its_first_line() {
    let results = results(include_str!("data/vmstat-dd-500M.txt"));
    assert_eq!(results.circumstances, ["34 intervals"]);
    let (bo, unit) = values(&results, "bo_max");
    assert_eq!((bo, &*unit), (vec![66952.0], "KiB/s"));
    // By hand: awk over the columns.
    let (bi, _) = values(&results, "bi_mean");
    assert!((bi[0] - 1953.0 / 34.0).abs() < 1e-9, "{bi:?}");
    let first_only: String = include_str!("data/vmstat-dd-500M.txt")
        .lines()
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(error(&first_only).contains("only the means since boot"));
}

const BANNER: &str = "\tIozone: Performance Test of File I/O\n\
    \t        Version $Revision: 3.489 $\n\n\
    \tOutput is in kBytes/sec\n";
const TWO_LINES: &str = "                                                              random    random     bkwd    record    stride                                    \n              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread\n";

#[test]
fn the_place_of_a_figure_tells_its_test() {
    // -i 0 -i 2: the columns of read and reread are blank.
    let row = format!(
        "{:>16}{:>8}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
        1024, 4, 100, 200, "", "", 300, 400
    );
    let results = results(&format!("{BANNER}{TWO_LINES}{row}"));
    let of = |test: &str| values(&results, &format!("1024 kB file, 4 kB records: {test}"));
    assert_eq!(of("rewrite"), (vec![200.0], "kBytes/sec".to_owned()));
    assert_eq!(of("random read").0, [300.0]);
    assert_eq!(of("random write").0, [400.0]);
    assert_eq!(results.figures.len(), 4);
    assert_eq!(results.tool, "iozone 3.489");
    assert!(
        results
            .figures
            .iter()
            .all(|figure| figure.better == Some(Better::Higher))
    );
}

#[test]
fn the_command_tells_where_blanks_were_lost() {
    let command = "\tCommand line used: iozone -i 0 -i1 -s 1m\n";
    let row = "1024 4 100 200 300 400\n";
    let read = results(&format!("{BANNER}{command}{TWO_LINES}{row}{row}"));
    assert_eq!(
        values(&read, "1024 kB file, 4 kB records: reread").0,
        [400.0, 400.0]
    );
    let said = error(&format!("{BANNER}{TWO_LINES}{row}"));
    assert!(
        said.starts_with("line 7: 4 figures for 13 columns"),
        "{said}"
    );
}

#[test]
fn each_output_in_a_file_has_its_own_unit() {
    let times = BANNER.replace(
        "Output is in kBytes/sec",
        "Microseconds/op Mode. Output is in microseconds per operation.",
    );
    let row = "1024 4 1 2 3 4 5 6 7 8 9 10 11 12 13\n";
    let other = row.replace("1024", "2048");
    let results = results(&format!(
        "{times}{TWO_LINES}{row}{BANNER}{TWO_LINES}{other}"
    ));
    let write = |size| {
        figure(
            &results,
            "",
            &format!("{size} kB file, 4 kB records: write"),
        )
    };
    assert_eq!(
        (&*write(1024).unit, write(1024).better),
        ("microseconds/op", Some(Better::Lower))
    );
    assert_eq!(
        (&*write(2048).unit, write(2048).better),
        ("kBytes/sec", Some(Better::Higher))
    );
}

#[test]
fn blocks_of_a_workbook() {
    let text = "\"Writer report\"\n        \"4\"  \"8\"\n\"64\"   100  200 \n\"128\"   300  0 \n\n\
        \"Re-Reader report\"\n        \"4\"  \"8\"\n\"64\"   500  600 \n\n\
        \"Writer CPU utilization report (Zero values should be ignored)\"\n        \"4\"\n\"64\"   99.00\n";
    let results = results(text);
    assert_eq!(
        values(&results, "64 kB file, 8 kB records: write").0,
        [200.0]
    );
    assert_eq!(
        values(&results, "64 kB file, 4 kB records: reread").0,
        [500.0]
    );
    assert_eq!(results.figures.len(), 5, "{results:#?}");
}

#[test]
fn throughput_mode() {
    let text = format!(
        "{BANNER}\tThroughput test with 2 processes\n\
        \tEach process writes a 1024 kByte file in 4 kByte records\n\n\
        \tChildren see throughput for  2 initial writers \t= 1234.56 kB/sec\n\
        \tParent sees throughput for  2 initial writers \t=  900.00 kB/sec\n\
        \tMin throughput per process \t\t\t=  600.00 kB/sec \n\
        \tMin xfer \t\t\t\t\t= 1024.00 kB\n"
    );
    let results = results(&text);
    let start = "1024 kB file, 4 kB records, 2 initial writers";
    assert_eq!(
        values(&results, &format!("{start}: throughput")).0,
        [1234.56]
    );
    assert_eq!(
        values(&results, &format!("{start}: min throughput per process")).0,
        [600.0]
    );
    assert_eq!(results.figures.len(), 3);
}

#[test]
fn marks_of_assays_own_iozone() {
    let row = format!("{:>16}{:>8}{:>9}{:>9}\n", 1024, 4, 100, 200);
    let marks = "\n# What was measured: D device, d device but not all of it flushed, P page cache,\n\
        # M both, x not the same in all trials, ? unknown\n\
        #             kB  reclen write rewrite\n\
        #           1024       4     P       D\n";
    let results = results(&format!("{BANNER}{TWO_LINES}{row}{marks}"));
    let measured = |test: &str| {
        let metric = format!("1024 kB file, 4 kB records: {test}");
        figure(&results, "", &metric).measured.clone()
    };
    assert_eq!(measured("write").as_deref(), Some("page-cache"));
    assert_eq!(measured("rewrite").as_deref(), Some("device"));
}

#[test]
fn files_of_several_tools_can_be_taken_in_together() {
    let dd = "100 bytes copied, 1 s, 0.1 kB/s\n";
    let table = "metric,unit,value\nseq,MB/s,10\n";
    let results = of_all(&[dd, table, dd], None).unwrap();
    assert_eq!(results.tool, "dd, table");
    assert_eq!(values(&results, "100 bytes: rate").0, [1e-4, 1e-4]);
}
