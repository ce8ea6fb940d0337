//! Opinions of users on changes: kept when everything derived is dropped.

use super::{DERIVED, UNCHECKED, named, number};
use crate::backend::{Row, SqlSession};
use crate::error::StoreError;
use crate::runs::Store;
use assay_model::series::{Opinion, OpinionState};

impl Store {
    /// Stores an opinion, in place of an older one on the same change; a newer one stays. The
    /// series is to be checked again.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn save_opinion(&mut self, opinion: &Opinion) -> Result<(), StoreError> {
        self.database.transaction(|t| {
            t.lock(DERIVED)?;
            t.execute(
                "INSERT INTO opinions (series_key, run_id, state, note, author, at_unix_ms) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (series_key, run_id) DO UPDATE SET \
                 state = excluded.state, note = excluded.note, author = excluded.author, \
                 at_unix_ms = excluded.at_unix_ms WHERE opinions.at_unix_ms <= excluded.at_unix_ms",
                &[
                    (&opinion.series).into(),
                    (&opinion.run).into(),
                    opinion.state.name().into(),
                    (&opinion.note).into(),
                    (&opinion.author).into(),
                    opinion.at_unix_ms.into(),
                ],
            )?;
            check_again(t, &opinion.series)
        })
    }

    /// Removes the opinion on a change. The series is to be checked again.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn remove_opinion(&mut self, series: &str, run: &str) -> Result<(), StoreError> {
        self.database.transaction(|t| {
            t.lock(DERIVED)?;
            t.execute(
                "DELETE FROM opinions WHERE series_key = ?1 AND run_id = ?2",
                &[series.into(), run.into()],
            )?;
            check_again(t, series)
        })
    }

    /// Opinions on the changes of a series, or of all; the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn opinions(&self, series: Option<&str>) -> Result<Vec<Opinion>, StoreError> {
        let (condition, values) = match series {
            Some(key) => ("series_key = ?1", vec![key.into()]),
            None => ("1 = 1", Vec::new()),
        };
        let sql = format!(
            "SELECT series_key, run_id, state, note, author, at_unix_ms FROM opinions \
             WHERE {condition} ORDER BY at_unix_ms, series_key, run_id"
        );
        self.database.query(&sql, &values, read)
    }
}

fn check_again(t: &mut SqlSession<'_>, series: &str) -> Result<(), StoreError> {
    let sql = format!("UPDATE series SET checked = {UNCHECKED} WHERE id = ?1");
    t.execute(&sql, &[number(series).into()])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Opinion, StoreError> {
    Ok(Opinion {
        series: row.get("series_key")?,
        run: row.get("run_id")?,
        state: named(row, "state", &OpinionState::ALL, OpinionState::name)?,
        note: row.get("note")?,
        author: row.get("author")?,
        at_unix_ms: row.get("at_unix_ms")?,
    })
}
