//! Transactions of `SQLite` at the pace of a scenario.

use super::stage::Turn;
use super::{Play, Scene};
use crate::ActError;
use crate::androbench::database::{Database, ThreadIo, Transaction, detail, keys};
use assay_engine::held;
use assay_model::act::androbench::{DatabasePhase, Statement};
use assay_model::rng::SplitMix64;
use assay_model::trial::DirectionTotals;
use assay_stats::histogram::Histogram;
use rustix::fs::Mode;
use std::path::PathBuf;

/// A database that is ready for its transactions.
pub(super) struct Transactions<'a> {
    phase: &'a DatabasePhase,
    folder: PathBuf,
    database: Database,
    rng: SplitMix64,
}

impl<'a> Transactions<'a> {
    pub(super) fn new(
        phase: &'a DatabasePhase,
        name: &str,
        scene: &Scene,
    ) -> Result<Self, ActError> {
        let folder = scene.root()?.join(format!("database-{name}"));
        held::make_folders(&folder, Mode::RWXU)
            .map_err(|error| ActError::io("make", &folder, &error))?;
        let database = Database::make(phase, &folder)?;
        let mut rng = SplitMix64::new(scene.seed);
        if phase.statements.first() != Some(&Statement::Insert) {
            database.fill(phase, &mut rng)?;
        }
        Ok(Self {
            phase,
            folder,
            database,
            rng,
        })
    }

    fn run(
        &mut self,
        statement: Statement,
        latencies: &mut Histogram,
        turn: &mut Turn<'_>,
    ) -> Result<(), ActError> {
        let mut transaction = Transaction::prepare(&self.database, statement)?;
        for key in keys(self.phase, statement, &mut self.rng) {
            transaction.choose(key, &mut self.rng);
            let Some(due_ns) = turn.due()? else {
                return Ok(());
            };
            let began_ns = turn.meter.now_ns();
            transaction.run()?;
            turn.over(due_ns);
            latencies.record(turn.meter.now_ns().saturating_sub(began_ns));
        }
        Ok(())
    }
}

impl Play for Transactions<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        Database::files(&self.folder, self.phase.journal)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let before = ThreadIo::look();
        let mut latencies = Histogram::new();
        let mut done = Ok(());
        for &statement in &self.phase.statements {
            done = self.run(statement, &mut latencies, turn);
            if done.is_err() {
                break;
            }
        }
        // Writes that SQLite passed to the kernel; their latencies are unknown.
        if let (Some(before), Some(after)) = (before, ThreadIo::look()) {
            let io = after.since(before);
            turn.meter.wrote_beside(&DirectionTotals {
                ios: io.calls,
                bytes: io.bytes,
                ..DirectionTotals::default()
            });
        }
        let statement = self.phase.statements.first().copied().unwrap_or_default();
        turn.step.database = Some(detail(self.phase, statement, latencies.to_record(), None));
        done
    }
}
