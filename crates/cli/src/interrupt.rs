//! Signals: Ctrl-C, SIGTERM and SIGHUP request an orderly end, a second Ctrl-C or SIGTERM ends at
//! once. SIGUSR1 requests the results so far.

use crate::exit::Failure;
use assay_agent::is_ignored;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Once};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Time after the first signal within which further ones are ignored: a key may bounce, and a
/// terminal that closes sends more than one.
const SAME_KEY: Duration = Duration::from_millis(300);

/// Signal that requested the end, if any.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicI32>);

/// Treatment of a SIGINT that was ignored when this process started, as shells without job control
/// do for background commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupts {
    /// SIGINT is caught nevertheless: runs support an orderly stop by a signal.
    Caught,
    /// SIGINT stays ignored.
    UnlessIgnored,
}

impl Interrupt {
    /// Catches signals from now on; `on_first` is called once, on a separate thread.
    pub fn catch(on_first: impl FnOnce() + Send + 'static) -> Result<Self, Failure> {
        Self::catch_with(Interrupts::Caught, on_first)
    }

    /// Catches signals as [`Interrupt::catch`] does, but can leave an ignored SIGINT ignored.
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

    /// Returns the exit code for the signal; `None` if there was no signal.
    pub fn exit_code(&self) -> Option<u8> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(code(signal)),
        }
    }
}

/// `true` once another part of the program handles the signals that end it.
static TAKEN_OVER: AtomicBool = AtomicBool::new(false);

/// Switches off the handling of [`end_links_with_this`]: the caller handles the signals from now on.
pub fn taken_over() {
    TAKEN_OVER.store(true, Ordering::Relaxed);
}

/// Ends the programs that carry links when a signal ends this process: one that is still connecting
/// would survive it. The signal then has its default effect. [`taken_over`] switches this off.
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

/// Calls `act` for each SIGUSR1 from now on, on a separate thread.
pub fn on_report_request(mut act: impl FnMut() + Send + 'static) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGUSR1]).map_err(not_caught)?;
    let wait = move || signals.forever().for_each(|_| act());
    Builder::new().spawn(wait).map_err(Failure::no_thread)?;
    Ok(())
}

/// Failure to catch signals.
pub fn not_caught(error: impl fmt::Display) -> Failure {
    Failure::failed(format!("cannot catch signals: {error}"))
}

/// Returns the exit code for a signal.
pub fn code(signal: i32) -> u8 {
    u8::try_from(signal).map_or(crate::exit::FAILED, |signal| {
        crate::exit::SIGNALLED.saturating_add(signal)
    })
}
