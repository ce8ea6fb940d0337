//! Reports once more in Chinese: nothing becomes wider than it may be, what programs read
//! stays as it is, and, when it is asked for, no sentence is left in English.

use crate::document::Detail;
use crate::machine::gate::Suite;
use crate::machine::{gate, json};
use crate::render::terminal::{self, Style};
use crate::render::{Form, html, write_mail};
use crate::results::comparison::{Power, Side};
use crate::results::sweep::by_condition;
use crate::testing::comparison_fixture::{Sides, ranked, ranking, swept};
use crate::testing::{fixture, samples};
use crate::words::width;
use crate::{machine, views};
use assay_lang::{Language, within};
use assay_model::figures::Figure;
use assay_model::run::Run;
use assay_stats::verdict::Options;
use assay_stats::verdict::between::RunVariance;
use std::io::{self, Write};

/// Texts from a kernel, a user or another tool, which are shown untranslated.
const FOREIGN: [&str; 6] = [
    "No space left on device",
    "Input/output error",
    "io_uring turned off",
    "not found",
    "stored in",
    "the kernel differs: ",
];

fn chinese(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    within(Language::Chinese, || write(&mut out)).unwrap();
    String::from_utf8(out).unwrap()
}

const STYLE: Style = Style {
    color: false,
    width: 80,
    ascii: false,
};

fn runs() -> Vec<Run> {
    vec![
        fixture::run(),
        samples::with_sustained(),
        samples::with_tails(),
        samples::with_read_ladder(),
        samples::with_matrix(),
        samples::empty(),
        samples::void(),
        samples::only_failures(),
        swept(),
    ]
}

/// Terminal and mail.
fn texts() -> Vec<String> {
    let mut texts = Vec::new();
    for run in runs() {
        texts.push(chinese(|out| {
            terminal::write_summary(&run, STYLE, &[], out)
        }));
    }
    let sides = Sides::new();
    texts.push(chinese(|out| {
        let document = views::comparison::document(&sides.compared(), Detail::Full);
        terminal::write(&document, STYLE, &[], out)
    }));
    texts.push(chinese(|out| {
        let document = views::comparison::document(&sides.compared(), Detail::Brief);
        terminal::write(&document, STYLE, &[], out)
    }));
    let options = Options::default();
    let ranking = ranking(&swept(), &options);
    texts.push(chinese(|out| {
        let document = views::ranking::document(&ranked(&ranking, &options));
        terminal::write(&document, STYLE, &[], out)
    }));
    let power = Power::of("CV".to_owned(), 0.02, 1, 0.05);
    let between = |earlier| RunVariance {
        variances: [0.01; 2],
        df: 8.0,
        known: 0.0,
        runs: [1, 1],
        earlier,
    };
    let power = [0, 9].map(|earlier| power.clone().of_runs(Some(between(earlier))));
    texts.push(chinese(|out| {
        terminal::write(&views::ranking::power(&power), STYLE, &[], out)
    }));
    texts
}

fn mails() -> Vec<String> {
    let mut mails = Vec::new();
    let options = Options::default();
    let ranking = ranking(&swept(), &options);
    for form in [Form::Text, Form::Markdown] {
        for run in runs() {
            mails.push(chinese(|out| {
                write_mail(&views::run::mail(&run), form, out)
            }));
        }
        let sides = Sides::new();
        mails.push(chinese(|out| {
            write_mail(&views::comparison::mail(&sides.compared()), form, out)
        }));
        let ranked = ranked(&ranking, &options);
        mails.push(chinese(|out| {
            write_mail(&views::ranking::mail(&swept(), &ranked), form, out)
        }));
    }
    mails
}

fn pages() -> Vec<String> {
    let mut pages: Vec<String> = runs()
        .iter()
        .map(|run| chinese(|out| html::write(run, out)))
        .collect();
    let sides = Sides::new();
    let (a, b) = (
        side("A", &sides.a, &sides.a_figures),
        side("B", &sides.b, &sides.b_figures),
    );
    pages.push(chinese(|out| {
        html::write_comparison(&sides.compared(), &a, &b, out)
    }));
    let entry = within(Language::Chinese, || {
        html::IndexEntry::of(&fixture::run(), "a".to_owned())
    });
    pages.push(chinese(|out| html::write_index(&[entry], out)));
    pages
}

