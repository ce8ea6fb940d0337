//! The arithmetic: parts add up, and each is what its numbers say.

use super::account::{Account, Context};
use super::costs::{Costs, Kind, Known};
use super::observed::{Observed, Requests};
use super::{account, show};
use assay_flash::part::DeviceModel;
use assay_model::device::find_ceiling;
use assay_model::job::{Direction, Job, Rw};
use assay_model::storage::{Backing, Storage};
use assay_model::units::Bytes;
use assay_report::reference::Bus;
use std::path::PathBuf;

/// What is measured of direct I/O, one at a time.
fn observed(job: &Job, us: f64) -> Observed<'_> {
    Observed {
        job,
        condition: None,
        direction: if job.rw.writes() {
            Direction::Write
        } else {
            Direction::Read
        },
        label: Some("device"),
        because: String::new(),
        trials: 3,
        ios: 1000,
        mean_us: us,
        median_us: us,
        interval_us: us,
        flush_us: 0.0,
        flush_calls: 0,
        cpu_us: (1.0, 9.0),
        cpu_told: true,
        depth: u64::from(job.iodepth),
        beside: false,
        damaged: 0,
        requests: Err("nobody counted".to_owned()),
        judged: Vec::new(),
    }
}

fn job(rw: Rw, bs: Bytes) -> Job {
    Job {
        direct: true,
        ..Job::new("job", rw, bs, Bytes::gib(1))
    }
}

fn hs400() -> Bus {
    Bus {
        ceiling: find_ceiling("hs400").expect("it is known"),
        given: true,
    }
}

fn no_costs() -> Costs {
    Costs::Unknown("nothing to fit".to_owned())
}

fn account(one: &Observed<'_>, costs: &Costs, others: &[Observed<'_>]) -> Account {
    let bus = hs400();
    let context = Context {
        bus: Some(&bus),
        costs,
        others,
    };
    let account = Account::of(one, context);
    let sum: f64 = account.shares.iter().map(|share| share.us).sum();
    assert!((sum - account.total_us).abs() < 1e-6, "{account:?}");
    assert!((account.total_us - one.mean_us - one.flush_us).abs() < 1e-9);
    account
}

/// What would help it, on a bus of this mode.
fn helps(one: &Observed<'_>, mode: &str, others: &[Observed<'_>]) -> Vec<show::Help> {
    let bus = Bus {
        ceiling: find_ceiling(mode).expect("it is known"),
        given: true,
    };
    let costs = no_costs();
    let context = Context {
        bus: Some(&bus),
        costs: &costs,
        others,
    };
    show::of(one, &Account::of(one, context), context)
}

fn is(account: &Account, kind: Kind, us: f64) {
    let found = account.of_kind(kind);
    assert!(
        (found - us).abs() < 0.01 * us.max(1.0),
        "{kind:?}: {us} in {account:?}"
    );
}

