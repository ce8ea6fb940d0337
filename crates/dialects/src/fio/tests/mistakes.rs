//! What is refused, warned about, and quoted without harm.

use super::TestEnvironment;
use super::grammar::{command, file, refusal, run};
use crate::fio::FioCommand;

#[test]
fn quoted_input_in_errors_is_short_and_free_of_control_characters() {
    let long = "x".repeat(1 << 20);
    for text in [
        format!("[{long}"),
        long.clone(),
        format!("[a]\n{long}"),
        format!("[{long}]\nbs=none"),
        format!("[a]\nbs={long}"),
        format!("[a]\nioengine={long}"),
        format!("[a]\n{long}\u{fffd}"),
    ] {
        let shown = refusal(&text);
        assert!(shown.chars().count() < 800, "{} characters", shown.len());
    }
    for text in ["[\u{1b}[31m]\nbs=none", "[a]\nbs=\u{1b}[31m", "x\u{1b}c"] {
        let shown = refusal(text);
        assert!(!shown.contains(char::is_control), "{shown}");
        assert!(shown.contains("\\u{1b}"), "{shown}");
    }
    let warned = file("[\u{1b}c]\nrw=randrw\nrwmixread=1\nrwmixwrite=1");
    assert!(
        warned.warnings[0].contains("[\\u{1b}c]"),
        "{:?}",
        warned.warnings
    );
}

#[test]
fn the_remedy_is_said_however_long_the_mistake() {
    let shown = refusal(&format!("{} x", "y".repeat(5000)));
    assert!(shown.ends_with("begin one with [name]"), "{shown}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    let load = file("\u{feff}[a]\nsize=1m\n").load;
    assert_eq!(load.streams[0].name, "a");
}

#[test]
fn no_name_holds_a_nul() {
    for text in ["[a]\nfilename=x\0y", "[a\0b]", "[a]\ndirectory=d\0/e"] {
        assert!(refusal(text).contains("NUL"), "{text:?}");
    }
    assert_eq!(file("[a] ; \0\nsize=1m").load.streams.len(), 1);
}

#[test]
fn a_list_without_a_name_is_no_list() {
    for value in [":", "::"] {
        let shown = refusal(&format!("[a]\nfilename={value}"));
        assert!(shown.contains("names no file"), "{shown}");
    }
}

#[test]
fn a_variable_that_is_not_set_is_named_where_it_does_harm() {
    for option in ["filename", "bs", "size"] {
        let shown = refusal(&format!("[a]\nrw=read\n{option}=${{NOPE}}\niodepth=1"));
        assert!(shown.contains("variable NOPE is not set"), "{shown}");
        assert!(shown.contains("job.fio:3"), "{shown}");
    }
    let shown = refusal("[a]\nfilename=x${NOPE}\nbs=none");
    assert!(!shown.contains("NOPE"), "it did no harm: {shown}");
}

#[test]
fn shares_that_contradict_each_other_are_warned_about() {
    let warnings = |text: &str| file(text).warnings;
    let both = warnings("[a]\nrw=randrw\nrwmixread=70\nrwmixwrite=70");
    assert!(both[0].contains("the last one counts"), "{both:?}");
    assert!(warnings("[a]\nrw=randrw\nrwmixread=70\nrwmixwrite=30").is_empty());
    let global = "[global]\nrwmixread=70\n[a]\nrw=randrw\nrwmixwrite=70";
    assert!(warnings(global).is_empty(), "a job may say otherwise");
    let load = file(global).load;
    assert_eq!(load.streams[0].blocks.read_percent, 30);
}

#[test]
fn a_block_holds_more_than_its_header() {
    let job = "[a]\nrw=write\nsize=1m\nbs=32\n";
    assert!(refusal(&format!("{job}verify=sha512")).contains("header"));
    assert_eq!(file(&format!("{job}verify=null")).load.streams.len(), 1);
}

#[test]
fn as_many_jobs_are_right_as_are_run() {
    let many = "[a]\nnumjobs=50\n[b]\nnumjobs=51\n";
    let env = TestEnvironment::default().with_file("job.fio", many);
    for words in ["", " --parse-only"] {
        let line = |most: u32| format!("job.fio --max-jobs={most}{words}");
        let error = command(&line(100), &env).expect_err(words).to_string();
        assert!(error.contains("more than 100 jobs"), "{error}");
        assert!(command(&line(101), &env).is_ok(), "{words}");
    }
    assert_eq!(run("job.fio", &env).load.streams.len(), 101);
    let missing = TestEnvironment::default().with_file("job.fio", "[a]\nwait_for=b");
    let checked = command("job.fio --parse-only", &missing);
    assert!(!matches!(checked, Ok(FioCommand::ParsedOnly { .. })));
}
