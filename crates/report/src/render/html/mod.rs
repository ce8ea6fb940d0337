//! Self-contained pages without any request. All text and charts work without scripts; the only
//! script sorts and filters tables, rotates surfaces and extracts data.
//!
//! `blocks` converts the blocks of a document to markup and packs the embedded archive. `Page` is
//! the frame: head, sections in reading order, foot. [`Site`] frames pages that a server sends:
//! they have no script, and link to a style sheet. maud escapes all text; `clean` has replaced
//! control characters before.

mod blocks;

pub use blocks::blocks as markup;

use crate::charts::draw::{Chart, slug, svg};
use crate::charts::{Gallery, comparison};
use crate::document::{Block, Cell, Column, Document, Section, Table, TableRow};
use crate::machine::import::write_json;
use crate::machine::json;
use crate::machine::json::Without;
use crate::results::comparison::{Compared, Side};
use crate::results::derived::Derived;
use crate::results::key_figures::{Belief, KeyFigures};
use crate::results::population::Standings;
use crate::results::summary::Summary;
use crate::results::sweep::{Verdicts, by_condition};
use crate::results::{describe, warnings};
use crate::views;
use crate::words::{Tone, clean, labels, utc};
use assay_lang::{Language, counted, current, in_english, tr, translated};
use assay_model::figures::Import;
use assay_model::run::Run;
use blocks::{Archive, ArchivedDocument, Way, blocks};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::io;
use std::io::Write;
use std::rc::Rc;

/// Writes the page of an import; `verdicts` exist if it has several conditions.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_import(
    import: &Import,
    verdicts: Option<&Verdicts>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let gallery = Gallery::of_import(import, verdicts);
    let verdict = verdicts.iter();
    let verdict = verdict.map(|verdicts| views::ranking::page_section(&[], verdicts, &gallery));
    let data = ArchivedDocument {
        name: "import.json",
        ways: vec![Way {
            write: Box::new(|out| write_json(import, out)),
            note: None,
        }],
    };
    let charts: Vec<&Chart> = gallery.iter().collect();
    let name = format!("assay-{}.zip", slug(&import.id));
    let page = Page {
        document: &views::import::page(import, &gallery, verdict.collect()),
        data: Some(Archive::of(name, &charts, &data)?),
        version: &import.assay_version,
    };
    page.write(out)
}

/// Writes the page of a comparison.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_comparison(
    compared: &Compared<'_>,
    a: &Side<'_>,
    b: &Side<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let gallery = comparison::Gallery::of(compared, a, b);
    let data = ArchivedDocument {
        name: "comparison.json",
        ways: vec![Way {
            write: Box::new(|out| writeln!(out, "{:#}", json::comparison(compared))),
            note: None,
        }],
    };
    // Data is in English, in every language of the page.
    let english = (current() != Language::English)
        .then(|| in_english(|| comparison::Gallery::of(compared, a, b)));
    let charts: Vec<&Chart> = english.as_ref().unwrap_or(&gallery).iter().collect();
    let name = "assay-comparison.zip".to_owned();
    let run = a.runs.first().or(b.runs.first());
    let page = Page {
        document: &views::comparison::page(compared, a, b, &gallery),
        data: Some(Archive::of(name, &charts, &data)?),
        version: run.map_or(env!("CARGO_PKG_VERSION"), |run| &run.header.assay_version),
    };
    page.write(out)
}

/// Renders the page of an import for a server.
pub fn import_in(site: &Site, import: &Import, verdicts: Option<&Verdicts>) -> Markup {
    let gallery = Gallery::of_import(import, verdicts);
    let verdict = verdicts.iter();
    let verdict = verdict.map(|verdicts| views::ranking::page_section(&[], verdicts, &gallery));
    site.document(&views::import::page(import, &gallery, verdict.collect()))
}

