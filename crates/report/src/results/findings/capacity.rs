//! Describes the results of filling, checking or probing.

use crate::results::findings::{Finding, Sentence};
use crate::results::summary::Summary;
use crate::words::clean;
use assay_lang::{counted, tr};
use assay_model::act::StepDetail;
use assay_model::act::capacity::{
    CapacityPart, CapacityStep, Counts, Probed, ProbedKind, SECTOR_BYTES, Tally,
};
use assay_model::run::Run;
use assay_model::units::Bytes;

/// Maximum number of files with differences to name.
const FILES_NAMED: usize = 10;
/// Divisor: a fake has at least this part of all sectors in the wrong place.
const MANY: u64 = 100;
/// Divisor: a fake loses more than this part of all sectors; a worn device loses less.
const FEW: u64 = 10;
/// Maximum number of runs of displaced sectors to list.
const ALIASES_NAMED: usize = 3;

fn steps(run: &Run) -> impl DoubleEndedIterator<Item = &CapacityStep> {
    let trials = run.trials.iter();
    trials.filter_map(|trial| match trial.detail.as_deref() {
        Some(StepDetail::Capacity(step)) => Some(step),
        _ => None,
    })
}

/// Returns the last step of a run that read data back.
pub(crate) fn last_checked(run: &Run) -> Option<&CapacityStep> {
    steps(run).rfind(|step| step.probed.is_some() || step.total().is_some())
}

/// Conclusion of a check of the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityVerdict {
    /// No sign of less than is claimed.
    Holds,
    /// Data was lost or displaced.
    Fails,
    /// Too little was checked.
    NotKnown,
}

/// Answers whether the storage has the capacity that it claims; `None` if the run tested no capacity.
pub fn answer(summary: &Summary<'_>) -> Option<Sentence> {
    let (text, verdict) = concluded(summary.run)?;
    let mut steps = steps(summary.run);
    Some(Sentence {
        bad: verdict == CapacityVerdict::Fails || steps.any(CapacityStep::differs),
        text,
    })
}

/// Concludes whether the storage has the capacity that it claims, in words as well; `None` if the run
/// tested no capacity.
pub fn concluded(run: &Run) -> Option<(String, CapacityVerdict)> {
    let last = steps(run).rfind(|step| step.probed.is_some() || !step.parts.is_empty())?;
    let bad = steps(run).find(|step| step.differs());
    let decisive = bad.or_else(|| last_checked(run));
    let step = decisive.unwrap_or(last);
    let storage = &run.header.storage;
    let claimed = storage.device().and_then(|device| device.size);
    let claimed = claimed.or(storage.total);
    let text = match (&step.probed, step.total()) {
        (Some(probed), _) if probed.of_free_space => free_space_answer(probed, claimed),
        (Some(probed), _) => probe_answer(probed),
        (None, Some(found)) if step.differs() && has_no_test_data(run, &found) => {
            tr!("Not known: no test data was found. It was never filled, or it kept nothing")
                .to_owned()
        }
        (None, Some(found)) if step.differs() => defect(&found),
        (None, Some(found)) => held(found.bytes(), claimed),
        (None, None) => tr!(
            "Not known yet: {bytes} written and not checked; --verify-only checks them",
            bytes = Bytes(step.parts.iter().map(|part| part.bytes).sum())
        ),
    };
    let checked = match (&step.probed, step.total()) {
        (Some(probed), _) => probed.announced_bytes,
        (None, Some(found)) => found.bytes(),
        (None, None) => 0,
    };
    let no_data = |found: Tally| step.differs() && has_no_test_data(run, &found);
    let verdict = match step.differs() {
        true if step.total().is_some_and(no_data) => CapacityVerdict::NotKnown,
        true => CapacityVerdict::Fails,
        false if checked == 0 || is_less_than_half(checked, claimed) => CapacityVerdict::NotKnown,
        false => CapacityVerdict::Holds,
    };
    Some((text, verdict))
}

