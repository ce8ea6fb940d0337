//! Names, tags and notes of runs and imports, and removing both. They lie in a table of
//! their own: records stay as they were written.

use crate::backend::SqlSession;
use crate::clock::now_unix_ms;
use crate::derived;
use crate::error::StoreError;
use crate::record;
use crate::rows::{annotation, owner};
use crate::runs::{Owner, Store, unwritable};
use crate::select::StoredId;
use assay_model::annotation::Annotation;
use assay_model::run::RunStatus;

impl Store {
    /// Gives an annotation to the run or import that is made next. Its name is taken only
    /// then: another process may take it meanwhile.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`], or when the file cannot be read.
    pub fn annotate_next(&mut self, annotation: Annotation) -> Result<(), StoreError> {
        if let Some(name) = &annotation.name {
            self.database.snapshot(|t| refuse_taken(t, name, ""))?;
        }
        self.next = annotation;
        Ok(())
    }

    /// Name, tags and note of a run or an import.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn annotation(&self, id: &str) -> Result<Annotation, StoreError> {
        let sql = "SELECT name, tags, note FROM annotations WHERE id = ?1";
        let stored = self.database.first(sql, &[id.into()], annotation)?;
        Ok(stored.unwrap_or_default())
    }

    /// Changes name, tags and note of a run or an import; what they are afterwards.
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
            let mut changed = t.first(sql, &[id.into()], annotation)?.unwrap_or_default();
            change(&mut changed);
            put(t, id, &changed)?;
            Ok(changed)
        })
    }

    /// Removes runs, imports, and what was noted of them: all of them or none. A run is
    /// under way as long as its owner is alive.
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

    /// Adds the row of a run or an import with its annotation, both or neither. `insert` says
    /// how many rows it added: none if the id is taken in its table, of which `other` is not one.
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

/// The lock of names and annotations.
const ANNOTATIONS: &str = "annotations";

fn exists(t: &mut SqlSession<'_>, id: &str) -> Result<bool, StoreError> {
    let sql = "SELECT id FROM runs WHERE id = ?1 UNION ALL SELECT id FROM imports WHERE id = ?1";
    Ok(t.first(sql, &[id.into()], |_| Ok(()))?.is_some())
}

/// Removes what was noted of a run or an import that is gone, and notes that it was there.
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

/// The owner of a run that is stored as under way.
fn running_owner(t: &mut SqlSession<'_>, id: &str) -> Result<Option<Owner>, StoreError> {
    let sql = "SELECT owner_pid, owner_boot_id, owner_start_ticks FROM runs \
               WHERE id = ?1 AND status = ?2";
    t.first(sql, &[id.into(), RunStatus::Running.word().into()], owner)
}

/// Stores an annotation, unless its name is taken. The caller holds the lock [`ANNOTATIONS`].
fn put(t: &mut SqlSession<'_>, id: &str, annotation: &Annotation) -> Result<(), StoreError> {
    if let Some(name) = &annotation.name {
        refuse_taken(t, name, id)?;
    }
    write(t, id, annotation, now_unix_ms())
}

/// Stores the annotation of a record of another store, which goes without its name if that is
/// taken here: by whom.
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
    let tags = record::to_text(&annotation.tags).map_err(unwritable(id))?;
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

/// Fails if someone else has that name, or has it as an id, which would win over a name.
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
