//! Local store as a sink.
//!
//! A run is stored with its facts and annotation in one transaction. Rows and locks are taken in
//! one order, so that pushers wait for each other only over the same ids.

use super::extension::{Relation, relation};
use super::parcel::Contents;
use super::reading::{Known, known_of, records_of, removed_of};
use super::{
    ExchangeError, NameHeld, Offer, Parcel, RawRun, Record, SaidOfChange, Sink, Standing, Taken,
    TakenAs,
};
use crate::annotations::put_copy;
use crate::backend::{SqlSession, UNLESS_THERE, Value, listed};
use crate::derived::{facts, opinions};
use crate::error::StoreError;
use crate::imports::{IMPORT_COLUMNS, import_row};
use crate::location::Location;
use crate::runs::{RUN_COLUMNS, Store, TRIAL_COLUMNS, error_of, run_row};
use assay_model::run::RunHeader;
use std::collections::{HashMap, HashSet};

/// Number of attempts to store parcels while another process adds the same ones.
const ATTEMPTS: u32 = 5;
/// Name of the lock for replacing a run by a longer one.
const REPLACING: &str = "replacing";

impl Sink for Store {
    fn compare(&mut self, offers: &[Offer]) -> Result<Vec<Standing>, ExchangeError> {
        let ids: Vec<String> = offers.iter().map(|offer| offer.id.clone()).collect();
        let (known, removed) = self
            .database
            .snapshot(|t| Ok((known_of(t, &ids)?, removed_of(t, &ids)?)))?;
        let here = self.with_hashes(known)?.into_iter();
        let here: HashMap<String, Offer> = here.map(|here| (here.id.clone(), here)).collect();
        let standing = |offer: &Offer| match here.get(&offer.id) {
            None if removed.contains(&offer.id) => Standing::Removed,
            None => Standing::Absent,
            Some(here) if here.sha256.is_none() => Standing::UnderWay,
            Some(here) if here.sha256 == offer.sha256 => Standing::Same {
                annotated_unix_ms: here.annotated_unix_ms,
            },
            Some(_) => Standing::Other,
        };
        Ok(offers.iter().map(standing).collect())
    }

    fn take(&mut self, parcels: Vec<Parcel>, again: bool) -> Result<Vec<Taken>, ExchangeError> {
        let mut ids = HashSet::new();
        let checked = parcels
            .iter()
            .map(|parcel| match ids.insert(&parcel.offer.id) {
                true => parcel.check(),
                false => Err("it is sent twice".to_owned()),
            });
        let batch = Batch {
            checked: checked.collect(),
            parcels: &parcels,
            again,
            store: self.location(),
        };
        for _ in 1..ATTEMPTS {
            match self.database.transaction(|t| batch.take(t)) {
                // Another process is adding the same record, or the server has ended a deadlock
                // between the two: try again.
                Err(StoreError::Taken { .. }) => {}
                Err(StoreError::Locked { .. }) if self.location().file().is_none() => {}
                taken => return Ok(taken?),
            }
        }
        Ok(self.database.transaction(|t| batch.take(t))?)
    }

    fn take_opinions(&mut self, all: Vec<SaidOfChange>) -> Result<usize, ExchangeError> {
        if !all.iter().all(SaidOfChange::is_sound) {
            let why = "what is said of a change is not as assay writes it".to_owned();
            return Err(ExchangeError::Protocol(why));
        }
        Ok(self.database.transaction(|t| opinions::take(t, &all))?)
    }
}

/// Parcels that are stored in one transaction.
struct Batch<'a> {
    parcels: &'a [Parcel],
    /// Contents of each parcel, or the reason why it is refused.
    checked: Vec<Result<Contents, String>>,
    again: bool,
    store: &'a Location,
}

