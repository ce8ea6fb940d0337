//! Announcement before a run starts: paths that will be written, amount, and duration.

use crate::checks::estimate::{Forecast, Written};
use crate::exit::Failure;
use crate::output::{say, talk_columns};
use assay_lang::{counted, tr};
use assay_model::act::Act;
use assay_model::condition::Condition;
use assay_model::plan::{Place, Plan};
use assay_model::storage::Storage;
use assay_model::units::Nanos;
use assay_model::wire::Inspection;
use assay_report::words::{clean, pad, wrap};
use assay_store::Store;
use std::path::Path;

/// Prints the announcement on standard error, wrapped at the width of a terminal. `target`: the
/// machine, unless it is this one. `times`: the estimates for fast and slow storage. `writing`: the
/// part of the plan whose writes are described.
///
/// # Errors
/// If the store cannot be read.
pub fn announce(
    (plan, writing): (&Plan, &Plan),
    inspection: &Inspection,
    target: Option<&str>,
    times: [Nanos; 2],
    store: &Store,
) -> Result<(), Failure> {
    let words = inspection.storage.words();
    let known = Forecast::new(times).by_earlier_jobs(store, &words, plan)?;
    let mut all = facts((plan, writing), inspection, &known, store.path());
    if let Some(target) = target {
        all.insert(0, (tr!("Machine"), clean(target)));
    }
    tell(&all);
    Ok(())
}

