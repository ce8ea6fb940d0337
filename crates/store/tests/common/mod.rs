//! Records and stores for the tests.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(
    clippy::unwrap_used,
    reason = "a helper of tests, where a panic is a failure"
)]

use assay_model::condition::Restore;
use assay_model::evidence::{DeviceCounters, Evidence, LatencyRecord, Snapshot};
use assay_model::figures::{Better, Figure, Import, Results, Sample};
use assay_model::job::{Job, Rw};
use assay_model::plan::{Place, Plan, PlannedJob, Slot};
use assay_model::run::{RunHeader, Stopping};
use assay_model::storage::{
    Backing, DeviceIdentity, DeviceKind, Layer, LayerRole, Storage, System,
};
use assay_model::trial::{
    DirectionTotals, Gap, Interval, IoErrorRecord, IoErrors, Measurement, Outcome, Series,
    TrialRecord,
};
use assay_model::units::{Bytes, Nanos};
use assay_store::{Location, Owner, Store};
use assay_testkit::{Postgres, Unavailable};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// Place for the store of a test: a file, or a database of its own.
pub struct Bed {
    folder: TempDir,
    database: Option<(Arc<Postgres>, String)>,
}

impl Bed {
    /// A file.
    pub fn file() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            database: None,
        }
    }

    /// A database.
    pub fn server() -> Result<Self, Unavailable> {
        let server = Postgres::shared()?;
        let database = server.database()?;
        Ok(Self {
            database: Some((server, database)),
            ..Self::file()
        })
    }

    /// Address of the store, which may not be there yet.
    pub fn location(&self) -> Location {
        match &self.database {
            None => (&path(&self.folder)).into(),
            Some((server, name)) => Location::parse(OsStr::new(&server.url(name))),
        }
    }

    /// Address of the store for a user who can only read tables, and no file of the server.
    pub fn reader(&self) -> Location {
        let Some((server, name)) = &self.database else {
            return self.location();
        };
        let user = format!("reader_{name}");
        let rights = format!(
            "CREATE ROLE {user} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}"
        );
        server.sql(name, &rights).unwrap();
        Location::parse(OsStr::new(&server.url_of(&user, name)))
    }

    /// Opens the store.
    pub fn open(&self) -> Store {
        Store::open(self.location()).unwrap()
    }

    /// Carries out a statement without the store; the first value of its answer as text.
    pub fn sql(&self, sql: &str) -> String {
        if let Some((server, name)) = &self.database {
            return server.sql(name, sql).unwrap();
        }
        let connection = rusqlite::Connection::open(path(&self.folder)).unwrap();
        if !sql.starts_with("SELECT") {
            connection.execute_batch(sql).unwrap();
            return String::new();
        }
        let read = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
        match connection.query_row(sql, [], read).unwrap() {
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Integer(number) => number.to_string(),
            other => panic!("{other:?}"),
        }
    }

    /// An expression for the bytes of a column as text.
    pub fn hex(&self, column: &str) -> String {
        match self.database {
            None => format!("hex({column})"),
            Some(_) => format!("encode({column}, 'hex')"),
        }
    }
}

/// Makes of each function that takes a bed a test for each back end.
#[macro_export]
macro_rules! on_both {
    ($($test:ident),* $(,)?) => {
        mod file {
            $(#[test]
            fn $test() {
                super::$test(&super::common::Bed::file());
            })*
        }
        mod server {
            $(#[test]
            fn $test() {
                super::$test(&assay_testkit::or_skip!(super::common::Bed::server()));
            })*
        }
    };
}

/// A store in a folder that goes away with the first value.
pub fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&path(&folder)).unwrap();
    (folder, store)
}

/// Where the store of a folder is.
pub fn path(folder: &TempDir) -> PathBuf {
    folder.path().join("runs.sqlite")
}

pub fn owner() -> Owner {
    Owner {
        pid: 4321,
        boot_id: "0b3f5d0c-8b57-4c0e-9d3c-0f8a5d6c7e11".to_owned(),
        start_ticks: 1_234_567,
    }
}

/// An import with figures of both kinds, and digits that a careless reader loses.
pub fn import(id: &str, imported_unix_ms: u64) -> Import {
    let figure = |metric: &str, sample| Figure {
        condition: "bfq".to_owned(),
        metric: metric.to_owned(),
        unit: "MB/s".to_owned(),
        better: Some(Better::Higher),
        primary: true,
        sample,
        measured: None,
        waited: None,
    };
    let values = Sample::Values {
        values: vec![65.28, 0.1 + 0.2, 2.225_073_858_507_201e-308],
        positions: vec![0.0, 3.0, 4.0],
    };
    let moments = Sample::Moments {
        n: 3,
        mean: 122.416_294_033_786_58,
        stdev: None,
    };
    Import {
        id: id.to_owned(),
        imported_unix_ms,
        assay_version: "0.1.0".to_owned(),
        files: vec!["a.csv".to_owned(), "b \"quoted\".csv".to_owned()],
        results: Results {
            tool: "fio-3.33".to_owned(),
            circumstances: vec!["direct=1".to_owned()],
            notes: vec!["What was measured is not recorded.".to_owned()],
            figures: vec![figure("seq_read", values), figure("seq_write", moments)],
        },
        annotation: assay_model::annotation::Annotation::default(),
    }
}

