//! What cannot be taken in.

use super::error;
use crate::import::{Format, ImportError, detect, read};

#[test]
fn nothing_and_anything_else_are_refused_in_one_line() {
    assert_eq!(read("", None), Err(ImportError::Empty));
    assert_eq!(read("\u{feff} \n\t\n", None), Err(ImportError::Empty));
    for text in [
        "hello", // A program, in which semicolons stand by chance.
        "\u{7f}ELF\0;a;b\n\0;c;d\n",
        "{}",
        "\0\u{1}",
        "{\"jobs\": []}",
        "<html>;</html>",
    ] {
        let said = error(text);
        assert!(said.contains("understood are fio's JSON"), "{text}: {said}");
        assert!(
            said.contains("fio-json, fio-text, iozone, dd, table or vmstat"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn a_text_of_another_kind_than_was_said_has_nothing() {
    for format in Format::ALL {
        let said = read("hello\nworld\n", Some(format))
            .unwrap_err()
            .to_string();
        assert_eq!(said.lines().count(), 1, "{format:?}: {said}");
    }
}

#[test]
fn each_text_is_known_by_its_own_words() {
    for (text, format) in [
        (
            include_str!("../../../../../examples/governors.csv"),
            Format::Table,
        ),
        (
            include_str!("../../../../../examples/rtsx-before-after.csv"),
            Format::Table,
        ),
        (include_str!("data/dd-ladder-board.csv"), Format::Table),
        (
            include_str!("data/fio-3.26-emmc-board.txt"),
            Format::FioText,
        ),
        (include_str!("data/vmstat-dd-500M.txt"), Format::Vmstat),
        ("5 bytes copied, 1 s, 0.0 kB/s\n", Format::Dd),
        ("\"Writer report\"\n", Format::Iozone),
        ("note\n{ \"fio version\" : 3", Format::FioJson),
    ] {
        assert_eq!(detect(text), Some(format), "{text}");
    }
}

#[test]
fn a_table_of_unknown_columns_is_told_which_are_looked_for() {
    let said = error("a,b,c\n1,2,3\n");
    assert!(said.contains("metric and value"), "{said}");
    assert!(said.contains("bfq,seq_read,MB/s,166"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
