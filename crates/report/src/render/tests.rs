use super::{Form, write_mail, *};
use crate::testing::comparison_fixture::{Sides, ranked, ranking, swept};
use crate::testing::{fixture, samples};
use crate::views;
use crate::words::MAIL_COLUMNS;
use assay_model::run::Run;
use assay_stats::verdict::Options;

fn of_comparison(sides: &Sides, form: Form) -> String {
    let mut out = Vec::new();
    write_mail(&views::comparison::mail(&sides.compared()), form, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn of_run(run: &Run, form: Form) -> String {
    let mut out = Vec::new();
    write_mail(&views::run::mail(run), form, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn of_sweep(run: &Run, form: Form) -> String {
    let options = Options::default();
    let ranking = ranking(run, &options);
    let mut out = Vec::new();
    let document = views::ranking::mail(run, &ranked(&ranking, &options));
    write_mail(&document, form, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_comparison_answers_what_maintainers_ask() {
    let text = of_comparison(&Sides::new(), Form::Text);
    for asked in [
        "seq-read-1m",
        "sequential read, 1 MiB blocks",
        "$ assay qualify /data/assay --quick",
        "assay 0.1.0",
        "kernel B",
        " a side",
        "interval",
    ] {
        assert!(text.contains(asked), "{asked}: {text}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_comparison_is_a_table_in_markdown() {
    insta::assert_snapshot!(of_comparison(&Sides::new(), Form::Markdown));
}

#[test]
fn a_run_reads_well() {
    insta::assert_snapshot!(of_run(&fixture::run(), Form::Text));
}

#[test]
fn a_sweep_has_a_table_for_each_metric() {
    let text = of_sweep(&swept(), Form::Markdown);
    let to = text.find("### Warnings").unwrap();
    insta::assert_snapshot!(&text[..to]);
}

#[test]
fn nothing_is_wider_than_a_mail() {
    let mut texts = Vec::new();
    for form in [Form::Text, Form::Markdown] {
        for run in [
            fixture::run(),
            samples::with_sustained(),
            samples::empty(),
            samples::void(),
            samples::only_failures(),
            samples::large(),
            samples::hostile(),
            samples::with_matrix(),
        ] {
            texts.push(of_run(&run, form));
            let mut other = run.clone();
            other.header.id = "z".repeat(100);
            other.header.command.push("word ".repeat(40));
            texts.push(of_comparison(&Sides::of(run, other), form));
        }
        texts.push(of_comparison(&Sides::new(), form));
        texts.push(of_sweep(&swept(), form));
    }
    for text in texts {
        for line in text.lines() {
            assert!(line.chars().count() <= MAIL_COLUMNS, "too wide: {line}");
        }
    }
}

#[test]
fn names_neither_steer_a_terminal_nor_mark_up() {
    for form in [Form::Text, Form::Markdown] {
        let text = of_run(&samples::hostile(), form);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
    let text = of_run(&samples::hostile(), Form::Markdown);
    let outside: String = text.split("```").step_by(2).collect();
    assert!(
        outside.contains("\\<script\\>") && !outside.contains(" <script"),
        "{outside}"
    );
}

#[test]
fn names_cannot_mark_up() {
    assert_eq!(
        escaped("rand_read *b* <i>|[x](y)"),
        "rand_read \\*b\\* \\<i\\>\\|\\[x\\](y)"
    );
    assert_eq!(escaped("_a_ `b`"), "\\_a\\_ \\`b\\`");
    assert_eq!(at_start("- not a point"), "\\- not a point");
    assert_eq!(at_start("3. not a point"), "3\\. not a point");
    assert_eq!(at_start("-3.9 % of it"), "-3.9 % of it");
}

#[test]
fn what_is_shortened_stays_escaped() {
    assert_eq!(fitting("<<<<<<<<", 10), "\\<\\<…\\<\\<");
    assert_eq!(fitting("rand-read-4k", 12), "rand-read-4k");
}

#[test]
fn a_fence_is_longer_than_what_is_in_it() {
    assert_eq!(fence(&["$ assay".to_owned()]), "```");
    assert_eq!(fence(&["echo ```` x".to_owned()]), "`````");
}