fn side<'a>(name: &'a str, run: &'a Run, figures: &'a [Figure]) -> Side<'a> {
    Side {
        name,
        figures: figures.iter().collect(),
        runs: vec![run],
    }
}

/// Three English words in a row; names, units and options are no such words.
fn english(text: &str) -> Option<String> {
    let is_word = |word: &str| {
        let word = word.trim_matches([',', '.', ';', ':', '(', ')']);
        word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase() || c == '\'')
    };
    let sentence = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words
            .windows(3)
            .any(|three| three.iter().all(|word| is_word(word)))
    };
    let foreign = |line: &&str| FOREIGN.iter().any(|text| line.contains(text));
    let mut lines = text.lines().filter(|line| !foreign(line));
    lines.find(|line| sentence(line)).map(str::to_owned)
}

/// Extracts the text that a reader of a page sees or hears: text and labels, one line each.
fn shown(page: &str) -> String {
    let mut shown = String::new();
    let mut rest = page;
    while let Some((text, after)) = rest.split_once('<') {
        shown.push_str(text);
        let (tag, after) = after.split_once('>').unwrap_or((after, ""));
        let label = tag.split_once("aria-label=\"");
        let label = label.and_then(|(_, label)| label.split_once('"'));
        let inline = ["b", "/b", "strong", "/strong", "span", "/span"];
        if !inline.contains(&tag.split(' ').next().unwrap_or_default()) {
            shown.push('\n');
        }
        shown.push_str(label.map_or("", |(label, _)| label));
        let end = ["script", "style"]
            .into_iter()
            .find(|name| tag.starts_with(name));
        rest = match end {
            Some(name) => after
                .split_once(&format!("</{name}>"))
                .map_or("", |(_, after)| after),
            None => after,
        };
    }
    shown + rest
}

#[test]
#[ignore = "a translation may be missing: cargo test -p assay-report in_chinese -- --include-ignored"]
fn no_sentence_is_left_in_english() {
    let pages = pages().into_iter().map(|page| shown(&page));
    for text in texts().into_iter().chain(mails()).chain(pages) {
        assert!(
            text.contains('。') || text.contains('，') || text.contains('：'),
            "{text}"
        );
        assert_eq!(english(&text), None);
    }
}

#[test]
fn nothing_is_wider_than_a_terminal_or_a_mail() {
    for (texts, columns) in [(texts(), 80), (mails(), 72)] {
        for line in texts.iter().flat_map(|text| text.lines()) {
            assert!(width(line) <= columns, "{} columns: {line}", width(line));
        }
    }
}

#[test]
fn a_page_says_its_language() {
    let page = |language| {
        let mut out = Vec::new();
        within(language, || html::write(&fixture::run(), &mut out)).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert!(page(Language::Chinese).contains("<html lang=\"zh\">"));
    assert!(page(Language::English).contains("<html lang=\"en\">"));
}

#[test]
fn what_programs_read_is_the_same_in_every_language() {
    let of = |language| {
        within(language, || {
            let mut data: Vec<Vec<u8>> = Vec::new();
            let sides = Sides::new();
            let options = Options::default();
            let ranking = ranking(&swept(), &options);
            let ranked = ranked(&ranking, &options);
            data.push(json::comparison(&sides.compared()).to_string().into_bytes());
            data.push(json::ranking(&ranked).to_string().into_bytes());
            let mut suites = vec![Suite::of_comparison(&sides.compared())];
            for run in runs() {
                let mut out = Vec::new();
                json::write(&run, &mut out).unwrap();
                machine::write_csv(&run, &mut out).unwrap();
                data.push(out);
                suites.push(Suite::of_run(&by_condition(run)));
            }
            for suite in suites {
                let mut out = Vec::new();
                gate::write_junit(&suite, &mut out).unwrap();
                data.push(out);
            }
            data
        })
    };
    for (english, chinese) in of(Language::English).iter().zip(of(Language::Chinese)) {
        let text = String::from_utf8_lossy(&chinese);
        assert!(*english == chinese, "not as in English: {text}");
    }
}

#[test]
fn the_test_sees_what_is_left() {
    assert_eq!(
        english("设备：the rest was still in memory"),
        Some("设备：the rest was still in memory".to_owned())
    );
    assert_eq!(english("rand-read-4k 读 IOPS，见 assay report"), None);
    assert_eq!(shown("<p>a <b>b</b></p><style>x y z</style>"), "\na b\n\n");
}