/// Returns true if too little was checked for a conclusion.
fn is_less_than_half(checked: u64, claimed: Option<Bytes>) -> bool {
    claimed.is_some_and(|claimed| checked < claimed.0 / 2)
}

/// Describes a check without differences.
fn held(checked: u64, claimed: Option<Bytes>) -> String {
    match claimed {
        // A file system needs a little space itself.
        Some(claimed) if checked >= claimed.0 - claimed.0 / 100 => {
            tr!("Genuine: holds the {claimed} it claims", claimed)
        }
        Some(claimed) if is_less_than_half(checked, Some(claimed)) => tr!(
            "Not known: all {checked} that were checked hold their data, less than half of the {claimed} it claims",
            checked = Bytes(checked),
            claimed
        ),
        Some(claimed) => tr!(
            "No sign of a fake: all {checked} that were checked hold their data; it claims {claimed}",
            checked = Bytes(checked),
            claimed
        ),
        None => tr!(
            "No sign of a fake: all {checked} that were checked hold their data",
            checked = Bytes(checked)
        ),
    }
}

/// Returns true if the run wrote nothing and found no data of assay, f3 or H2testw.
fn has_no_test_data(run: &Run, found: &Tally) -> bool {
    let sectors = &found.sectors;
    let mut parts = steps(run).flat_map(|step| &step.parts);
    parts.all(|part| part.found.is_some())
        && sectors.corrupted > 0
        && sectors.corrupted + sectors.unreadable == sectors.all()
}

fn defect(found: &Tally) -> String {
    let sectors = &found.sectors;
    if sectors.unreadable > 0 && sectors.unreadable == sectors.all() {
        return tr!(
            "Unreadable: nothing of {all} could be read",
            all = Bytes(found.bytes())
        );
    }
    let holds = of_all(found.held_bytes(), found.bytes());
    match (is_fake(found), found.all_ok()) {
        (true, _) => tr!("Fake: holds {holds}", holds),
        (false, true) => {
            tr!("Data lost: what is there is correct, but files are missing or too short")
                .to_owned()
        }
        (false, false) if found.sectors.bad() < found.sectors.all() / FEW => {
            tr!("Defective: holds {holds}", holds)
        }
        (false, false) => tr!("Fake or defective: holds {holds}", holds),
    }
}

/// Formats a share of bytes: `7.4 of 59.6 GiB`.
fn of_all(held: u64, all: u64) -> String {
    let (held, all) = (Bytes(held).to_string(), Bytes(all).to_string());
    let unit = all.find(' ').map_or("", |at| &all[at..]);
    let held = held.strip_suffix(unit).unwrap_or(&held);
    tr!("{held} of {all}", held, all)
}

/// Returns true if the storage is a fake; a few sectors in the wrong place are not enough.
fn is_fake(found: &Tally) -> bool {
    let sectors = &found.sectors;
    found.shortest_alias.is_some() && sectors.overwritten >= sectors.all() / MANY
}

fn probe_answer(probed: &Probed) -> String {
    let says = probed.announced_bytes;
    match probed.kind {
        ProbedKind::Good if probed.is_good() => tr!(
            "No sign of a fake: {places} probed over {says}, and each holds its data",
            places = counted!(probed.blocks_written, "{n} place", "{n} places"),
            says = Bytes(says)
        ),
        ProbedKind::Good => {
            tr!("No sign of a fake, but some blocks could not be read or put back").to_owned()
        }
        ProbedKind::Limbo { real_bytes }
        | ProbedKind::Wraparound { real_bytes }
        | ProbedKind::Chain { real_bytes, .. } => {
            tr!("Fake: holds {holds}", holds = of_all(real_bytes, says))
        }
        ProbedKind::Damaged => tr!(
            "Defective: {blocks} of {says} do not hold their data",
            blocks = counted!(probed.lost, "{n} block", "{n} blocks"),
            says = Bytes(says)
        ),
        ProbedKind::Dead => tr!("Dead: no block that was written came back").to_owned(),
    }
}

