//! Outcome of copying runs: for people, and as JSON.

use crate::exit::{DONE, FAILED, Failure};
use crate::output::{print, print_json, say};
use crate::sharing::connection::Direction;
use assay_lang::{counted, tr};
use assay_model::text::clean;
use assay_store::exchange::{NameHeld, TransferTally};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Version of the JSON format; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;
/// Maximum number of lines about runs of one kind.
const MOST_LINES: usize = 10;

/// Outcome of copying to or from a store.
pub struct Outcome<'a> {
    /// Direction of the runs.
    pub direction: Direction,
    /// Name of the other store, without a password.
    pub store: &'a str,
    /// Runs by outcome.
    pub tally: &'a TransferTally,
}

impl Outcome<'_> {
    /// Prints the outcome as text, unless `json`; returns the exit code. With `all`, runs that are under
    /// way or were removed are no failure.
    ///
    /// # Errors
    /// The failure that ended the transfer.
    pub fn end(
        &self,
        json: bool,
        all: bool,
        failure: Option<Failure>,
    ) -> Result<ExitCode, Failure> {
        if !json && (failure.is_none() || self.tally.seen() > 0) {
            print(|out| writeln!(out, "{}", self.line()))?;
            self.say_details();
        }
        let tally = self.tally;
        let left = !tally.removed.is_empty() || !tally.under_way.is_empty();
        let failed = !tally.conflicts.is_empty() || !tally.refused.is_empty() || left && !all;
        match failure {
            Some(failure) => Err(failure),
            None if failed => Ok(ExitCode::from(FAILED)),
            None => Ok(DONE),
        }
    }

    /// Returns the summary in one line.
    pub fn line(&self) -> String {
        let tally = self.tally;
        let n = tally.added.len() + tally.extended.len();
        let store = clean(self.store);
        let answer = match self.direction {
            Direction::Push => {
                counted!(
                    n,
                    "pushed {n} run to {store}",
                    "pushed {n} runs to {store}",
                    store
                )
            }
            Direction::Pull => {
                counted!(
                    n,
                    "pulled {n} run from {store}",
                    "pulled {n} runs from {store}",
                    store
                )
            }
        };
        let rest = self.rest().join(", ");
        match rest.is_empty() {
            true => answer,
            false => format!("{answer}: {rest}"),
        }
    }

    /// Returns the numbers of runs with other outcomes, in words.
    fn rest(&self) -> Vec<String> {
        let TransferTally {
            added: _,
            extended,
            annotated,
            there,
            conflicts,
            removed,
            under_way,
            nameless: _,
            refused,
            opinions,
        } = self.tally;
        let of = |n: usize, text: fn(usize) -> String| (n > 0).then(|| text(n));
        [
            of(extended.len(), |n| {
                counted!(
                    n,
                    "{n} of them longer than before",
                    "{n} of them longer than before"
                )
            }),
            of(annotated.len(), |n| {
                counted!(
                    n,
                    "{n} has a newer name, tag or note",
                    "{n} have newer names, tags or notes"
                )
            }),
            of(there.len(), |n| {
                counted!(n, "{n} was there already", "{n} were there already")
            }),
            of(conflicts.len(), |n| {
                counted!(n, "{n} conflict", "{n} conflicts")
            }),
            of(removed.len(), |n| {
                counted!(n, "{n} was removed there", "{n} were removed there")
            }),
            of(under_way.len(), |n| {
                counted!(n, "{n} is under way", "{n} are under way")
            }),
            of(refused.len(), |n| {
                counted!(n, "{n} was refused", "{n} were refused")
            }),
            of(*opinions, |n| {
                counted!(
                    n,
                    "{n} newer opinion on a change",
                    "{n} newer opinions on changes"
                )
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Prints messages about single runs, such as conflicts.
    pub fn say_details(&self) {
        let store = clean(self.store);
        let tally = self.tally;
        say_some(&tally.conflicts, |id| {
            tr!(
                "run {id}: {store} has another run of that id; neither was changed",
                id = clean(id),
                store
            )
        });
        say_some(&tally.removed, |id| match self.direction {
            Direction::Push => tr!(
                "run {id} was removed from {store}: assay push {id} --again pushes it all the same",
                id = clean(id),
                store
            ),
            Direction::Pull => tr!(
                "run {id} was removed here: assay pull {id} --again pulls it all the same",
                id = clean(id)
            ),
        });
        say_some(&tally.under_way, |id| {
            tr!(
                "run {id} has not ended: it is copied when it has",
                id = clean(id)
            )
        });
        say_some(&tally.nameless, |(id, NameHeld { name, holder })| {
            tr!(
                "run {id} was copied without its name {name}: there it is that of {holder}",
                id = clean(id),
                name = clean(name),
                holder = clean(holder)
            )
        });
        say_some(&tally.refused, |(id, why)| {
            tr!(
                "run {id} was not copied: {why}",
                id = clean(id),
                why = clean(why)
            )
        });
    }

    /// Returns the outcome as JSON, for [`print_transfers`].
    pub fn json(&self, error: Option<&str>) -> Value {
        let tally = self.tally;
        let nameless = tally.nameless.iter();
        let nameless = nameless
            .map(|(id, held)| json!({ "id": id, "name": held.name, "held_by": held.holder }));
        let refused = tally.refused.iter();
        let refused = refused.map(|(id, why)| json!({ "id": id, "why": why }));
        json!({
            "store": self.store,
            "added": tally.added,
            "extended": tally.extended,
            "annotated": tally.annotated,
            "there": tally.there,
            "conflicts": tally.conflicts,
            "removed": tally.removed,
            "under_way": tally.under_way,
            "nameless": nameless.collect::<Vec<_>>(),
            "refused": refused.collect::<Vec<_>>(),
            "opinions": tally.opinions,
            "error": error,
        })
    }
}

/// Prints the transfers of a command as one document, even if there was none.
pub fn print_transfers(direction: Direction, transfers: &[Value]) -> Result<(), Failure> {
    print_json(&json!({
        "schema": SCHEMA,
        "direction": match direction {
            Direction::Push => "push",
            Direction::Pull => "pull",
        },
        "transfers": transfers,
    }))
}

fn say_some<T>(all: &[T], line: impl Fn(&T) -> String) {
    for one in all.iter().take(MOST_LINES) {
        say(&line(one));
    }
    if let Some(n) = all.len().checked_sub(MOST_LINES).filter(|n| *n > 0) {
        say(&counted!(
            n,
            "... and {n} more (--json lists all)",
            "... and {n} more (--json lists all)"
        ));
    }
}
