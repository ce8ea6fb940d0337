//! Opinions of users on changes; dropping the derived data does not remove them. A withdrawn
//! opinion remains as a mark, so that a copy in another store does not restore it.

use super::{DERIVED, SaidOfChange, UNCHECKED, named, number};
use crate::backend::{Row, SqlSession, listed};
use crate::clock::now_unix_ms;
use crate::error::StoreError;
use crate::runs::Store;
use assay_model::figures::{Opinion, OpinionState};
use std::collections::{BTreeSet, HashSet};

/// Stored state of a withdrawn opinion.
const WITHDRAWN: &str = "withdrawn";

impl Store {
    /// Stores an opinion, replacing one on the same change, and marks the series as unchecked.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn save_opinion(&mut self, opinion: &Opinion) -> Result<(), StoreError> {
        let said = SaidOfChange {
            series: opinion.series.clone(),
            run: opinion.run.clone(),
            state: Some(opinion.state),
            note: opinion.note.clone(),
            author: opinion.author.clone(),
            at_unix_ms: opinion.at_unix_ms,
        };
        self.database.transaction(|t| {
            t.lock(DERIVED)?;
            let at_unix_ms = later_than_stored(t, &said)?.unwrap_or(said.at_unix_ms);
            put(t, &SaidOfChange { at_unix_ms, ..said })?;
            Ok(())
        })
    }

    /// Withdraws the opinion on a change, and marks the series as unchecked.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn remove_opinion(&mut self, series: &str, run: &str) -> Result<(), StoreError> {
        self.database.transaction(|t| {
            t.lock(DERIVED)?;
            let withdrawn = SaidOfChange {
                series: series.to_owned(),
                run: run.to_owned(),
                state: None,
                note: String::new(),
                author: String::new(),
                at_unix_ms: now_unix_ms(),
            };
            if let Some(at_unix_ms) = later_than_stored(t, &withdrawn)? {
                put(
                    t,
                    &SaidOfChange {
                        at_unix_ms,
                        ..withdrawn
                    },
                )?;
            }
            Ok(())
        })
    }

    /// Returns the opinions on the changes of a series, or on all changes; oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn opinions(&self, series: Option<&str>) -> Result<Vec<Opinion>, StoreError> {
        let (condition, values) = match series {
            Some(key) => ("AND series_key = ?1", vec![key.into()]),
            None => ("", Vec::new()),
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM opinions WHERE state <> '{WITHDRAWN}' {condition} \
             ORDER BY at_unix_ms, series_key, run_id"
        );
        let all = self.database.query(&sql, &values, read)?.into_iter();
        let opinions = all.filter_map(|said| {
            Some(Opinion {
                state: said.state?,
                series: said.series,
                run: said.run,
                note: said.note,
                author: said.author,
                at_unix_ms: said.at_unix_ms,
            })
        });
        Ok(opinions.collect())
    }
}

/// Returns a time for an opinion that is later than the stored one on the same change, even if the
/// clocks of the two authors differ; `None` if none is stored.
fn later_than_stored(
    t: &mut SqlSession<'_>,
    now: &SaidOfChange,
) -> Result<Option<u64>, StoreError> {
    let sql = "SELECT at_unix_ms FROM opinions WHERE series_key = ?1 AND run_id = ?2";
    let of = [(&now.series).into(), (&now.run).into()];
    let there = t.first(sql, &of, |row| row.get::<u64>("at_unix_ms"))?;
    Ok(there.map(|at| now.at_unix_ms.max(at + 1)))
}

/// Returns the opinions on changes that begin with these runs, including withdrawn ones.
pub(crate) fn said_of(
    t: &mut SqlSession<'_>,
    runs: &[String],
) -> Result<Vec<SaidOfChange>, StoreError> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let (marks, values) = listed(runs);
    let sql = format!(
        "SELECT {COLUMNS} FROM opinions WHERE run_id IN ({marks}) ORDER BY run_id, series_key"
    );
    t.query(&sql, &values, read)
}

/// Stores the opinions of another store on changes that begin with known runs. Returns the number
/// of those that are newer than the stored ones.
pub(crate) fn take(t: &mut SqlSession<'_>, all: &[SaidOfChange]) -> Result<usize, StoreError> {
    if all.is_empty() {
        return Ok(0);
    }
    t.lock(DERIVED)?;
    let runs: BTreeSet<&str> = all.iter().map(|said| said.run.as_str()).collect();
    let runs: Vec<&str> = runs.into_iter().collect();
    let (marks, values) = listed(&runs);
    let sql = format!("SELECT id FROM runs WHERE id IN ({marks})");
    let there = t.query(&sql, &values, |row| row.get("id"))?;
    let there: HashSet<String> = there.into_iter().collect();
    let mut newer = 0;
    for said in all.iter().filter(|said| there.contains(&said.run)) {
        newer += usize::from(put(t, said)?);
    }
    Ok(newer)
}

/// Stores an opinion unless the stored one on the same change is as new. Returns true if it was
/// stored.
fn put(t: &mut SqlSession<'_>, said: &SaidOfChange) -> Result<bool, StoreError> {
    let sql = format!(
        "INSERT INTO opinions ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (series_key, run_id) DO UPDATE SET state = excluded.state, \
         note = excluded.note, author = excluded.author, at_unix_ms = excluded.at_unix_ms \
         WHERE opinions.at_unix_ms < excluded.at_unix_ms"
    );
    let values = [
        (&said.series).into(),
        (&said.run).into(),
        said.state.map_or(WITHDRAWN, OpinionState::name).into(),
        (&said.note).into(),
        (&said.author).into(),
        said.at_unix_ms.into(),
    ];
    let stored = t.execute(&sql, &values)? > 0;
    if stored {
        let sql = format!("UPDATE series SET checked = {UNCHECKED} WHERE id = ?1");
        t.execute(&sql, &[number(&said.series).into()])?;
    }
    Ok(stored)
}

const COLUMNS: &str = "series_key, run_id, state, note, author, at_unix_ms";

fn read(row: &Row<'_>) -> Result<SaidOfChange, StoreError> {
    let state: String = row.get("state")?;
    Ok(SaidOfChange {
        series: row.get("series_key")?,
        run: row.get("run_id")?,
        state: match &*state {
            WITHDRAWN => None,
            _ => Some(named(row, "state", &OpinionState::ALL, OpinionState::name)?),
        },
        note: row.get("note")?,
        author: row.get("author")?,
        at_unix_ms: row.get("at_unix_ms")?,
    })
}