/// Answers by a probe of the free space of a file system. No real size is known: the blocks are
/// those of a file.
fn free_space_answer(probed: &Probed, claimed: Option<Bytes>) -> String {
    let says = Bytes(probed.announced_bytes);
    let places = counted!(probed.blocks_written, "{n} place", "{n} places");
    match (probed.kind, claimed) {
        (ProbedKind::Good, Some(claimed))
            if probed.is_good() && is_less_than_half(says.0, Some(claimed)) =>
        {
            tr!(
                "Not known: {places} probed over {says} of free space hold their data, less than half of the {claimed} it claims",
                places,
                says,
                claimed
            )
        }
        (ProbedKind::Good, _) if probed.is_good() => tr!(
            "No sign of a fake: {places} probed over {says} of free space, and each holds its data",
            places,
            says
        ),
        (ProbedKind::Good | ProbedKind::Dead, _) => probe_answer(probed),
        _ if probed.displaced == 0 => tr!(
            "Fake or defective: {lost} of {places} probed in the free space do not hold their data",
            lost = probed.lost,
            places
        ),
        _ => tr!(
            "Fake: {lost} of {places} probed in the free space do not hold their data",
            lost = probed.lost,
            places
        ),
    }
}

/// Returns the result of a step; `None` if it neither wrote nor read.
pub fn finding(step: &CapacityStep) -> Option<Finding> {
    let lines = match (&step.probed, step.total()) {
        (Some(probed), _) => of_probe(probed),
        (None, Some(found)) => of_check(step, &found),
        (None, None) => of_writing(step)?,
    };
    Some(Finding::concluding(step.differs(), lines))
}

fn of_writing(step: &CapacityStep) -> Option<Vec<String>> {
    let bytes = step.parts.iter().map(|part| part.bytes).sum();
    let (first, last) = (step.parts.first()?, step.parts.last()?);
    let names = if step.parts.len() == 1 {
        clean(&first.name)
    } else {
        tr!(
            "{first} to {last}",
            first = clean(&first.name),
            last = clean(&last.name)
        )
    };
    Some(vec![tr!(
        "wrote {bytes} to {names}",
        bytes = Bytes(bytes),
        names
    )])
}

fn of_check(step: &CapacityStep, found: &Tally) -> Vec<String> {
    let sectors = &found.sectors;
    let mut lines = Vec::new();
    if !step.differs() {
        return vec![tr!(
            "all of {bytes} is as it was written: {sectors} sectors",
            bytes = Bytes(found.bytes()),
            sectors = sectors.ok
        )];
    }
    let held = Bytes(found.held_bytes());
    lines.push(match found.all_ok() {
        true => tr!(
            "{held} OK, but not all that was written is there: DATA LOST",
            held
        ),
        false => tr!(
            "{held} OK, {lost} DATA LOST: {classes}",
            held,
            lost = Bytes(sectors.bad() * SECTOR_BYTES),
            classes = classes(sectors)
        ),
    });
    if let Some(at) = found.first_bad {
        lines.push(tr!(
            "the first difference is at offset {at}{place}",
            at,
            place = place(step, at)
        ));
    }
    for alias in found.aliases.iter().take(ALIASES_NAMED) {
        lines.push(tr!(
            "offset {offset} holds the data of offset {of}, for {bytes}",
            offset = alias.offset,
            of = alias.belongs_to,
            bytes = Bytes(alias.bytes)
        ));
    }
    if let Some(distance) = found.shortest_alias.filter(|_| is_fake(found)) {
        lines.push(tr!("storage that repeats itself every {distance} would look like this: it is likely to be a fake", distance = Bytes(distance)));
    }
    if !step.missing.is_empty() {
        let some: Vec<&str> = step
            .missing
            .iter()
            .take(FILES_NAMED)
            .map(String::as_str)
            .collect();
        let missing = step.missing_files.max(step.missing.len() as u64);
        let more = if missing > some.len() as u64 {
            ", ..."
        } else {
            ""
        };
        lines.push(tr!(
            "{files} missing: {names}{more}",
            files = counted!(missing, "{n} file", "{n} files"),
            names = clean(&some.join(", ")),
            more
        ));
    }
    lines.extend(step.short.iter().take(FILES_NAMED).map(|file| {
        tr!(
            "{name} is too short: {bytes} bytes of {least} or more",
            name = clean(&file.name),
            bytes = file.bytes,
            least = file.least_bytes
        )
    }));
    lines.extend(of_files(&step.parts));
    lines
}