/// Announcement of the repetitions of an act.
pub struct Announcement {
    /// Facts that come first.
    pub first: Vec<(&'static str, String)>,
    /// Description of the writes.
    pub writes: String,
    /// Number of steps of a repetition.
    pub steps: usize,
    /// Estimates of the time of a repetition on fast and on slow storage.
    pub times: [Nanos; 2],
}

/// Subjects of an announcement with their texts.
pub type Facts = Vec<(&'static str, String)>;

/// Returns the announcement of `trials` repetitions of an act.
///
/// # Errors
/// If the store cannot be read.
pub fn facts_of_act(
    announced: &Announcement,
    (place, act, trials): (&Place, &Act, u32),
    found: &Storage,
    target: Option<&str>,
    store: &Store,
) -> Result<Facts, Failure> {
    let all = |once: Nanos| Nanos(once.0.saturating_mul(trials.into()));
    let forecast = Forecast::new(announced.times.map(all));
    let forecast = forecast.by_earlier_act(store, &found.words(), (act, trials))?;
    let takes = tr!(
        "{time}: {steps}, {trials}",
        time = forecast,
        steps = counted!(announced.steps, "{n} step", "{n} steps"),
        trials = match trials {
            1 => tr!("once").to_owned(),
            n => tr!("{n} times each", n),
        }
    );
    let machine = target.map(|target| (tr!("Machine"), clean(target)));
    let mut facts = Vec::from_iter(machine);
    if !matches!(place, Place::Memory) {
        facts.push((tr!("Storage"), storage(place, found)));
    }
    facts.extend(announced.first.iter().cloned());
    facts.extend([
        (tr!("Writes"), clean(&announced.writes)),
        (tr!("Takes"), clean(&takes)),
    ]);
    Ok(facts)
}

/// Announces an act that is repeated under conditions. The duration is known only after the first
/// repetition.
pub fn announce_work(
    words: &str,
    plan: &Plan,
    slots: usize,
    inspection: &Inspection,
    store: &Path,
) {
    let path = plan.place.path().display();
    let writes = match plan.place {
        Place::Device { .. } => tr!(
            "OVER THE DATA ON {path}: what `{words}` writes",
            path,
            words
        ),
        _ => tr!("what `{words}` writes", words),
    };
    let takes = tr!(
        "{count} repetitions of `{words}` under {conditions}; the duration is known after the first; seed {seed}",
        count = slots,
        words,
        conditions = counted!(plan.conditions.len(), "{n} condition", "{n} conditions"),
        seed = plan.seed
    );
    let mut facts = vec![(tr!("Storage"), storage(&plan.place, &inspection.storage))];
    facts.extend(held(inspection));
    facts.extend([
        (tr!("Writes"), clean(&writes)),
        (
            tr!("Sets"),
            clean(&sets(&plan.conditions).unwrap_or_default()),
        ),
        (tr!("Takes"), clean(&takes)),
        (
            tr!("Keeps"),
            clean(&keeps(tr!("step"), &plan.run_id, store)),
        ),
    ]);
    tell(&facts);
}

/// Describes the data on a device that will be overwritten; `None` for other places, and if no
/// signature is found.
pub fn held(inspection: &Inspection) -> Option<(&'static str, String)> {
    let all = clean(&inspection.holds.join(", "));
    (!all.is_empty()).then(|| (tr!("Holds"), tr!("{all}: it will be overwritten", all)))
}

/// Width of the subjects, in columns.
const MARGIN: usize = 9;

/// Prints facts as subjects with their texts, wrapped and aligned.
pub fn tell(facts: &[(&'static str, String)]) {
    let columns = talk_columns().unwrap_or(usize::MAX);
    for (subject, text) in facts {
        let mut start = pad(subject, MARGIN);
        for line in wrap(text, columns.saturating_sub(MARGIN)) {
            say(&format!("{start}{line}"));
            start = " ".repeat(MARGIN);
        }
    }
}

fn facts(
    (plan, writing): (&Plan, &Plan),
    inspection: &Inspection,
    forecast: &Forecast,
    store: &Path,
) -> Vec<(&'static str, String)> {
    let under = match plan.conditions.len() {
        0 => String::new(),
        number => tr!(
            " under {conditions}",
            conditions = counted!(number, "{n} condition", "{n} conditions")
        ),
    };
    let takes = tr!(
        "{time}: {trials} of {jobs}{under}, seed {seed}",
        time = forecast,
        trials = counted!(plan.order.len() as u64, "{n} trial", "{n} trials"),
        jobs = counted!(plan.job_names().len() as u64, "{n} job", "{n} jobs"),
        under,
        seed = plan.seed
    );
    let stores = keeps(tr!("trial"), &plan.run_id, store);
    let mut facts = vec![(tr!("Storage"), storage(&plan.place, &inspection.storage))];
    facts.extend(held(inspection));
    facts.push((tr!("Writes"), writes(writing)));
    let sets = sets(&plan.conditions).map(|text| (tr!("Sets"), clean(&text)));
    let varies = values(&plan.conditions, true).map(|text| (tr!("Varies"), clean(&text)));
    facts.extend(sets.into_iter().chain(varies));
    facts.extend([(tr!("Takes"), takes), (tr!("Keeps"), clean(&stores))]);
    facts
}

/// Describes the storage that is measured.
pub fn storage(place: &Place, storage: &Storage) -> String {
    let path = place.path().display();
    let mount = storage.mount.as_ref();
    let fs = mount.map_or(String::new(), |mount| format!(", {}", mount.fs_type));
    clean(&format!("{path}: {}{fs}", storage.words()))
}

/// Describes the writes of a plan's trials.
pub fn writes(plan: &Plan) -> String {
    let path = plan.place.path().display();
    clean(&match &plan.place {
        Place::Directory { .. } => tr!(
            "{bytes}, to files in {path}/.assay-{run} that are removed at the end",
            bytes = Written::by(plan),
            path,
            run = plan.run_id
        ),
        Place::Simulated { .. } => tr!("nothing: a model computes the figures").to_owned(),
        Place::Memory => tr!("nothing").to_owned(),
        Place::File { .. } => tr!(
            "nothing; reads the first {size} of {path}",
            size = plan.file_size,
            path
        ),
        Place::Device { .. } if plan.makes_file_systems() => tr!(
            "OVER ALL DATA ON {path}: file systems, and in them {bytes}",
            path,
            bytes = Written::by(plan)
        ),
        Place::Device { .. } => tr!(
            "OVER THE DATA ON {path}: its first {size}, {bytes}",
            path,
            size = plan.file_size,
            bytes = Written::by(plan)
        ),
    })
}

fn keeps(what: &str, run_id: &str, store: &Path) -> String {
    tr!(
        "each {what} as it ends, as run {run_id} in {store}",
        what,
        run_id,
        store = store.display()
    )
}

/// Formats each setting of the system, or each option of the job, with its values; `None` if there
/// are none.
fn values(conditions: &[Condition], of_job: bool) -> Option<String> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    let settings = conditions.iter().flat_map(|condition| &condition.settings);
    for setting in settings.filter(|set| set.subject.is_of_job() == of_job) {
        let subject = setting.subject.to_string();
        let known = all.iter().position(|(known, _)| *known == subject);
        let index = known.unwrap_or_else(|| {
            all.push((subject, Vec::new()));
            all.len() - 1
        });
        let values = &mut all[index].1;
        if !values.contains(&setting.value.as_str()) {
            values.push(&setting.value);
        }
    }
    let words = all
        .iter()
        .map(|(subject, values)| tr!("{subject} to {values}", subject, values = values.join(", ")));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// Formats each setting of the system with its values, and how it ends.
fn sets(conditions: &[Condition]) -> Option<String> {
    let words = values(conditions, false)?;
    let undone = match conditions.iter().any(Condition::makes_file_system) {
        true => tr!(
            "unmounted at the end; the last file system stays on the device, its previous data is lost; other settings are restored"
        ),
        false => tr!("restored at the end"),
    };
    Some(format!("{words}; {undone}"))
}
