//! Ctrl-C and SIGTERM: the first asks for an orderly end, the second insists.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// The signal that asked to stop, if one did.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicI32>);

impl Interrupt {
    /// From now on signals are caught; `on_first` is called once, on a thread
    /// of its own.
    pub fn catch(on_first: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let interrupt = Self::default();
        let caught = interrupt.clone();
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        let mut on_first = Some(on_first);
        std::thread::spawn(move || {
            for signal in signals.forever() {
                match on_first.take() {
                    Some(on_first) => {
                        caught.0.store(signal, Ordering::Relaxed);
                        on_first();
                    }
                    // The agent sees the end of its input and cleans up.
                    None => std::process::exit(code(signal).into()),
                }
            }
        });
        Ok(interrupt)
    }

    /// The exit code that the signal asks for; `None` when there was none.
    pub fn exit_code(&self) -> Option<u8> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(code(signal)),
        }
    }
}

fn code(signal: i32) -> u8 {
    u8::try_from(signal).map_or(crate::exit::FAILED, |signal| {
        crate::exit::SIGNALLED.saturating_add(signal)
    })
}
