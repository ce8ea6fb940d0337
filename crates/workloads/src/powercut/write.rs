//! The streams: each a thread that writes, one write after the other, until the power
//! goes or the host says so.

use super::content::Stream;
use super::files::{Appender, Renamer};
use super::rows::RowWriter;
use super::slots::SlotWriter;
use super::{Place, boot_id, folder};
use crate::{Context, WorkError};
use assay_model::wire::NoteWeight;
use assay_model::work::powercut::{Kind, Powercut, Word};
use rustix::fs::syncfs;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How often a wish to stop is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Makes one write after the other; what returns is acknowledged.
pub(super) trait Writer: Send {
    fn write(&mut self, sequence: u64) -> io::Result<()>;
}

/// What a stream says.
enum Said {
    Word(Word),
    Failed(String),
}

/// Writes until the host, or the power, is gone.
pub(super) fn run(work: &Powercut, context: &mut Context<'_>) -> Result<(), WorkError> {
    let writers = prepare(work, context.seed)?;
    context
        .observer
        .powercut(Word::Ready { boot_id: boot_id() });
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (tell, told) = channel();
        for (number, writer) in (0_u32..).zip(writers) {
            let (tell, stop) = (tell.clone(), &stop);
            let kind = work.kinds[number as usize];
            scope.spawn(move || drive(number, kind, writer, &tell, stop));
        }
        drop(tell);
        pass_on(&told, context, &stop);
    });
    match context.stopped() {
        true => Err(WorkError::Stopped),
        false => Err(WorkError::Failed {
            message: "no stream writes any more".to_owned(),
            errno: None,
        }),
    }
}

/// Tells the host, until no stream is left.
fn pass_on(told: &Receiver<Said>, context: &mut Context<'_>, stop: &AtomicBool) {
    loop {
        if context.stopped() {
            stop.store(true, Ordering::Relaxed);
        }
        match told.recv_timeout(LOOK_EVERY) {
            Ok(Said::Word(word)) => context.observer.powercut(word),
            Ok(Said::Failed(why)) => context.observer.note(NoteWeight::Warning, why),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn drive(
    stream: u32,
    kind: Kind,
    mut writer: Box<dyn Writer>,
    tell: &Sender<Said>,
    stop: &AtomicBool,
) {
    for sequence in 1.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let begun = tell.send(Said::Word(Word::Begun { stream, sequence }));
        let said = match writer.write(sequence) {
            Ok(()) => Said::Word(Word::Acknowledged { stream, sequence }),
            Err(error) => Said::Failed(format!("{}, write {sequence}: {error}", kind.name())),
        };
        let failed = matches!(said, Said::Failed(_));
        if begun.is_err() || tell.send(said).is_err() || failed {
            return;
        }
    }
}

/// All streams, with what they begin with on the storage.
pub(super) fn prepare(work: &Powercut, seed: u64) -> Result<Vec<Box<dyn Writer>>, WorkError> {
    let made = folder(work);
    if !work.device {
        remove_old(&made)?;
        fs::create_dir(&made).map_err(|error| WorkError::io("make", &made, &error))?;
    }
    let mut writers = Vec::new();
    for (number, &kind) in (0_u32..).zip(&work.kinds) {
        let place = Place { work, number, kind };
        let stream = Stream { seed, number };
        let writer: Box<dyn Writer> = match kind {
            Kind::Rename => Box::new(Renamer::prepare(&place, stream)?),
            Kind::Append => Box::new(Appender::prepare(&place, stream)?),
            Kind::Sqlite => Box::new(RowWriter::prepare(&place, stream)?),
            _ => Box::new(SlotWriter::prepare(&place, stream)?),
        };
        writers.push(writer);
    }
    if !work.device {
        // The files' names have to be there, too.
        let all = File::open(&made).map_err(|error| WorkError::io("open", &made, &error))?;
        syncfs(&all).map_err(|errno| WorkError::call("syncfs", errno))?;
    }
    Ok(writers)
}

/// What a cycle before this one left.
fn remove_old(made: &Path) -> Result<(), WorkError> {
    match fs::remove_dir_all(made) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(WorkError::io("remove", made, &error))
        }
        _ => Ok(()),
    }
}
