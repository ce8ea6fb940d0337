//! End of a command: exit codes, the one line that explains a failure, and signals. Ctrl-C, SIGTERM
//! and SIGHUP request an orderly end, a second Ctrl-C or SIGTERM ends at once. SIGUSR1 requests the
//! results so far.

use assay_agent::is_ignored;
use assay_model::text::no_thread;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Once};
use std::thread::Builder;
use std::time::{Duration, Instant};
use std::{fmt, io};

/// Exit codes of most commands, for the end of their help.
pub const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage,
5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM.
Finished trials are kept in every case.";

/// Exit code of success.
pub const DONE: ExitCode = ExitCode::SUCCESS;
/// Exit code of a failure; finished trials are kept.
pub const FAILED: u8 = 1;
/// Exit code for a command that cannot be carried out as given.
pub const USAGE: u8 = 2;
/// Exit code for a missed requirement: slower than permitted, or a class missed.
pub const MISSED: u8 = 3;
/// Exit code for data that was read back and differs from the data written.
pub const DATA_MISMATCH: u8 = 4;
/// Exit code for a device or target that disappeared.
pub const LOST: u8 = 5;
/// Offset that is added to the number of the signal that ended the command, as shells do.
pub const SIGNALLED: u8 = 128;

/// Reason why a command ends without its result: one line, and the exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    fn new(code: u8, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        Self { code, message }
    }

    /// Failure of a command that cannot be carried out as given.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(USAGE, message)
    }

    /// Failure for a file named by the user that cannot be used.
    pub fn in_file(path: &Path, why: impl fmt::Display) -> Self {
        Self::usage(format_args!("{}: {why}", path.display()))
    }

    /// Failure of the execution.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(FAILED, message)
    }

    /// Failure to start a thread.
    pub fn no_thread(source: io::Error) -> Self {
        Self::failed(no_thread(source))
    }

    /// Failure for data that was read back and differs from the data written.
    pub fn mismatch(message: impl fmt::Display) -> Self {
        Self::new(DATA_MISMATCH, message)
    }

    /// Failure for a device or target that disappeared.
    pub fn lost(message: impl fmt::Display) -> Self {
        Self::new(LOST, message)
    }

    /// Combines this failure with a later one; the exit code is that of this failure.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        let message = match other.message.starts_with(&self.message) {
            true => other.message.clone(),
            false => format!("{}; {}", self.message, other.message),
        };
        Self { message, ..self }
    }

    /// `true` if the command cannot be carried out as given.
    pub fn is_usage(&self) -> bool {
        self.code == USAGE
    }

    /// `true` if the device or the target went away.
    pub fn is_lost(&self) -> bool {
        self.code == LOST
    }

    /// Returns the exit code as a number.
    pub fn number(&self) -> u8 {
        self.code
    }

    /// Returns the exit code of the command.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<assay_target::TargetError> for Failure {
    fn from(error: assay_target::TargetError) -> Self {
        let code = match (error.is_usage(), error.is_lost()) {
            (true, _) => USAGE,
            (_, true) => LOST,
            _ => FAILED,
        };
        Self::new(code, error)
    }
}

impl From<assay_target::labgrid::LabError> for Failure {
    fn from(error: assay_target::labgrid::LabError) -> Self {
        assay_target::TargetError::from(error).into()
    }
}

impl From<assay_store::StoreError> for Failure {
    fn from(error: assay_store::StoreError) -> Self {
        use assay_store::StoreError as E;
        let code = match error {
            E::Locked { .. }
            | E::Full { .. }
            | E::Replaced { .. }
            | E::Incomplete { .. }
            | E::TooManyFiles { .. }
            | E::Failed { .. }
            | E::Unreachable { .. }
            | E::Lost { .. }
            | E::DamagedRun { .. }
            | E::DamagedImport { .. }
            | E::Taken { .. } => FAILED,
            _ => USAGE,
        };
        Self::new(code, error)
    }
}

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
        take_over_signals();
        let interrupt = Self::default();
        let caught = interrupt.clone();
        let mut signals = Signals::new([SIGTERM]).map_err(signals_not_caught)?;
        if interrupts == Interrupts::Caught || !is_ignored(SIGINT) {
            signals.add_signal(SIGINT).map_err(signals_not_caught)?;
        }
        if !is_ignored(SIGHUP) {
            signals.add_signal(SIGHUP).map_err(signals_not_caught)?;
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
                    std::process::exit(code_of_signal(signal).into());
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
            signal => Some(code_of_signal(signal)),
        }
    }
}

/// `true` once another part of the program handles the signals that end it.
static SIGNALS_TAKEN_OVER: AtomicBool = AtomicBool::new(false);

/// Switches off the handling of [`end_links_with_this`]: the caller handles the signals from now on.
pub fn take_over_signals() {
    SIGNALS_TAKEN_OVER.store(true, Ordering::Relaxed);
}

/// Ends the programs that carry links when a signal ends this process: one that is still connecting
/// would survive it. The signal then has its default effect. [`take_over_signals`] switches this off.
pub fn end_links_with_this() -> Result<(), Failure> {
    static CAUGHT: Once = Once::new();
    let mut made = Ok(());
    CAUGHT.call_once(|| {
        let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter();
        let signals = Signals::new(wanted.filter(|&signal| !is_ignored(signal)));
        made = signals.map_err(signals_not_caught).and_then(|mut signals| {
            let wait = move || {
                for signal in signals.forever() {
                    if !SIGNALS_TAKEN_OVER.load(Ordering::Relaxed) {
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
    let mut signals = Signals::new([SIGUSR1]).map_err(signals_not_caught)?;
    let wait = move || signals.forever().for_each(|_| act());
    Builder::new().spawn(wait).map_err(Failure::no_thread)?;
    Ok(())
}

/// Failure to catch signals.
pub fn signals_not_caught(error: impl fmt::Display) -> Failure {
    Failure::failed(format!("cannot catch signals: {error}"))
}

/// Returns the exit code for a signal.
pub fn code_of_signal(signal: i32) -> u8 {
    u8::try_from(signal).map_or(FAILED, |signal| SIGNALLED.saturating_add(signal))
}
