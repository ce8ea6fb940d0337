use super::{Style, write_summary, *};
use crate::testing::{fixture, samples};
use assay_model::run::Run;

fn written(run: &Run, style: Style) -> String {
    let mut out = Vec::new();
    let closing = ["stored in /home/a/assay.db".to_owned()];
    write_summary(run, style, &closing, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const PLAIN: Style = Style {
    color: false,
    width: 80,
    ascii: false,
};

#[test]
fn the_fixture_reads_well() {
    insta::assert_snapshot!(written(&fixture::run(), PLAIN));
}

#[test]
fn the_last_lines_are_broken_between_words() {
    let line = format!("Stored as run k3v9d2ma: {}", "evidence ".repeat(12));
    let mut out = Vec::new();
    write_summary(&fixture::run(), PLAIN, &[line], &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn a_sustained_write_shows_its_cliff_and_its_stalls() {
    let text = written(&samples::with_sustained(), PLAIN);
    let from = text.find("sustained-write over time").unwrap();
    let to = text.find("\nWarnings").unwrap();
    insta::assert_snapshot!(&text[from..to]);
}

#[test]
fn tails_of_all_trials_and_of_the_worst_one_stand_side_by_side() {
    let text = written(&samples::with_tails(), PLAIN);
    let from = text.find("Tail latency").unwrap();
    let to = text.find("\nWarnings").unwrap();
    insta::assert_snapshot!(&text[from..to]);
    assert!(!written(&fixture::run(), PLAIN).contains("Tail latency"));
}

#[test]
fn every_run_fits_80_columns() {
    let runs = [
        samples::with_tails(),
        fixture::run(),
        samples::with_sustained(),
        samples::empty(),
        samples::void(),
        samples::only_failures(),
        samples::large(),
    ];
    for run in runs {
        let text = written(&run, PLAIN);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "too wide: {line}");
        }
    }
}

#[test]
fn three_ways_to_read_stand_together_and_not_among_the_results() {
    let text = written(&samples::with_read_ladder(), PLAIN);
    let from = text.find("Three ways to read").unwrap();
    let to = text.find("\nResults").unwrap();
    insta::assert_snapshot!(&text[from..to]);
    assert!(!text[to..].contains("seq-read-1m "), "{text}");
}

#[test]
fn columns_are_two_blanks_apart_whatever_is_in_them() {
    let mut run = fixture::run();
    let rename = |name: &mut String| {
        if name == "rand-rw-4k" {
            *name = "mixed-4k-70-30-qd32".to_owned();
        }
    };
    for planned in &mut run.header.plan.jobs {
        rename(&mut planned.job.name);
    }
    let mut factor = 1;
    for trial in &mut run.trials {
        rename(&mut trial.job.name);
        // 550 kIOPS .. 6 IOPS: every prefix there is.
        factor *= 3;
        if let Some(measured) = &mut trial.measured {
            measured.elapsed_ns = measured.elapsed_ns / 1000 * (factor % 9_973);
        }
    }
    let text = written(&run, PLAIN);
    let results = &text[text.find("\nResults").unwrap()..text.find("\nWarnings").unwrap()];
    let figures = results.lines().filter(|line| line.contains(" .. "));
    let figures: Vec<&str> = figures.skip(1).collect();
    assert_eq!(figures.len(), 4, "{results}");
    for row in figures {
        let cells: Vec<&str> = row.trim().split("  ").filter(|c| !c.is_empty()).collect();
        assert!(cells.len() >= 3, "{row}");
    }
    assert!(
        results.lines().all(|l| l.chars().count() <= 80),
        "{results}"
    );
}

#[test]
fn narrow_terminals_get_one_figure_below_the_other() {
    let narrow = Style {
        color: false,
        width: 50,
        ascii: false,
    };
    let text = written(&fixture::run(), narrow);
    let stacked = "\n  fdatasync\n    median 15.9 MB/s; low .. high 15.8 .. 16.0;";
    assert!(text.contains(stacked), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 50), "{text}");
}

#[test]
fn colour_only_repeats_what_the_words_say() {
    let run = samples::with_sustained();
    let colored = written(
        &run,
        Style {
            color: true,
            ..PLAIN
        },
    );
    assert!(colored.contains("\u{1b}[31m"));
    let mut stripped = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    assert_eq!(stripped, written(&run, PLAIN));
}

#[test]
fn hostile_names_cannot_steer_the_terminal() {
    let text = written(&samples::hostile(), PLAIN);
    assert!(text.contains("\\u{1b}[2J"), "{text}");
    for forbidden in ['\u{1b}', '\u{202e}'] {
        assert!(!text.contains(forbidden));
    }
}

#[test]
fn a_run_without_trials_says_so() {
    let text = written(&samples::empty(), PLAIN);
    assert!(text.contains("trials: none of 24"), "{text}");
    let nothing = "Nothing was measured: the run was stopped before its first trial";
    assert!(text.contains(nothing), "{text}");
    assert!(
        !text.contains("not run") && !text.contains("Believe"),
        "{text}"
    );
}

#[test]
fn failures_are_named_and_give_no_figures() {
    let text = written(&samples::only_failures(), PLAIN);
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(
        words.join(" ").contains("No space left on device"),
        "{text}"
    );
    assert!(!text.contains("IOPS") && !text.contains("MB/s"), "{text}");
}

#[test]
fn a_stall_between_fast_intervals_is_marked() {
    let mut rates = vec![Some(80e6); 200];
    rates[100] = Some(0.0);
    let (blocks, marks) = spark(&rates, 50, &BLOCKS);
    assert_eq!(blocks.chars().count(), 50);
    assert_eq!(marks.matches('x').count(), 1);
    assert_eq!(marks.find('x'), Some(25));
}

#[test]
fn a_cliff_is_seen_and_gaps_stay_empty() {
    let rates = [80e6, 80e6, 20e6, 20e6].map(Some);
    assert_eq!(spark(&rates, 10, &BLOCKS).0, "██▃▃");
    let curve = [Some(80.0), None, Some(40.0), Some(1.0)];
    assert_eq!(spark(&curve, 4, &BLOCKS).0, "█ ▅▁");
    assert_eq!(spark(&curve, 4, &ASCII).0, "# +.");
}
