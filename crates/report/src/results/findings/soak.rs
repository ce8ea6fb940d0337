//! Describes a soak: whether every block retained its data, the rate, and the used life of the
//! device.

use crate::results::describe;
use crate::results::findings::{Sentence, Topic};
use crate::results::summary::Summary;
use crate::words::{clean, quantity};
use assay_lang::{counted, tr};
use assay_model::act::soak::{Fault, Health, HeldContent, SoakStep, Stretch};
use assay_model::figures::Unit;
use assay_model::run::RunStatus;
use assay_model::trial::{Gap, Measurement, Series, TrialRecord};
use assay_model::units::{Bytes, Nanos};
use assay_stats::course::Course;

/// Maximum number of rates in a line: parts of the time, or fill levels.
const PARTS: usize = 10;
/// Maximum number of faults to list.
const FAULTS_LISTED: usize = 16;

/// Returns the findings of a soak; empty for other runs.
pub fn topics(summary: &Summary<'_>) -> Vec<Topic> {
    let steps = steps(summary);
    let Some((_, last)) = steps.last() else {
        return Vec::new();
    };
    let mut result = vec![verdict(summary, last)];
    result.extend(faults(&steps));
    result.extend(counters(&steps, last).into_iter().map(Sentence::plain));
    let rates = rates(&steps).into_iter().chain(temperature(&steps));
    let rates = rates.map(Sentence::plain).collect();
    let health = health(summary, &steps);
    let health = health.into_iter().map(Sentence::plain).collect();
    let all = [
        Topic::of_run("soak", tr!("Soak"), result),
        Topic::of_run("soak-rate", tr!("Rate over time and fill level"), rates),
        Topic::of_run("life", tr!("Life of the device"), health),
    ];
    all.into_iter().flatten().collect()
}

/// Answers whether errors were found, how much was written, and how much of the device's life that
/// used; `None` if the run is no soak.
pub fn answer(summary: &Summary<'_>) -> Option<Sentence> {
    let steps = steps(summary);
    let (_, last) = steps.last()?;
    let state = &last.checkpoint;
    let errors = state.faults + state.errors + state.memory_flips;
    let found = match errors {
        0 if is_whole(summary, last) => tr!("No errors").to_owned(),
        0 => tr!("No errors so far").to_owned(),
        errors => tr!("ERRORS FOUND: {errors}", errors),
    };
    let (before, after) = healths(summary, &steps);
    let wear = match (before, after) {
        (None, None) => tr!("wear unknown").to_owned(),
        (before, after) => tr!(
            "wear before: {before}; after: {after}",
            before = health_in_words(before.as_ref()),
            after = health_in_words(after.as_ref())
        ),
    };
    let text = tr!(
        "{found}: {written} written, {verified} read back in {time}; {wear}",
        found,
        written = Bytes(state.written_bytes),
        verified = Bytes(state.verified_bytes),
        time = Nanos(state.elapsed_ns),
        wear
    );
    Some(Sentence {
        bad: errors > 0,
        text,
    })
}

/// Returns true if the soak reached its end, and the whole area was checked then.
fn is_whole(summary: &Summary<'_>, last: &SoakStep) -> bool {
    summary.run.status == RunStatus::Finished && last.of == Stretch::Checking
}

/// Step with its trial.
pub(crate) type SoakTrial<'a> = (&'a TrialRecord, &'a SoakStep);

/// Returns the steps of a soak, in their order; empty for other runs.
pub(crate) fn steps<'a>(summary: &Summary<'a>) -> Vec<SoakTrial<'a>> {
    let trials = summary.run.trials.iter();
    let soak = |trial: &'a TrialRecord| Some((trial, trial.detail.as_deref()?.soak()?));
    trials.filter_map(soak).collect()
}

