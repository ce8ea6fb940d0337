//! The streams of a wave on one storage, judged together.

use super::super::calls::in_force;
use super::super::share::{Share, failed_because};
use super::super::witness::Touched;
use super::super::{
    CallEnd, Case, DataLocation, DirectionEvidence, ForeignIo, Judgement, Measured, hindrances,
    uncounted,
};
use super::{Member, Trims, UNEVEN, ddir, evidence_at};
use assay_lang::{key, tr, translated};
use assay_model::evidence::Evidence;
use assay_model::job::{Direction, Flush, FlushCall, Job, OpenSync, Rw};
use assay_model::load::Load;
use assay_model::load::report::{ClockStop, LoadReport, WaveEvidence};
use assay_model::trial::{DirectionTotals, Measurement};
use assay_model::units::Bytes;

const OF_OTHERS: &str =
    key!("other jobs of this wave used the same device: which job's bytes it moved is unknown");
const SPREAD: &str = key!(
    "a job of this wave had files on several devices, and which of its bytes went where is not counted"
);

/// Streams of a wave on one storage, with the kernel's evidence of that time.
pub(super) struct StorageGroup<'a> {
    members: Vec<Member<'a>>,
    evidence: Evidence,
    /// The streams' totals as one measurement.
    measured: Measurement,
    /// Reason why no stream of the group can be judged.
    not_judged: Option<&'static str>,
    /// Members whose clocks had just stopped, if the evidence is of that moment.
    stopped: Option<&'a ClockStop>,
    /// States of the same group at the moments when the clocks of some members stopped.
    stops: Vec<Self>,
}

impl<'a> StorageGroup<'a> {
    pub(super) fn new(load: &'a Load, report: &'a LoadReport, wave: &'a WaveEvidence) -> Self {
        let member = |&number: &u32| {
            let index = usize::try_from(number).ok()?;
            let stream = load.streams.get(index)?;
            Some(Member {
                index,
                stream,
                came: report.streams.get(index)?,
                ended: !report.interim,
                sync: in_force(stream.durability.sync, stream.engine.kind, &wave.evidence),
            })
        };
        let members = wave.streams.iter().filter_map(member);
        let members: Vec<Member<'a>> = members
            .filter(|member| uncounted(member.stream.engine.kind).is_none())
            .collect();
        let mut others = report
            .evidence
            .iter()
            .filter(|other| other.wave == wave.wave && !std::ptr::eq(*other, wave));
        let spread = others
            .clone()
            .any(|other| wave.streams.iter().any(|s| other.streams.contains(s)));
        let mut evidence = wave.evidence.clone();
        if others.next().is_some() {
            // The kernel's account of the process covers all its storages together.
            evidence.before.own_io = None;
            evidence.after.own_io = None;
        }
        let not_judged = spread.then_some(SPREAD);
        let stops = wave.stops.iter();
        let stops = stops.map(|stop| match evidence_at(&evidence, stop) {
            Some(then) => Self::of(members.clone(), then, not_judged, Some(stop)),
            None => Self::of(members.clone(), evidence.clone(), Some(UNEVEN), Some(stop)),
        });
        let stops = stops.collect();
        Self {
            stops,
            ..Self::of(members, evidence, not_judged, None)
        }
    }

    fn of(
        members: Vec<Member<'a>>,
        evidence: Evidence,
        not_judged: Option<&'static str>,
        stopped: Option<&'a ClockStop>,
    ) -> Self {
        Self {
            measured: together(&members, &evidence, stopped),
            members,
            evidence,
            not_judged,
            stopped,
            stops: Vec::new(),
        }
    }

