//! What is said before a run starts: what will be written, where, how much,
//! and for how long.

use crate::output::{say, talk_columns};
use crate::room::Written;
use assay_model::condition::Condition;
use assay_model::plan::{Place, Plan};
use assay_model::units::Nanos;
use assay_model::wire::Inspection;
use assay_report::text::{clean, count, wrap};
use std::path::Path;

/// Says it, with the machine unless it is this one and how long it may take, on standard error, wrapped where that is a terminal.
pub fn announce(
    plan: &Plan,
    inspection: &Inspection,
    target: Option<&str>,
    duration: Nanos,
    store: &Path,
) {
    let columns = talk_columns().unwrap_or(usize::MAX);
    let machine = target.map(|target| ("Machine", clean(target)));
    let facts = facts(plan, inspection, duration, store);
    for (subject, text) in machine.into_iter().chain(facts) {
        let mut start = format!("{subject:<MARGIN$}");
        for line in wrap(&text, columns.saturating_sub(MARGIN)) {
            say(&format!("{start}{line}"));
            start = " ".repeat(MARGIN);
        }
    }
}

/// Width of the subjects.
const MARGIN: usize = 9;

fn facts(
    plan: &Plan,
    inspection: &Inspection,
    duration: Nanos,
    store: &Path,
) -> Vec<(&'static str, String)> {
    let path = plan.place.path().display();
    let mount = inspection.storage.mount.as_ref();
    let fs = mount.map_or(String::new(), |mount| format!(", {}", mount.fs_type));
    let device = format!("{path}: {}{fs}", inspection.storage.words());
    let writes = match &plan.place {
        Place::Directory { .. } => format!(
            "{}, to files in {path}/.assay-{} that are removed at the end",
            Written::by(plan),
            plan.run_id
        ),
        Place::File { .. } => format!("nothing; reads the first {} of {path}", plan.file_size),
        Place::Device { .. } => format!(
            "OVER THE DATA ON {path}: its first {}, {}",
            plan.file_size,
            Written::by(plan)
        ),
    };
    let under = match plan.conditions.len() {
        0 => String::new(),
        number => format!(" under {}", count(number as u64, "condition")),
    };
    let takes = format!(
        "about {}, longer on slow storage: {} trials of {} jobs{under}, seed {}",
        minutes(duration),
        plan.order.len(),
        plan.jobs.len(),
        plan.seed,
    );
    let stores = format!(
        "each trial as it ends, as run {} in {}",
        plan.run_id,
        store.display()
    );
    let mut facts = vec![("Storage", clean(&device)), ("Writes", clean(&writes))];
    if !plan.conditions.is_empty() {
        facts.push(("Sets", clean(&sets(&plan.conditions))));
    }
    facts.extend([("Takes", takes), ("Keeps", clean(&stores))]);
    facts
}

/// Each subject with its values.
fn sets(conditions: &[Condition]) -> String {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for setting in conditions.iter().flat_map(|condition| &condition.settings) {
        let subject = setting.subject.to_string();
        let values = match all.iter().position(|(known, _)| *known == subject) {
            Some(index) => &mut all[index].1,
            None => {
                all.push((subject, Vec::new()));
                let last = all.len() - 1;
                &mut all[last].1
            }
        };
        if !values.contains(&setting.value.as_str()) {
            values.push(&setting.value);
        }
    }
    let words = all
        .iter()
        .map(|(subject, values)| format!("{subject} to {}", values.join(", ")));
    let words: Vec<String> = words.collect();
    format!("{}; put back at the end", words.join("; "))
}

fn minutes(span: Nanos) -> String {
    match span.0.div_ceil(1_000_000_000) {
        secs @ 0..90 => format!("{secs} s"),
        secs => format!("{} min", secs.div_ceil(60)),
    }
}
