//! Sizes and regions. The figures were compared with fio 3.33.

use super::*;
use assay_model::job::EngineKind;
use assay_model::load::Range;
use proptest::prelude::*;
use std::path::Path;

fn ranged(mut stream: Stream, min: u64, max: u64) -> Stream {
    stream.files.file_size = Some(Range { min, max });
    stream
}

#[test]
fn size_is_divided_among_the_files() {
    let folder = TempDir::new().unwrap();
    let paths = ["a", "b", "c"].map(|name| folder.path().join(name));
    let plan = resolve(&sized(stream(paths), 10 * MIB)).unwrap();
    assert_eq!(spans(&plan), [(0, 3_495_253); 3]);
    assert_eq!(plan.total_bytes, 10_485_759);
}

#[test]
fn what_cannot_be_divided_goes_to_the_first_files_in_blocks() {
    let folder = TempDir::new().unwrap();
    let paths = ["a", "b", "c"].map(|name| folder.path().join(name));
    let mut small = sized(stream(paths), 1001);
    for direction in assay_model::load::Ddir::ALL {
        small.blocks.sizes[direction].min = 1;
    }
    let plan = resolve(&small).unwrap();
    assert_eq!(spans(&plan), [(0, 334), (0, 334), (0, 333)]);
    assert_eq!(plan.total_bytes, 1001);
}

#[test]
fn without_a_size_it_is_the_whole_file() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a", 100_000);
    let mut whole = stream([&path]);
    let plan = resolve(&whole).unwrap();
    assert_eq!(spans(&plan), [(0, 100_000)]);
    whole.region.offset = Extent::Bytes(40_000);
    let plan = resolve(&whole).unwrap();
    assert_eq!(spans(&plan), [(40_000, 60_000)]);
    assert_eq!(
        (plan.files[0].file_size, plan.total_bytes),
        (100_000, 60_000)
    );
}

#[test]
fn a_size_in_percent_is_of_the_file_in_whole_blocks() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a", 100_000);
    let mut half = stream([&path]);
    half.region.size = Some(Extent::Percent(50.0));
    assert_eq!(spans(&resolve(&half).unwrap()), [(0, 49_152)]);
    // With an offset the share is still one of the whole, cut at the end.
    half.region.offset = Extent::Bytes(60_000);
    assert_eq!(spans(&resolve(&half).unwrap()), [(60_000, 36_864)]);
}

#[test]
fn offsets_in_percent_step_from_clone_to_clone_and_are_aligned() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a", 100_000);
    let mut shifted = stream([&path]);
    shifted.region.offset = Extent::Percent(25.0);
    shifted.region.offset_increment = Extent::Percent(10.0);
    let mut offsets = Vec::new();
    for clone in 0..3 {
        shifted.clone = clone;
        offsets.push(resolve(&shifted).unwrap().files[0].span.offset);
    }
    // 25 000, 35 000 and 45 000, up to the next 4 KiB.
    assert_eq!(offsets, [28_672, 36_864, 45_056]);
    shifted.region.offset_align = 10_000;
    shifted.clone = 0;
    assert_eq!(resolve(&shifted).unwrap().files[0].span.offset, 30_000);
}

#[test]
fn offsets_in_bytes_are_taken_as_they_are() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a", 100_000);
    let mut shifted = sized(stream([&path]), 8192);
    shifted.region.offset = Extent::Bytes(100);
    shifted.region.offset_increment = Extent::Bytes(1000);
    shifted.clone = 2;
    assert_eq!(spans(&resolve(&shifted).unwrap()), [(2100, 8192)]);
}

#[test]
fn a_new_file_reaches_to_the_end_of_the_region() {
    let folder = TempDir::new().unwrap();
    let mut new = sized(writer([folder.path().join("new")]), MIB);
    new.region.offset = Extent::Bytes(4096);
    let plan = resolve(&new).unwrap();
    assert_eq!(plan.files[0].file_size, MIB + 4096);
    assert_eq!(plan.total_bytes, MIB);
}

#[test]
fn filesize_overrides_size_which_then_limits_the_io() {
    let folder = TempDir::new().unwrap();
    let fixed = ranged(stream([folder.path().join("a")]), 4 * MIB, 4 * MIB);
    let plan = resolve(&sized(fixed.clone(), MIB)).unwrap();
    assert_eq!((spans(&plan)[0], plan.total_bytes), ((0, 4 * MIB), MIB));
    let plan = resolve(&sized(fixed, 9 * MIB)).unwrap();
    assert_eq!((spans(&plan)[0], plan.total_bytes), ((0, 4 * MIB), 4 * MIB));
}

#[test]
fn an_existing_file_within_the_range_keeps_its_size() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a", 300_000);
    let plan = resolve(&ranged(stream([&path]), MIB / 4, MIB)).unwrap();
    assert_eq!(spans(&plan), [(0, 300_000)]);
    let larger = resolve(&ranged(stream([&path]), 8192, 8192)).unwrap();
    assert_eq!(spans(&larger), [(0, 8192)]);
    assert_eq!(larger.files[0].file_size, 300_000, "it is not cut");
}

