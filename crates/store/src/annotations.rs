//! Names, tags and notes of runs and imports, and removal of both. Annotations have their own
//! table: records stay as they were written.

use crate::backend::SqlSession;
use crate::error::StoreError;
use crate::runs::{Owner, Store, now_unix_ms, read_annotation, read_owner, unwritable};
use crate::select::StoredId;
use crate::{derived, runs};
use assay_model::annotation::Annotation;
use assay_model::run::RunStatus;

impl Store {
    /// Sets the annotation of the next run or import. The name is reserved only when that record is
    /// made: another process may take the name before.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`], or if the file cannot be read.
    pub fn annotate_next(&mut self, annotation: Annotation) -> Result<(), StoreError> {
        if let Some(name) = &annotation.name {
            self.database.snapshot(|t| refuse_taken(t, name, ""))?;
        }
        self.next = annotation;
        Ok(())
    }

    /// Returns name, tags and note of a run or an import.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn annotation(&self, id: &str) -> Result<Annotation, StoreError> {
        let sql = "SELECT name, tags, note FROM annotations WHERE id = ?1";
        let stored = self.database.first(sql, &[id.into()], read_annotation)?;
        Ok(stored.unwrap_or_default())
    }

    /// Changes name, tags and note of a run or an import, and returns the new annotation.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::NameTaken`], or when the file cannot be
    /// written.
    pub fn annotate(
        &mut self,
        id: &str,
        change: impl FnOnce(&mut Annotation),
    ) -> Result<Annotation, StoreError> {
        self.database.transaction(|t| {
            t.lock(ANNOTATIONS)?;
            if !exists(t, id)? {
                return Err(self.no_such_run(id));
            }
            let sql = "SELECT name, tags, note FROM annotations WHERE id = ?1";
            let mut changed = t
                .first(sql, &[id.into()], read_annotation)?
                .unwrap_or_default();
            change(&mut changed);
            put(t, id, &changed)?;
            Ok(changed)
        })
    }

    /// Removes runs and imports with all related rows, all or none. A run is under way while its
    /// owner is alive.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::UnderWay`], or when the file cannot be
    /// written.
    pub fn remove(
        &mut self,
        ids: &[StoredId],
        is_alive: impl Fn(&Owner) -> bool,
    ) -> Result<(), StoreError> {
        self.database.transaction(|t| {
            for found in ids {
                let id = found.id();
                if let StoredId::Run(_) = found {
                    match running_owner(t, id)? {
                        Some(owner) if is_alive(&owner) => {
                            return Err(StoreError::UnderWay {
                                run: id.to_owned(),
                                pid: owner.pid,
                            });
                        }
                        _ => t.execute("DELETE FROM trials WHERE run_id = ?1", &[id.into()])?,
                    };
                }
                let sql = match found {
                    StoredId::Run(_) => "DELETE FROM runs WHERE id = ?1",
                    StoredId::Import(_) => "DELETE FROM imports WHERE id = ?1",
                };
                if t.execute(sql, &[id.into()])? == 0 {
                    return Err(self.no_such_run(id));
                }
                bury(t, id)?;
            }
            Ok(())
        })
    }

    /// Adds the row of a run or an import and its annotation, both or neither. `insert` returns the
    /// number of added rows, 0 if the id exists in its table. `other` is the other table of the
    /// two.
    pub(crate) fn add(
        &self,
        id: &str,
        annotation: &Annotation,
        other: &str,
        insert: impl FnOnce(&mut SqlSession<'_>) -> Result<u64, StoreError>,
    ) -> Result<(), StoreError> {
        self.database.transaction(|t| {
            let sql = format!("SELECT id FROM {other} WHERE id = ?1");
            let taken = t.first(&sql, &[id.into()], |_| Ok(()))?.is_some();
            if taken || insert(t)? == 0 {
                return Err(StoreError::Taken {
                    id: id.to_owned(),
                    store: self.location().clone(),
                });
            }
            if annotation.is_empty() {
                return Ok(());
            }
            t.lock(ANNOTATIONS)?;
            put(t, id, annotation)
        })
    }
}

