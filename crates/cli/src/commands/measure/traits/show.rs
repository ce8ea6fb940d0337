//! Findings as a document and as JSON.

use super::{Found, Said, name_of, sentence, title};
use assay_flash::traits::ask::TraitJob;
use assay_flash::traits::series::Series as Measured;
use assay_flash::traits::{Trait, TraitFinding};
use assay_lang::{counted, in_english, tr, translated};
use assay_model::run::{Run, RunStatus};
use assay_model::trial::Outcome;
use assay_model::units::{as_usize, three_digits};
use assay_report::document::{Column, Document, Keep, Section, Table, TableRow};
use assay_report::key_figure::KeyFigure;
use assay_report::labels::DIFFERS;
use assay_report::words::{Tone, clean};
use serde_json::{Value, json};

/// Makes the document: the traits that were found, the others, and the series behind both.
pub fn document(run: &Run, found: &Found) -> Document {
    let header = &run.header;
    let device = clean(&header.storage.words());
    let mut document = Document::new(tr!("Run {id}: {device}", id = header.id, device));
    let facts = |seen: bool| {
        let traits = found.traits.iter();
        let traits = traits.filter(|(_, said)| (status(said) == "seen") == seen);
        traits
            .map(|(what, said)| (title(*what), sentence(said)))
            .collect::<Vec<_>>()
    };
    let mut summary = Section::new("summary", "");
    summary.facts(facts(true));
    add_circumstances(run, found, &mut summary);
    document.push(summary);
    let mut others = Section::new("not-determined", tr!("Not determined"));
    others.facts(facts(false));
    document.push(others);
    let mut measured = Section::new("measured", tr!("What was measured"));
    measured.table(series(found));
    document.push(measured);
    document
}

/// Lists the traits that a run shows, in a few words; `None` if the run measured none.
pub fn in_brief(run: &Run) -> Option<KeyFigure> {
    let found = Found::of(run);
    let status = |wanted: &str| {
        let traits = found.traits.iter();
        let traits = traits.filter(|(_, said)| status(said) == wanted);
        traits.map(|(what, _)| title(*what)).collect::<Vec<_>>()
    };
    let seen = status("seen");
    let asked = found.traits.len() - status("not-asked").len();
    let text = match seen.as_slice() {
        [] => tr!("none of {asked} traits is visible", asked),
        seen => tr!(
            "{n} of {asked} traits: {names}",
            n = seen.len(),
            asked,
            names = seen.join(", ")
        ),
    };
    let label = found.labels.iter().next().copied();
    let measured = match found.labels.len() {
        0 | 1 => label,
        _ => Some(DIFFERS),
    };
    (asked > 0 && !run.trials.is_empty()).then(|| KeyFigure {
        text,
        measured: measured.map(str::to_owned),
        value: None,
    })
}

fn series(found: &Found) -> Table {
    let all = found.traits.iter();
    let all = all.flat_map(|(what, _)| found.answers.all_of(*what).map(move |one| (*what, one)));
    let row = |(what, (part, series)): (Trait, (&str, &Measured))| {
        let (places, times) = ends(what, series);
        let name = match part {
            "" => title(what).to_owned(),
            part => format!("{}: {part}", title(what)),
        };
        let cells = [name, places, times, bars(series)];
        TableRow::new(cells.map(Into::into).to_vec())
    };
    Table {
        columns: vec![
            Column::text(""),
            Column::number(tr!("points")),
            Column::number(tr!("latency")),
            Column::text(tr!("course")).keep(Keep::IfRoom),
        ],
        rows: all.map(row).collect(),
    }
}

/// Returns the range of `x`, and that of the times in microseconds.
fn ends(what: Trait, series: &Measured) -> (String, String) {
    let means: Vec<f64> = series.0.iter().map(|point| point.mean()).collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(0.0, f64::max);
    let (first, last) = match (series.0.first(), series.0.last()) {
        (Some(first), Some(last)) => (first.x, last.x),
        _ => return Default::default(),
    };
    let times = format!("{} .. {} µs", three_digits(low), three_digits(high));
    let places = [first, last].map(|x| name_of(what, x));
    (places.join(" .. "), times)
}

/// Draws a bar for each point, by the logarithm of its time.
fn bars(series: &Measured) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let logs: Vec<f64> = series
        .0
        .iter()
        .map(|point| point.mean().max(1e-3).ln())
        .collect();
    let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // A smaller range would only show noise.
    let range = (high - low).max(0.1);
    let bar = |log: &f64| {
        let at = as_usize(((log - low) / range * 7.0).round());
        BARS[at.min(7)]
    };
    logs.iter().map(bar).collect()
}

