//! Ctrl-C, SIGTERM and SIGHUP ask for an orderly end; a second Ctrl-C or
//! SIGTERM insists. SIGUSR1 asks for what there is so far.

use crate::exit::Failure;
use assay_agent::is_ignored;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Once};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Signals so close together are one wish: a key that bounces, a terminal that
/// closes and sends more than one.
const SAME_KEY: Duration = Duration::from_millis(300);

/// The signal that asked to stop, if one did.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicI32>);

/// Treatment of a SIGINT that was ignored when this process started, as shells without job control
/// do for background commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupts {
    /// It is caught all the same: a run is to be stopped in order by whoever
    /// asks for it.
    Caught,
    /// It stays ignored.
    UnlessIgnored,
}

impl Interrupt {
    /// From now on signals are caught; `on_first` is called once, on a thread
    /// of its own.
    pub fn catch(on_first: impl FnOnce() + Send + 'static) -> Result<Self, Failure> {
        Self::catch_with(Interrupts::Caught, on_first)
    }

    /// The same, where SIGINT may stay ignored.
    pub fn catch_with(
        interrupts: Interrupts,
        on_first: impl FnOnce() + Send + 'static,
    ) -> Result<Self, Failure> {
        taken_over();
        let interrupt = Self::default();
        let caught = interrupt.clone();
        let mut signals = Signals::new([SIGTERM]).map_err(not_caught)?;
        if interrupts == Interrupts::Caught || !is_ignored(SIGINT) {
            signals.add_signal(SIGINT).map_err(not_caught)?;
        }
        if !is_ignored(SIGHUP) {
            signals.add_signal(SIGHUP).map_err(not_caught)?;
        }
        let wait = move || {
            let mut on_first = Some(on_first);
            let mut insists_from = Instant::now();
            for signal in signals.forever() {
                if let Some(on_first) = on_first.take() {
                    insists_from = Instant::now() + SAME_KEY;
                    caught.0.store(signal, Ordering::Relaxed);
                    on_first();
                } else if signal != SIGHUP && Instant::now() >= insists_from {
                    // The agent sees the end of its input, cleans up and ends.
                    assay_target::end_links();
                    std::process::exit(code(signal).into());
                }
            }
        };
        Builder::new().spawn(wait).map_err(Failure::no_thread)?;
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

/// Somebody follows the signals that ask to end.
static TAKEN_OVER: AtomicBool = AtomicBool::new(false);

/// From now on somebody follows the signals that ask to end.
pub fn taken_over() {
    TAKEN_OVER.store(true, Ordering::Relaxed);
}

/// Until somebody else follows them, signals that ask to end do so as if they were not
/// caught, after the programs that carry links: one that still connects would stay.
pub fn end_links_with_this() -> Result<(), Failure> {
    static CAUGHT: Once = Once::new();
    let mut made = Ok(());
    CAUGHT.call_once(|| {
        let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter();
        let signals = Signals::new(wanted.filter(|&signal| !is_ignored(signal)));
        made = signals.map_err(not_caught).and_then(|mut signals| {
            let wait = move || {
                for signal in signals.forever() {
                    if !TAKEN_OVER.load(Ordering::Relaxed) {
                        assay_target::end_links();
                        let _ = signal_hook::low_level::emulate_default_handler(signal);
                    }
                }
            };
            Builder::new().spawn(wait).map_err(Failure::no_thread)?;
            Ok(())
        });
    });
    made
}

/// From now on `act` is called for each SIGUSR1, on a thread of its own.
pub fn on_report_request(mut act: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGUSR1]).map_err(not_caught)?;
    let wait = move || signals.forever().for_each(|_| act());
    Builder::new().spawn(wait).map_err(Failure::no_thread)?;
    Ok(())
}

/// The failure to catch signals.
pub fn not_caught(error: impl fmt::Display) -> Failure {
    Failure::failed(format!("cannot catch signals: {error}"))
}

/// The exit code that a signal asks for.
pub fn code(signal: i32) -> u8 {
    u8::try_from(signal).map_or(crate::exit::FAILED, |signal| {
        crate::exit::SIGNALLED.saturating_add(signal)
    })
}
