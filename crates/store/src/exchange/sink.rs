//! Local store as a sink.
//!
//! A run is stored with its facts and annotation in one transaction. Rows and locks are taken in
//! one order, so that pushers wait for each other only over the same ids.
//!
//! Stored contents are replaced in one case only: a run that ended early, by the same run after it
//! was resumed ([`relation`]).

use super::message::Contents;
use super::{
    ExchangeError, MOST_OFFERS, NameHeld, Offer, Parcel, RawImport, RawRun, RawTrial, Record,
    SaidOfChange, Sink, Standing, Taken, TakenAs,
};
use crate::annotations::put_copy;
use crate::backend::{Row, SqlSession, UNLESS_THERE, Value, listed};
use crate::derived::{series, take_opinions};
use crate::error::StoreError;
use crate::location::Location;
use crate::runs;
use crate::runs::{
    IMPORT_COLUMNS, RUN_COLUMNS, Store, TRIAL_COLUMNS, error_of, import_row, read_annotation,
    run_row,
};
use crate::select::status;
use assay_model::act::{Act, Acts};
use assay_model::annotation::Annotation;
use assay_model::run::{RunHeader, RunStatus};
use assay_model::trial::{Outcome, TrialRecord};
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
        Ok(self.database.transaction(|t| take_opinions(t, &all))?)
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
            series::save(t, facts)?;
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

/// Maximum size of the records read at once, in bytes; a larger record is read alone.
const MOST_BYTES: u64 = 8 << 20;

/// Offer of a store, without reading the record.
pub struct Known {
    /// The offer; its hash is missing while the run is under way, and until it is first computed.
    pub offer: Offer,
    /// True if the run has not ended.
    pub under_way: bool,
}

/// Returns offers for these ids without computing hashes; ids without a record are left out.
pub fn known_of(t: &mut SqlSession<'_>, ids: &[String]) -> Result<Vec<Known>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let (marks, values) = listed(ids);
    known(t, &format!("WHERE id IN ({marks})"), &values)
}

/// Returns offers for the first records after an id, in the order of ids, without computing hashes.
pub fn known_after(t: &mut SqlSession<'_>, id: &str) -> Result<Vec<Known>, StoreError> {
    let some = format!("WHERE id > ?1 ORDER BY id LIMIT {MOST_OFFERS}");
    let mut all = known(t, &some, &[id.into()])?;
    all.truncate(MOST_OFFERS);
    Ok(all)
}

fn known(t: &mut SqlSession<'_>, some: &str, values: &[Value]) -> Result<Vec<Known>, StoreError> {
    let finished = RunStatus::Finished.word();
    let sql = format!(
        "SELECT id, content_sha256, status, changed_unix_ms FROM (\
         SELECT * FROM (SELECT id, content_sha256, status FROM runs {some}) AS a UNION ALL \
         SELECT * FROM (SELECT id, content_sha256, '{finished}' FROM imports {some}) AS b\
         ) AS records LEFT JOIN annotations USING (id) ORDER BY id"
    );
    t.query(&sql, values, |row| {
        let under_way = row.get::<String>("status")? == RunStatus::Running.word();
        let sha256: Option<String> = row.get("content_sha256")?;
        Ok(Known {
            offer: Offer {
                id: row.get("id")?,
                sha256: sha256.filter(|_| !under_way),
                annotated_unix_ms: row.get("changed_unix_ms")?,
            },
            under_way,
        })
    })
}

/// Returns the first of these ids whose records fit into `MOST_BYTES`: at least one.
pub fn fitting<'a>(t: &mut SqlSession<'_>, ids: &'a [String]) -> Result<&'a [String], StoreError> {
    let (marks, values) = listed(ids);
    let sql = format!(
        "SELECT run_id AS id, CAST(sum(length(record)) AS bigint) AS bytes FROM trials \
         WHERE run_id IN ({marks}) GROUP BY run_id \
         UNION ALL SELECT id, length(record) FROM imports WHERE id IN ({marks})"
    );
    let sizes = t.query(&sql, &values, |row| {
        Ok((row.get::<String>("id")?, row.get::<u64>("bytes")?))
    })?;
    let sizes: HashMap<String, u64> = sizes.into_iter().collect();
    let mut sum = 0;
    let fits = ids.iter().take_while(|id| {
        sum += sizes.get(*id).copied().unwrap_or_default();
        sum <= MOST_BYTES
    });
    let fits = fits.count().max(1);
    Ok(ids.get(..fits).unwrap_or(ids))
}