#[test]
fn drawn_sizes_repeat_and_differ_between_streams() {
    let folder = TempDir::new().unwrap();
    let paths: Vec<_> = (0..4).map(|n| folder.path().join(n.to_string())).collect();
    let mut drawn = ranged(stream(paths), MIB, 4 * MIB);
    let first = resolve(&drawn).unwrap();
    assert_eq!(resolve(&drawn).unwrap(), first);
    let lengths: Vec<_> = first.files.iter().map(|file| file.span.length).collect();
    assert!(lengths.iter().all(|length| (MIB..4 * MIB).contains(length)));
    assert!(lengths.iter().all(|length| length.is_multiple_of(4096)));
    assert_eq!(first.total_bytes, lengths.iter().sum::<u64>());
    drawn.number = 2;
    assert_ne!(resolve(&drawn).unwrap(), first);
    drawn.number = 1;
    drawn.blocks.repeat = false;
    let load = Load {
        entropy: 7,
        ..Load::default()
    };
    assert_ne!(FilePlan::resolve(&drawn, &load).unwrap(), first);
}

#[test]
fn io_size_changes_the_amount_and_not_the_region() {
    let folder = TempDir::new().unwrap();
    let mut more = sized(stream([folder.path().join("a")]), MIB);
    more.length.io_size = Some(Extent::Bytes(3 * MIB));
    let plan = resolve(&more).unwrap();
    assert_eq!((spans(&plan)[0], plan.total_bytes), ((0, MIB), 3 * MIB));
    more.length.io_size = Some(Extent::Percent(25.0));
    let plan = resolve(&more).unwrap();
    assert_eq!((spans(&plan)[0], plan.total_bytes), ((0, MIB), MIB / 4));
}

#[test]
fn appending_starts_at_the_end() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a", 5000);
    let mut appending = sized(writer([&path]), 8192);
    appending.files.append = true;
    let plan = resolve(&appending).unwrap();
    assert_eq!(spans(&plan), [(5000, 8192)]);
    assert_eq!(plan.files[0].file_size, 13_192);
}

#[test]
fn opendir_takes_all_regular_files_below() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("deep")).unwrap();
    let expected = [
        file(&folder, "a", 5000),
        file(&folder, "deep/b", 6000),
        file(&folder, "z", 7000),
    ];
    std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
    let mut all = stream(Vec::<PathBuf>::new());
    all.files.opendir = Some(folder.path().to_owned());
    let plan = resolve(&all).unwrap();
    let paths: Vec<_> = plan.files.iter().map(|file| file.path.clone()).collect();
    assert_eq!(paths, expected);
    assert_eq!(plan.total_bytes, 18_000);
}

#[test]
fn an_engine_without_files_looks_at_none() {
    let mut null = sized(writer(["/dev"]), MIB);
    null.engine.kind = EngineKind::Null;
    let plan = resolve(&null).unwrap();
    assert_eq!(spans(&plan), [(0, MIB)]);
    null.region.size = None;
    assert!(refusal(&null).contains("give size="));
}

#[test]
fn memory_devices_take_the_size_that_is_given() {
    let plan = resolve(&sized(writer(["/dev/null"]), MIB)).unwrap();
    assert_eq!(spans(&plan), [(0, MIB)]);
    assert_eq!(plan.files[0].kind, super::super::FileKind::CharDevice);
}

#[test]
fn filling_a_device_has_no_size() {
    let folder = TempDir::new().unwrap();
    let mut fill = writer([folder.path().join("a")]);
    fill.length.fill_device = true;
    assert!(resolve(&fill).unwrap().total_bytes > 1 << 60);
}

proptest! {
    /// Whatever is asked for, it is a plan or an error, and regions lie in
    /// their files.
    #[test]
    fn regions_lie_in_their_files(
        size in prop_oneof![
            Just(None),
            any::<u64>().prop_map(|b| Some(Extent::Bytes(b))),
            (0.0..200.0).prop_map(|p| Some(Extent::Percent(p))),
        ],
        offset in prop_oneof![
            any::<u64>().prop_map(Extent::Bytes),
            (0.0..200.0).prop_map(Extent::Percent),
        ],
        range in prop::option::of((any::<u64>(), any::<u64>())),
        align in any::<u64>(),
        clone in any::<u32>(),
        there in 0_usize..100_000,
    ) {
        let folder = TempDir::new().unwrap();
        let mut any = stream([file(&folder, "a", there), folder.path().join("new")]);
        any.region.size = size;
        any.region.offset = offset;
        any.region.offset_increment = offset;
        any.region.offset_align = align;
        any.clone = clone;
        any.files.file_size = range.map(|(min, max)| Range { min, max });
        if let Ok(plan) = resolve(&any) {
            for file in &plan.files {
                prop_assert!(file.span.length == 0 || file.span.end() <= file.file_size);
                prop_assert!(file.file_size <= i64::MAX.unsigned_abs());
            }
            prop_assert!(plan.total_bytes >= 4096);
        }
    }
}

#[test]
fn the_region_of_a_device_ends_with_it() {
    assay_testkit::needs!(root);
    let scratch = assay_testkit::or_skip!(assay_testkit::Scratch::new());
    let device = assay_testkit::or_skip!(assay_testkit::LoopDevice::new(&scratch, "image", 8));
    let node: &Path = device.node();
    assert_eq!(spans(&resolve(&stream([node])).unwrap()), [(0, 8 * MIB)]);
    let mut larger = sized(stream([node]), 64 * MIB);
    larger.region.offset = Extent::Bytes(MIB);
    let plan = resolve(&larger).unwrap();
    assert_eq!(spans(&plan), [(MIB, 7 * MIB)]);
    assert_eq!(
        (plan.files[0].file_size, plan.total_bytes),
        (8 * MIB, 7 * MIB)
    );
    larger.region.offset = Extent::Bytes(8 * MIB);
    assert!(refusal(&larger).contains("beyond the end"));
}
