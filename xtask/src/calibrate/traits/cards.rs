//! Cards with random traits.

use assay_flash::part::{Cache, DeviceModel, Flash, Gc, Map, ReadCosts, Slc, WriteCosts};
use assay_flash::policy::Policy;
use assay_model::rng::SplitMix64;

/// Draws a card from a seed, and the policy of its host. Each trait is present with
/// probability 1/2.
pub fn draw(seed: u64) -> (DeviceModel, Policy) {
    let rng = &mut Draw(SplitMix64::new(seed));
    let policy = rng.one_of(&[
        Policy::Closed,
        Policy::SetCount,
        Policy::Queued,
        Policy::OPEN_SAFE,
        Policy::OPEN,
    ]);
    let part = DeviceModel {
        firmware: None,
        name: format!("drawn-{seed}"),
        about: "drawn".to_owned(),
        source: "cargo xtask calibrate --traits".to_owned(),
        size_gib: 4,
        noise_percent: rng.between(0.0, 10.0),
        bus: rng
            .one_of(&["hs200", "hs400", "sdr104", "ufs-g3x2"])
            .to_owned(),
        max_request_kib: 512,
        timer_ms: 150,
        set_count_us: Some(rng.between(5.0, 40.0)),
        queue_depth: Some(32),
        units: rng.one_of(&[1, 2, 4, 8]),
        read: reads(rng),
        write: writes(rng),
        cache: rng.coin().then(|| Cache {
            size_kib: rng.one_of(&[64, 256, 512]),
            drain_us: rng.between(5.0, 60.0),
            flush_us: rng.between(200.0, 2000.0),
        }),
        map: rng.coin().then(|| Map {
            region_kib: rng.one_of(&[1024, 4096]),
            regions: rng.one_of(&[16, 64, 128, 256]),
            load_us: rng.between(60.0, 300.0),
        }),
        gc: rng.coin().then(|| Gc {
            block_us: rng.between(20.0, 100.0),
            reserve_kib: rng.one_of(&[1024, 4096, 16384]),
        }),
        slc: rng.coin().then(|| Slc {
            size_kib: rng.one_of(&[65536, 131_072, 262_144]),
            fold_us: rng.between(30.0, 80.0),
        }),
        flash: Some(flash(rng)),
    };
    (part, policy)
}

fn reads(rng: &mut Draw) -> ReadCosts {
    ReadCosts {
        command_us: rng.between(80.0, 400.0),
        ramp_us: rng.between(0.0, 8.0),
        ramp_blocks: rng.one_of(&[0, 16, 32]),
        block_us: Some(rng.between(1.5, 10.0)),
        break_us: rng.between(50.0, 200.0),
        resume_us: rng.between(20.0, 60.0),
    }
}

fn writes(rng: &mut Draw) -> WriteCosts {
    WriteCosts {
        program_us: rng.between(200.0, 1500.0),
        ramp_us: rng.between(0.0, 20.0),
        ramp_blocks: rng.one_of(&[0, 64, 128]),
        block_us: rng.between(2.0, 20.0),
        break_us: rng.between(40.0, 150.0),
    }
}

/// Draws the flash costs; an absent effect has a cost of zero.
fn flash(rng: &mut Draw) -> Flash {
    let cost = |rng: &mut Draw, least, most| {
        if rng.coin() {
            rng.between(least, most)
        } else {
            0.0
        }
    };
    Flash {
        page_kib: rng.one_of(&[8, 16, 32, 64]),
        page_us: cost(rng, 25.0, 80.0),
        unit_kib: rng.one_of(&[1024, 2048, 4096, 8192]),
        unit_us: cost(rng, 40.0, 150.0),
        map_kib: rng.one_of(&[1, 2, 4, 8]),
        rmw_us: cost(rng, 300.0, 2000.0),
        open_units: u32::try_from(rng.0.below(20)).unwrap_or(0) + 2,
        close_us: cost(rng, 1000.0, 5000.0),
    }
}

struct Draw(SplitMix64);

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.fraction()
    }

    fn coin(&mut self) -> bool {
        self.0.below(2) == 0
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        let at = usize::try_from(self.0.below(all.len() as u64)).unwrap_or(0);
        all[at]
    }
}