    /// Returns the index of each member in the load, with its judgement.
    pub(super) fn judge(&self) -> Vec<(usize, Option<Judgement>)> {
        let foreign = self.foreign();
        let spans = self.members.iter().map(Member::span_ns);
        let threads_ns = spans.map(|(begin, end)| end.saturating_sub(begin)).sum();
        let hindrances = hindrances::of(&self.evidence, self.measured.cpu.run_delay_ns, threads_ns);
        let moments: Vec<_> = (self.stops.iter().chain([self]))
            .map(|group| {
                let ways = [Direction::Read, Direction::Write].map(|way| group.traffic(way));
                (group, ways)
            })
            .collect();
        let judge = |member: &Member<'_>, direction: Direction| {
            let (group, [reads, writes]) = moments
                .iter()
                .find(|(group, _)| group.tells(member, direction))?;
            let traffic = match direction {
                Direction::Read => reads,
                Direction::Write => writes,
            };
            group.judge_member(member, traffic)
        };
        let judged = self.members.iter().map(|member| {
            let judgement = Judgement {
                read: judge(member, Direction::Read),
                write: judge(member, Direction::Write),
                trim: self.judge_trims(member),
                foreign: foreign.clone(),
                hindrances: hindrances.clone(),
            };
            let moved = judgement.moved_something();
            (member.index, moved.then_some(judgement))
        });
        judged.collect()
    }

    /// `true` if the counters were read when the clock of this direction of a member stopped. The
    /// clock of reading continues while the member reads back.
    fn tells(&self, member: &Member<'_>, direction: Direction) -> bool {
        let Some(stop) = self.stopped else {
            return true;
        };
        is_of(stop, member) && (direction == Direction::Write || !member.reads_back())
    }

    fn judge_trims(&self, member: &Member<'_>) -> Option<DirectionEvidence> {
        let measured = member.came.directions.trim.bytes;
        if measured == 0 {
            return None;
        }
        let moved = |member: &Member<'_>| member.came.moved_bytes.trim;
        let failed = self.members.iter().find_map(Member::trim_failure);
        let trims = Trims {
            of_all: self.members.iter().map(moved).sum(),
            of_member: moved(member),
            measured,
            not_judged: match failed {
                _ if self.not_judged.is_some() => {
                    self.not_judged.map(|why| translated(why).to_owned())
                }
                Some(error) => Some(tr!(
                    "a trim failed, and the device counts what failed too: {error}",
                    error
                )),
                None => None,
            },
        };
        let job = member.job();
        Some(self.case(&job, member.completed()).judge_trims(&trims))
    }

    /// Returns the traffic of all members in a direction.
    fn traffic(&self, direction: Direction) -> Traffic {
        let mut names = self.active(direction).map(|member| &member.stream.name);
        let first = names.next();
        // The copies that stopped do not represent the copies that continued.
        let all_here = |stop: &ClockStop| self.active(direction).all(|m| is_of(stop, m));
        let copies = names.all(|name| Some(name) == first) && self.stopped.is_none_or(all_here);
        Traffic {
            direction,
            bytes: self.active(direction).map(|m| m.moved(direction)).sum(),
            copies,
            in_time: self.share(
                direction,
                seen_in_time(&self.members, &self.evidence, self.stopped),
            ),
            at_end: self.share(direction, window_ns(&self.evidence)),
            needed: self.members.iter().map(Member::requests_needed).sum(),
            requests: self.requests(copies),
        }
    }

    /// Returns the share of the requests needed by random buffered reads that were made.
    fn requests(&self, copies: bool) -> Option<Share> {
        let job = self.job_of_all(Direction::Read);
        let members = || self.members.iter();
        let needed = members().map(Member::requests_needed).sum();
        let others = match copies {
            true => 0,
            false => members().map(Member::other_requests).sum(),
        };
        self.case(&job, true).share_of_requests(needed, others)
    }

    fn active(&self, direction: Direction) -> impl Iterator<Item = &Member<'a>> {
        let members = self.members.iter();
        members.filter(move |member| member.moved(direction) > 0)
    }

    /// Returns the device's share of the bytes that all members moved in a direction, by counters
    /// that are valid for `elapsed_ns` of the time between them.
    fn share(&self, direction: Direction, elapsed_ns: u64) -> Result<Share, String> {
        if let Some(why) = self.not_judged {
            return Err(translated(why).to_owned());
        }
        if direction == Direction::Write {
            let failure = self.members.iter().find_map(Member::write_failure);
            if let Some(error) = failure {
                return Err(failed_because(&error));
            }
        }
        let job = self.job_of_all(direction);
        let measured = Measurement {
            elapsed_ns,
            ..self.measured.clone()
        };
        let case = Case {
            measured: &measured,
            ..self.case(&job, self.active(direction).all(Member::completed))
        };
        match direction {
            Direction::Read => case.read_share(),
            Direction::Write => case.write_share(),
        }
    }

    /// Returns a job with the properties that hold for every member active in a direction.
    fn job_of_all(&self, direction: Direction) -> Job {
        let all = |holds: fn(&Member<'_>) -> bool| self.active(direction).all(holds);
        let synced = all(|member| member.sync != OpenSync::None);
        let durable = all(|member| member.is_durable());
        Job {
            direct: all(|member| member.is_direct()),
            sync: if synced {
                OpenSync::Dsync
            } else {
                OpenSync::None
            },
            flush: Flush {
                every: None,
                at_end: durable.then_some(FlushCall::Fsync),
            },
            numjobs: self.under_way_together(),
            ..Job::new("all", Rw::RandRw, Bytes(4096), Bytes(0))
        }
    }

    /// Returns the number of synchronous I/Os and flushes that may be in flight together, and may
    /// then share a flush of the device.
    fn under_way_together(&self) -> u32 {
        let each = self.members.iter().map(|member| {
            let synced = member.sync != OpenSync::None;
            if synced {
                member.stream.engine.iodepth
            } else {
                1
            }
        });
        each.fold(0, u32::saturating_add)
    }

    fn case<'b>(&'b self, job: &'b Job, completed: bool) -> Case<'b> {
        let mut case = Case {
            job,
            measured: &self.measured,
            evidence: &self.evidence,
            completed,
            database: None,
            cell: None,
            touched: Touched::directly(0),
            cached_by_others: 0,
        };
        let between = self.stopped.and_then(|stop| stop.between.as_ref());
        let passes = between.map_or(1, |between| between.times + 1);
        case.touched = super::of_all(&self.members, case.read_ahead_window(), passes);
        case
    }

    fn foreign(&self) -> Option<ForeignIo> {
        let job = Job {
            direct: self.members.iter().all(Member::is_direct),
            ..Job::new("all", Rw::RandRw, Bytes(4096), Bytes(0))
        };
        let case = self.case(&job, true);
        case.foreign()
    }

    fn judge_member(&self, member: &Member<'_>, all: &Traffic) -> Option<DirectionEvidence> {
        let bytes = member.came.directions[ddir(all.direction)].bytes;
        if bytes == 0 {
            return None;
        }
        let mut job = member.job();
        job.numjobs = self.under_way_together();
        let leaves_pages = all.direction == Direction::Write && member.leaves_pages();
        let share = if leaves_pages {
            &all.in_time
        } else {
            &all.at_end
        };
        let own = share.clone().map(|share| all.of_member(share, member));
        let blurred =
            !all.copies && matches!(&own, Ok(own) if own.place() == DataLocation::Unclear);
        let through_cache = self.members.iter().filter(|other| !other.is_direct());
        let others = through_cache.filter(|other| other.index != member.index);
        let case = Case {
            cached_by_others: others.map(Member::moved_both_ways).sum(),
            ..self.case(&job, member.completed())
        };
        let too_late = leaves_pages && case.counters_read_too_late();
        let mut judged = match all.direction {
            Direction::Read => case.judge_read(own, all.requests_of(member)),
            Direction::Write => case.judge_write(own),
        };
        if blurred && !too_late {
            judged.measured = Measured::unknown(translated(OF_OTHERS));
            judged.because = translated(OF_OTHERS).to_owned();
        }
        judged.job_bytes = bytes;
        if all.direction == Direction::Write && member.syncs_map() {
            judged.calls = CallEnd::Whole;
        }
        Some(judged)
    }
}

