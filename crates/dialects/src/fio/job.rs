//! Job during the parsing of its options: fields of the stream, and values that are resolved
//! before the stream is made.

use assay_model::load::Stream;
use assay_model::load::blocks::StridedZones;
use assay_model::load::content::ContentPattern;
use assay_model::load::pace::{Flow, LatencyTarget, ThinkTime};
use assay_model::load::priority::IoPriority;
use assay_model::load::schedule::ExitWhat;
use assay_model::load::stats::SteadyCriterion;
use assay_model::load::verify::{TrimOptions, Verify, VerifyKind};
use assay_model::units::Nanos;

use super::error::OptionLocation;
use std::path::PathBuf;

/// Value for each of reads, writes and trims; `None`: not given.
pub(super) type Each<T> = [Option<T>; 3];

assay_model::defaults! {
    /// Job during the parsing of its options, initially with fio's defaults.
    #[derive(Clone, Debug)]
    pub(super) struct JobDraft {
        /// Properties of every copy. [`resolve`](super::resolve) fills fields that depend on
        /// several options.
        pub(super) stream: Stream = Stream {
            trim: TrimOptions { verify_zero: true, ..TrimOptions::default() },
            ..Stream::default()
        },
        /// Name of the section, which is part of file names.
        pub(super) section: String,
        /// Engine as named.
        pub(super) engine: String = "psync".to_owned(),
        /// Simulated device that replaces the job's files.
        pub(super) simulated: Option<PathBuf>,
        /// `numjobs`.
        pub(super) copies: u64 = 1,
        /// Starts a new wave.
        pub(super) stonewall: bool,
        /// Starts a new group.
        pub(super) new_group: bool,
        /// Parts of the file names.
        pub(super) names: FileNaming,
        /// Block sizes.
        pub(super) sizes: Sizes,
        /// Options of the verify family; unused until `verify_kind` is known.
        pub(super) verify: Verify,
        /// `verify`; `None`: not given.
        pub(super) verify_kind: Option<VerifyKind>,
        /// Pauses; unused unless their length is set.
        pub(super) think: ThinkTime,
        /// Latency target; unused if the target is 0.
        pub(super) latency: LatencyTarget,
        /// Flow control; unused if the weight is 0.
        pub(super) flow: Flow,
        /// Priorities of single I/Os.
        pub(super) priorities: CommandPriorities,
        /// Criterion and limit of the steady state; `true` if the limit is in percent.
        pub(super) steady: Option<(SteadyCriterion, f64, bool)>,
        /// Window of the steady-state check.
        pub(super) steady_duration: Nanos,
        /// Time before the steady-state check begins.
        pub(super) steady_ramp: Nanos,
        /// `zonesize`, `zonerange`, `zoneskip`.
        pub(super) zones: StridedZones,
        /// `zonemode`; `None`: not given.
        pub(super) strided: Option<bool>,
        /// `exitall` was given.
        pub(super) exit_all: bool,
        /// `exit_what`.
        pub(super) exit_what: ExitWhat = ExitWhat::Group,
        /// `verify_pattern_interval`.
        pub(super) verify_pattern_interval: u32,
        /// `buffer_pattern`.
        pub(super) buffer_pattern: ContentPattern,
        /// `log_alternate_epoch` was given.
        pub(super) alternate_epoch: bool,
        /// Options that were given, by their first names.
        pub(super) given: Vec<&'static str>,
        /// Options of engines that this section itself gives, with their positions.
        pub(super) engine_options: Vec<(&'static str, OptionLocation)>,
        /// Bytes of all given values, including global ones: the memory that each copy takes
        /// in addition to its fixed size.
        pub(super) value_bytes: usize,
        /// Options as written, for the JSON's "job options".
        pub(super) texts: Vec<(String, Option<String>)>,
    }
}

impl JobDraft {
    /// Makes a job with fio's defaults.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Returns true if an option is given, in this section or globally.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.given.contains(&name)
    }
}

assay_model::defaults! {
    /// Parts of file names.
    #[derive(Clone, Debug)]
    pub(super) struct FileNaming {
        /// `filename`, split.
        pub(super) named: Vec<String>,
        /// `directory`, split.
        pub(super) directories: Vec<String>,
        /// `filename_format`.
        pub(super) format: String = "$jobname.$jobnum.$filenum".to_owned(),
        /// `nrfiles`.
        pub(super) count: u64 = 1,
        /// `openfiles`; 0: all.
        pub(super) open: u64,
    }
}

assay_model::defaults! {
    /// Block sizes for reads, writes and trims, as options give them.
    #[derive(Clone, Debug)]
    pub(super) struct Sizes {
        /// `bs`.
        pub(super) fixed: [u64; 3] = [4096; 3],
        /// `bsrange`, or the extremes of `bssplit`.
        pub(super) range: Each<(u64, u64)>,
        /// `bssplit`.
        pub(super) split: [Vec<(u32, u8)>; 3],
        /// `blockalign`.
        pub(super) align: [u64; 3],
    }
}

/// `cmdprio` options as written.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandPriorities {
    /// `cmdprio_percentage`.
    pub(super) percent: Each<u8>,
    /// `cmdprio_class`.
    pub(super) class: Each<u8>,
    /// `cmdprio`.
    pub(super) level: Each<u8>,
    /// `cmdprio_bssplit` for reads and writes.
    pub(super) by_size: [Vec<SizeShare>; 2],
}

/// Entry of `cmdprio_bssplit`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizeShare {
    pub(super) size: u32,
    pub(super) percent: u8,
    /// Priority of the entry; `None`: that of `cmdprio_class` and `cmdprio`.
    pub(super) priority: Option<IoPriority>,
}
