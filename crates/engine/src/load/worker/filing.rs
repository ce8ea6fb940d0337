//! The files of a stream, which are open while it runs, up to a limit.

use super::Worker;
use super::issue::Next;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::io::IoEngine;
use crate::load::files::Room;
use assay_model::job::FlushCall;
use std::sync::atomic::AtomicBool;

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Opens as many files as may be open at once.
    pub(in crate::load) fn open_files(&mut self, stop: &AtomicBool) -> Result<(), EngineError> {
        self.files.open_first(stop)?;
        self.notes.append(&mut self.files.take_notes());
        let numbers: Vec<u32> = self.files.open_numbers().collect();
        for number in numbers {
            if let Some(file) = self.files.get(number) {
                self.engine.opened(file)?;
            }
        }
        Ok(())
    }

    /// Prepares the files for each loop but the first: fresh files if they were removed, and pages
    /// evicted from the page cache if requested.
    pub(super) fn reopen_files(&mut self) -> Result<(), EngineError> {
        let files = &self.stream.files;
        let opens = self.stream.engine.kind.properties().paths.opens();
        if !opens && !files.unlink_each_loop {
            return Ok(());
        }
        self.close_files();
        if self.stream.files.unlink_each_loop {
            self.files.remove_files()?;
            let mut notes = Vec::new();
            let mut plan = self.plan.clone();
            let stop = AtomicBool::new(false);
            plan.lay_out(self.stream, self.shared_files, &stop, &mut |note| {
                notes.push(note);
            })?;
        }
        self.open_files(&AtomicBool::new(false))?;
        self.trace_open_files();
        Ok(())
    }

    /// Records in the trace that the currently open files were opened.
    pub(super) fn trace_open_files(&mut self) {
        let at_ns = self.clock.now().saturating_sub(self.start_ns);
        if let Some(trace) = self.trace.as_mut() {
            for number in self.files.open_numbers() {
                trace.opened(at_ns, number);
            }
        }
    }

    /// Opens the file of the next I/O if necessary. Returns what prevents it, if anything.
    pub(super) fn want_file(&mut self, number: u32) -> Option<Next> {
        if self.files.get(number).is_some() {
            return None;
        }
        match self.files.room() {
            Room::Busy => return Some(Next::Blocked),
            Room::Close(other) => self.close_file(other),
            Room::Free => {}
        }
        let opened = match self.files.open(number) {
            Ok(file) => self.engine.opened(file),
            Err(error) => Err(error),
        };
        self.notes.append(&mut self.files.take_notes());
        if let Err(error) = opened {
            self.fail_with(error);
            return Some(Next::Over);
        }
        let at_ns = self.clock.now().saturating_sub(self.start_ns);
        if let Some(trace) = self.trace.as_mut() {
            trace.opened(at_ns, number);
        }
        None
    }

    fn close_file(&mut self, number: u32) {
        let wrote = self.recorder.ios().write > 0;
        if wrote && self.stream.durability.fsync_on_close {
            self.flush(number, FlushCall::Fsync);
        }
        self.let_go_of(number);
    }

    fn let_go_of(&mut self, number: u32) {
        if let Some(file) = self.files.close(number) {
            self.engine.closes(&file);
        }
        let at_ns = self.clock.now().saturating_sub(self.start_ns);
        if let Some(trace) = self.trace.as_mut() {
            trace.closed(at_ns, number);
        }
    }

    /// Closes all files.
    pub(super) fn close_files(&mut self) {
        let numbers: Vec<u32> = self.files.open_numbers().collect();
        for number in numbers {
            self.let_go_of(number);
        }
    }
}
