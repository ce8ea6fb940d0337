//! Order in which the streams of a wave read, and the part of the reads that the page cache can
//! have served.

use super::super::touched::{Touched, part_in_one_pass};
use super::ways::Member;
use assay_model::job::Direction;
use std::collections::BTreeMap;
use std::path::Path;

/// Regions of files as pairs of begin and end, sorted and disjoint.
type Regions<'a> = BTreeMap<&'a Path, Vec<(u64, u64)>>;

/// Returns the bounds for the reads of all members. The kernel reads at most `ahead` bytes ahead of
/// a sequential read. Each member began `passes` passes for which the cached bytes are known.
pub(super) fn of_all(members: &[Member<'_>], ahead: Option<u64>, passes: u64) -> Touched {
    let readers: Vec<&Member<'_>> = members
        .iter()
        .filter(|member| member.moved(Direction::Read) > 0)
        .collect();
    if readers.iter().all(|member| member.is_direct()) {
        let bytes = readers.iter().map(|member| member.moved(Direction::Read));
        return Touched::directly(bytes.sum());
    }
    Touched {
        first: first_touched(members, &readers, passes),
        unasked: unasked(&readers, ahead, passes),
        apart: apart(&readers),
    }
}

/// Returns the bytes that no earlier read had asked for. A member that reads or writes the same
/// parts of a file as another one may find its pages in the page cache.
fn first_touched(members: &[Member<'_>], readers: &[&Member<'_>], passes: u64) -> u64 {
    let mut covered = Regions::new();
    for member in members.iter().filter(|member| !member.is_direct()) {
        let writes_only = member.moved(Direction::Read) == 0;
        if writes_only && member.moved(Direction::Write) > 0 {
            cover(&mut covered, member);
        }
    }
    let (mut sum, mut largest, mut random) = (0_u64, 0, true);
    for member in readers {
        let own = first_of(member, passes);
        if member.is_direct() {
            sum = sum.saturating_add(own);
            continue;
        }
        // Shared pages of random readers show in the number of requests they need.
        let in_random_order = member.stream.blocks.rw.random;
        random &= in_random_order;
        let before = length(&covered);
        cover(&mut covered, member);
        let new = length(&covered) - before;
        let shared = match in_random_order {
            true => 0,
            false => length_of(member).saturating_sub(new).saturating_mul(passes),
        };
        sum = sum.saturating_add(own.saturating_sub(shared));
        largest = largest.max(own);
    }
    let all = length(&covered).saturating_mul(passes);
    match random && all > 0 {
        true => sum.min(all),
        false => sum.max(largest),
    }
}

/// Returns the bytes that a member alone read for the first time.
fn first_of(member: &Member<'_>, passes: u64) -> u64 {
    let read = member.moved(Direction::Read);
    if member.is_direct() {
        return read;
    }
    let region = distinct(member);
    let written = match member.stream.blocks.rw.random {
        true => 0,
        false => member.moved(Direction::Write),
    };
    let passed = read.saturating_add(written);
    part_in_one_pass(read, passed, region.saturating_mul(passes))
}

/// Returns the bytes of its region that a member touches in one pass, without those that it skips.
fn distinct(member: &Member<'_>) -> u64 {
    let region = match length_of(member) {
        0 => member.pass_bytes(),
        region => region,
    };
    let skip = member.stream.blocks.rw.skip_bytes;
    let Some(block) = member.mean_read().filter(|_| skip != 0) else {
        return region.max(1);
    };
    let step = i128::from(block) + i128::from(skip);
    let step = step.unsigned_abs();
    if step == 0 {
        return block;
    }
    let part = u128::from(region) * u128::from(block) / step.max(u128::from(block));
    u64::try_from(part).unwrap_or(region).max(1)
}

/// Returns the most bytes that the kernel fetched although no read asked for them.
fn unasked(readers: &[&Member<'_>], ahead: Option<u64>, passes: u64) -> u64 {
    let buffered = || readers.iter().filter(|member| !member.is_direct());
    let in_order = |member: &Member<'_>| {
        let blocks = &member.stream.blocks;
        !blocks.rw.random && blocks.rw.skip_bytes == 0 && member.stream.region.zones.is_none()
    };
    let known = buffered().all(|member| in_order(member) && !member.came.regions.is_empty());
    let (Some(ahead), true) = (ahead, known) else {
        return u64::MAX;
    };
    let mut covered = Regions::new();
    let mut sizes: BTreeMap<&Path, u64> = BTreeMap::new();
    let mut windows = 0_u64;
    for member in buffered() {
        cover(&mut covered, member);
        for (path, size) in &member.came.files {
            sizes.insert(path, size.0);
        }
        let region = length_of(member).max(1);
        let moved = member.moved(Direction::Read) + member.moved(Direction::Write);
        let runs = moved.div_ceil(region).max(passes);
        let files = member.came.regions.len() as u64;
        windows = windows.saturating_add(ahead.saturating_mul(runs.saturating_mul(files)));
    }
    let files: u64 = sizes.values().sum();
    let beyond = files.saturating_sub(length(&covered));
    windows.min(beyond.saturating_mul(passes.max(1)))
}

/// Returns the size of the reads if it is the same for all and no read follows the previous one.
fn apart(readers: &[&Member<'_>]) -> Option<u64> {
    let buffered = || readers.iter().filter(|member| !member.is_direct());
    let sizes = buffered().map(|member| {
        let blocks = &member.stream.blocks;
        let skips = !blocks.rw.random && blocks.rw.skip_bytes != 0;
        let random = blocks.rw.random && member.requests_needed() == member.reads();
        (random || skips).then(|| member.mean_read()).flatten()
    });
    let sizes: Option<Vec<u64>> = sizes.collect();
    let sizes = sizes?;
    let first = *sizes.first()?;
    sizes.iter().all(|size| *size == first).then_some(first)
}

fn cover<'a>(covered: &mut Regions<'a>, member: &Member<'a>) {
    for ((path, _), region) in member.came.files.iter().zip(&member.came.regions) {
        let parts = covered.entry(path).or_default();
        parts.push((region.offset, region.offset.saturating_add(region.length)));
        parts.sort_unstable();
        let mut apart: Vec<(u64, u64)> = Vec::with_capacity(parts.len());
        for &(begin, end) in parts.iter() {
            match apart.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => apart.push((begin, end)),
            }
        }
        *parts = apart;
    }
}

fn length(covered: &Regions<'_>) -> u64 {
    let parts = covered.values().flatten();
    parts.map(|(begin, end)| end - begin).sum()
}

fn length_of(member: &Member<'_>) -> u64 {
    member.came.regions.iter().map(|region| region.length).sum()
}
