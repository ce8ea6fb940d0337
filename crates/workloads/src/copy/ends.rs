//! Opening of a copy's input and output, and description of a copy as a job, for the evaluation of
//! its evidence.

use super::Name;
use crate::{ActError, Context};
use assay_engine::held::{self, shown};
use assay_engine::load::sync_flags;
use assay_model::act::copy::{EndKind, FileCopy, Flags};
use assay_model::job::{CacheState, Content, FileState, Flush, FlushCall, Job, OpenSync, Rw};
use assay_model::units::Bytes;
use rustix::fs::{
    FileType, Mode, OFlags, SeekFrom, fcntl_getfl, fcntl_setfl, fstat, ftruncate, seek,
};
use rustix::io::Errno;
use std::io::IsTerminal;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Permissions of a new output, before the umask.
const PERMISSIONS: u32 = 0o666;

/// A descriptor, the process's own or a standard stream.
#[derive(Debug)]
pub(super) enum Descriptor {
    Own(OwnedFd),
    Standard(BorrowedFd<'static>),
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Own(fd) => fd.as_fd(),
            Self::Standard(fd) => *fd,
        }
    }
}

/// Input or output of a copy.
#[derive(Debug)]
pub(super) struct End {
    pub(super) fd: Descriptor,
    pub(super) name: Name,
    pub(super) kind: EndKind,
    /// Path of the end, for a file or a device; without links.
    pub(super) path: Option<PathBuf>,
    /// Size of the end in bytes, if it has one.
    pub(super) size: Option<u64>,
    /// Flags in force: some have no effect on a stream that was already open.
    pub(super) flags: OFlags,
}

impl End {
    fn new(fd: Descriptor, name: Name, path: Option<&Path>) -> Result<Self, ActError> {
        let (kind, size) = kind(&fd);
        let flags = fcntl_getfl(&fd).unwrap_or(OFlags::empty());
        let path = path.filter(|_| kind.is_storage());
        Ok(Self {
            path: path.and_then(|path| std::fs::canonicalize(path).ok()),
            fd,
            name,
            kind,
            size,
            flags,
        })
    }
}

fn kind(fd: &Descriptor) -> (EndKind, Option<u64>) {
    let Ok(stat) = fstat(fd) else {
        return (EndKind::Other, None);
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => (EndKind::File, u64::try_from(stat.st_size).ok()),
        FileType::BlockDevice => (EndKind::Device, device_size(fd)),
        FileType::Fifo => (EndKind::Pipe, None),
        FileType::Socket => (EndKind::Socket, None),
        FileType::CharacterDevice if fd.as_fd().is_terminal() => (EndKind::Terminal, None),
        FileType::CharacterDevice => (EndKind::Character, None),
        _ => (EndKind::Other, None),
    }
}

/// Returns the size of a device, which its metadata does not contain.
fn device_size(fd: &Descriptor) -> Option<u64> {
    let here = seek(fd, SeekFrom::Current(0)).ok()?;
    let end = seek(fd, SeekFrom::End(0)).ok();
    seek(fd, SeekFrom::Start(here)).ok()?;
    end
}

/// Input and output of a copy.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) input: End,
    pub(super) output: End,
    /// Error that does not end the copy.
    pub(super) problem: Option<String>,
}

impl Ends {
    pub(super) fn open(work: &FileCopy, context: &mut Context<'_>) -> Result<Self, ActError> {
        let input = input(work, context)?;
        let output = output(work, context)?;
        let problem = match truncates(work) {
            true => truncate(work, &output)?,
            false => None,
        };
        Ok(Self {
            input,
            output,
            problem,
        })
    }

    /// Returns the file or device whose storage is evidence of the copy's speed.
    pub(super) fn evidence_path(&self) -> Option<PathBuf> {
        self.judged().and_then(|end| end.path.clone())
    }

    /// Returns the file on storage; the output if both are.
    fn judged(&self) -> Option<&End> {
        [&self.output, &self.input]
            .into_iter()
            .find(|end| end.kind.is_storage())
    }
}