/// Renders the page of a comparison for a server.
pub fn comparison_in(site: &Site, compared: &Compared<'_>, a: &Side<'_>, b: &Side<'_>) -> Markup {
    let gallery = comparison::Gallery::of(compared, a, b);
    site.document(&views::comparison::page(compared, a, b, &gallery))
}

/// Writes a document as a page.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_document(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let page = Page {
        document,
        data: None,
        version: env!("CARGO_PKG_VERSION"),
    };
    page.write(out)
}

/// Writes the index page of several runs.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_index(entries: &[IndexEntry], out: &mut dyn Write) -> io::Result<()> {
    write_document(&index_document(entries), out)
}

/// Writes the page.
///
/// # Errors
/// If the data cannot be packed, or `out` cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    write_among(run, None, out)
}

/// Writes the page with the rank of the run among other units of its kind.
///
/// # Errors
/// As [`write()`].
pub fn write_among(
    run: &Run,
    standings: Option<&Standings>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let verdicts = Verdicts::of(run);
    let split = by_condition(run.clone());
    let derived = Derived::all(run);
    let summary = Summary::with(&split, &derived);
    let mut gallery = Gallery::of_parts(&summary, verdicts.as_ref());
    if let Some(standings) = standings {
        gallery.place(&summary, standings);
    }
    // Data is in English, in every language of the page.
    let data = (current() != Language::English).then(|| {
        in_english(|| {
            let derived = Derived::all(run);
            let gallery = Gallery::of_parts(&Summary::with(&split, &derived), verdicts.as_ref());
            (derived, gallery)
        })
    });
    let data = match &data {
        Some((derived, gallery)) => archive(run, derived, gallery)?,
        None => archive(run, &derived, &gallery)?,
    };
    let document = document(&summary, verdicts.as_ref(), &gallery, standings);
    let page = Page {
        document: &document,
        data: Some(data),
        version: &run.header.assay_version,
    };
    page.write(out)
}

/// Renders the page for a server, which provides the data at other addresses; with the rank of the
/// run among other units of its kind, if it is known.
pub fn markup_in(site: &Site, run: &Run, standings: Option<&Standings>) -> Markup {
    let verdicts = Verdicts::of(run);
    let split = by_condition(run.clone());
    let derived = Derived::all(run);
    let summary = Summary::with(&split, &derived);
    let mut gallery = Gallery::of_parts(&summary, verdicts.as_ref());
    if let Some(standings) = standings {
        gallery.place(&summary, standings);
    }
    site.document(&document(&summary, verdicts.as_ref(), &gallery, standings))
}

fn document(
    summary: &Summary<'_>,
    verdicts: Option<&Verdicts>,
    gallery: &Gallery,
    standings: Option<&Standings>,
) -> Document {
    let verdict = verdicts.into_iter();
    let verdict = verdict.map(|verdicts| {
        let conditions = &summary.run.header.plan.conditions;
        views::ranking::page_section(conditions, verdicts, gallery)
    });
    let mut document = views::run::full(summary, gallery, verdict.collect());
    if let Some(standings) = standings {
        document.push_after("results", views::run::population(standings));
    }
    document
}

/// Number of figures of series and distributions, about, above which packing them is not attempted.
const FIGURES: usize = 100_000;

fn archive(run: &Run, derived: &[Rc<Derived>], gallery: &Gallery) -> io::Result<Archive> {
    let way = |without: Without, what: &str| {
        Way {
        write: Box::new(move |out| json::write_without(run, derived, without, out)),
        note: (without != Without::Nothing).then(|| {
            tr!(
                "To keep the page small, {what} are not in run.json: assay report {id} --json has them",
                what,
                id = clean(&run.header.id)
            )
        }),
    }
    };
    let measured = || {
        run.trials
            .iter()
            .filter_map(|trial| trial.measured.as_ref())
    };
    let intervals: usize = measured().map(|m| m.series.points.len()).sum();
    let bins: usize = measured()
        .flat_map(|m| [&m.read.latency, &m.write.latency, &m.flush])
        .map(|record| record.bins.len())
        .sum();
    let mut ways = Vec::new();
    if intervals + bins <= FIGURES {
        ways.push(way(Without::Nothing, ""));
    }
    if bins <= FIGURES {
        ways.push(way(Without::Series, tr!("series over time")));
    }
    ways.push(way(
        Without::Details,
        tr!("series, distributions and evidence"),
    ));
    let document = ArchivedDocument {
        name: "run.json",
        ways,
    };
    let charts: Vec<&Chart> = gallery.iter().collect();
    Archive::of(
        format!("assay-{}.zip", slug(&run.header.id)),
        &charts,
        &document,
    )
}

