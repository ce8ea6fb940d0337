//! Commits of SQLite.

use super::StreamWriter;
use super::content::Stream;
use super::{Findings, StreamStorage};
use crate::WorkError;
use assay_engine::held::{let_sqlite_in, shown};
use assay_model::work::powercut::{DurabilityKind, KnownWrites};
use rusqlite::{Connection, Error, OpenFlags, params};
use std::io;

/// Inserts a row in a separate transaction.
pub(super) struct RowWriter {
    database: Connection,
    stream: Stream,
    bytes: Vec<u8>,
}

impl RowWriter {
    pub(super) fn prepare(place: &StreamStorage<'_>, stream: Stream) -> Result<Self, WorkError> {
        let opened = open(place).and_then(|database| {
            database.execute_batch(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
                 CREATE TABLE writes (sequence INTEGER PRIMARY KEY, content BLOB NOT NULL);
                 PRAGMA wal_checkpoint(TRUNCATE);",
            )?;
            Ok(database)
        });
        let failed = |error: Error| WorkError::failed(format!("{}: {error}", shown(&place.file())));
        Ok(Self {
            database: opened.map_err(failed)?,
            stream,
            bytes: vec![0; DurabilityKind::Sqlite.bytes()],
        })
    }
}

fn open(place: &StreamStorage<'_>) -> Result<Connection, Error> {
    let refused = |error: io::Error| {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        Error::SqliteFailure(code, Some(error.to_string()))
    };
    let_sqlite_in().map_err(refused)?;
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(place.file(), flags)
}

impl StreamWriter for RowWriter {
    fn write(&mut self, sequence: u64) -> io::Result<()> {
        self.stream.fill(sequence, sequence, &mut self.bytes);
        let number = i64::try_from(sequence).map_err(io::Error::other)?;
        self.database
            .prepare_cached("INSERT INTO writes VALUES (?1, ?2)")
            .and_then(|mut insert| insert.execute(params![number, self.bytes]))
            .map(|_| ())
            .map_err(io::Error::other)
    }
}

/// Checks that the database is intact and contains every acknowledged row unchanged.
pub(super) fn verify(
    place: &StreamStorage<'_>,
    stream: Stream,
    known: KnownWrites,
    findings: &mut Findings,
) {
    findings.found.checked = known.acknowledged;
    if let Err(error) = look(place, stream, known, findings) {
        findings.garbage(format!("the database cannot be read: {error}"));
        findings.found.lost += known.acknowledged;
    }
    findings.judge_order();
}

fn look(
    place: &StreamStorage<'_>,
    stream: Stream,
    known: KnownWrites,
    findings: &mut Findings,
) -> Result<(), Error> {
    let database = open(place)?;
    let sound: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if sound != "ok" {
        findings.garbage(format!("integrity_check: {sound}"));
    }
    let mut rows = database.prepare("SELECT sequence, content FROM writes ORDER BY sequence")?;
    let mut rows = rows.query([])?;
    let mut expected = vec![0; DurabilityKind::Sqlite.bytes()];
    let mut next = 1;
    while let Some(row) = rows.next()? {
        let sequence: i64 = row.get(0)?;
        let sequence = u64::try_from(sequence).unwrap_or(0);
        let content: Vec<u8> = row.get(1)?;
        for missing in next..sequence.min(known.acknowledged + 1) {
            findings.lost(missing, "its row is missing");
        }
        next = sequence + 1;
        stream.fill(sequence, sequence, &mut expected);
        match content == expected {
            true => findings.there(sequence, known.acknowledged),
            false => findings.garbage(format!("row {sequence} is not as it was written")),
        }
    }
    for missing in next..=known.acknowledged {
        findings.lost(missing, "its row is missing");
    }
    Ok(())
}