/// Makes the JSON: each trait with its conclusion and its points.
pub fn value(run: &Run, found: &Found) -> Value {
    let each = |(what, said): &(Trait, Said)| {
        let series = found.answers.all_of(*what).map(|(part, series)| {
            let points = series
                .0
                .iter()
                .map(|point| json!({"x": point.x, "us": point.us}));
            json!({"part": part, "points": points.collect::<Vec<_>>()})
        });
        json!({
            "trait": what.name(),
            "status": status(said),
            "sentence": in_english(|| sentence(said)),
            "values": values(said),
            "series": series.collect::<Vec<_>>(),
        })
    };
    let header = &run.header;
    json!({
        "schema": 1,
        "run": header.id,
        "status": run.status.word(),
        "device": header.storage.words(),
        "path": header.plan.place.path().display().to_string(),
        "size_bytes": header.plan.file_size.0,
        "trials": trials_of_points(run),
        "trials_completed": completed(run),
        "trials_planned": header.plan.order.len(),
        "labels": found.labels,
        "traits": found.traits.iter().map(each).collect::<Vec<_>>(),
    })
}

const fn status(said: &Said) -> &'static str {
    match said {
        Said::Found(TraitFinding::NotVisible(_)) => "not-visible",
        Said::Found(_) => "seen",
        Said::Refused(_) => "refused",
        Said::NoFlash(_) => "not-claimed",
        Said::NotAsked => "not-asked",
    }
}

fn values(said: &Said) -> Value {
    let Said::Found(finding) = said else {
        return Value::Null;
    };
    match finding {
        TraitFinding::Costs {
            command_us,
            block_us,
            ramp,
            worst_pct,
        } => json!({
            "command_us": command_us.0, "command_us_std_error": command_us.1,
            "block_us": block_us.0, "block_us_std_error": block_us.1,
            "ramp_us": ramp.map(|(us, _)| us), "ramp_blocks": ramp.map(|(_, blocks)| blocks),
            "worst_prediction_pct": worst_pct,
        }),
        TraitFinding::Boundaries(found) => {
            let all = found
                .iter()
                .map(|(unit, us)| json!({"bytes": unit.0, "extra_us": us}));
            all.collect()
        }
        TraitFinding::MapUnit { unit, extra_us } => json!({"bytes": unit.0, "extra_us": extra_us}),
        TraitFinding::OpenUnits {
            least,
            most,
            extra_us,
        } => json!({"least": least, "most": most, "extra_us": extra_us}),
        TraitFinding::MapSpan {
            least,
            most,
            extra_us,
        } => json!({"least_bytes": least.0, "most_bytes": most.0, "extra_us": extra_us}),
        TraitFinding::Flush { flush_us, buffer } => json!({
            "flush_us": flush_us,
            "each_kib_us": buffer.map(|(us, ..)| us),
            "least_bytes": buffer.map(|(_, least, _)| least.0),
            "most_bytes": buffer.and_then(|(.., most)| most).map(|most| most.0),
        }),
        TraitFinding::Slc { bytes, fast, slow } => json!({
            "bytes": bytes.0, "fast_bytes_per_s": fast, "slow_bytes_per_s": slow,
        }),
        TraitFinding::Break { extra_us } => json!({"extra_us": extra_us}),
        TraitFinding::Deferred {
            extra_us,
            gone_after,
        } => json!({"extra_us": extra_us, "gone_after_ns": gone_after.map(|pause| pause.0)}),
        TraitFinding::Recovery {
            busy_us,
            rested_us,
            pause,
        } => json!({"busy_us": busy_us, "rested_us": rested_us, "pause_ns": pause.0}),
        TraitFinding::Queue { gain, depth } => json!({"gain": gain, "depth": depth}),
        TraitFinding::NotVisible(_) => Value::Null,
    }
}

/// Returns the number of trials of each trait's points; 1 if only the long write was measured.
fn trials_of_points(run: &Run) -> u32 {
    let jobs = run.header.plan.jobs.iter();
    let points = jobs
        .filter(|planned| TraitJob::of(&planned.job).is_some_and(|asked| asked.what != Trait::Slc));
    points.map(|planned| planned.trials).max().unwrap_or(1)
}

fn completed(run: &Run) -> usize {
    let trials = run.trials.iter();
    trials
        .filter(|trial| trial.outcome == Outcome::Completed)
        .count()
}

/// Adds the place, the number of trials and the labels, and the progress if the run is incomplete.
fn add_circumstances(run: &Run, found: &Found, section: &mut Section) {
    let header = &run.header;
    let each = counted!(
        trials_of_points(run),
        "{n} trial of each point",
        "{n} trials of each point"
    );
    let place = tr!(
        "{size} of {path}, {each}",
        size = header.plan.file_size,
        path = clean(&header.plan.place.path().display().to_string()),
        each
    );
    let labels: Vec<&str> = found.labels.iter().map(|one| translated(one)).collect();
    let said = match labels.is_empty() {
        true => place,
        false => tr!(
            "{place}; figures: {labels}",
            place,
            labels = labels.join(", ")
        ),
    };
    section.say(said, None);
    let (done, planned) = (completed(run), header.plan.order.len());
    if run.status != RunStatus::Finished || done < planned {
        let status = translated(run.status.word());
        let far = tr!(
            "{status}: {done} of {planned} trials completed",
            status,
            done,
            planned
        );
        section.say(far, Some(Tone::Care));
    }
}