/// Lists the non-empty classes of f3read.
fn classes(sectors: &Counts) -> String {
    let named = [
        (tr!("overwritten"), sectors.overwritten),
        (tr!("corrupted"), sectors.corrupted),
        (tr!("changed"), sectors.changed),
        (tr!("unreadable"), sectors.unreadable),
    ];
    let some = named.into_iter().filter(|(_, sectors)| *sectors > 0);
    let words: Vec<String> = some
        .enumerate()
        .map(|(index, (class, sectors))| match index {
            0 => counted!(sectors, "{n} sector {class}", "{n} sectors {class}", class),
            _ => format!("{sectors} {class}"),
        })
        .collect();
    words.join(", ")
}

/// Names the file at an offset.
fn place(step: &CapacityStep, at: u64) -> String {
    let within = |part: &&CapacityPart| (part.offset..part.offset + part.bytes).contains(&at);
    match step.parts.iter().find(within) {
        Some(part) if step.parts.len() > 1 => tr!(
            " ({name}, byte {byte})",
            name = clean(&part.name),
            byte = at - part.offset
        ),
        _ => String::new(),
    }
}

fn of_files(parts: &[CapacityPart]) -> Vec<String> {
    if parts.len() < 2 {
        return Vec::new();
    }
    let bad = parts.iter().filter_map(|part| {
        let found = part.found.as_ref().filter(|found| !found.all_ok())?;
        let (name, sectors) = (clean(&part.name), &found.sectors);
        Some(tr!(
            "{name}: {ok} ok, {classes}",
            name,
            ok = sectors.ok,
            classes = classes(sectors)
        ))
    });
    let mut lines: Vec<String> = bad.collect();
    let more = lines.len().saturating_sub(FILES_NAMED);
    lines.truncate(FILES_NAMED);
    if more > 0 {
        lines.push(tr!(
            "and {files} more",
            files = counted!(more, "{n} file", "{n} files")
        ));
    }
    lines
}