/// Style sheet of all pages, without that of charts.
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");
/// Content security policy: the page loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Page with optional data.
struct Page<'a> {
    /// Title and sections.
    pub document: &'a Document,
    /// Data that can be downloaded.
    pub data: Option<Archive>,
    /// Version of assay that measured the results.
    pub version: &'a str,
}

impl Page<'_> {
    /// Writes the page.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.markup().into_string().as_bytes())
    }

    fn markup(&self) -> Markup {
        let document = self.document;
        let anchors = anchors(document);
        html! {
            (DOCTYPE)
            html lang=(current().tag()) {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { "assay: " (document.title) }
                    style { (PreEscaped(svg::variables())) (PreEscaped(svg::STYLE)) (PreEscaped(STYLE)) }
                }
                body data-filter=(tr!("Filter rows")) data-shown=(tr!("shown")) data-csv=(tr!("Data of this chart as CSV"))
                    data-turn=(tr!("Surface: arrow keys turn it, plus and minus zoom, 0 puts it back")) {
                    header { (opening(document)) (contents(document, &anchors, self.data.is_some())) }
                    main {
                        (sections(document, &anchors))
                    }
                    footer {
                        @if let Some(data) = &self.data { div #take-away { (data.markup()) } }
                        p { (tr!("Made by assay {version}.", version = clean(self.version))) } }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    }
}

/// Renders the title and the blocks directly below it.
fn opening(document: &Document) -> Markup {
    html! { h1 { (document.title) } (blocks(&document.header)) }
}

/// Number of sections that need no links: they are as many as screens.
const FEW_SECTIONS: usize = 5;

/// Renders links to the sections that are not folded, and to the data if the page has any.
fn contents(document: &Document, anchors: &[String], has_data: bool) -> Markup {
    let shown = anchors.iter().zip(&document.sections);
    let shown: Vec<(&String, &Section)> = shown.filter(|(_, one)| !one.folded).collect();
    html! {
        @if shown.len() > FEW_SECTIONS {
            nav aria-label=(tr!("Sections")) {
                @for (anchor, section) in &shown {
                    a href={ "#" (anchor) } { (title(section)) }
                    " "
                }
                @if has_data { a href="#take-away" { (tr!("Data")) } }
            }
        }
    }
}

/// Renders the sections in reading order.
fn sections(document: &Document, anchors: &[String]) -> Markup {
    let sections: Vec<(&String, &Section)> = anchors.iter().zip(&document.sections).collect();
    html! {
        @for group in sections.chunk_by(|(_, a), (_, b)| a.folded && b.folded) {
            @match group {
                [(anchor, section)] if !section.folded => {
                    section id=(anchor) {
                        h2 { (title(section)) }
                        (blocks(&section.blocks))
                    }
                }
                folded => {
                    div.folded {
                        @for (anchor, section) in folded {
                            details {
                                summary { h2 { (title(section)) } }
                                section id=(anchor) { (blocks(&section.blocks)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the heading of a section; an untitled section, directly below the title, is "Summary".
fn title(section: &Section) -> &str {
    match section.title.is_empty() {
        true => tr!("Summary"),
        false => &section.title,
    }
}

/// Returns the ids of sections; repeated ids get a number.
fn anchors(document: &Document) -> Vec<String> {
    let ids = document.sections.iter().map(|section| section.id);
    let ids = ids.enumerate().map(|(at, id)| {
        let before = document.sections[..at].iter();
        match before.filter(|section| section.id == id).count() {
            0 => id.to_owned(),
            n => format!("{id}-{}", n + 1),
        }
    });
    ids.collect()
}

const OWN: &str = include_str!("site.css");

/// Link to another page of the server.
#[derive(Clone, Debug)]
pub struct SiteLink {
    /// Text of the link.
    pub text: String,
    /// Address of the page.
    pub target: String,
    /// True on the linked page and on pages below it.
    pub here: bool,
}

/// Frame of a page that a server sends.
#[derive(Clone, Debug)]
pub struct Site {
    /// Address of [`style_sheet`].
    pub style: String,
    /// Links to other pages.
    pub links: Vec<SiteLink>,
    /// Markup directly below the title.
    pub lead: Markup,
    /// Source of the data, shown at the end of the page.
    pub source: String,
}

/// Returns the style sheet of all pages of a server.
pub fn style_sheet() -> String {
    [&svg::variables(), svg::STYLE, STYLE, OWN].concat()
}

impl Site {
    /// Renders a page of a title and its sections.
    pub fn page(&self, title: &str, main: &Markup) -> Markup {
        let header = html! { h1 { (title) } (self.lead) };
        self.whole(title, &header, main)
    }

    /// Renders a document as a page.
    pub fn document(&self, document: &Document) -> Markup {
        let anchors = anchors(document);
        let header =
            html! { (opening(document)) (self.lead) (contents(document, &anchors, false)) };
        self.whole(&document.title, &header, &sections(document, &anchors))
    }

    /// Renders head, links to other pages, contents and foot.
    fn whole(&self, title: &str, header: &Markup, main: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang=(current().tag()) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { "assay: " (title) }
                    link rel="icon" href="data:,";
                    link rel="stylesheet" href=(self.style);
                }
                body.site {
                    a.skip href="#content" { (tr!("Skip to the content")) }
                    (self.ways())
                    header { (header) }
                    main #content tabindex="-1" { (main) }
                    footer { p { (self.source) } }
                }
            }
        }
    }

    fn ways(&self) -> Markup {
        html! {
            nav.pages aria-label=(tr!("Pages")) {
                ul {
                    @for link in &self.links {
                        li { a href=(link.target) aria-current=[link.here.then_some("page")] { (link.text) } }
                    }
                }
            }
        }
    }
}

/// Run or import in the index.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    /// File name of its page, in the directory of the index.
    pub file: String,
    id: String,
    started: String,
    device: String,
    path: String,
    status: String,
    trials: String,
    lines: Vec<String>,
    belief: &'static str,
}

impl IndexEntry {
    /// Creates the list entry of a run whose page is `file`.
    pub fn of(run: &Run, file: String) -> Self {
        let summary = Summary::of(run);
        let digest = KeyFigures::of(&summary, &warnings::collect(&summary));
        let header = &run.header;
        Self {
            file,
            id: clean(&header.id),
            started: utc(header.started_unix_ms),
            device: labels::name(&header.storage),
            path: clean(&header.storage.path.to_string_lossy()),
            status: translated(run.status.word()).to_owned(),
            trials: describe::trials(&summary),
            lines: digest
                .lines
                .iter()
                .map(|line| format!("{}: {}", line.subject, line.text))
                .collect(),
            belief: match digest.belief {
                Belief::Yes => tr!("yes"),
                Belief::WithCare => tr!("with care"),
                Belief::InPart => tr!("in part"),
                Belief::No => tr!("no"),
            },
        }
    }
}

impl IndexEntry {
    /// Creates the list entry of an import whose page is `file`.
    pub fn of_import(import: &Import, file: String) -> Self {
        Self {
            file,
            id: clean(&import.id),
            started: utc(import.imported_unix_ms),
            device: clean(&import.results.tool),
            path: clean(&import.files.join(", ")),
            status: tr!("imported").to_owned(),
            trials: counted!(import.results.figures.len(), "{n} figure", "{n} figures"),
            lines: Vec::new(),
            belief: tr!("not known"),
        }
    }
}

/// Returns the index page of several runs, in the order of the entries.
fn index_document(entries: &[IndexEntry]) -> Document {
    let mut document = Document::new(tr!("Runs of assay").to_owned());
    document.header.push(Block::Paragraph {
        text: counted!(entries.len(), "{n} page", "{n} pages"),
        tone: Some(Tone::Soft),
    });
    let heads = [
        tr!("Run"),
        tr!("Started"),
        tr!("Device"),
        tr!("Path"),
        tr!("Status"),
        tr!("Trials"),
        tr!("In short"),
        tr!("Believe it?"),
    ];
    let rows = entries.iter().map(|entry| {
        let link = Cell::Link {
            text: entry.id.clone(),
            target: entry.file.clone(),
        };
        let texts = [
            &entry.started,
            &entry.device,
            &entry.path,
            &entry.status,
            &entry.trials,
            &entry.lines.join("; "),
        ];
        let texts = texts.map(|text| Cell::Text(text.clone())).into_iter();
        let texts = texts.chain([entry.belief.into()]);
        TableRow::new(std::iter::once(link).chain(texts).collect())
    });
    let mut runs = Section::new("runs", tr!("Runs"));
    runs.table(Table {
        columns: heads.map(Column::text).into(),
        rows: rows.collect(),
    });
    document.push(runs);
    document
}

#[cfg(test)]
mod tests {
    use super::{markup, write};
    use crate::charts::Gallery;
    use crate::charts::draw::svg;
    use crate::document::Block;
    use crate::results::summary::Summary;
    use crate::testing::{fixture, samples};
    use assay_model::run::{Claims, Run};

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
        assert!(
            matrices
                .contains("Up to 128 MiB per file, the page cache was measured; from 512 MiB on")
        );
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
    fn a_page_has_the_answer_then_a_table_then_charts_and_folds_the_rest() {
        let page = written(&samples::with_sustained());
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
        let answer = at("<section id=\"summary\"");
        let scale = at("data-chart=\"answer-bandwidth\"");
        let table = at("<section id=\"results\"");
        let charts = at("data-chart=\"trials-bandwidth\"");
        let folded = at("<div class=\"folded\"");
        assert!(answer < scale && scale < table && table < charts && charts < folded);
        for id in ["ladder", "latency", "evidence", "storage", "method"] {
            assert!(folded < at(&format!("<section id=\"{id}\"")), "{id}");
        }
        assert!(!page.contains("<details open"));
    }

    #[test]
    fn figures_stand_on_a_scale_up_to_the_ceiling_of_the_bus() {
        let mut run = fixture::run();
        run.header.claims = Some(Claims {
            bus: Some("hs400".to_owned()),
            datasheet: None,
        });
        let page = written(&run);
        let (_, scale) = page.split_once("data-chart=\"answer-bandwidth\"").unwrap();
        let (scale, _) = scale.split_once("</figure>").unwrap();
        assert!(scale.contains("ceiling of the bus: 363 MB/s"), "{scale}");
        assert!(scale.contains("class=\"bar read is-"), "{scale}");
    }

    #[test]
    fn a_chart_across_the_page_is_drawn_for_a_telephone_too() {
        let run = fixture::run();
        let gallery = Gallery::of(&run);
        let chart = Block::Chart(Box::new(gallery.trials[0].clone()));
        let page = markup(&[chart]).into_string();
        for (class, width) in [("on-desk", svg::WIDE), ("on-telephone", svg::NARROW)] {
            let drawn = format!("class=\"chart {class}\" viewBox=\"0 0 {width} ");
            assert_eq!(page.matches(&drawn).count(), 1, "{page}");
        }
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
}
