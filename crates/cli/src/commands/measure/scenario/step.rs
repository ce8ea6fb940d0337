//! The steps of a file.

use super::deed;
use super::file::PlaceWanted;
use super::keys::{Keys, Mistake};
use assay_model::work::scenario::{Deed, Pace};

/// The most repetitions, and operations per second.
const MOST: u64 = 1_000_000;

/// Acts that begin together; one, unless it is a parallel step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where it is done.
    pub on: PlaceWanted,
    /// What is done.
    pub acts: Vec<ActWanted>,
}

/// One thing that is done, before it is scaled.
#[derive(Clone, Debug)]
pub struct ActWanted {
    /// Where it stands in the file.
    pub line: usize,
    /// Unique in the file.
    pub name: String,
    /// It only prepares others.
    pub prepares: bool,
    /// It goes on until the others of its step have ended.
    pub background: bool,
    /// How fast, and by when.
    pub pace: Pace,
    /// What.
    pub deed: Deed,
}

/// Reads steps; repetitions are written out.
pub fn list(tables: &[Keys<'_>]) -> Result<Vec<Step>, Mistake> {
    let mut steps = Vec::new();
    let mut names = Vec::new();
    for keys in tables {
        for step in read(keys)? {
            for act in &step.acts {
                if names.contains(&act.name) {
                    let why = format!("there is a step {} already: names are unique", act.name);
                    return Err(Mistake {
                        line: act.line,
                        why,
                    });
                }
                names.push(act.name.clone());
            }
            steps.push(step);
        }
    }
    Ok(steps)
}

/// One table, which is several steps where it is repeated or a series.
fn read(keys: &Keys<'_>) -> Result<Vec<Step>, Mistake> {
    let on = keys.word(
        "on",
        &[
            ("folder", PlaceWanted::Folder),
            ("device", PlaceWanted::Device),
        ],
    )?;
    let on = on.unwrap_or(PlaceWanted::Any);
    let times = keys.number("repeat", (1, MOST))?.unwrap_or(1);
    let kind = keys.needed("do")?;
    // A group may have a name; only its acts are shown.
    keys.text("name")?;
    let once = match kind.as_str() {
        "parallel" => {
            let acts: Vec<ActWanted> = with(keys)?;
            if acts.len() < 2 || acts.iter().all(|act| act.background) {
                return Err(keys.mistake(
                    "a parallel step has two or more [[step.with]], one of them not in the background",
                ));
            }
            keys.close("a parallel step")?;
            vec![Step { on, acts }]
        }
        "series" => {
            let acts = with(keys)?;
            keys.close("a series")?;
            let one = |act| Step {
                on,
                acts: vec![act],
            };
            acts.into_iter().map(one).collect()
        }
        _ => {
            let act = act(keys, &kind)?;
            if act.background {
                return Err(keys.mistake_in(
                    "background",
                    "there is nothing beside it: it belongs into a [[step.with]] of a parallel step",
                ));
            }
            vec![Step {
                on,
                acts: vec![act],
            }]
        }
    };
    let repeated = (1..=times).flat_map(|number| {
        once.iter().map(move |step| match times {
            1 => step.clone(),
            _ => numbered(step, number),
        })
    });
    Ok(repeated.collect())
}

fn numbered(step: &Step, number: u64) -> Step {
    let mut step = step.clone();
    for act in &mut step.acts {
        act.name = format!("{}-{number}", act.name);
    }
    step
}

fn with(keys: &Keys<'_>) -> Result<Vec<ActWanted>, Mistake> {
    let tables = keys.tables("with")?;
    if tables.is_empty() {
        return Err(keys.mistake("it has no [[step.with]]"));
    }
    let read = |keys: &Keys<'_>| {
        let kind = keys.needed("do")?;
        if matches!(kind.as_str(), "parallel" | "series" | "format") {
            return Err(keys.mistake_in("do", format!("{kind} is a step of its own")));
        }
        act(keys, &kind)
    };
    tables.iter().map(read).collect()
}

fn act(keys: &Keys<'_>, kind: &str) -> Result<ActWanted, Mistake> {
    let name = keys.needed("name")?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > 40 || !name.bytes().all(plain) {
        return Err(keys.mistake_in("name", "1 to 40 letters, digits, -, _ and . are wanted"));
    }
    let prepares = keys.flag("prepare")?;
    let background = keys.flag("background")?;
    let (deed, block) = deed::read(keys, kind)?;
    let act = ActWanted {
        line: keys.mistake("").line,
        pace: pace(keys, &deed, block)?,
        name,
        prepares,
        background,
        deed,
    };
    keys.close(&format!("a step that does {kind}"))?;
    Ok(act)
}

/// How fast its operations follow each other, and how late they may be.
fn pace(keys: &Keys<'_>, deed: &Deed, block: Option<u64>) -> Result<Pace, Mistake> {
    let limit_ns = match deed {
        // That is what it does.
        Deed::Pause { .. } | Deed::Command(_) | Deed::Format { .. } | Deed::DropCaches => {
            return Ok(Pace::default());
        }
        _ => keys.time("time")?,
    };
    let bytes = keys.size("rate")?;
    let operations = keys.number("per_second", (1, MOST))?;
    let every_ns = match (bytes, operations, block) {
        (Some(_), Some(_), _) => {
            return Err(keys.mistake_in("rate", "it and per_second say two things: leave one out"));
        }
        (Some(_), None, None) => {
            return Err(keys.mistake_in("rate", "its operations are no blocks: use per_second"));
        }
        (Some(rate), None, Some(block)) => Some(scaled(block, 1_000_000_000, rate)),
        (None, Some(rate), _) => Some(1_000_000_000 / rate),
        (None, None, _) => None,
    };
    Ok(Pace {
        every_ns,
        deadline_ns: keys.time("deadline")?,
        limit_ns,
    })
}

fn scaled(number: u64, by: u64, over: u64) -> u64 {
    let wide = u128::from(number) * u128::from(by) / u128::from(over.max(1));
    u64::try_from(wide).unwrap_or(u64::MAX).max(1)
}
