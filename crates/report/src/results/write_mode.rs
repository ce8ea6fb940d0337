//! Steps of the ladders: the ways to do one transfer.

use assay_model::job::{CacheState, Job, OpenSync};

assay_model::named! {
    /// Step of a ladder, in reading order; names of writes are dd's options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum WriteMode {
        /// Write without a flush.
        Plain = "plain",
        /// dd's `conv=fdatasync` (or fsync): one flush at the end.
        FlushAtEnd = "fdatasync",
        /// Read data that is in the page cache.
        Cached = "cached",
        /// Read through a page cache that is empty at the start.
        Buffered = "buffered",
        /// `oflag=direct`, `iflag=direct`: past the page cache.
        Direct = "direct",
        /// `oflag=dsync` (or sync): a flush of every block.
        EachBlock = "dsync",
    }
}

impl WriteMode {
    /// Returns the way in which a job does its transfer.
    pub fn of(job: &Job) -> Self {
        match job {
            _ if !job.rw.writes() => Self::of_read(job),
            _ if job.sync != OpenSync::None => Self::EachBlock,
            _ if job.direct => Self::Direct,
            _ if job.flush.at_end.is_some() => Self::FlushAtEnd,
            _ => Self::Plain,
        }
    }

    fn of_read(job: &Job) -> Self {
        match job.cache_state {
            _ if job.direct => Self::Direct,
            CacheState::Warm => Self::Cached,
            CacheState::Cold | CacheState::AsIs => Self::Buffered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::Rw;
    use assay_model::units::Bytes;

    #[test]
    fn a_way_is_known_by_what_its_job_does() {
        let write = Job::new("any", Rw::Write, Bytes::mib(1), Bytes::mib(8));
        assert_eq!(WriteMode::of(&write), WriteMode::Plain);
        let dsync = Job {
            sync: OpenSync::Dsync,
            direct: true,
            ..write
        };
        assert_eq!(WriteMode::of(&dsync), WriteMode::EachBlock);
        let cold = Job::new("any", Rw::Read, Bytes::mib(1), Bytes::mib(8));
        assert_eq!(WriteMode::of(&cold), WriteMode::Buffered);
        let warm = Job {
            cache_state: CacheState::Warm,
            ..cold
        };
        assert_eq!(WriteMode::of(&warm), WriteMode::Cached);
        let direct = Job {
            direct: true,
            ..warm
        };
        assert_eq!(WriteMode::of(&direct), WriteMode::Direct);
    }
}
