use super::write;
use crate::results::summary::Summary;
use crate::testing::fixture;
use crate::testing::samples;
use assay_model::run::Run;

fn written(run: &Run) -> String {
    let mut out = Vec::new();
    write(run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let page = written(&samples::with_sustained());
    for reference in [
        "http:", "https:", "//cdn", "<link", "@import", "url(", "src=", "fetch(", "import(",
    ] {
        assert!(!page.contains(reference), "the page contains {reference}");
    }
    assert!(page.contains("default-src 'none'"));
    assert_eq!(page.matches("<script").count(), 1);
}

#[test]
fn hostile_names_are_shown_and_not_obeyed() {
    let page = written(&samples::hostile());
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;"));
    assert!(page.contains("\\u{1b}[2J\\u{202e}\\n"));
    assert_eq!(page.matches("<script").count(), 1, "assay's own");
    for forbidden in ['\u{1b}', '\u{202e}'] {
        assert!(!page.contains(forbidden));
    }
    // An unescaped quote would end an attribute and start a new one.
    assert!(!page.contains("</script>\"'"));
}

#[test]
fn a_matrix_says_in_words_what_each_cell_measured() {
    let page = written(&samples::with_matrix());
    let matrices = section(&page, "matrices");
    assert!(matrices.contains("Writer report, KiB/s"));
    assert!(matrices.contains("Files up to 128 MiB measured the page cache, from 512 MiB on"));
    let cell = |label| format!("<td class=\"n cell {label}\"");
    assert_eq!(matrices.matches(&cell("page-cache")).count(), 4);
    assert_eq!(matrices.matches(">page-cache</span>").count(), 4);
    assert_eq!(matrices.matches(&cell("device")).count(), 3);
    assert_eq!(matrices.matches("\"></td>").count(), 1, "not measured");
    assert!(
        !page.contains("id=\"latency\""),
        "a matrix stands for its cells"
    );
    assert!(!written(&fixture::run()).contains("id=\"matrices\""));
}

#[test]
fn every_trial_that_measured_stands_with_its_label() {
    let run = samples::with_sustained();
    let page = written(&run);
    let evidence = section(&page, "evidence");
    for job in &Summary::of(&run).jobs {
        let rows: usize = job.trials.iter().map(|t| t.directions().count()).sum();
        if rows == 0 {
            continue;
        }
        let name = format!("<summary>{};", job.job.name);
        let of_job = evidence.split_once(&name).unwrap().1;
        let of_job = of_job.split_once("</details>").unwrap().0;
        let body = of_job.split_once("<tbody>").unwrap().1;
        assert_eq!(body.matches("<tr>").count(), rows, "{name}");
        assert!(body.contains("<th scope=\"row\">#1</th>"), "{name}: {body}");
        for trial in &job.trials {
            for (_, judged) in trial.directions() {
                assert!(
                    body.contains(&format!(">{}</span>", judged.measured)),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn the_label_stands_in_the_row_of_its_figure() {
    let page = written(&fixture::run());
    let ladder = section(&page, "ladder");
    for (way, label) in [
        ("plain", "page-cache"),
        ("fdatasync", "device"),
        ("direct", "device-unflushed"),
    ] {
        let row = ladder.split_once(&format!(">{way}</th>")).unwrap().1;
        let row = row.split_once("</tr>").unwrap().0;
        assert!(row.contains(&format!("class=\"label {label}\"")), "{row}");
    }
    let results = section(&page, "results");
    assert!(!results.contains("dd-plain"), "told already");
    for (job, label) in [
        ("seq-read-1m", "device"),
        ("rand-read-4k", "mixed"),
        ("fsync-append-4k", "unknown"),
    ] {
        let row = results.split_once(&format!(">{job} ")).unwrap().1;
        let row = row.split_once("</tr>").unwrap().0;
        assert!(
            row.contains(&format!("class=\"label {label}\"")),
            "{job}: {row}"
        );
    }
}

#[test]
fn three_ways_to_read_have_a_section_of_their_own() {
    let page = written(&samples::with_read_ladder());
    let ladder = section(&page, "read-ladder");
    for (way, label) in [
        ("cached", "page-cache"),
        ("buffered", "device"),
        ("direct", "device"),
    ] {
        let row = ladder.split_once(&format!(">{way}</th>")).unwrap().1;
        let row = row.split_once("</tr>").unwrap().0;
        assert!(row.contains(&format!("class=\"label {label}\"")), "{row}");
    }
    assert!(!section(&page, "results").contains("seq-read-1m"));
}

#[test]
fn the_page_begins_with_the_answer() {
    let page = written(&fixture::run());
    let summary = section(&page, "summary");
    let (digest, _) = summary.split_once("</dl>").unwrap();
    assert!(digest.contains("read 166 MB/s"), "{digest}");
    assert!(digest.contains("in part: I/O errors in 1 job"), "{digest}");
}

#[test]
fn skipped_and_failed_trials_are_listed_with_their_reasons() {
    let page = written(&fixture::run());
    let unfinished = section(&page, "unfinished");
    assert!(unfinished.contains("io_uring turned off"));
    assert!(unfinished.contains("Input/output error"));
}

#[test]
fn a_stall_is_drawn() {
    let page = written(&fixture::run());
    let course = section(&page, "course");
    let stalled = course
        .split_once("Rate over time of dd-direct, trial 2")
        .unwrap()
        .1;
    let stalled = stalled.split_once("</svg>").unwrap().0;
    assert_eq!(stalled.matches("class=\"stretch bad\"").count(), 1);
    assert_eq!(
        course.matches("class=\"stretch bad\"").count(),
        1,
        "others have none"
    );
}

#[test]
fn every_picture_is_described() {
    let page = written(&samples::with_sustained());
    let pictures = page.matches("<svg").count();
    assert!(pictures > 15, "{pictures}");
    assert_eq!(page.matches("role=\"img\" aria-label=\"").count(), pictures);
    assert!(!page.contains("aria-label=\"\""));
}

#[test]
fn runs_without_figures_give_a_page_too() {
    for run in [samples::empty(), samples::void(), samples::only_failures()] {
        let page = written(&run);
        assert!(page.ends_with("</html>"));
        assert!(!page.contains("NaN") && !page.contains("id=\"results\""));
    }
    let failed = written(&samples::only_failures());
    assert!(failed.contains("No space left on device"));
}

#[test]
fn a_large_run_stays_a_modest_page() {
    let page = written(&samples::large());
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

/// The markup of one section.
fn section<'p>(page: &'p str, anchor: &str) -> &'p str {
    let start = page.find(&format!("<section id=\"{anchor}\"")).unwrap();
    let rest = &page[start..];
    &rest[..rest.find("</section>").unwrap()]
}

#[test]
fn a_run_that_did_not_end_says_so() {
    let nothing = written(&samples::empty());
    assert!(section(&nothing, "summary").contains("Nothing was measured: the run was stopped"));
    let mut run = fixture::run();
    run.trials.truncate(3);
    run.status = samples::empty().status;
    let page = written(&run);
    let warnings = section(&page, "warnings");
    assert!(warnings.contains("was stopped or killed"), "{warnings}");
    assert!(!written(&fixture::run()).contains("was stopped or killed"));
}

#[test]
fn a_name_tags_and_a_note_stand_below_the_title() {
    let mut run = fixture::run();
    run.annotation.name = Some("before <b>".to_owned());
    run.annotation.add_tag("nightly");
    run.annotation.note = Some("second slot".to_owned());
    let page = written(&run);
    let (header, _) = page.split_once("</header>").unwrap();
    for words in ["before &lt;b&gt;", "nightly", "second slot"] {
        assert!(header.contains(words), "{words}: {header}");
    }
}

#[test]
fn of_very_many_trials_the_page_stays_small_and_says_what_is_left_out() {
    let page = written(&samples::crowd(800));
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    let evidence = section(&page, "evidence");
    assert!(evidence.matches("<tr>").count() < 700);
    assert!(evidence.contains("more trials with labels such as these"));
}

#[test]
fn the_surface_has_the_data_that_the_script_draws() {
    let page = written(&samples::with_matrix());
    let data = page.split_once("data-surface=\"").unwrap().1;
    let data = data.split('"').next().unwrap().replace("&quot;", "\"");
    let value: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(value["rows"].as_array().unwrap().len(), 3);
    assert_eq!(
        value["edge"], 1,
        "the page cache ends before the second row"
    );
    assert!(value["cells"][2][2].is_null());
}

#[test]
fn a_sweep_begins_with_what_its_conditions_did() {
    let page = written(&samples::swept());
    let verdict = page.find("<section id=\"verdict\"").unwrap();
    assert_eq!(page.find("<section"), Some(verdict));
    let section = section(&page, "verdict");
    assert!(
        section.contains("scheduler=none") && section.contains("class=\"verdict"),
        "{section}"
    );
    assert!(section.contains("data-chart=\"change-seq-read-1m-read-bw\""));
}
