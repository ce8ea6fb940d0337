//! Names, tags and notes of runs and imports, and removing both. They lie in a table of
//! their own: records stay as they were written.

use crate::error::StoreError;
use crate::record;
use crate::rows::{annotation, owner};
use crate::runs::{Owner, Store};
use crate::select::StoredId;
use assay_model::annotation::Annotation;
use assay_model::run::RunStatus;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

impl Store {
    /// Gives an annotation to the run or import that is made next. Its name is taken only
    /// then: another process may take it meanwhile.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`], or when the file cannot be read.
    pub fn annotate_next(&mut self, annotation: Annotation) -> Result<(), StoreError> {
        if let Some(name) = &annotation.name {
            let holder = self
                .database
                .with(|connection| other_holder(connection, name, ""))?;
            refuse_taken(name, holder)?;
        }
        self.next = annotation;
        Ok(())
    }

    /// Name, tags and note of a run or an import.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn annotation(&self, id: &str) -> Result<Annotation, StoreError> {
        let sql = "SELECT name, tags, note FROM annotations WHERE id = ?";
        let stored = self
            .database
            .with(|connection| connection.query_row(sql, [id], annotation).optional())?;
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
        let changed = self.database.write(|connection| {
            let transaction = immediate(connection)?;
            if !exists(&transaction, id)? {
                return Ok(None);
            }
            let sql = "SELECT name, tags, note FROM annotations WHERE id = ?";
            let stored = transaction.query_row(sql, [id], annotation).optional()?;
            let mut changed = stored.unwrap_or_default();
            change(&mut changed);
            let holder = put(&transaction, id, &changed)?;
            if holder.is_none() {
                transaction.commit()?;
            }
            Ok(Some((changed, holder)))
        })?;
        let (annotation, holder) = changed.ok_or_else(|| self.no_such_run(id))?;
        if let Some(name) = &annotation.name {
            refuse_taken(name, holder)?;
        }
        Ok(annotation)
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
        let refusal = self.database.write(|connection| {
            let transaction = immediate(connection)?;
            for found in ids {
                let id = found.id();
                match found {
                    StoredId::Run(_) => match running_owner(&transaction, id)? {
                        Some(owner) if is_alive(&owner) => {
                            return Ok(Some(StoreError::UnderWay {
                                run: id.to_owned(),
                                pid: owner.pid,
                            }));
                        }
                        _ => {
                            transaction.execute("DELETE FROM trials WHERE run_id = ?", [id])?;
                        }
                    },
                    StoredId::Import(_) => {}
                }
                let sql = match found {
                    StoredId::Run(_) => "DELETE FROM runs WHERE id = ?",
                    StoredId::Import(_) => "DELETE FROM imports WHERE id = ?",
                };
                if transaction.execute(sql, [id])? == 0 {
                    return Ok(Some(self.no_such_run(id)));
                }
                transaction.execute("DELETE FROM annotations WHERE id = ?", [id])?;
            }
            transaction.commit()?;
            Ok(None)
        })?;
        refusal.map_or(Ok(()), Err)
    }

    /// Adds the row of a run or an import with its annotation, both or neither.
    pub(crate) fn add(
        &self,
        id: &str,
        annotation: &Annotation,
        insert: impl FnOnce(&Connection) -> rusqlite::Result<usize>,
    ) -> Result<(), StoreError> {
        let (added, holder) = self.database.write(|connection| {
            let transaction = immediate(connection)?;
            let added = insert(&transaction)?;
            let holder = match annotation.is_empty() {
                true => None,
                false => put(&transaction, id, annotation)?,
            };
            if added > 0 && holder.is_none() {
                transaction.commit()?;
            }
            Ok((added, holder))
        })?;
        if added == 0 {
            return Err(StoreError::Taken {
                id: id.to_owned(),
                path: self.path().to_owned(),
            });
        }
        refuse_taken(annotation.name.as_deref().unwrap_or_default(), holder)
    }
}

/// A transaction that writes: nobody else does until its end. It cannot lie within
/// another, none is open between calls.
fn immediate(connection: &Connection) -> rusqlite::Result<Transaction<'_>> {
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
}

fn exists(connection: &Connection, id: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?1) \
               OR EXISTS (SELECT 1 FROM imports WHERE id = ?1)";
    connection.query_row(sql, [id], |row| row.get(0))
}

/// The owner of a run that is stored as under way.
fn running_owner(connection: &Connection, id: &str) -> rusqlite::Result<Option<Owner>> {
    let sql = "SELECT owner_pid, owner_boot_id, owner_start_ticks FROM runs \
               WHERE id = ? AND status = ?";
    let word = RunStatus::Running.word();
    connection
        .query_row(sql, params![id, word], owner)
        .optional()
}

/// Whoever else has that name, or has it as an id, which would win over a name.
fn other_holder(connection: &Connection, name: &str, id: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT id FROM annotations WHERE name = ?1 AND id <> ?2 \
               UNION ALL SELECT id FROM runs WHERE id = ?1 \
               UNION ALL SELECT id FROM imports WHERE id = ?1 LIMIT 1";
    connection
        .query_row(sql, [name, id], |row| row.get(0))
        .optional()
}

/// Stores an annotation, unless its name is taken: by whom.
fn put(
    connection: &Connection,
    id: &str,
    annotation: &Annotation,
) -> rusqlite::Result<Option<String>> {
    if let Some(name) = &annotation.name
        && let Some(holder) = other_holder(connection, name, id)?
    {
        return Ok(Some(holder));
    }
    let tags = record::to_text(&annotation.tags)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    connection.execute(
        "INSERT OR REPLACE INTO annotations (id, name, tags, note) VALUES (?, ?, ?, ?)",
        params![id, annotation.name, tags, annotation.note],
    )?;
    Ok(None)
}

fn refuse_taken(name: &str, holder: Option<String>) -> Result<(), StoreError> {
    match holder {
        None => Ok(()),
        Some(holder) => Err(StoreError::NameTaken {
            name: name.to_owned(),
            holder,
        }),
    }
}
