//! Selection of the deciding metrics.

use assay_model::job::{Job, Purpose};
use assay_model::units::KIB;

/// Smallest block size for which bandwidth decides instead of IOPS.
pub const BANDWIDTH_FROM_BYTES: u64 = 64 * KIB;
const DURABLE: &str = "durable_write_lat_p50";
/// Deciding metric of runs from before writes were measured together with their flush.
const FLUSH: &str = "flush_lat_p50";

/// Returns the names of the deciding metrics of a job, reads first. Summaries show them, and
/// comparisons use them.
///
/// - `durable_write_lat_p50` instead of the write side if the job flushes after every small write:
///   the application waits for both;
/// - the mean latency if the pace is limited, by a rate or by a pause after each I/O, since the
///   rate is then the requested one;
/// - transactions per second for a job of transactions;
/// - the rate or the latency of memory for jobs that measure memory; none for a stress test;
/// - the duration of an act of a scenario, if its pace is not limited;
/// - bandwidth for blocks of 64 KiB and more, IOPS below.
///
/// ```
/// use assay_model::job::{Job, Rw};
/// use assay_model::units::Bytes;
/// use assay_stats::derive::primary_metrics;
/// let job = Job::new("mixed", Rw::RandRw, Bytes::kib(4), Bytes::mib(64));
/// assert_eq!(primary_metrics(&job), ["read_iops", "write_iops"]);
/// ```
pub fn primary_metrics(job: &Job) -> Vec<&'static str> {
    match job.purpose {
        Some(Purpose::Transactions) if job.rate.is_some() => return vec!["commit_lat_mean"],
        Some(Purpose::Transactions) => return vec!["commit_tps"],
        Some(Purpose::MemoryBandwidth) => return vec!["memory_bw"],
        Some(Purpose::MemoryLatency) => return vec!["memory_lat"],
        Some(Purpose::MemoryStress) => return Vec::new(),
        Some(Purpose::Act) if job.rate.is_none() => return vec!["act_time"],
        _ => {}
    }
    let pauses = job.pause.is_some_and(|pause| pause.after == 1);
    let (read, write) = if job.rate.is_some() || pauses {
        ("read_lat_mean", "write_lat_mean")
    } else if job.bs.0 >= BANDWIDTH_FROM_BYTES {
        ("read_bw", "write_bw")
    } else {
        ("read_iops", "write_iops")
    };
    let write = match job.flush.every {
        Some((1, _)) if job.bs.0 < BANDWIDTH_FROM_BYTES => DURABLE,
        _ => write,
    };
    let sides = [(job.rw.reads(), read), (job.rw.writes(), write)];
    let wanted = sides.into_iter().filter(|(does, _)| *does);
    wanted.map(|(_, name)| name).collect()
}

/// Returns the deciding metrics of a job among those it has: a job that was stored before writes
/// were measured together with their flush is decided by `flush_lat_p50`.
pub fn deciding_metrics(job: &Job, has: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let names = primary_metrics(job).into_iter();
    let known = names.map(|name| match name {
        DURABLE if !has(DURABLE) => FLUSH,
        name => name,
    });
    known.collect()
}

