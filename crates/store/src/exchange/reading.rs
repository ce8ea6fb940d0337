//! Reads records without decoding them.

use super::{MOST_OFFERS, Offer, RawImport, RawRun, RawTrial, Record};
use crate::backend::{Row, SqlSession, Value, listed};
use crate::error::StoreError;
use crate::rows::annotation;
use crate::runs::Store;
use crate::select::status;
use assay_model::annotation::Annotation;
use assay_model::run::RunStatus;
use std::collections::{HashMap, HashSet};

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
    let all = t.query(&sql, &values, |row| Ok((row.get("id")?, annotation(row)?)))?;
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
