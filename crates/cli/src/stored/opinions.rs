//! `--accept`, `--false` and `--withdraw`: opinions of users on changes.

use crate::exit::Failure;
use crate::output::say;
use crate::stored::series::refresh;
use assay_lang::{counted, tr};
use assay_model::annotation::parse_note;
use assay_model::series::{Opinion, OpinionState, StoredSeries};
use assay_model::text::clean;
use assay_store::{SeriesFilter, Store, StoredId};
use clap::Args;
use jiff::Timestamp;
use std::collections::HashSet;

/// Options for outputs, which conflict with storing an opinion.
const OUTPUT: [&str; 3] = ["json", "output", "format"];

/// An opinion on the changes that begin with a run.
#[derive(Args, Clone, Debug, Default)]
pub struct OpinionArgs {
    /// Accept the changes that begin with this run: they are real and known. The series begin anew
    /// there.
    #[arg(long, value_name = "RUN", group = "opinion", conflicts_with_all = OUTPUT)]
    pub accept: Option<String>,
    /// Mark the changes that begin with this run as none: they are not shown again.
    #[arg(long = "false", value_name = "RUN", group = "opinion", conflicts_with_all = OUTPUT)]
    pub no_change: Option<String>,
    /// Withdraw the opinion on the changes that begin with this run.
    #[arg(long, value_name = "RUN", group = "opinion", conflicts_with = "note", conflicts_with_all = OUTPUT)]
    pub withdraw: Option<String>,
    /// Reason, kept with the opinion.
    #[arg(long, value_name = "TEXT", requires = "opinion", value_parser = parse_note)]
    pub note: Option<String>,
}

impl OpinionArgs {
    /// Returns the run that the opinion is on, and the opinion; `None` withdraws it.
    fn wanted(&self) -> Option<(&str, Option<OpinionState>)> {
        let accepted = self.accept.as_deref();
        let accepted = accepted.map(|run| (run, Some(OpinionState::Accepted)));
        let none = self.no_change.as_deref();
        let none = none.map(|run| (run, Some(OpinionState::False)));
        let withdrawn = self.withdraw.as_deref().map(|run| (run, None));
        accepted.or(none).or(withdrawn)
    }

    /// Stores the opinion on each series of a filter that changed with the run; returns `false` if no
    /// opinion was given.
    ///
    /// # Errors
    /// If no series changed there, or the store cannot be written.
    pub fn apply(&self, store: &mut Store, filter: &SeriesFilter) -> Result<bool, Failure> {
        let Some((name, state)) = self.wanted() else {
            return Ok(false);
        };
        let run = match store.find(name)? {
            StoredId::Run(id) => id,
            StoredId::Import(id) => {
                return Err(Failure::usage(format!(
                    "{id} is an import: series are of runs of assay"
                )));
            }
        };
        let opinions = store.opinions(None)?.into_iter();
        let opinions = opinions.filter(|opinion| opinion.run == run);
        let mut concerned: HashSet<String> = opinions.map(|opinion| opinion.series).collect();
        if state.is_some() {
            let changes = store.changes(filter)?.into_iter();
            let changes = changes.filter(|(_, change)| change.run == run);
            concerned.extend(changes.map(|(series, _)| series.key));
        }
        let mut meant = store.series(filter)?;
        meant.retain(|series| concerned.contains(&series.key));
        if meant.is_empty() {
            return Err(Failure::usage(match state {
                Some(_) => format!(
                    "no change of these series begins with run {run}: assay trend SERIES names the \
                     run of each change"
                ),
                None => format!("nothing was said of changes that begin with run {run}"),
            }));
        }
        for series in &meant {
            match state {
                Some(state) => store.save_opinion(&self.opinion(series, &run, state))?,
                None => store.remove_opinion(&series.key, &run)?,
            }
        }
        // Update the series for users who can only read the store.
        refresh(store)?;
        let series = counted!(meant.len(), "{n} series", "{n} series");
        say(&match state {
            Some(OpinionState::Accepted) => tr!("accepted at run {run}: {series}", run, series),
            Some(OpinionState::False) => {
                tr!("marked as no change at run {run}: {series}", run, series)
            }
            None => tr!("withdrawn at run {run}: {series}", run, series),
        });
        Ok(true)
    }

    fn opinion(&self, series: &StoredSeries, run: &str, state: OpinionState) -> Opinion {
        let at = u64::try_from(Timestamp::now().as_millisecond());
        Opinion {
            series: series.key.clone(),
            run: run.to_owned(),
            state,
            note: self.note.clone().unwrap_or_default(),
            author: author(),
            at_unix_ms: at.unwrap_or(0),
        }
    }
}

/// Maximum length of an author's name, in characters.
const LONGEST_NAME: usize = 60;

/// Returns the name of the user, for others who read the opinion.
fn author() -> String {
    let names = ["USER", "LOGNAME"].into_iter();
    let mut names = names.filter_map(|name| std::env::var(name).ok());
    let name = names.find(|name| !name.is_empty());
    let name = name.map_or_else(|| "unknown".to_owned(), |name| clean(&name));
    name.chars().take(LONGEST_NAME).collect()
}