/// Returns the main result in a sentence.
fn verdict(summary: &Summary<'_>, last: &SoakStep) -> Sentence {
    let state = &last.checkpoint;
    let (verified, written) = (Bytes(state.verified_bytes), Bytes(state.written_bytes));
    let time = Nanos(state.elapsed_ns);
    let bad = state.faults + state.errors + state.memory_flips > 0;
    let text = match (bad, is_whole(summary, last)) {
        (false, true) => tr!(
            "no error found in {verified} that were read back and compared; {written} written in {time}, and all of the area checked at the end",
            verified,
            written,
            time
        ),
        (false, false) => tr!(
            "no error found so far in {verified} that were read back and compared; {written} written in {time}; the soak is not over, and what was written last is not checked yet",
            verified,
            written,
            time
        ),
        (true, _) => tr!(
            "ERRORS FOUND: {faults} did not hold what had been written, {errors} failed, {flips} of memory wrong; {verified} read back and compared, {written} written in {time}",
            faults = counted!(state.faults, "{n} block", "{n} blocks"),
            errors = counted!(state.errors, "{n} I/O", "{n} I/Os"),
            flips = counted!(state.memory_flips, "{n} word", "{n} words"),
            verified,
            written,
            time
        ),
    };
    Sentence { bad, text }
}

