//! The page as a whole: head, sections in reading order, foot.

use super::{
    capacity, conditions, course, evidence, extent, ladder, latency, matrices, method, overview,
    results, storage, unfinished,
};
use crate::format::utc;
use crate::identity;
use crate::ladder::Ladder;
use crate::summary::Summary;
use crate::text::clean;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// One section: its anchor, its heading, what is in it. `None` when the run
/// has nothing to show there.
struct Section {
    anchor: &'static str,
    title: String,
    body: Option<Markup>,
}

/// The whole document.
pub fn markup(summary: &Summary<'_>) -> Markup {
    let name = identity::name(&summary.run.header.storage);
    let sections = sections(summary);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "assay: " (name) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (name) }
                    p.soft { (subtitle(summary)) }
                    nav aria-label="Sections" {
                        @for section in &sections {
                            a href={ "#" (section.anchor) } { (section.title) }
                            " "
                        }
                    }
                }
                main {
                    @for section in &sections {
                        section id=(section.anchor) {
                            h2 { (section.title) }
                            @if let Some(body) = &section.body { (body) }
                        }
                    }
                }
                footer { p { "Made by assay " (clean(&summary.run.header.assay_version)) "." } }
            }
        }
    }
}

fn sections(summary: &Summary<'_>) -> Vec<Section> {
    let all = [
        section("summary", "Summary", Some(overview::markup(summary))),
        of_ladder("ladder", Ladder::Write, summary),
        of_ladder("read-ladder", Ladder::Read, summary),
        section(
            "matrices",
            "File and record sizes",
            matrices::markup(summary),
        ),
        section("results", "Results", results::markup(summary)),
        section("capacity", "Capacity", capacity::markup(summary)),
        section("extent", "Samples over the extent", extent::markup(summary)),
        section("course", "Rate over time", course::markup(summary)),
        section("latency", "Latency", latency::markup(summary)),
        section("evidence", "Evidence", evidence::markup(summary)),
        section("conditions", "Conditions", conditions::markup(summary)),
        section(
            "storage",
            "Storage, run, machine",
            Some(storage::markup(summary)),
        ),
        section(
            "unfinished",
            "Trials without a result",
            unfinished::markup(summary),
        ),
        section("method", "Method and limits", Some(method::markup(summary))),
    ];
    all.into_iter().filter(|s| s.body.is_some()).collect()
}

fn section(anchor: &'static str, title: impl Into<String>, body: Option<Markup>) -> Section {
    Section {
        anchor,
        title: title.into(),
        body,
    }
}

fn of_ladder(anchor: &'static str, ladder: Ladder, summary: &Summary<'_>) -> Section {
    let title = ladder.title(summary).unwrap_or_default();
    section(anchor, title, ladder::markup(ladder, summary))
}

fn subtitle(summary: &Summary<'_>) -> String {
    let run = summary.run;
    let path = clean(&run.header.storage.path.to_string_lossy());
    let started = utc(run.header.started_unix_ms);
    format!("{path}, run {}, {started}", clean(&run.header.id))
}
