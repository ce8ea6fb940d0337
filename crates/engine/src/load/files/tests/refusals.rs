//! What is refused, and that nothing was made then.

use super::*;
use assay_model::job::PathUse;
use assay_testkit::{LoopDevice, Scratch, Volume, needs, or_skip};

fn readonly(stream: &Stream) -> Result<FilePlan, EngineError> {
    let load = Load {
        readonly: true,
        ..Load::default()
    };
    FilePlan::resolve(stream, &load)
}

#[test]
fn a_size_that_nobody_gave() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("new");
    let text = refusal(&stream([&path]));
    assert!(
        text.contains("give size=") && text.contains("new"),
        "{text}"
    );
    let mut half = stream([&path]);
    half.region.size = Some(Extent::Percent(50.0));
    assert!(refusal(&half).contains("give size="));
    // One that is there does not help the other.
    let both = stream([file(&folder, "old", 8192), path]);
    assert!(refusal(&both).contains("does not exist"));
}

#[test]
fn an_offset_beyond_the_end() {
    let folder = TempDir::new().unwrap();
    let mut far = stream([file(&folder, "a", 8192)]);
    far.region.offset = Extent::Bytes(8193);
    let text = refusal(&far);
    assert!(
        text.contains("beyond the end") && text.contains("8192 bytes"),
        "{text}"
    );
}

#[test]
fn a_region_smaller_than_a_block() {
    let folder = TempDir::new().unwrap();
    let text = refusal(&stream([file(&folder, "a", 4095)]));
    assert!(text.contains("not one block of 4096 bytes"), "{text}");
    let many: Vec<_> = (0..3).map(|n| folder.path().join(n.to_string())).collect();
    assert!(refusal(&sized(stream(many), 8192)).contains("not one block"));
}

#[test]
fn paths_that_are_no_storage() {
    let folder = TempDir::new().unwrap();
    let of = |path: PathBuf| refusal(&sized(stream([path]), MIB));
    assert!(of(folder.path().to_owned()).contains("is a directory"));
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(of(socket).contains("is a socket"));
    assert!(of("/dev/tty".into()).contains("is a character device"));
    let mut none = stream(Vec::<PathBuf>::new());
    assert!(refusal(&none).contains("it has no files"));
    none.files.opendir = Some(folder.path().to_owned());
    assert!(refusal(&none).contains("no regular file below"));
}

#[test]
fn a_character_device_is_only_read_and_only_by_engines_for_it() {
    for (paths, changes, expected) in [
        (PathUse::CharacterDevice, false, true),
        (PathUse::CharacterDevice, true, false),
        (PathUse::OpenFile, false, false),
    ] {
        let takes = super::super::takes_character_device(paths, changes);
        assert_eq!(takes, expected, "{paths:?}, changes: {changes}");
    }
}

#[test]
fn a_missing_file_that_may_not_be_made() {
    let folder = TempDir::new().unwrap();
    let mut missing = sized(stream([folder.path().join("new")]), MIB);
    missing.files.allow_create = false;
    assert!(refusal(&missing).contains("allow_file_create=0"));
}

#[test]
fn readonly_forbids_writing_and_laying_out() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "a", 8192);
    assert!(readonly(&stream([&path])).is_ok());
    assert!(readonly(&writer([&path])).is_err());
    let mut trims = stream([&path]);
    trims.blocks.rw.trim = true;
    assert!(readonly(&trims).is_err());
    let longer = readonly(&sized(stream([&path]), MIB)).unwrap_err();
    assert!(
        longer.to_string().contains("1048576 bytes long"),
        "{longer}"
    );
    let new = folder.path().join("new");
    assert!(readonly(&sized(stream([&new]), MIB)).is_err());
    assert!(!new.exists());
}

#[test]
fn a_device_that_may_not_be_overwritten() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "image", 4));
    let writes = writer([device.node()]);
    assert!(refusal(&writes).contains("--destroy-data"));
    let load = Load {
        destroy_data: true,
        ..Load::default()
    };
    assert!(FilePlan::resolve(&writes, &load).is_ok());
    assert!(resolve(&stream([device.node()])).is_ok());
}

#[test]
fn a_device_in_use_is_not_written() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "image", 4));
    let load = Load {
        destroy_data: true,
        ..Load::default()
    };
    let writes = writer([device.node()]);
    let lay_out = |shared: &SharedFiles| {
        let mut plan = FilePlan::resolve(&writes, &load).unwrap();
        plan.lay_out(&writes, shared, &AtomicBool::new(false), &mut |_| {})
    };
    let (ours, theirs) = (SharedFiles::default(), SharedFiles::default());
    lay_out(&ours).unwrap();
    // By another name, too.
    let link = scratch.join("link");
    std::os::unix::fs::symlink(device.node(), &link).unwrap();
    ours.hold(&link).unwrap();
    let error = lay_out(&theirs).unwrap_err().to_string();
    assert!(error.contains("in use"), "{error}");
    drop(ours);
    // A child that another test starts has the device open until it runs its program.
    let mut freed = lay_out(&theirs);
    for _ in 0..100 {
        if freed.is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        freed = lay_out(&theirs);
    }
    freed.unwrap();
}

#[test]
fn no_room_is_said_before_anything_is_made() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 16));
    let path = volume.point().join("folder/new");
    let reads = sized(stream([&path]), 64 * MIB);
    let mut plan = resolve(&reads).unwrap();
    let stop = AtomicBool::new(false);
    let shared = SharedFiles::default();
    let error = plan
        .lay_out(&reads, &shared, &stop, &mut |_| {})
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("67108864 bytes are needed"), "{text}");
    assert!(!path.parent().unwrap().exists());
    // A write may end before: it is only told.
    let writes = sized(writer([&path]), 64 * MIB);
    let (_, notes) = made(&writes, &shared);
    assert!(
        matches!(&notes[0], Note::Warning(text) if text.contains("no room")),
        "{notes:?}"
    );
}