/// Traffic of the members in a direction.
struct Traffic {
    direction: Direction,
    bytes: u64,
    /// `true` if all members are copies of one job.
    copies: bool,
    /// The device's share when the members ended.
    in_time: Result<Share, String>,
    /// The share when the counters were read; equals `in_time` for members that leave nothing in
    /// the page cache.
    at_end: Result<Share, String>,
    /// Requests that random buffered reads need.
    needed: u64,
    /// Share of the needed requests that were made.
    requests: Option<Share>,
}

impl Traffic {
    /// Returns the share of one member.
    fn of_member(&self, all: Share, member: &Member<'_>) -> Share {
        if self.copies {
            return all;
        }
        all.of_part(member.moved(self.direction), self.bytes)
    }

    /// Returns the share of the requests needed by a member that were made.
    fn requests_of(&self, member: &Member<'_>) -> Option<Share> {
        let needed = member.requests_needed();
        let all = self.requests.filter(|_| needed > 0)?;
        Some(match self.copies {
            true => all,
            false => all.of_part(needed, self.needed),
        })
    }
}

/// Sums the members' traffic as one measurement: reads as random reads of pages, as many as they
/// request from the device; synchronous writes as flushes.
fn together(
    members: &[Member<'_>],
    evidence: &Evidence,
    stopped: Option<&ClockStop>,
) -> Measurement {
    let sum = |of: fn(&Member<'_>) -> u64| members.iter().map(of).fold(0, u64::saturating_add);
    let totals = |ios, bytes| DirectionTotals {
        ios,
        bytes,
        ..DirectionTotals::default()
    };
    let pages = sum(|member| member.pages_asked()).div_ceil(4096);
    let mut measured = Measurement {
        elapsed_ns: seen_in_time(members, evidence, stopped),
        read: totals(pages, sum(|member| member.moved(Direction::Read))),
        write: totals(0, sum(|member| member.moved(Direction::Write))),
        ..Measurement::default()
    };
    measured.flush.count = sum(|member| member.flush_calls());
    measured.cpu = members.iter().map(|member| member.came.cpu).sum();
    let unflushed = |member: &Member<'_>| match member.sync {
        OpenSync::None => member.came.unflushed_bytes,
        _ => Some(0),
    };
    let writers = members.iter().filter(|m| m.moved(Direction::Write) > 0);
    let left: Option<u64> = writers.map(unflushed).sum();
    measured.unflushed_bytes = left.filter(|_| measured.write.bytes > 0);
    measured
}

/// Returns the part of the time between the counters for which the counters are valid.
///
/// After a stream ends, the kernel continues to write back the pages that it left in the page
/// cache, until the last stream of the wave ends or the counters are read. The result is that of
/// the stream with the smallest part.
fn seen_in_time(members: &[Member<'_>], evidence: &Evidence, stopped: Option<&ClockStop>) -> u64 {
    let window = window_ns(evidence);
    let between = stopped.and_then(|stop| stop.between.as_ref());
    let between_ns = between.map_or(0, |between| between.elapsed_ns);
    let concerned = |member: &&Member<'_>| stopped.is_none_or(|stop| is_of(stop, member));
    let span = |member: &Member<'_>| {
        let (began, ended) = member.span_ns();
        (began, ended.saturating_sub(between_ns).max(began))
    };
    let spans = || members.iter().filter(concerned).map(span);
    let begin = spans().map(|(begin, _)| begin).min().unwrap_or(0);
    let end = spans().map(|(_, end)| end).max().unwrap_or(0);
    let around = window.saturating_sub(end.saturating_sub(begin));
    let in_memory = members.iter().filter(concerned);
    let in_memory = in_memory.filter(|member| member.leaves_pages());
    let worst = in_memory.map(|member| {
        let (began, ended) = span(member);
        let ran = u128::from(ended.saturating_sub(began));
        let late = u128::from(end.saturating_sub(ended)) + u128::from(around);
        let seen = (u128::from(window) * ran)
            .checked_div(ran + late)
            .unwrap_or(0);
        u64::try_from(seen).unwrap_or(window)
    });
    worst.min().unwrap_or(window)
}

fn is_of(stop: &ClockStop, member: &Member<'_>) -> bool {
    let mut streams = stop.streams.iter();
    streams.any(|&stream| usize::try_from(stream) == Ok(member.index))
}

/// Returns the time between the counters.
fn window_ns(evidence: &Evidence) -> u64 {
    evidence.after.at_ns.saturating_sub(evidence.before.at_ns)
}