/// Describes each block whose data differed.
fn faults(steps: &[SoakTrial<'_>]) -> Vec<Sentence> {
    let faults = steps.iter().flat_map(|(_, step)| &step.faults);
    let line = |fault| Sentence {
        bad: true,
        text: of_fault(fault),
    };
    let mut lines: Vec<Sentence> = faults.clone().take(FAULTS_LISTED).map(line).collect();
    let more = faults.count().saturating_sub(FAULTS_LISTED);
    if more > 0 {
        let more = counted!(more, "{n} block", "{n} blocks");
        let text = tr!("and {more} more", more);
        lines.push(Sentence { bad: true, text });
    }
    lines
}

fn of_fault(fault: &Fault) -> String {
    tr!(
        "block {block} at offset {offset} should hold write {expected}, and {held}; {bytes} from byte {first} on",
        block = fault.block,
        offset = fault.offset,
        expected = fault.expected,
        held = held(fault),
        bytes = counted!(
            fault.differing_bytes,
            "{n} byte differs",
            "{n} bytes differ"
        ),
        first = fault.first_byte
    )
}

fn held(fault: &Fault) -> String {
    match fault.found {
        HeldContent::Stale { number } => tr!("is stale: it holds write {number}", number),
        HeldContent::Torn {
            new_sectors,
            sectors,
        } => tr!(
            "is torn: {new} of its {sectors} sectors are of that write",
            new = new_sectors,
            sectors
        ),
        HeldContent::Misplaced { block } => tr!("holds what belongs to block {block}", block),
        HeldContent::Zeros => tr!("is all zeros").to_owned(),
        HeldContent::Flipped { bits } => tr!(
            "has {bits} wrong",
            bits = counted!(bits, "{n} bit", "{n} bits")
        ),
        HeldContent::Foreign => tr!("holds what assay never wrote").to_owned(),
        HeldContent::Unreadable { errno } => match errno {
            Some(errno) => tr!("cannot be read (errno {errno})", errno),
            None => tr!("cannot be read").to_owned(),
        },
    }
}

fn counters(steps: &[SoakTrial<'_>], last: &SoakStep) -> Vec<String> {
    let state = &last.checkpoint;
    let passes = state.written_bytes / last.area_bytes.max(1);
    let mut lines = vec![tr!(
        "{area} written {passes} times, {filled} of it at least once; {checkpoints}",
        area = Bytes(last.area_bytes),
        passes,
        filled = Bytes(last.filled_bytes),
        checkpoints = counted!(steps.len(), "{n} checkpoint", "{n} checkpoints")
    )];
    for (_, step) in steps {
        if let Stretch::Resuming {
            newer_writes,
            interrupted_blocks,
        } = step.of
        {
            lines.push(tr!(
                "resumed: {newer} after the last checkpoint were found and count as written; {interrupted} held an incomplete write",
                newer = counted!(newer_writes, "{n} write", "{n} writes"),
                interrupted = counted!(interrupted_blocks, "{n} block", "{n} blocks")
            ));
        }
    }
    if state.memory_bytes > 0 {
        lines.push(tr!(
            "memory test during the soak: {moved} written and read back, {flips} wrong",
            moved = Bytes(state.memory_bytes),
            flips = counted!(state.memory_flips, "{n} word", "{n} words")
        ));
    }
    lines
}

/// Joins the writing stretches to one measurement of their complete intervals. The last interval of
/// a stretch is shorter and left out. Returns `None` without such a stretch.
pub(crate) fn together(steps: &[SoakTrial<'_>]) -> Option<Measurement> {
    let mut whole: Option<Measurement> = None;
    for one in writing_steps(steps).filter_map(|(trial, _)| trial.measured.as_ref()) {
        let Series {
            interval_ns,
            points,
        } = &one.series;
        let intervals = whole_intervals(one);
        let whole = whole.get_or_insert_with(|| Measurement {
            series: Series {
                interval_ns: *interval_ns,
                points: Vec::new(),
            },
            ..Measurement::default()
        });
        if whole.series.interval_ns == *interval_ns {
            let later = one.longest_gap.map(|gap| Gap {
                start_ns: whole.elapsed_ns + gap.start_ns,
                ..gap
            });
            let gaps = whole.longest_gap.into_iter().chain(later);
            whole.longest_gap = gaps.max_by_key(|gap| gap.length_ns);
            whole.flush.count += one.flush.count;
            whole.series.points.extend(&points[..intervals]);
            whole.elapsed_ns += interval_ns * intervals as u64;
        }
    }
    whole.filter(|whole| !whole.series.points.is_empty())
}

fn writing_steps<'s, 'a>(steps: &'s [SoakTrial<'a>]) -> impl Iterator<Item = &'s SoakTrial<'a>> {
    let writes = |(_, step): &&SoakTrial<'_>| step.of == Stretch::Writing;
    steps.iter().filter(writes)
}

fn whole_intervals(measured: &Measurement) -> usize {
    let whole = measured.elapsed_ns.checked_div(measured.series.interval_ns);
    let whole = usize::try_from(whole.unwrap_or(0)).unwrap_or(usize::MAX);
    whole.min(measured.series.points.len())
}

/// Returns each writing stretch with its end on the time axis of [`together`], in seconds.
pub(crate) fn ends<'a>(steps: &[SoakTrial<'a>]) -> Vec<(f64, SoakTrial<'a>)> {
    let mut end_s = 0.0;
    let all = writing_steps(steps).filter_map(|step| {
        let measured = step.0.measured.as_ref()?;
        let whole = whole_intervals(measured);
        end_s += Nanos(measured.series.interval_ns).as_secs_f64() * whole as f64;
        Some((end_s, *step))
    });
    all.collect()
}