fn input(work: &FileCopy, context: &Context<'_>) -> Result<End, ActError> {
    let name = Name::of(work.input.as_deref(), "standard input");
    // Synchronized reads, on systems that support them.
    let flags = flags(work.input_flags);
    let Some(path) = &work.input else {
        let fd = Descriptor::Standard(rustix::stdio::stdin());
        set_flags(&fd, flags, &name)?;
        return End::new(fd, name, Some(Path::new("/proc/self/fd/0")));
    };
    let fd =
        open_as(path, OFlags::RDONLY | flags, context).map_err(|why| not_opened(&name, why))?;
    End::new(Descriptor::Own(fd), name, Some(path))
}

fn output(work: &FileCopy, context: &Context<'_>) -> Result<End, ActError> {
    let name = Name::of(work.output.as_deref(), "standard output");
    let mut flags = flags(work.output_flags);
    let Some(path) = &work.output else {
        let fd = Descriptor::Standard(rustix::stdio::stdout());
        set_flags(&fd, flags, &name)?;
        return End::new(fd, name, Some(Path::new("/proc/self/fd/1")));
    };
    let treatment = work.treatment;
    flags.set(OFlags::CREATE, !treatment.must_exist);
    // A file that is removed afterwards must have been created by the copy, even if another program
    // creates a file of that name meanwhile.
    flags.set(OFlags::EXCL, treatment.exclusive || work.remove_output);
    flags.set(
        OFlags::TRUNC,
        work.seek.blocks == 0 && !treatment.keep_length,
    );
    check_length(work)?;
    // Also for reading, because an output that is not seekable can only be skipped by reading.
    let read_too = if work.seek.blocks == 0 {
        None
    } else {
        open_as(path, OFlags::RDWR | flags, context).ok()
    };
    let fd = match read_too {
        Some(fd) => fd,
        None => {
            open_as(path, OFlags::WRONLY | flags, context).map_err(|why| not_opened(&name, why))?
        }
    };
    End::new(Descriptor::Own(fd), name, Some(path))
}

fn flags(wanted: Flags) -> OFlags {
    // Some flags share bits, so none is ever cleared.
    [
        (wanted.append, OFlags::APPEND),
        (wanted.direct, OFlags::DIRECT),
        (wanted.directory, OFlags::DIRECTORY),
        (wanted.dsync, sync_flags(OpenSync::Dsync)),
        (wanted.sync, sync_flags(OpenSync::Sync)),
        (wanted.nonblock, OFlags::NONBLOCK),
        (wanted.noatime, OFlags::NOATIME),
        (wanted.noctty, OFlags::NOCTTY),
        (wanted.nofollow, OFlags::NOFOLLOW),
    ]
    .into_iter()
    .filter(|(wanted, _)| *wanted)
    .fold(OFlags::empty(), |flags, (_, flag)| flags | flag)
}

/// Opens a file. A pipe blocks until another process opens its other end.
fn open_as(path: &Path, flags: OFlags, context: &Context<'_>) -> Result<OwnedFd, Errno> {
    loop {
        match held::open(
            path,
            flags | OFlags::CLOEXEC,
            Mode::from_raw_mode(PERMISSIONS),
        ) {
            Err(Errno::INTR) if !context.stopped() => {}
            other => return other,
        }
    }
}

fn not_opened(name: &Name, why: Errno) -> ActError {
    if why == Errno::INTR {
        return ActError::Stopped;
    }
    failed(&format!("failed to open {}", name.quoted()), why)
}

fn failed(what: &str, why: Errno) -> ActError {
    ActError::Failed {
        message: super::failed(what, why),
        errno: Some(why.raw_os_error()),
    }
}

/// Sets flags of a stream that is already open.
fn set_flags(fd: &Descriptor, flags: OFlags, name: &Name) -> Result<(), ActError> {
    let creation = OFlags::DIRECTORY | OFlags::NOCTTY | OFlags::NOFOLLOW;
    if flags.is_empty() {
        return Ok(());
    }
    let setting = |why| failed(&format!("setting flags for {}", name.quoted()), why);
    let old = fcntl_getfl(fd).map_err(setting)?;
    if flags.contains(OFlags::DIRECTORY) {
        let stat = fstat(fd).map_err(setting)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Err(setting(Errno::NOTDIR));
        }
    }
    let new = old | (flags - creation);
    if new == old {
        return Ok(());
    }
    fcntl_setfl(fd, new).map_err(setting)
}

/// Returns true if the output is truncated where writing begins. Within the first block, dd empties
/// the output instead.
const fn truncates(work: &FileCopy) -> bool {
    work.output.is_some() && work.seek.blocks > 0 && !work.treatment.keep_length
}

