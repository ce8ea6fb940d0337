//! Streams: each is a thread that makes one write after the other, until the power is cut or the
//! host stops it.

use super::content::Stream;
use super::files::{Appender, Renamer};
use super::rows::RowWriter;
use super::slots::SlotWriter;
use super::{StreamStorage, StreamWriter, boot_id, folder};
use crate::{Context, WorkError};
use assay_engine::held::HeldFolder;
use assay_model::wire::NoteWeight;
use assay_model::work::powercut::{DurabilityKind, FOLDER, Powercut, Word};
use rustix::fs::syncfs;
use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

/// Interval at which a stop request is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The streams, and the folder that they write in; `None` for a device.
type Prepared = (Vec<Box<dyn StreamWriter>>, Option<HeldFolder>);

/// Message from a stream.
enum StreamMessage {
    Word(Word),
    Failed(String),
}

/// Writes until the host stops the work or disconnects, or the power is cut.
pub(super) fn run(work: &Powercut, context: &mut Context<'_>) -> Result<(), WorkError> {
    let (writers, _made) = prepare(work, context.seed)?;
    context
        .observer
        .powercut(Word::Ready { boot_id: boot_id() });
    let stop = AtomicBool::new(false);
    let started = std::thread::scope(|scope| {
        let (tell, told) = channel();
        for (number, writer) in (0_u32..).zip(writers) {
            let (tell, stop) = (tell.clone(), &stop);
            let kind = work.kinds[number as usize];
            let write = move || drive(number, kind, writer, &tell, stop);
            if let Err(error) = Builder::new().spawn_scoped(scope, write) {
                stop.store(true, Ordering::Relaxed);
                return Err(WorkError::no_thread(error));
            }
        }
        drop(tell);
        pass_on(&told, context, &stop);
        Ok(())
    });
    started?;
    match context.stopped() {
        true => Err(WorkError::Stopped),
        false => Err(WorkError::failed("all writing streams have ended")),
    }
}

/// Forwards messages to the host until all streams have ended.
fn pass_on(told: &Receiver<StreamMessage>, context: &mut Context<'_>, stop: &AtomicBool) {
    loop {
        if context.stopped() {
            stop.store(true, Ordering::Relaxed);
        }
        match told.recv_timeout(LOOK_EVERY) {
            Ok(StreamMessage::Word(word)) => context.observer.powercut(word),
            Ok(StreamMessage::Failed(why)) => context.observer.note(NoteWeight::Warning, why),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn drive(
    stream: u32,
    kind: DurabilityKind,
    mut writer: Box<dyn StreamWriter>,
    tell: &Sender<StreamMessage>,
    stop: &AtomicBool,
) {
    for sequence in 1.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let begun = tell.send(StreamMessage::Word(Word::Begun { stream, sequence }));
        let said = match writer.write(sequence) {
            Ok(()) => StreamMessage::Word(Word::Acknowledged { stream, sequence }),
            Err(error) => {
                StreamMessage::Failed(format!("{}, write {sequence}: {error}", kind.name()))
            }
        };
        let failed = matches!(said, StreamMessage::Failed(_));
        if begun.is_err() || tell.send(said).is_err() || failed {
            return;
        }
    }
}

/// Prepares all streams and the folder of their files; their initial content is durable.
pub(super) fn prepare(work: &Powercut, seed: u64) -> Result<Prepared, WorkError> {
    let made = match work.device {
        true => None,
        false => Some(make_anew(work)?),
    };
    let mut writers = Vec::new();
    for (number, &kind) in (0_u32..).zip(&work.kinds) {
        let folder = made.as_ref().map_or(&*work.path, HeldFolder::path);
        let place = StreamStorage {
            work,
            folder,
            number,
            kind,
        };
        let stream = Stream { seed, number };
        let writer: Box<dyn StreamWriter> = match kind {
            DurabilityKind::Rename => Box::new(Renamer::prepare(&place, stream)?),
            DurabilityKind::Append => Box::new(Appender::prepare(&place, stream)?),
            DurabilityKind::Sqlite => Box::new(RowWriter::prepare(&place, stream)?),
            _ => Box::new(SlotWriter::prepare(&place, stream)?),
        };
        writers.push(writer);
    }
    if let Some(made) = &made {
        // The files' directory entries must be durable as well.
        syncfs(made).map_err(|errno| WorkError::call("syncfs", errno))?;
    }
    Ok((writers, made))
}

/// Makes a new folder, and removes that of the previous cycle.
fn make_anew(work: &Powercut) -> Result<HeldFolder, WorkError> {
    let path = folder(work);
    let above = HeldFolder::open(&work.path).map_err(|e| WorkError::io("open", &work.path, &e))?;
    match fs::remove_dir_all(above.path().join(FOLDER)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(WorkError::io("remove", &path, &error));
        }
        _ => {}
    }
    HeldFolder::make(above.path(), FOLDER).map_err(|error| WorkError::io("make", &path, &error))
}