fn of_probe(probed: &Probed) -> Vec<String> {
    let says = Bytes(probed.announced_bytes);
    let conclusion = match probed.kind {
        kind if probed.of_free_space && !matches!(kind, ProbedKind::Good | ProbedKind::Dead) => {
            tr!(
                "DATA LOST: {lost} do not hold their data, of {displaced} the data is that of another one",
                lost = counted!(probed.lost, "{n} block", "{n} blocks"),
                displaced = probed.displaced
            )
        }
        ProbedKind::Good => tr!(
            "no sign of a fake: every block probed over {says} holds its data",
            says
        ),
        ProbedKind::Limbo { real_bytes } => tr!(
            "FAKE (limbo): it says {says} and holds {real}; what is written beyond is lost",
            says,
            real = Bytes(real_bytes)
        ),
        ProbedKind::Wraparound { real_bytes } => tr!(
            "FAKE (wraparound): it says {says} and holds {real}; writes beyond {real} overwrite the start",
            says,
            real = Bytes(real_bytes)
        ),
        ProbedKind::Chain {
            real_bytes,
            wraps_at,
        } => tr!(
            "FAKE (chain): it says {says} and holds {real}; addresses repeat every {distance}",
            says,
            real = Bytes(real_bytes),
            distance = Bytes(wraps_at)
        ),
        ProbedKind::Damaged => tr!(
            "DAMAGED: {blocks} of {says} do not hold their data, here and there: fill it to find all of them",
            blocks = counted!(probed.lost, "{n} block", "{n} blocks"),
            says
        ),
        ProbedKind::Dead => tr!("DEAD: no block that was written came back").to_owned(),
    };
    let written = Bytes(probed.blocks_written * probed.block_bytes);
    let put_back = match probed.not_restored.is_empty() {
        true if probed.of_free_space => tr!("their file was removed"),
        true => tr!("put back as they were"),
        false => tr!("not all of them put back as they were"),
    };
    let mut lines = vec![
        conclusion,
        tr!(
            "{blocks} ({written}) were written, and {put_back}",
            blocks = counted!(probed.blocks_written, "{n} block", "{n} blocks"),
            written,
            put_back
        ),
    ];
    if let Some(&at) = probed.unreadable.first() {
        let blocks = counted!(probed.unreadable.len(), "{n} block", "{n} blocks");
        lines.push(tr!(
            "{blocks} could not be read, the first at offset {at}",
            blocks,
            at
        ));
    }
    if let Some(&at) = probed.not_restored.first() {
        let blocks = counted!(probed.not_restored.len(), "{n} block", "{n} blocks");
        lines.push(tr!(
            "{blocks} could not be put back, the first at offset {at}",
            blocks,
            at
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;
    use assay_model::act::capacity::Class;

    fn part(name: &str, offset: u64, classes: &[Class]) -> CapacityPart {
        let mut found = Tally::default();
        for (number, class) in (0..).zip(classes) {
            found.count(*class, offset + number * 512);
        }
        CapacityPart {
            name: name.to_owned(),
            offset,
            bytes: classes.len() as u64 * 512,
            elapsed_ns: 1,
            found: Some(found),
        }
    }

    fn step(parts: Vec<CapacityPart>) -> CapacityStep {
        CapacityStep {
            parts,
            ..CapacityStep::default()
        }
    }

    fn answered(step: CapacityStep) -> Sentence {
        let mut run = fixture::run();
        run.trials[0].detail = Some(Box::new(StepDetail::Capacity(step)));
        answer(&Summary::of(&run)).unwrap()
    }

    fn probed(kind: ProbedKind) -> CapacityStep {
        CapacityStep {
            probed: Some(Probed {
                kind,
                of_free_space: false,
                displaced: 0,
                announced_bytes: 64 << 20,
                block_bytes: 4_096,
                blocks_written: 256,
                unreadable: Vec::new(),
                lost: 3,
                first_lost: Some(0),
                not_restored: Vec::new(),
            }),
            ..CapacityStep::default()
        }
    }

    #[test]
    fn a_fill_and_a_probe_are_answered_in_a_sentence() {
        assert_eq!(
            held(60 << 30, Some(Bytes::gib(60))),
            "Genuine: holds the 60 GiB it claims"
        );
        let some = answered(step(vec![part("1.h2w", 0, &[Class::Ok; 4])]));
        assert!(some.text.starts_with("Not known: all 2 KiB that"));
        assert_eq!(
            held(44 << 30, Some(Bytes::gib(60))),
            "No sign of a fake: all 44 GiB that were checked hold their data; it claims 60 GiB"
        );
        let foreign = step(vec![part("/dev/sdx", 0, &[Class::Corrupted; 4])]);
        let unfilled = answered(foreign.clone()).text;
        assert!(
            unfilled.starts_with("Not known: no test data"),
            "{unfilled}"
        );
        let mut run = fixture::run();
        let mut writing = foreign.clone();
        writing.parts[0].found = None;
        for (trial, step) in run.trials.iter_mut().zip([writing, foreign]) {
            trial.detail = Some(Box::new(StepDetail::Capacity(step)));
        }
        let dead = answer(&Summary::of(&run)).unwrap().text;
        assert_eq!(dead, "Fake or defective: holds 0 B of 2 KiB");
        let mut lost = step(vec![part("/dev/sdx", 0, &[])]);
        lost.parts[0].found.as_mut().unwrap().unreadable(0, 4);
        let unreadable = answered(lost);
        assert_eq!(
            unreadable.text,
            "Unreadable: nothing of 2 KiB could be read"
        );
        let wrapped = Class::Overwritten {
            belongs_to: 1 << 30,
        };
        let classes = [wrapped, wrapped, Class::Ok, Class::Ok];
        let fake = answered(step(vec![part("1.h2w", 0, &classes)]));
        assert_eq!((fake.bad, &*fake.text), (true, "Fake: holds 1 of 2 KiB"));
        let real_bytes = 16 << 20;
        for kind in [
            ProbedKind::Limbo { real_bytes },
            ProbedKind::Wraparound { real_bytes },
        ] {
            assert_eq!(answered(probed(kind)).text, "Fake: holds 16 of 64 MiB");
        }
        assert_eq!(
            answered(probed(ProbedKind::Good)).text,
            "No sign of a fake: 256 places probed over 64 MiB, and each holds its data"
        );
    }

    #[test]
    fn all_well_is_one_sentence() {
        let found = finding(&step(vec![part("1.h2w", 0, &[Class::Ok; 4])])).unwrap();
        assert!(!found.sentences[0].bad);
        assert_eq!(
            found.texts(),
            ["all of 2 KiB is as it was written: 4 sectors"]
        );
    }

    #[test]
    fn a_wrapped_device_is_named_with_place_and_distance() {
        let wrapped = Class::Overwritten {
            belongs_to: 1 << 30,
        };
        let parts = vec![
            part("1.h2w", 0, &[wrapped, Class::Corrupted, Class::Ok]),
            part("2.h2w", 1 << 30, &[Class::Ok]),
        ];
        let found = finding(&step(parts)).unwrap();
        assert!(found.sentences[0].bad);
        assert_eq!(
            found.texts(),
            [
                "1 KiB OK, 1 KiB DATA LOST: 1 sector overwritten, 1 corrupted",
                "the first difference is at offset 0 (1.h2w, byte 0)",
                "offset 0 holds the data of offset 1073741824, for 512 B",
                "storage that repeats itself every 1 GiB would look like this: it is likely to be a fake",
                "1.h2w: 1 ok, 1 sector overwritten, 1 corrupted",
            ]
        );
    }

    #[test]
    fn a_missing_file_is_a_difference() {
        let missing = CapacityStep {
            missing: vec!["1.h2w".to_owned()],
            ..step(vec![part("2.h2w", 1 << 30, &[Class::Ok])])
        };
        let found = finding(&missing).unwrap();
        assert!(found.sentences[0].bad);
        assert_eq!(found.texts()[1], "1 file missing: 1.h2w");
    }

    #[test]
    fn a_probe_says_what_it_came_to_and_what_it_wrote() {
        let mut step = probed(ProbedKind::Wraparound {
            real_bytes: 16 << 20,
        });
        if let Some(probed) = &mut step.probed {
            probed.not_restored = vec![8_192];
        }
        let found = finding(&step).unwrap();
        assert!(
            found.sentences[0].bad
                && found.texts()[0]
                    .starts_with("FAKE (wraparound): it says 64 MiB and holds 16 MiB")
        );
        assert_eq!(
            found.texts()[1],
            "256 blocks (1 MiB) were written, and not all of them put back as they were"
        );
        assert_eq!(
            found.texts()[2],
            "1 block could not be put back, the first at offset 8192"
        );
    }

    #[test]
    fn nothing_done_is_nothing_to_say() {
        assert_eq!(finding(&CapacityStep::default()), None);
    }
}