fn check_length(work: &FileCopy) -> Result<(), ActError> {
    let blocks = work.seek.blocks.checked_mul(work.output_block);
    let length = blocks.and_then(|bytes| bytes.checked_add(work.seek.bytes));
    if !truncates(work) || length.is_some_and(|length| i64::try_from(length).is_ok()) {
        return Ok(());
    }
    Err(ActError::failed(format!(
        "offset too large: cannot truncate to a length of seek={} ({}-byte) blocks",
        work.seek.blocks, work.output_block
    )))
}

/// Makes the output end at `seek=`. A failure is ignored unless the output is a file.
fn truncate(work: &FileCopy, output: &End) -> Result<Option<String>, ActError> {
    let length = work.seek.of_blocks(work.output_block);
    let Err(why) = ftruncate(&output.fd, length) else {
        return Ok(None);
    };
    let name = output.name.quoted();
    let stat = fstat(&output.fd).map_err(|why| failed(&format!("cannot fstat {name}"), why))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let matters = matches!(kind, FileType::RegularFile | FileType::Directory);
    Ok(matters.then(|| {
        let what = format!("failed to truncate to {length} bytes in output file {name}");
        super::failed(&what, why)
    }))
}

/// Returns the job of the file whose storage is evidence.
pub(super) fn describe_job(work: &FileCopy, ends: &Ends) -> Job {
    let writes = ends.output.kind.is_storage() || !ends.input.kind.is_storage();
    let (end, block, at) = if writes {
        (&ends.output, work.output_block, work.seek)
    } else {
        (&ends.input, work.input_block, work.skip)
    };
    let rw = if writes { Rw::Write } else { Rw::Read };
    let size = expected_bytes(work, &ends.input);
    let mut job = Job::new(&work.name, rw, Bytes(block), Bytes(size));
    job.offset = Bytes(at.of_blocks(block));
    job.direct = end.flags.contains(OFlags::DIRECT);
    job.cache_state = CacheState::AsIs;
    job.description = Some(description(ends));
    if writes {
        job.sync = open_sync(end.flags);
        job.flush = Flush {
            every: None,
            at_end: final_flush(work),
        };
        job.content = input_content(&ends.input);
        let emptied = !work.treatment.keep_length && work.seek.blocks == 0;
        job.file_state = if work.output.is_some() && emptied {
            FileState::Fresh
        } else {
            FileState::Written
        };
    }
    job
}

/// Returns the bytes that will be copied; 0 if unknown.
fn expected_bytes(work: &FileCopy, input: &End) -> u64 {
    let skipped = work.skip.of_blocks(work.input_block);
    let there = input.size.map(|size| size.saturating_sub(skipped));
    match (work.limit_bytes(), there) {
        (Some(limit), Some(there)) => limit.min(there),
        (limit, there) => limit.or(there).unwrap_or(0),
    }
}

fn open_sync(flags: OFlags) -> OpenSync {
    // The bits of O_SYNC include that of O_DSYNC.
    let stronger_first = [OpenSync::Sync, OpenSync::Dsync];
    let mut set = stronger_first.into_iter();
    set.find(|&sync| flags.contains(sync_flags(sync)))
        .unwrap_or(OpenSync::None)
}

fn final_flush(work: &FileCopy) -> Option<FlushCall> {
    if work.treatment.fsync {
        Some(FlushCall::Fsync)
    } else {
        work.treatment.fdatasync.then_some(FlushCall::Fdatasync)
    }
}

fn input_content(input: &End) -> Content {
    // Other input has unknown content, which is treated as incompressible.
    if input.kind == EndKind::Character {
        Content::Zero
    } else {
        Content::Random
    }
}

/// Returns a description such as `copy of FILE to a pipe`.
fn description(ends: &Ends) -> String {
    format!(
        "copy {} to {}",
        end_words(&ends.input),
        end_words(&ends.output)
    )
}

fn end_words(end: &End) -> String {
    let words = match end.kind {
        EndKind::File | EndKind::Device => match &end.path {
            Some(path) => return shown(path),
            None => "a file",
        },
        EndKind::Pipe => "a pipe",
        EndKind::Socket => "a socket",
        EndKind::Terminal => "the terminal",
        EndKind::Character | EndKind::Other => {
            return end.name.quoted().trim_matches('\'').to_owned();
        }
    };
    words.to_owned()
}