/// Name of the lock for names and annotations.
const ANNOTATIONS: &str = "annotations";

fn exists(t: &mut SqlSession<'_>, id: &str) -> Result<bool, StoreError> {
    let sql = "SELECT id FROM runs WHERE id = ?1 UNION ALL SELECT id FROM imports WHERE id = ?1";
    Ok(t.first(sql, &[id.into()], |_| Ok(()))?.is_some())
}

/// Deletes the annotation, queue entry and derived rows of a removed record, and adds a tombstone.
fn bury(t: &mut SqlSession<'_>, id: &str) -> Result<(), StoreError> {
    derived::forget(t, &[id])?;
    for sql in [
        "DELETE FROM annotations WHERE id = ?1",
        "DELETE FROM queue WHERE id = ?1",
    ] {
        t.execute(sql, &[id.into()])?;
    }
    t.execute(
        "INSERT INTO tombstones (id, at_unix_ms) VALUES (?1, ?2) \
         ON CONFLICT (id) DO UPDATE SET at_unix_ms = excluded.at_unix_ms",
        &[id.into(), now_unix_ms().into()],
    )?;
    Ok(())
}

/// Returns the owner of a run that is stored as under way.
fn running_owner(t: &mut SqlSession<'_>, id: &str) -> Result<Option<Owner>, StoreError> {
    let sql = "SELECT owner_pid, owner_boot_id, owner_start_ticks FROM runs \
               WHERE id = ?1 AND status = ?2";
    t.first(
        sql,
        &[id.into(), RunStatus::Running.word().into()],
        read_owner,
    )
}

/// Stores an annotation. The caller holds the lock [`ANNOTATIONS`].
fn put(t: &mut SqlSession<'_>, id: &str, annotation: &Annotation) -> Result<(), StoreError> {
    if let Some(name) = &annotation.name {
        refuse_taken(t, name, id)?;
    }
    write(t, id, annotation, now_unix_ms())
}

/// Stores the annotation of a record copied from another store. If its name is taken here, the copy
/// gets no name, and the result is the id that has the name.
pub(crate) fn put_copy(
    t: &mut SqlSession<'_>,
    id: &str,
    annotation: &Annotation,
    changed_unix_ms: u64,
) -> Result<Option<String>, StoreError> {
    t.lock(ANNOTATIONS)?;
    let mut copy = annotation.clone();
    let mut taken_by = None;
    if let Some(name) = &annotation.name {
        match refuse_taken(t, name, id) {
            Err(StoreError::NameTaken { holder, .. }) => {
                copy.name = None;
                taken_by = Some(holder);
            }
            came => came?,
        }
    }
    write(t, id, &copy, changed_unix_ms)?;
    Ok(taken_by)
}

fn write(
    t: &mut SqlSession<'_>,
    id: &str,
    annotation: &Annotation,
    changed_unix_ms: u64,
) -> Result<(), StoreError> {
    let tags = runs::to_text(&annotation.tags).map_err(unwritable(id))?;
    t.execute(
        "INSERT INTO annotations (id, name, tags, note, changed_unix_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET name = excluded.name, \
         tags = excluded.tags, note = excluded.note, changed_unix_ms = excluded.changed_unix_ms",
        &[
            id.into(),
            annotation.name.clone().into(),
            tags.into(),
            annotation.note.clone().into(),
            changed_unix_ms.into(),
        ],
    )?;
    Ok(())
}

/// Fails if the name belongs to another record, or is the id of one: ids take precedence over
/// names.
fn refuse_taken(t: &mut SqlSession<'_>, name: &str, id: &str) -> Result<(), StoreError> {
    let sql = "SELECT id FROM annotations WHERE name = ?1 AND id <> ?2 \
               UNION ALL SELECT id FROM runs WHERE id = ?1 \
               UNION ALL SELECT id FROM imports WHERE id = ?1 LIMIT 1";
    match t.first(sql, &[name.into(), id.into()], |row| row.get("id"))? {
        None => Ok(()),
        Some(holder) => Err(StoreError::NameTaken {
            name: name.to_owned(),
            holder,
        }),
    }
}
