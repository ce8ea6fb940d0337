//! Words in, work and text out.

use super::table::RowText;
use super::*;
use assay_model::act::iozone::{Child, IozoneRow, IozoneStep, MapSync, Test};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn command(line: &str) -> IozoneCommand {
    match parse(&words(line)) {
        Ok(IozoneRequest::Measure(command)) => *command,
        other => panic!("{line}: {other:?}"),
    }
}

fn refusal(line: &str) -> String {
    match parse(&words(line)) {
        Err(error) => error.to_string(),
        Ok(asked) => panic!("{line}: {asked:?}"),
    }
}

fn rows(line: &str) -> Vec<(u64, u64)> {
    let rows = command(line).work.rows.into_iter();
    rows.map(|row| (row.file_kib, row.record_kib)).collect()
}

#[test]
fn flags_stand_together_and_values_are_glued_or_follow() {
    let together = command("-Rab out.xlsx -g 16M -n 1M -w -e -C");
    assert!(together.output.blocks && together.work.keep && together.work.flush);
    assert_eq!(together.output.workbook, Some(PathBuf::from("out.xlsx")));
    assert_eq!(together.work.rows.len(), 9 + 10 + 11 + 12 + 13);
    let glued = command("-i0 -i1 -s64M -r4k -I -+n");
    assert_eq!(glued.work.tests, [Test::Write, Test::Read]);
    assert!(glued.work.direct);
    assert_eq!(glued.work.files, [PathBuf::from("iozone.tmp")]);
    let files = command("-F a b -t 2 -B -G -+p 30 -+B");
    assert_eq!(files.work.files, [PathBuf::from("a"), PathBuf::from("b")]);
    assert_eq!(files.work.mapped, Some(MapSync::Sync));
    assert_eq!(files.work.mix.read_percent, Some(30));
    assert!(files.work.mix.sequential);
}

#[test]
fn automatic_mode_crosses_over_unless_sizes_are_given() {
    let small = |line: &str| rows(line).iter().filter(|(_, record)| *record < 64).count();
    assert_eq!(small("-a -n 16m -g 32m"), 4);
    assert_eq!(small("-az -n 32m -g 32m"), 4);
    assert_eq!(small("-a -n 32m -g 32m -y 4"), 4);
    assert_eq!(small("-a -n 32m -g 32m -q 128"), 4);
    assert_eq!(small("-a -s 32m"), 4);
    assert_eq!(small("-a -n 32m -g 32m"), 0);
    assert_eq!(
        rows("-a -n 100 -g 300 -q 8"),
        [(100, 4), (100, 8), (200, 4), (200, 8)]
    );
    assert_eq!(
        rows("-a -+x 4 -n 64 -g 256 -y 64"),
        [(64, 64), (256, 64), (256, 256)]
    );
    assert_eq!(rows("-i 0"), [(512, 4)]);
    assert_eq!(
        rows("-s 64 -s 128 -r 4 -r 128"),
        [(64, 4), (128, 4), (128, 128)]
    );
}

#[test]
fn throughput_mode_names_a_file_for_each_child() {
    let sweep = command("-l 2 -u 3 -i 0 -i 2 -s 1m -r 64");
    assert_eq!(sweep.work.children, [2, 3]);
    assert_eq!(sweep.work.files[2], PathBuf::from("iozone.DUMMY.2"));
    assert_eq!(
        sweep.work.tests,
        [
            Test::Write,
            Test::Rewrite,
            Test::RandomRead,
            Test::RandomWrite
        ]
    );
    assert_eq!(
        command("-t 1 -f x").work.files,
        [PathBuf::from("x.DUMMY.0")]
    );
}

