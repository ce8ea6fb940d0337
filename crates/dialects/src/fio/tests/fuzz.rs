//! No input panics.

use super::TestEnvironment;
use crate::fio::{options, parse};
use proptest::prelude::*;
use std::ffi::OsString;

/// Parts that values of options are made of.
fn value() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("4k"),
        Just("1"),
        Just("0"),
        Just("-1"),
        Just("100"),
        Just("%"),
        Just(":"),
        Just(","),
        Just("/"),
        Just("-"),
        Just("("),
        Just(")"),
        Just("*"),
        Just("^"),
        Just("$ncpus"),
        Just("${X}"),
        Just("KiB"),
        Just("18446744073709551615"),
        Just("0xff"),
        Just("\""),
        Just("'"),
        Just("%o"),
        Just("é"),
        Just("1.5"),
        Just("e9"),
        Just("zipf"),
        Just("iops"),
        Just("EIO"),
        Just("\\"),
        Just("randrw"),
        Just("zoned"),
        Just(" "),
        Just("s"),
        Just("99d"),
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

fn line() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = options::names().collect();
    prop_oneof![
        8 => (prop::sample::select(names), value()).prop_map(|(name, value)| format!("{name}={value}")),
        2 => "[a-z_]{1,12}",
        1 => "\\PC{0,20}",
        2 => prop_oneof![Just("[a]".to_owned()), Just("[global]".to_owned()), Just("[".to_owned()),
            Just("include job.fio".to_owned()), Just("include inc".to_owned()), Just("[]".to_owned())],
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn job_files_do_not_panic(lines in prop::collection::vec(line(), 0..12)) {
        let text = format!("[j]\n{}\n", lines.join("\n"));
        let env = TestEnvironment::default()
            .with_file("job.fio", text)
            .with_file("inc", "bs=8k\ninclude inc2\n")
            .with_file("inc2", "rw=read\n");
        let _ = parse(&[OsString::from("job.fio")], &env);
        let _ = parse(&["--showcmd".into(), "job.fio".into()], &env);
    }

    #[test]
    fn single_values_do_not_panic(name in prop::sample::select(options::names().collect::<Vec<_>>()), value in value()) {
        let args = ["--name=a".into(), OsString::from(format!("--{name}={value}"))];
        let _ = parse(&args, &TestEnvironment::default());
    }

    #[test]
    fn command_lines_do_not_panic(args in prop::collection::vec("-{0,2}[a-z_]{0,14}(=[0-9a-z:,%]{0,6})?", 0..8)) {
        let args: Vec<OsString> = args.into_iter().map(OsString::from).collect();
        let _ = parse(&args, &TestEnvironment::default());
    }

    #[test]
    fn bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let env = TestEnvironment::default().with_file("job.fio", bytes);
        let _ = parse(&[OsString::from("job.fio")], &env);
    }
}