impl Batch<'_> {
    /// Stores the acceptable parcels. The order of locks and rows is fixed to prevent deadlocks:
    /// the lock for replacing, runs by their ids, derived tables, annotations.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if another process added or removed one of them at the same time.
    /// Nothing is stored then, and the next attempt sees the change.
    fn take(&self, t: &mut SqlSession<'_>) -> Result<Vec<Taken>, StoreError> {
        let ids: Vec<String> = self
            .parcels
            .iter()
            .map(|one| one.offer.id.clone())
            .collect();
        let removed = removed_of(t, &ids)?;
        let known = known_of(t, &ids)?.into_iter();
        let here: HashMap<String, Known> =
            known.map(|known| (known.offer.id.clone(), known)).collect();
        let mut outcomes = Vec::new();
        for (parcel, checked) in self.parcels.iter().zip(&self.checked) {
            let id = &parcel.offer.id;
            outcomes.push(match (checked, here.get(id)) {
                (Err(why), _) => TakenAs::Refused { why: why.clone() },
                (Ok(_), Some(here)) => self.beside(t, here, parcel)?,
                (Ok(_), None) if removed.contains(id) && !self.again => TakenAs::Removed,
                (Ok(Contents::Annotation), None) => TakenAs::Removed,
                (Ok(_), None) => TakenAs::Added,
            });
        }
        self.add(t, &outcomes, &removed)?;
        let new = self.parcels.iter().zip(&outcomes);
        let new = new.filter(|(_, as_what)| matches!(as_what, TakenAs::Added | TakenAs::Extended));
        let facts: Vec<_> = new.filter_map(|(parcel, _)| parcel.own_facts()).collect();
        if !facts.is_empty() {
            facts::save(t, facts)?;
        }
        self.annotate(t, outcomes, &here)
    }

    /// Determines the outcome for a parcel whose id exists; replaces a run that was resumed.
    fn beside(
        &self,
        t: &mut SqlSession<'_>,
        here: &Known,
        parcel: &Parcel,
    ) -> Result<TakenAs, StoreError> {
        if here.under_way {
            return Ok(TakenAs::UnderWay);
        }
        let offer = &parcel.offer;
        if here.offer.sha256.is_some() && here.offer.sha256 == offer.sha256 {
            return Ok(TakenAs::Same);
        }
        t.lock(REPLACING)?;
        let stored = records_of(t, std::slice::from_ref(&offer.id))?.remove(&offer.id);
        let stored = stored.ok_or_else(|| self.changed(&offer.id))?;
        if offer.sha256.as_deref() == Some(&*stored.sha256()) {
            return Ok(TakenAs::Same);
        }
        let (Record::Run(stored), Some(Record::Run(arriving))) = (&stored, &parcel.record) else {
            return Ok(TakenAs::Conflict);
        };
        Ok(match relation(stored, arriving) {
            Relation::Foreign => TakenAs::Conflict,
            Relation::Behind => TakenAs::Longer,
            Relation::Extends => {
                replace(t, offer, arriving)?;
                TakenAs::Extended
            }
        })
    }

    /// Adds runs with their trials, and imports.
    fn add(
        &self,
        t: &mut SqlSession<'_>,
        outcomes: &[TakenAs],
        removed: &HashSet<String>,
    ) -> Result<(), StoreError> {
        let (mut runs, mut imports, mut trials) = (Vec::new(), Vec::new(), Vec::new());
        let all = self.parcels.iter().zip(&self.checked).zip(outcomes);
        let new = all.filter(|(_, outcome)| **outcome == TakenAs::Added);
        let mut ids = Vec::new();
        for ((parcel, checked), _) in new {
            ids.push(parcel.offer.id.clone());
            match (&parcel.record, checked) {
                (Some(Record::Run(run)), Ok(Contents::Run(header))) => {
                    runs.push(row_of(parcel, run, header)?);
                    trials.extend(trial_rows(&parcel.offer.id, run));
                }
                (Some(Record::Import(raw)), Ok(Contents::Import(import))) => {
                    let sha256 = parcel.offer.sha256.as_deref();
                    imports.push(import_row(import, &raw.record, sha256)?);
                }
                _ => {}
            }
        }
        let added =
            insert(t, "runs", RUN_COLUMNS, runs)? + insert(t, "imports", IMPORT_COLUMNS, imports)?;
        let removed_now = removed_of(t, &ids)?;
        if added < ids.len() || !removed_now.is_subset(removed) {
            return Err(self.changed(ids.first().map_or("", |id| id)));
        }
        t.insert_many("trials", TRIAL_COLUMNS, trials)?;
        if !removed_now.is_empty() {
            let (marks, values) = listed(&ids);
            let sql = format!("DELETE FROM tombstones WHERE id IN ({marks})");
            t.execute(&sql, &values)?;
        }
        Ok(())
    }

    /// Stores annotations that are newer than the present ones.
    fn annotate(
        &self,
        t: &mut SqlSession<'_>,
        outcomes: Vec<TakenAs>,
        here: &HashMap<String, Known>,
    ) -> Result<Vec<Taken>, StoreError> {
        let mut all = Vec::new();
        for (parcel, outcome) in self.parcels.iter().zip(outcomes) {
            let id = &parcel.offer.id;
            let of_here = here.get(id).and_then(|here| here.offer.annotated_unix_ms);
            let is_there = matches!(outcome, TakenAs::Added | TakenAs::Extended | TakenAs::Same);
            let held = match parcel.offer.annotated_unix_ms {
                Some(at) if is_there && Some(at) > of_here => {
                    put_copy(t, id, &parcel.annotation, at)?
                }
                _ => None,
            };
            let name = parcel.annotation.name.clone().unwrap_or_default();
            all.push(Taken {
                id: id.clone(),
                outcome,
                nameless: held.map(|holder| NameHeld { name, holder }),
            });
        }
        Ok(all)
    }

    fn changed(&self, id: &str) -> StoreError {
        StoreError::Taken {
            id: id.to_owned(),
            store: self.store.clone(),
        }
    }
}