#[test]
fn unsupported_iozone_flags_are_refused_by_name() {
    for (line, part) in [
        ("-k 4", "assay fio"),
        ("-1", "-1 is not a flag"),
        ("-+f", "-+f is not a flag of iozone; did you mean -f?"),
        ("--trial 3", "did you mean --trials?"),
        ("--trials", "needs a value"),
        ("-i 13", "numbers from 0 to 12"),
        ("-i 8", "add -t N"),
        ("-s foo", "no size"),
        ("-s 0", "more than 0"),
        ("-r 64 -s 32", "no record fits"),
        ("-a -g 1m -n 2m", "-n is larger than -g"),
        ("-a -t 2", "-a runs one child"),
        ("-t 0", "from 1"),
        ("-t 2 -s 1m -s 2m", "one -s and one -r"),
        ("-t 2 -N", "use -O"),
        ("-t 2 -i 4", "record rewrite"),
        ("-t 2 -F a", "names 1 files for 2"),
        ("-l 3 -u 2", "more than"),
        ("-F a b -s 64", "add -t N"),
        ("-B -i 6", "files are mapped"),
        ("extra", "belongs to no flag"),
    ] {
        assert!(refusal(line).contains(part), "{line}: {}", refusal(line));
    }
    assert!(matches!(parse(&words("-ah")), Ok(IozoneRequest::Help)));
    assert!(matches!(parse(&words("-v")), Ok(IozoneRequest::Version)));
}

fn step(test: Test, children: &[(u64, u64)]) -> IozoneStep {
    let child = |&(kib, micros): &(u64, u64)| Child {
        bytes: kib << 10,
        elapsed_ns: micros * 1000,
        cpu_ns: micros * 500,
        idle_ns: 0,
    };
    IozoneStep {
        test,
        file_kib: 1024,
        record_kib: 64,
        children: children.iter().map(child).collect(),
        parent_ns: Some(2_000_000),
        mismatch: false,
    }
}

/// Places of figures as in rows of iozone 3.489.
#[test]
fn figures_end_where_those_of_iozone_do() {
    let command = command("-E -+n -i 0 -i 4 -i 9 -i 10 -s 1m -r 64");
    let (mut row, mut text) = RowText::begin(
        &command.output,
        &command.work.tests,
        IozoneRow {
            file_kib: 1024,
            record_kib: 64,
        },
    );
    for test in [Test::Write, Test::RecordRewrite, Test::Pwrite, Test::Pread] {
        text.push_str(&row.cell(&step(test, &[(1024, 1000)])));
    }
    text.push_str(&row.end());
    assert_eq!(&text[..24], "            1024      64");
    let ends: Vec<usize> = (0..text.len() - 1)
        .filter(|&at| text.as_bytes()[at] != b' ' && text.as_bytes()[at + 1] <= b' ')
        .map(|at| at + 1)
        .collect();
    assert_eq!(ends, [16, 24, 33, 42, 97, 151, 160, 168, 177]);
    assert!(text.starts_with("            1024      64  1024000        0"));
}

#[test]
fn a_block_of_throughput_has_the_lines_of_iozone() {
    let command = command("-t 2 -C -s 1m -r 64");
    let text = table::test(
        &command.output,
        &step(Test::Reread, &[(1024, 1000), (512, 1000)]),
    );
    assert_eq!(
        text,
        "\n\tChildren see throughput for 2 re-readers \t= 1536000.00 kB/sec\n\
         \tParent sees throughput for 2 re-readers \t=  768000.00 kB/sec\n\
         \tMin throughput per process \t\t\t=  512000.00 kB/sec \n\
         \tMax throughput per process \t\t\t= 1024000.00 kB/sec\n\
         \tAvg throughput per process \t\t\t=  768000.00 kB/sec\n\
         \tMin xfer \t\t\t\t\t=     512.00 kB\n\
         \tChild[0] xfer count =    1024.00 kB, Throughput = 1024000.00 kB/sec\n\
         \tChild[1] xfer count =     512.00 kB, Throughput =  512000.00 kB/sec\n"
    );
}

#[test]
fn blocks_have_zeros_for_what_was_left_out() {
    let command = command("-a -R -+n -i 0 -n 1m -g 1m");
    let steps = [step(Test::Write, &[(1024, 1000)])];
    let text = table::blocks(
        &command.output,
        &command.work.tests,
        &command.work.rows,
        &steps,
    );
    assert!(
        text.starts_with("Excel output is below:\n\n\"Writer report\"\n        \"4\"  \"8\"  ")
    );
    assert!(
        text.contains("\n\"1024\"   0  0  0  0  1024000  0  0  0  0 \n"),
        "{text}"
    );
    assert!(text.contains("\"Re-writer report\"\n"));
}

#[test]
fn the_help_has_every_flag() {
    let text = help();
    for flag in flags() {
        assert!(
            text.contains(&format!("\n  -{}", flag.name)),
            "-{}",
            flag.name
        );
    }
    assert!(text.lines().all(|line| line.len() <= 97), "{text}");
}
