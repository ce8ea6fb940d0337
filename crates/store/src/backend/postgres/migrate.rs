//! Creates the tables of a store, and upgrades older ones to the newest format.

use super::errors::Failures;
use crate::backend::views::VIEWS;
use crate::backend::{Access, Dialect};
use crate::error::StoreError;
use crate::schema::{APPLICATION_ID, NEWEST, STEPS};
use postgres::error::SqlState;
use postgres::{Client, Error, Transaction};

/// Upgrades the tables to the newest format, all steps or none.
pub fn migrate(
    client: &mut Client,
    failures: &Failures<'_>,
    access: Access,
) -> Result<(), StoreError> {
    let failed = |error: Error| failures.failed(&error);
    let store = || failures.store().clone();
    let found = version(client).map_err(failed)?;
    match (found, access) {
        (Some(NEWEST), _) => return Ok(()),
        (Some(found), _) if found > NEWEST => {
            return Err(StoreError::Newer {
                store: store(),
                found,
                known: NEWEST,
            });
        }
        (Some(found), Access::Read) => {
            return Err(StoreError::Older {
                store: store(),
                found,
                known: NEWEST,
            });
        }
        (None, Access::Read | Access::Existing) => {
            return Err(StoreError::NotMade { store: store() });
        }
        _ => {}
    }
    match (upgrade(client).map_err(failed), found) {
        (Err(StoreError::Forbidden { .. }), Some(found)) => Err(StoreError::Older {
            store: store(),
            found,
            known: NEWEST,
        }),
        (done, _) => done,
    }
}

/// Returns the format version; `None` if there are no tables.
fn version(client: &mut Client) -> Result<Option<u32>, Error> {
    match client.query_opt("SELECT version FROM assay_store", &[]) {
        Ok(row) => Ok(row.and_then(|row| u32::try_from(row.get::<_, i64>(0)).ok())),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Upgrades in one transaction under a lock, so that two processes do not upgrade at the same time.
fn upgrade(client: &mut Client) -> Result<(), Error> {
    let mut transaction = client.transaction()?;
    transaction.execute(
        "SELECT pg_advisory_xact_lock($1)",
        &[&i64::from(APPLICATION_ID)],
    )?;
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS assay_store (version bigint NOT NULL)")?;
    let row = transaction.query_opt("SELECT version FROM assay_store", &[])?;
    let done = row.map_or(0, |row| row.get::<_, i64>(0));
    // Another process may have upgraded while this one waited for the lock.
    for step in STEPS.iter().skip(usize::try_from(done).unwrap_or(0)) {
        transaction.batch_execute(&Dialect::Postgres.tables(step))?;
    }
    if done < i64::from(NEWEST) {
        make_views(&mut transaction)?;
        transaction.execute("DELETE FROM assay_store", &[])?;
        let version = [i64::from(NEWEST)];
        transaction.execute(
            "INSERT INTO assay_store (version) VALUES ($1)",
            &[&version[0]],
        )?;
    }
    transaction.commit()
}

/// Creates the views for users and other programs. A released version of a view is never changed.
fn make_views(transaction: &mut Transaction<'_>) -> Result<(), Error> {
    for view in &VIEWS {
        let select = view.select(Dialect::Postgres, "");
        for name in [view.versioned(), view.name.to_owned()] {
            transaction.batch_execute(&format!("CREATE OR REPLACE VIEW {name} AS {select}"))?;
        }
    }
    Ok(())
}