/// A run of three planned trials that began at `started_unix_ms`.
pub fn header(id: &str, started_unix_ms: u64) -> RunHeader {
    let slots = (1..=3).map(|trial| Slot::plain(0, trial));
    RunHeader {
        id: id.to_owned(),
        started_unix_ms,
        assay_version: "0.1.0".to_owned(),
        builds: None,
        command: vec!["assay".to_owned(), "qualify".to_owned(), "/mnt".to_owned()],
        target: None,
        plan: Plan {
            run_id: id.to_owned(),
            seed: u64::MAX,
            place: Place::Directory {
                path: PathBuf::from("/mnt"),
            },
            file_size: Bytes::mib(256),
            jobs: vec![PlannedJob {
                job: job(),
                trials: 3,
            }],
            conditions: Vec::new(),
            restore: Restore::default(),
            order: slots.collect(),
        },
        system: System::default(),
        storage: storage(),
        stopping: Stopping::default(),
        paired: None,
        claims: None,
        acts: None,
        unit: None,
        project: None,
    }
}

/// A trial with every optional part, and the largest numbers.
pub fn trial(position: u32) -> TrialRecord {
    let latency = LatencyRecord {
        count: 2,
        min_ns: 85_000,
        max_ns: u64::MAX,
        sum_ns: u64::MAX,
        sum_sq_ns2: u128::MAX,
        bins: vec![(700, 1), (3_700, 1)],
    };
    let error = IoErrorRecord {
        direction: None,
        offset: 4_096,
        length: 0,
        errno: Some(28),
        message: "No space left on device".to_owned(),
        at_ns: 17,
    };
    let measured = Measurement {
        elapsed_ns: 60_000_000_000,
        read: DirectionTotals {
            ios: 2,
            bytes: 8_192,
            short_ios: 1,
            latency: latency.clone(),
            submission: Some(latency.clone()),
            clock_ns: Some(900_000),
        },
        flush: latency,
        series: Series {
            interval_ns: Nanos::millis(100).0,
            points: vec![Interval::default(); 3],
        },
        longest_gap: Some(Gap {
            start_ns: 5,
            length_ns: 59_000_000_000,
        }),
        errors: IoErrors {
            count: 1,
            first: vec![error],
        },
        ..Measurement::default()
    };
    TrialRecord {
        slot: None,
        job: job(),
        trial: position + 1,
        position,
        started_unix_ms: 1_773_480_413_589,
        seed: u64::MAX - 1,
        outcome: Outcome::Failed {
            error: "no room: 'µ' \"quoted\"".to_owned(),
        },
        measured: Some(measured),
        evidence: Some(evidence()),
        wave: None,
        detail: None,
        condition: None,
        in_force: Vec::new(),
    }
}

/// A trial that did not start.
pub fn skipped(position: u32) -> TrialRecord {
    TrialRecord {
        outcome: Outcome::Skipped {
            reasons: vec!["no io_uring".to_owned(), "no libaio".to_owned()],
        },
        measured: None,
        evidence: None,
        ..trial(position)
    }
}

fn job() -> Job {
    Job {
        runtime: Some(Nanos::secs(60)),
        ..Job::new("rand-read-4k", Rw::RandRead, Bytes::kib(4), Bytes::mib(256))
    }
}

fn evidence() -> Evidence {
    Evidence {
        storage: storage(),
        queues: Vec::new(),
        before: Snapshot {
            devices: vec![DeviceCounters {
                name: "mmcblk0".to_owned(),
                flush_ios: Some(0),
                ..DeviceCounters::default()
            }],
            ..Snapshot::default()
        },
        after: Snapshot::default(),
        during: Vec::new(),
        other_processes: None,
    }
}

fn storage() -> Storage {
    Storage {
        path: PathBuf::from("/mnt"),
        mount: None,
        backing: Backing::Device {
            name: "mmcblk0".to_owned(),
        },
        layers: vec![Layer {
            name: "mmcblk0".to_owned(),
            major: 179,
            minor: 0,
            role: LayerRole::Top,
            parent: None,
            other_parents: Vec::new(),
            size: Some(Bytes::gib(29)),
            backing_file: None,
            identity: DeviceIdentity {
                kind: DeviceKind::Emmc,
                vendor: Some("SanDisk".to_owned()),
                model: Some("DG4032".to_owned()),
                ..DeviceIdentity::default()
            },
        }],
        total: Some(Bytes::gib(29)),
        available: None,
    }
}