/// `true` if a metric decides between two sides; `a` and `b` are true if it may decide on each
/// side. Runs from before writes were measured together with their flush have only the flush
/// metric, which is used to compare them with newer ones.
pub(crate) fn decides_between(metric: &str, a: bool, b: bool) -> bool {
    let older = (a || b) && metric.rsplit(' ').next() == Some(FLUSH);
    a && b || older
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::MetricName;
    use assay_model::job::{FlushCall, Pause, RateLimit, Rw};
    use assay_model::units::{Bytes, Nanos};

    fn deciding(rw: Rw, bs: Bytes, edit: fn(&mut Job)) -> Vec<&'static str> {
        let mut job = Job::new("job", rw, bs, Bytes::mib(64));
        edit(&mut job);
        let found = primary_metrics(&job);
        for name in &found {
            assert!(
                MetricName::parse(name).is_some_and(MetricName::may_decide),
                "{name}"
            );
        }
        found
    }

    #[test]
    fn transactions_decide_where_they_are_what_is_done() {
        let found = deciding(Rw::RandWrite, Bytes::kib(4), |job| {
            job.purpose = Some(Purpose::Transactions);
        });
        assert_eq!(found, ["commit_tps"]);
    }

    #[test]
    fn how_long_an_act_takes_decides_unless_its_pace_is_given() {
        let act = |job: &mut Job| job.purpose = Some(Purpose::Act);
        assert_eq!(deciding(Rw::Write, Bytes::kib(4), act), ["act_time"]);
        let paced = |job: &mut Job| {
            job.purpose = Some(Purpose::Act);
            job.rate = Some(RateLimit::Iops(10));
        };
        assert_eq!(
            deciding(Rw::Write, Bytes::kib(64), paced),
            ["write_lat_mean"]
        );
    }

    #[test]
    fn block_size_decides_between_bandwidth_and_iops() {
        let plain = |rw, bs| deciding(rw, bs, |_| {});
        assert_eq!(plain(Rw::Read, Bytes::kib(64)), ["read_bw"]);
        assert_eq!(plain(Rw::RandRead, Bytes(65_535)), ["read_iops"]);
        assert_eq!(plain(Rw::Write, Bytes::mib(1)), ["write_bw"]);
        assert_eq!(plain(Rw::RandWrite, Bytes::kib(4)), ["write_iops"]);
        assert_eq!(plain(Rw::Rw, Bytes::mib(1)), ["read_bw", "write_bw"]);
    }

    #[test]
    fn a_flush_after_every_write_decides_the_write_side() {
        let every = |job: &mut Job| job.flush.every = Some((1, FlushCall::Fsync));
        let kib = Bytes::kib(4);
        assert_eq!(deciding(Rw::Write, kib, every), ["durable_write_lat_p50"]);
        assert_eq!(
            deciding(Rw::RandRw, kib, every),
            ["read_iops", "durable_write_lat_p50"]
        );
        assert_eq!(deciding(Rw::Read, kib, every), ["read_iops"]);
        let seldom = |job: &mut Job| job.flush.every = Some((8, FlushCall::Fsync));
        assert_eq!(deciding(Rw::Write, kib, seldom), ["write_iops"]);
        assert_eq!(deciding(Rw::Write, Bytes::mib(10), every), ["write_bw"]);
    }

    #[test]
    fn what_was_stored_before_is_decided_by_its_flush() {
        let mut job = Job::new("job", Rw::RandRw, Bytes::kib(4), Bytes::mib(64));
        job.flush.every = Some((1, FlushCall::Fsync));
        let of = |has: bool| deciding_metrics(&job, |_| has);
        assert_eq!(of(true), ["read_iops", DURABLE]);
        assert_eq!(of(false), ["read_iops", FLUSH]);
        assert!(decides_between("log: flush_lat_p50", true, false));
        assert!(!decides_between("log: flush_lat_p50", false, false));
        assert!(!decides_between("log: write_bw", true, false));
    }

    #[test]
    fn with_a_pause_after_each_io_latency_decides() {
        let paused = |after| {
            let mut job = Job::new("job", Rw::RandRead, Bytes::kib(4), Bytes::mib(64));
            let time = Nanos::millis(200);
            job.pause = Some(Pause { after, time });
            primary_metrics(&job)
        };
        assert_eq!(paused(1), ["read_lat_mean"]);
        assert_eq!(paused(4), ["read_iops"], "a burst has a rate");
    }

    #[test]
    fn under_a_rate_limit_latency_decides() {
        let limited = |job: &mut Job| job.rate = Some(RateLimit::Iops(100));
        let found = deciding(Rw::RandRw, Bytes::kib(4), limited);
        assert_eq!(found, ["read_lat_mean", "write_lat_mean"]);
    }
}