/// Returns the row of a copied run, which has no owner: no process makes it here.
fn row_of(parcel: &Parcel, run: &RawRun, header: &RunHeader) -> Result<Vec<Value>, StoreError> {
    // The facts are added in the same transaction.
    let facts = parcel.own_facts().map_or(0, |facts| facts.version);
    let (ended, sha256) = (run.finished_unix_ms, parcel.offer.sha256.as_deref());
    run_row(header, None, &run.status, ended, &run.header, sha256, facts)
}

fn trial_rows<'a>(id: &'a str, run: &'a RawRun) -> impl Iterator<Item = Vec<Value>> + 'a {
    run.trials.iter().map(move |trial| {
        vec![
            id.into(),
            trial.position.into(),
            (&trial.job).into(),
            trial.trial.into(),
            (&trial.outcome).into(),
            trial.started_unix_ms.into(),
            trial.record.as_slice().into(),
        ]
    })
}

/// Adds rows whose first column is their key, in the order of the keys. Existing keys are skipped.
/// Returns the number of rows added.
fn insert(
    t: &mut SqlSession<'_>,
    table: &str,
    columns: &[&str],
    mut rows: Vec<Vec<Value>>,
) -> Result<usize, StoreError> {
    let key = |row: &Vec<Value>| match row.first() {
        Some(Value::Text(id)) => id.clone(),
        _ => String::new(),
    };
    // In a fixed order, two processes that add the same rows cannot deadlock.
    rows.sort_by_cached_key(key);
    let added = t.put_many(table, columns, &rows, UNLESS_THERE)?;
    Ok(usize::try_from(added).unwrap_or(usize::MAX))
}

/// Replaces a run by its longer version.
fn replace(t: &mut SqlSession<'_>, offer: &Offer, run: &RawRun) -> Result<(), StoreError> {
    t.execute(
        "DELETE FROM trials WHERE run_id = ?1",
        &[(&offer.id).into()],
    )?;
    t.execute(
        "UPDATE runs SET finished_unix_ms = ?1, status = ?2, error = ?3, content_sha256 = ?4, \
         facts_version = 0 WHERE id = ?5",
        &[
            run.finished_unix_ms.into(),
            run.status.word().into(),
            error_of(&run.status).into(),
            offer.sha256.clone().into(),
            (&offer.id).into(),
        ],
    )?;
    t.insert_many("trials", TRIAL_COLUMNS, trial_rows(&offer.id, run))?;
    Ok(())
}
