//! The file of a scenario: its head, and its steps in their order.

use super::keys::{Keys, Mistake, mistake};
use super::step::{self, Step};
use toml::de::DeTable;

/// The most that a repetition writes out, and the most steps of a file.
const MOST_STEPS: usize = 10_000;
/// Free room that a scenario leaves unless its file says otherwise.
const RESERVE: u64 = 64 << 20;

/// What a file says, before it is scaled.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// One or two sentences.
    pub about: String,
    /// Where it can be carried out.
    pub place: PlaceWanted,
    /// Room that stays free.
    pub reserve: u64,
    /// Repetitions are written out.
    pub steps: Vec<Step>,
}

/// Where a scenario can be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceWanted {
    /// In a folder only.
    Folder,
    /// On a scratch device only.
    Device,
    /// In both.
    Any,
}

/// Reads a file.
///
/// # Errors
/// The first mistake in it.
pub fn parse(text: &str) -> Result<ScenarioFile, Mistake> {
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        mistake(text, at, error.message())
    })?;
    let keys = Keys::new(text, 0..0, document.get_ref());
    let place = keys.word(
        "place",
        &[
            ("folder", PlaceWanted::Folder),
            ("device", PlaceWanted::Device),
            ("any", PlaceWanted::Any),
        ],
    )?;
    let about = keys.needed("about")?;
    let reserve = keys.size("reserve")?.unwrap_or(RESERVE);
    let steps = step::list(&keys.tables("step")?)?;
    keys.close("a scenario")?;
    if steps.is_empty() {
        return Err(keys.mistake("there is no [[step]]"));
    }
    if steps.len() > MOST_STEPS {
        return Err(keys.mistake(format!("there are more than {MOST_STEPS} steps")));
    }
    Ok(ScenarioFile {
        about,
        place: place.unwrap_or(PlaceWanted::Any),
        reserve,
        steps,
    })
}