/// Returns the records of these ids, except runs that are under way.
pub fn records_of(
    t: &mut SqlSession<'_>,
    ids: &[String],
) -> Result<HashMap<String, Record>, StoreError> {
    let (marks, values) = listed(ids);
    let sql = format!(
        "SELECT id, header, status, error, finished_unix_ms FROM runs WHERE id IN ({marks})"
    );
    let mut runs: HashMap<String, RawRun> = t.query(&sql, &values, run)?.into_iter().collect();
    runs.retain(|_, run| run.status != RunStatus::Running);
    let sql = format!(
        "SELECT run_id, position, job, trial, outcome, started_unix_ms, record FROM trials \
         WHERE run_id IN ({marks}) ORDER BY run_id, position"
    );
    t.each(&sql, &values, |row| {
        if let Some(run) = runs.get_mut(&row.get::<String>("run_id")?) {
            run.trials.push(trial(row)?);
        }
        Ok(())
    })?;
    let sql = format!("SELECT id, record FROM imports WHERE id IN ({marks})");
    let imports = t.query(&sql, &values, import)?;
    let runs = runs.into_iter().map(|(id, run)| (id, Record::Run(run)));
    let imports = imports.into_iter();
    Ok(runs
        .chain(imports.map(|(id, import)| (id, Record::Import(import))))
        .collect())
}

fn run(row: &Row<'_>) -> Result<(String, RawRun), StoreError> {
    let run = RawRun {
        header: row.get("header")?,
        status: status(row)?,
        finished_unix_ms: row.get("finished_unix_ms")?,
        trials: Vec::new(),
    };
    Ok((row.get("id")?, run))
}

fn trial(row: &Row<'_>) -> Result<RawTrial, StoreError> {
    Ok(RawTrial {
        position: row.get("position")?,
        job: row.get("job")?,
        trial: row.get("trial")?,
        outcome: row.get("outcome")?,
        started_unix_ms: row.get("started_unix_ms")?,
        record: row.get("record")?,
    })
}

fn import(row: &Row<'_>) -> Result<(String, RawImport), StoreError> {
    let import = RawImport {
        record: row.get("record")?,
    };
    Ok((row.get("id")?, import))
}

/// Returns the annotations of these ids.
pub fn annotations_of(
    t: &mut SqlSession<'_>,
    ids: &[String],
) -> Result<HashMap<String, Annotation>, StoreError> {
    let (marks, values) = listed(ids);
    let sql = format!("SELECT id, name, tags, note FROM annotations WHERE id IN ({marks})");
    let all = t.query(&sql, &values, |row| {
        Ok((row.get("id")?, read_annotation(row)?))
    })?;
    Ok(all.into_iter().collect())
}

/// Returns the ids that were removed.
pub fn removed_of(t: &mut SqlSession<'_>, ids: &[String]) -> Result<HashSet<String>, StoreError> {
    if ids.is_empty() {
        return Ok(HashSet::new());
    }
    let (marks, values) = listed(ids);
    let sql = format!("SELECT id FROM tombstones WHERE id IN ({marks})");
    let all = t.query(&sql, &values, |row| row.get("id"))?;
    Ok(all.into_iter().collect())
}

