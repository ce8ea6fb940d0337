//! File of a scenario: its header, and its steps in their order.

use super::PlaceWanted;
use super::action::{StepKeys, Word};
use crate::checks::toml_file::{self, Keys, Mistake, size};
use assay_model::work::scenario::{ActPace, Action};
use serde::Deserialize;
use std::collections::BTreeSet;
use toml::de::DeTable;

/// Maximum number of steps in a file, with repetitions.
const MOST_STEPS: usize = 10_000;
/// Default free space that a scenario leaves, in bytes.
const RESERVE: u64 = 64 << 20;
/// Content of a file, before it is scaled.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// Description, one or two sentences.
    pub about: String,
    /// Kinds of place where it can be carried out.
    pub place: PlaceWanted,
    /// Space that stays free, in bytes.
    pub reserve: u64,
    /// Steps, with repetitions expanded.
    pub steps: Vec<Step>,
}

/// Acts that begin together; a single one, unless the step is parallel.
#[derive(Clone, Debug)]
pub struct Step {
    /// Kinds of place where the step is carried out.
    pub on: PlaceWanted,
    /// Acts in the order of the file.
    pub acts: Vec<ActWanted>,
}

/// Single act, before it is scaled.
#[derive(Clone, Debug)]
pub struct ActWanted {
    /// Line of the file where the act begins.
    pub line: usize,
    /// Name, unique in the file.
    pub name: String,
    /// `true` if the act only prepares others, and is not measured.
    pub prepares: bool,
    /// `true` if the act runs until the other acts of its step have ended.
    pub background: bool,
    /// Pace and deadline of its operations.
    pub pace: ActPace,
    /// Action of the act.
    pub action: Action,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileKeys {
    about: String,
    #[serde(default)]
    place: PlaceWanted,
    #[serde(default, deserialize_with = "size")]
    reserve: Option<u64>,
    #[serde(default, rename = "step")]
    steps: Vec<StepKeys>,
}

/// Parses the text of a file.
///
/// # Errors
/// The first mistake in it.
pub fn parse(text: &str) -> Result<ScenarioFile, Mistake> {
    let file: FileKeys = toml_file::read(text)?;
    let document = DeTable::parse(text).map(toml::Spanned::into_inner);
    let document = document.unwrap_or_default();
    let keys = Keys::new(text, &document);
    let mut steps = Vec::new();
    for (keys, step) in keys.tables("step").zip(&file.steps) {
        steps.extend(written_out(keys, step)?);
    }
    unique_names(&steps)?;
    if steps.is_empty() {
        return Err(keys.mistake("there is no [[step]]"));
    }
    if steps.len() > MOST_STEPS {
        return Err(keys.mistake(format!("there are more than {MOST_STEPS} steps")));
    }
    Ok(ScenarioFile {
        about: file.about,
        place: file.place,
        reserve: file.reserve.unwrap_or(RESERVE),
        steps,
    })
}

fn unique_names(steps: &[Step]) -> Result<(), Mistake> {
    let mut names = BTreeSet::new();
    let mut acts = steps.iter().flat_map(|step| &step.acts);
    match acts.find(|act| !names.insert(&act.name)) {
        None => Ok(()),
        Some(act) => Err(Mistake {
            line: act.line,
            why: format!("there is a step {} already: names are unique", act.name),
        }),
    }
}

/// Expands the table of a step: repetitions and series become several steps.
fn written_out(keys: Keys<'_>, step: &StepKeys) -> Result<Vec<Step>, Mistake> {
    let on = step.on;
    let alone = |act| Step {
        on,
        acts: vec![act],
    };
    let once = match step.word {
        Word::Parallel => {
            let acts = group(keys, step)?;
            if acts.len() < 2 || acts.iter().all(|act| act.background) {
                return Err(keys.mistake(
                    "a parallel step has two or more [[step.with]], one of them not in the background",
                ));
            }
            vec![Step { on, acts }]
        }
        Word::Series => group(keys, step)?.into_iter().map(alone).collect(),
        _ if step.background => {
            return Err(keys.mistake_in(
                "background",
                "there is nothing beside it: it belongs into a [[step.with]] of a parallel step",
            ));
        }
        _ => vec![alone(act(keys, step, &["on", "repeat"])?)],
    };
    let times = step.repeat.unwrap_or(1);
    let repeated = (1..=times).flat_map(|number| {
        once.iter().map(move |step| match times {
            1 => step.clone(),
            _ => numbered(step, number),
        })
    });
    Ok(repeated.collect())
}

fn numbered(step: &Step, number: u32) -> Step {
    let mut step = step.clone();
    for act in &mut step.acts {
        act.name = format!("{}-{number}", act.name);
    }
    step
}

/// Returns the acts of a parallel step or a series. It may have a name, but only its acts are shown.
fn group(keys: Keys<'_>, step: &StepKeys) -> Result<Vec<ActWanted>, Mistake> {
    keys.only(&["do", "name", "on", "repeat", "with"])?;
    if step.with.is_empty() {
        return Err(keys.mistake("it has no [[step.with]]"));
    }
    let members = keys.tables("with").zip(&step.with);
    let member = |(keys, step): (Keys<'_>, &StepKeys)| match step.word {
        Word::Parallel | Word::Series | Word::Format => {
            Err(keys.mistake_in("do", "it is a step of its own, not one of several"))
        }
        _ => act(keys, step, &[]),
    };
    members.map(member).collect()
}

fn act(keys: Keys<'_>, step: &StepKeys, also: &[&str]) -> Result<ActWanted, Mistake> {
    let own = step.word.keys();
    let paced: &[&str] = match step.word {
        Word::Pause | Word::Command | Word::Format | Word::DropCaches => &[],
        _ => &["rate", "per_second", "deadline", "time"],
    };
    let common = &["do", "name", "prepare", "background"];
    keys.only(&[common, paced, own, also].concat())?;
    let name = keys.needed("name", step.name.clone())?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if !(1..=40).contains(&name.len()) || !name.bytes().all(plain) {
        return Err(keys.mistake_in("name", "1 to 40 letters, digits, -, _ and . are wanted"));
    }
    let action = step.action(keys)?;
    Ok(ActWanted {
        line: keys.mistake("").line,
        pace: match paced {
            [] => ActPace::default(),
            _ => pace(keys, step, &action)?,
        },
        name,
        prepares: step.prepare,
        background: step.background,
        action,
    })
}

/// Returns the time from one operation to the next, and the deadline.
fn pace(keys: Keys<'_>, step: &StepKeys, action: &Action) -> Result<ActPace, Mistake> {
    // An operation on a tree is a whole file, so that blocks do not count.
    let block = action
        .block()
        .filter(|_| !matches!(action, Action::Tree(_)));
    let every_ns = match (step.rate, step.per_second, block) {
        (Some(_), Some(_), _) => {
            return Err(keys.mistake_in("rate", "it and per_second say two things: leave one out"));
        }
        (Some(_), None, None) => {
            return Err(keys.mistake_in("rate", "its operations are no blocks: use per_second"));
        }
        (Some(rate), None, Some(block)) => {
            let every_ns = u128::from(block) * 1_000_000_000 / u128::from(rate);
            Some(u64::try_from(every_ns).unwrap_or(u64::MAX).max(1))
        }
        (None, Some(rate), _) => Some(1_000_000_000 / u64::from(rate)),
        (None, None, _) => None,
    };
    Ok(ActPace {
        every_ns,
        deadline_ns: step.deadline,
        limit_ns: step.time,
    })
}