/// The i.MX8M board of the reference: 275 MiB/s with HS400, 1 MiB.
#[test]
fn the_wire_takes_its_part_of_a_read() {
    let job = job(Rw::Read, Bytes::mib(1));
    let one = observed(&job, 1e6 / 275.0);
    let account = account(&one, &no_costs(), &[]);
    is(&account, Kind::Bus, 2888.0);
    is(&account, Kind::Device, 748.4);
    let bus = hs400();
    let placed = account::on_bus(&one, Some(&bus), Bytes::kib(512), true).expect("it is in order");
    let said = placed.sentence();
    for words in [
        "288 MB/s is 79.4 % of 363 MB/s",
        "1444 µs",
        "374 µs",
        "0.60 µs",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
}

#[test]
fn what_the_kernel_counts_is_taken_from_the_latency() {
    let job = job(Rw::RandRead, Bytes::kib(4));
    let mut one = observed(&job, 100.0);
    one.requests = Ok(Requests {
        per_io: 1.0,
        mean_us: 70.0,
        count: 1000,
    });
    is(&account(&one, &no_costs(), &[]), Kind::Software, 30.0);
    // Slow I/Os may be slow on either side of it: a few of them do not matter.
    one.median_us = 98.0;
    is(&account(&one, &no_costs(), &[]), Kind::Software, 30.0);
    one.median_us = 80.0;
    let slow = account(&one, &no_costs(), &[]);
    is(&slow, Kind::Stalls, 20.0);
    is(&slow, Kind::Software, 0.0);
    let said = slow.unknown.iter().any(|why| why.contains("slow I/Os"));
    assert!(said, "{slow:?}");
    // Two requests of an I/O overlap.
    one.median_us = 100.0;
    if let Ok(requests) = &mut one.requests {
        requests.per_io = 2.0;
    }
    is(&account(&one, &no_costs(), &[]), Kind::Software, 0.0);
}

#[test]
fn many_in_flight_are_held_against_one_alone() {
    let alone = job(Rw::RandRead, Bytes::kib(4));
    let deep = Job {
        iodepth: 32,
        name: "deep".to_owned(),
        ..alone.clone()
    };
    let one = Observed {
        interval_us: 20.0,
        ..observed(&deep, 640.0)
    };
    let others = [observed(&alone, 150.0)];
    let against = account(&one, &no_costs(), &others);
    is(&against, Kind::Wait, 490.0);
    let without = account(&one, &no_costs(), &[]);
    is(&without, Kind::Overlap, 620.0);
    assert_eq!(without.unknown.len(), 1, "{without:?}");
    let told = helps(&others[0], "hs400", &[one]);
    assert!(told[0].sentence.contains("with 32"), "{told:?}");
    assert!(
        (told[0].share - (1.0 - 20.0 / 150.0)).abs() < 1e-9,
        "{told:?}"
    );
}

#[test]
fn flush_calls_belong_to_the_writes() {
    let job = job(Rw::Write, Bytes::kib(4));
    let one = Observed {
        flush_us: 900.0,
        flush_calls: 1000,
        ..observed(&job, 100.0)
    };
    let account = account(&one, &no_costs(), &[]);
    is(&account, Kind::Flush, 900.0);
    let told = helps(&one, "hs400", &[]);
    assert!(told[0].sentence.contains("90.0 %"), "{told:?}");
    // As much again passes between two writes.
    let slowly = Observed {
        interval_us: 2000.0,
        ..one
    };
    let told = helps(&slowly, "hs400", &[]);
    assert!(told[0].sentence.contains("45.0 %"), "{told:?}");
    assert!(told[0].sentence.contains("of 2.00 ms"), "{told:?}");
}

/// Nothing is faster than HS400 on an eMMC.
#[test]
fn a_faster_mode_of_the_bus_is_advised_where_there_is_one() {
    let job = job(Rw::Read, Bytes::mib(1));
    let one = observed(&job, 1e6 / 150.0);
    let about_bus = |mode| {
        let told = helps(&one, mode, &[]);
        told.iter()
            .any(|help| help.sentence.contains("mode of the bus"))
    };
    assert!(about_bus("hs200"));
    assert!(!about_bus("hs400") && !about_bus("hs400es"));
}

#[test]
fn figures_of_memory_or_of_two_things_are_not_divided_as_the_devices() {
    let job = job(Rw::RandRead, Bytes::kib(4));
    for label in [Some("page-cache"), Some("mixed"), Some("unknown"), None] {
        let one = Observed {
            label,
            ..observed(&job, 10.0)
        };
        let account = account(&one, &no_costs(), &[]);
        let kinds: Vec<Kind> = account.shares.iter().map(|share| share.kind).collect();
        match label {
            Some("page-cache") => assert_eq!(kinds, [Kind::Processor, Kind::Waiting]),
            _ => {
                assert_eq!(kinds, [Kind::Whole]);
                assert_eq!(account.unknown.len(), 1);
            }
        }
    }
}

#[test]
fn too_few_ticks_tell_nothing_of_the_processor() {
    let job = job(Rw::RandRead, Bytes::kib(4));
    let one = Observed {
        label: Some("page-cache"),
        cpu_us: (0.0, 0.0),
        cpu_told: false,
        ..observed(&job, 5.0)
    };
    let account = account(&one, &no_costs(), &[]);
    is(&account, Kind::Whole, 5.0);
    assert_eq!(account.unknown.len(), 1, "{account:?}");
}

fn storage() -> Storage {
    Storage {
        path: PathBuf::from("/dev/sda"),
        mount: None,
        backing: Backing::Device {
            name: "sda".to_owned(),
        },
        layers: Vec::new(),
        total: None,
        available: None,
    }
}

/// 200 µs a command and 3 µs a block of 512 bytes, varied a little.
#[test]
fn a_fit_tells_the_command_from_the_data() {
    let sizes = [4, 8, 16, 64, 128, 256].map(Bytes::kib);
    let jobs = sizes.map(|bs| job(Rw::RandRead, bs));
    let us = |job: &Job, wobble: f64| (200.0 + 3.0 * super::as_f64(job.bs.0 / 512)) * wobble;
    let wobbles = [1.001, 0.999, 1.002, 0.998, 1.0, 1.001];
    let all = jobs.iter().zip(wobbles);
    let all: Vec<Observed<'_>> = all
        .map(|(job, wobble)| observed(job, us(job, wobble)))
        .collect();
    let costs = Costs::of(&all, &storage(), None);
    let found = account(&all[0], &costs, &all);
    let command = found.of_kind(Kind::Command);
    assert!((command - 200.0).abs() < 6.0, "{found:?}");
    assert!(
        found
            .shares
            .iter()
            .any(|share| share.known == Known::Fit && share.basis.contains('±'))
    );
    // The wire's part of the data is the ceiling's, the rest of them the fit's.
    is(&found, Kind::Bus, 11.28);
    // A result that the fit does not have is not explained by it.
    let other = observed(&jobs[0], 400.0);
    let off = account(&other, &costs, &all);
    assert_eq!(off.of_kind(Kind::Command), 0.0);
    assert!(
        off.unknown.iter().any(|why| why.contains("off here")),
        "{off:?}"
    );
}

#[test]
fn a_bus_that_cannot_have_carried_the_data_takes_no_part_of_the_time() {
    let job = job(Rw::Read, Bytes::mib(1));
    let one = observed(&job, 150.0);
    let found = account(&one, &no_costs(), &[]);
    is(&found, Kind::Bus, 0.0);
    is(&found, Kind::Device, 150.0);
    let said = found.unknown.iter().any(|why| why.contains("Another bus"));
    assert!(said, "{found:?}");
    let told = helps(&one, "hs400", &[]);
    assert!(told.is_empty(), "{told:?}");
}

/// Of a sweep, the name of what was left out has its condition.
#[test]
fn why_a_size_is_missing_of_a_fit_is_told_under_a_condition_too() {
    let reads = [4, 8, 16, 64].map(|kib| job(Rw::RandRead, Bytes::kib(kib)));
    let write = job(Rw::RandWrite, Bytes::kib(4));
    let under = |one| Observed {
        condition: Some("bfq"),
        ..one
    };
    let us = |job: &Job| 200.0 + 3.0 * super::as_f64(job.bs.0 / 512);
    let mut all: Vec<Observed<'_>> = reads
        .iter()
        .map(|job| under(observed(job, us(job))))
        .collect();
    all.push(Observed {
        damaged: 1,
        ..under(observed(&write, 900.0))
    });
    let costs = Costs::of(&all, &storage(), None);
    let found = account(&all[4], &costs, &all);
    let said = found.unknown.iter().any(|why| why.contains("left out:"));
    assert!(said, "{found:?}");
}

#[test]
fn a_part_that_was_named_takes_the_place_of_a_fit() {
    let part = DeviceModel::find("rtsx-sd-pro-plus-128").expect("it is known");
    let job = job(Rw::RandRead, Bytes::kib(4));
    let one = observed(&job, 389.0);
    let costs = Costs::of(&[], &storage(), Some(&part));
    is(&account(&one, &costs, &[]), Kind::Command, 298.0);
    let other = observed(&job, 800.0);
    is(&account(&other, &costs, &[]), Kind::Command, 0.0);
}

#[test]
fn page_cache_results_and_crowds_are_not_fitted_and_the_reason_is_told() {
    let job = job(Rw::RandRead, Bytes::kib(4));
    let cached = Observed {
        label: Some("page-cache"),
        ..observed(&job, 10.0)
    };
    let Costs::Unknown(why) = Costs::of(&[cached], &storage(), None) else {
        panic!("it was fitted");
    };
    assert!(
        why.contains("page cache") && why.contains("direct I/O"),
        "{why}"
    );
    let crowd = Observed {
        depth: 32,
        ..observed(&job, 10.0)
    };
    let Costs::Unknown(why) = Costs::of(&[crowd], &storage(), None) else {
        panic!("it was fitted");
    };
    assert!(why.contains("several I/Os were in flight"), "{why}");
}