impl Store {
    /// Computes missing hashes, and stores them if the store can be written.
    pub(super) fn with_hashes(&self, known: Vec<Known>) -> Result<Vec<Offer>, StoreError> {
        let lacks = |known: &Known| known.offer.sha256.is_none() && !known.under_way;
        let lacking = known.iter().filter(|known| lacks(known));
        let lacking: Vec<String> = lacking.map(|known| known.offer.id.clone()).collect();
        let mut hashes: HashMap<String, String> = HashMap::new();
        let mut left = lacking.as_slice();
        while !left.is_empty() {
            let (read, records) = self.database.snapshot(|t| {
                let some = fitting(t, left)?;
                Ok((some.len(), records_of(t, some)?))
            })?;
            left = left.get(read..).unwrap_or_default();
            let hashed = records.into_iter().map(|(id, record)| {
                let sha256 = record.sha256();
                (id, record, sha256)
            });
            let mut hashed: Vec<(String, Record, String)> = hashed.collect();
            // In the same order as every writer of runs, to prevent a deadlock.
            hashed.sort_by(|(a, ..), (b, ..)| a.cmp(b));
            self.keep_hashes(&hashed);
            hashes.extend(hashed.into_iter().map(|(id, _, sha256)| (id, sha256)));
        }
        let offers = known.into_iter().map(|known| {
            let mut offer = known.offer;
            offer.sha256 = offer.sha256.or_else(|| hashes.remove(&offer.id));
            offer
        });
        Ok(offers.collect())
    }

    /// Stores hashes in one transaction. Errors are ignored: a read-only store computes the hashes
    /// again. A run that was resumed meanwhile gets none.
    fn keep_hashes(&self, hashed: &[(String, Record, String)]) {
        let _ = self.database.transaction(|t| {
            for (id, record, sha256) in hashed {
                let (table, only) = match record {
                    Record::Run(run) => ("runs", format!("AND status = '{}'", run.status.word())),
                    Record::Import(_) => ("imports", String::new()),
                };
                let sql = format!(
                    "UPDATE {table} SET content_sha256 = ?1 \
                     WHERE id = ?2 AND content_sha256 IS NULL {only}"
                );
                t.execute(&sql, &[sha256.into(), id.into()])?;
            }
            Ok(())
        });
    }
}

/// Relation of a stored run to an arriving one of the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The arriving run contains the stored one and more.
    Extends,
    /// The stored run contains the arriving one and more.
    Behind,
    /// They are different runs.
    Foreign,
}

/// Compares a stored run with an arriving one.
pub fn relation(stored: &RawRun, arriving: &RawRun) -> Relation {
    if stored.header != arriving.header {
        return Relation::Foreign;
    }
    if extends(arriving, stored) {
        return Relation::Extends;
    }
    match extends(stored, arriving) {
        true => Relation::Behind,
        false => Relation::Foreign,
    }
}

/// Returns true if `long` is `short` after it was resumed.
fn extends(long: &RawRun, short: &RawRun) -> bool {
    let ended_early = matches!(
        short.status,
        RunStatus::Interrupted | RunStatus::Failed { .. }
    );
    let kept = kept(short);
    let begins_so = long.trials.len() >= kept.len()
        && kept
            .iter()
            .zip(&long.trials)
            .all(|(a, b)| (a.position, &a.record) == (b.position, &b.record));
    let further = long.trials.len() > short.trials.len()
        || long.status == RunStatus::Finished
        || long.finished_unix_ms > short.finished_unix_ms;
    ended_early && begins_so && further
}

/// Returns the trials that a resumed run keeps. The trial that was under way is repeated; for acts
/// the whole last repetition is.
fn kept(run: &RawRun) -> &[RawTrial] {
    let Some((last, before)) = run.trials.split_last() else {
        return &[];
    };
    if last.outcome == Outcome::Interrupted.word() {
        return before;
    }
    let header = runs::from_text(&run.header);
    let of_work = header.is_ok_and(|header: RunHeader| {
        // Runs from before protocol 2 have no acts.
        // A soak continues after its trials.
        let repeats = |acts: &Acts| !acts.acts.iter().any(|act| matches!(act, Act::Soak(_)));
        header.acts.as_deref().is_some_and(repeats)
            || header.command.iter().any(|word| word == "--")
    });
    if !of_work {
        return &run.trials;
    }
    let repetition = |trial: &RawTrial| {
        let record: TrialRecord = runs::from_blob(&trial.record).ok()?;
        Some((record.trial, record.condition))
    };
    let under_way = repetition(last);
    let others = before
        .iter()
        .rposition(|trial| repetition(trial) != under_way);
    let whole = others.map_or(0, |last| last + 1);
    run.trials.get(..whole).unwrap_or_default()
}