fn rates(steps: &[SoakTrial<'_>]) -> Vec<String> {
    let whole = together(steps);
    let mut lines = Vec::new();
    lines.extend(whole.as_ref().and_then(by_time));
    lines.extend(by_fill(steps));
    if let Some(course) = whole.as_ref().and_then(Course::of) {
        let mut words = vec![describe::levels(&course.levels), describe::stalls(&course)];
        words.retain(|sentence| !sentence.is_empty());
        lines.push(tr!(
            "cliffs (reads and writes together): {words}",
            words = words.join("; ")
        ));
    }
    lines
}

/// Describes the write rates in equal parts of the time.
fn by_time(whole: &Measurement) -> Option<String> {
    let points = &whole.series.points;
    let parts = points.chunks(points.len().div_ceil(PARTS).max(1));
    let seconds = |count: usize| count as f64 * whole.series.interval_ns as f64 / 1e9;
    let rates: Vec<String> = parts
        .map(|part| {
            let bytes: u64 = part.iter().map(|point| point.write_bytes).sum();
            quantity(Unit::BytesPerSec, bytes as f64 / seconds(part.len()))
        })
        .collect();
    (rates.len() > 1).then(|| {
        tr!(
            "writes, in {n} equal parts of the time: {rates}",
            n = rates.len(),
            rates = rates.join(", ")
        )
    })
}

/// Describes the write rates while the area is written for the first time.
fn by_fill(steps: &[SoakTrial<'_>]) -> Option<String> {
    let mut filled = 0;
    let mut words = Vec::new();
    for (trial, step) in writing_steps(steps) {
        if filled < step.area_bytes {
            let measured = trial.measured.as_ref()?;
            let rate = measured.write.bytes as f64 * 1e9 / measured.elapsed_ns.max(1) as f64;
            let share = 100 * step.filled_bytes / step.area_bytes.max(1);
            words.push(format!("{share} %: {}", quantity(Unit::BytesPerSec, rate)));
            filled = step.filled_bytes;
        }
    }
    // A few values of a long list are enough.
    let every = words.len().div_ceil(PARTS).max(1);
    let some: Vec<String> = words.into_iter().step_by(every).collect();
    (!some.is_empty()).then(|| {
        tr!(
            "writes by how much of the area was filled: {some}",
            some = some.join(", ")
        )
    })
}

/// Describes the hottest thermal zone at the beginning, at the end and at its maximum.
fn temperature(steps: &[SoakTrial<'_>]) -> Option<String> {
    let zones = steps
        .iter()
        .filter_map(|(trial, _)| trial.evidence.as_ref());
    let hottest = zones.filter_map(|evidence| {
        let zones = evidence.after.thermal.iter();
        zones.map(|zone| zone.millicelsius).max()
    });
    let all: Vec<i64> = hottest.collect();
    let celsius = crate::words::celsius;
    Some(tr!(
        "hottest thermal zone: {first} after the first stretch, {last} after the last, {most} at most",
        first = celsius(*all.first()?),
        last = celsius(*all.last()?),
        most = celsius(*all.iter().max()?)
    ))
}

/// Returns the health that the device reported before and after the soak.
fn healths(summary: &Summary<'_>, steps: &[SoakTrial<'_>]) -> (Option<Health>, Option<Health>) {
    let before = summary.run.header.storage.device();
    let before = before.and_then(|layer| Health::of(&layer.identity));
    let after = steps.iter().rev().find_map(|(_, step)| step.health.clone());
    (before, after)
}

/// Describes the health before and after the soak.
fn health(summary: &Summary<'_>, steps: &[SoakTrial<'_>]) -> Vec<String> {
    match healths(summary, steps) {
        (None, None) => vec![tr!("the device does not report its wear").to_owned()],
        (before, after) => [(tr!("before"), before), (tr!("after"), after)]
            .into_iter()
            .map(|(when, health)| format!("{when}: {}", health_in_words(health.as_ref())))
            .collect(),
    }
}

fn health_in_words(health: Option<&Health>) -> String {
    use assay_model::device::register::{NVME_SMART, SmartLog, from_hex};
    let life = health.and_then(|health| health.life_time.as_deref());
    let life = life.map(|life| tr!("life time used {life}", life = clean(life)));
    let reserves = health.and_then(|health| health.pre_eol.as_deref());
    let reserves = reserves.map(|level| tr!("reserved blocks {level}", level = clean(level)));
    let mut words: Vec<String> = [life, reserves].into_iter().flatten().collect();
    let log = health.and_then(|health| from_hex(health.raw.get(NVME_SMART)?));
    if let Some(log) = log.as_deref().and_then(SmartLog::parse) {
        words.push(tr!(
            "{used} % of its life used, {spare} % spare, {written} written in all, media errors: {errors}",
            used = log.used_percent(),
            spare = log.spare_percent().0,
            written = log.written(),
            errors = log.media_errors()
        ));
    }
    match words.is_empty() {
        true => tr!("unknown").to_owned(),
        false => words.join(", "),
    }
}
