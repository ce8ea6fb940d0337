//! Against the running kernel: loop devices, file systems, swap. Needs root;
//! what is missing is printed and the test is skipped.

use assay_model::storage::{Backing, DeviceKind, LayerRole, Storage};
use assay_probe::counters::queues;
use assay_probe::processes::{ProcessIoTable, busiest};
use assay_probe::roots::Roots;
use assay_probe::safety::{held_exclusively, in_use};
use assay_probe::snapshot::snapshot;
use assay_probe::stack::{ResolveError, device_gone, resolve};
use assay_probe::system::system;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const MIB: u64 = 1 << 20;

/// Undoes what was set up, last first, when it goes out of scope.
struct Bench {
    undo: Vec<Vec<String>>,
    folder: tempfile::TempDir,
}

impl Drop for Bench {
    fn drop(&mut self) {
        while let Some(command) = self.undo.pop() {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            let _ = run(&words);
        }
    }
}

#[expect(clippy::print_stderr, reason = "a skip says why")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// The command's output, or what went wrong.
fn run(words: &[&str]) -> Result<String, String> {
    let output = Command::new(words[0])
        .args(&words[1..])
        .output()
        .map_err(|error| format!("{}: {error}", words[0]))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(format!("{}: {}", words.join(" "), complaint.trim()))
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of these tests are text")
}

impl Bench {
    /// `None`, with the reason printed, when this user or machine cannot.
    fn new(tools: &[&str]) -> Option<Self> {
        if !system(&Roots::default()).root {
            skip("loop devices and mounts need root");
            return None;
        }
        let missing = ["losetup", "mount"].iter().chain(tools).find(|tool| {
            !["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
                .iter()
                .any(|dir| Path::new(dir).join(tool).exists())
        });
        if let Some(tool) = missing {
            skip(&format!("{tool} is not installed"));
            return None;
        }
        Some(Self {
            undo: Vec::new(),
            folder: tempfile::tempdir().expect("a temporary folder"),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        // Without links, as the kernel shows it.
        fs::canonicalize(self.folder.path())
            .expect("the folder exists")
            .join(name)
    }

    /// Runs a command, and later the one that undoes it; else skips.
    fn step(&mut self, words: &[&str], undo: &[&str]) -> Option<String> {
        match run(words) {
            Ok(output) => {
                if !undo.is_empty() {
                    let undo = undo.iter().map(|&word| word.to_owned());
                    self.undo.push(undo.collect());
                }
                Some(output)
            }
            Err(why) => {
                skip(&why);
                None
            }
        }
    }

    /// A loop device over a new file.
    fn loop_device(&mut self, file: &str, mib: u64) -> Option<PathBuf> {
        let image = self.path(file);
        let created = File::create(&image).expect("an image file");
        created.set_len(mib * MIB).expect("room for the image");
        self.loop_over(&image)
    }

    fn loop_over(&mut self, image: &Path) -> Option<PathBuf> {
        let words = ["losetup", "--find", "--show", text(image)];
        let node = self.step(&words, &[])?;
        self.undo
            .push(["losetup", "--detach", &node].map(str::to_owned).to_vec());
        Some(PathBuf::from(node))
    }

    fn mount(&mut self, options: &[&str], source: &str, point: &str) -> Option<PathBuf> {
        let point = self.path(point);
        fs::create_dir_all(&point).expect("a mount point");
        let mut words = vec!["mount"];
        words.extend_from_slice(options);
        words.extend_from_slice(&[source, text(&point)]);
        self.step(&words, &["umount", text(&point)])?;
        Some(point)
    }

    /// ext4 on a new loop device: its node and its mount point.
    fn ext4(&mut self, name: &str) -> Option<(PathBuf, PathBuf)> {
        let node = self.loop_device(&format!("{name}.img"), 64)?;
        self.step(&["mkfs.ext4", "-q", text(&node)], &[])?;
        let point = self.mount(&[], text(&node), name)?;
        Some((node, point))
    }
}

fn storage_of(path: &Path) -> Storage {
    resolve(&Roots::default(), path).expect("the path exists")
}

fn kernel_name(node: &Path) -> &str {
    text(node).strip_prefix("/dev/").expect("a device node")
}

fn top_name(path: &Path) -> String {
    let storage = storage_of(path);
    let top = storage.top();
    top.unwrap_or_else(|| panic!("{:?}", storage.backing))
        .name
        .clone()
}

fn why(path: &Path) -> String {
    match storage_of(path).backing {
        Backing::Unknown { why } => why,
        other => panic!("known: {other:?}"),
    }
}

#[test]
fn ext4_on_a_loop_device_stands_on_what_holds_its_image() {
    let Some(mut bench) = Bench::new(&["mkfs.ext4"]) else {
        return;
    };
    let Some((node, point)) = bench.ext4("data") else {
        return;
    };
    let storage = storage_of(&point);
    let top = storage.top().expect("a layer");
    assert_eq!(top.name, kernel_name(&node));
    assert_eq!(top.identity.kind, DeviceKind::Loop);
    assert_eq!(top.backing_file, Some(bench.path("data.img")));
    assert_eq!(top.size.expect("a size").0, 64 * MIB);
    let mount = storage.mount.as_ref().expect("a mount");
    assert_eq!((mount.fs_type.as_str(), &mount.point), ("ext4", &point));

    let holder = storage_of(&bench.path(""));
    let expected: Vec<&str> = holder.layers.iter().map(|l| l.name.as_str()).collect();
    let beneath: Vec<&str> = storage.layers[1..]
        .iter()
        .map(|l| l.name.as_str())
        .collect();
    assert_eq!(beneath, expected);
    let roles = storage.layers[1..].iter().map(|layer| layer.role);
    assert!(roles.into_iter().all(|role| role == LayerRole::Beneath));

    let queues = queues(&Roots::default(), &storage);
    assert_eq!(queues.len(), storage.layers.len());
    assert!(queues[0].scheduler.is_some() && queues[0].read_ahead_kib.is_some());
}

#[test]
fn a_flushed_write_shows_in_the_counters() {
    let Some(mut bench) = Bench::new(&["mkfs.ext4"]) else {
        return;
    };
    let Some((_, point)) = bench.ext4("data") else {
        return;
    };
    let roots = Roots::default();
    let storage = storage_of(&point);
    let before = snapshot(&roots, &storage);
    let mut file = File::create(point.join("f")).expect("a file");
    file.write_all(&vec![7; 8 << 20]).expect("room");
    let unflushed = snapshot(&roots, &storage);
    file.sync_all().expect("a flush");
    let after = snapshot(&roots, &storage);

    assert!(after.at_ns > before.at_ns);
    let written = |from: usize| after.devices[from].write_bytes - before.devices[from].write_bytes;
    assert!(
        written(0) >= 8 * MIB,
        "{} bytes reached the device",
        written(0)
    );
    let own = |snapshot: &assay_model::evidence::Snapshot| snapshot.own_io.map(|io| io.write_bytes);
    if let (Some(before), Some(dirtied)) = (own(&before), own(&unflushed)) {
        assert!(dirtied - before >= 8 * MIB, "{} bytes", dirtied - before);
    }
    if let (Some(before), Some(after)) = (before.devices[0].flush_ios, after.devices[0].flush_ios) {
        assert!(after > before, "fsync did not flush");
    }
    assert!(after.memory.expect("meminfo").total_bytes > 64 * MIB);
    assert!(after.context_switches >= before.context_switches);
}

#[test]
fn a_mounted_device_is_refused_until_it_is_unmounted() {
    let Some(mut bench) = Bench::new(&["mkfs.ext4"]) else {
        return;
    };
    let Some((node, point)) = bench.ext4("data") else {
        return;
    };
    let name = kernel_name(&node).to_owned();
    let clause = format!("{name} is mounted on {}", point.display());
    assert_eq!(in_use(&Roots::default(), &name), [clause]);
    assert!(held_exclusively(&node).expect("may open"));
    run(&["umount", text(&point)]).expect("nobody is in it");
    assert_eq!(in_use(&Roots::default(), &name), [""; 0]);
    assert!(!held_exclusively(&node).expect("may open"));
    let storage = storage_of(&node);
    assert_eq!(storage.mount, None);
    assert_eq!(storage.total.map(|total| total.0), Some(64 * MIB));
}

/// A child that says when it is ready and ends when its input does.
struct Helper(Child);

impl Helper {
    /// `None` when the script ends without saying `ready`.
    fn start(words: &[&str]) -> Option<Self> {
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut line = String::new();
        let output = child.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("text");
        let helper = Self(child);
        (line.trim() == "ready").then_some(helper)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn a_mount_that_only_another_namespace_sees_is_found_by_exclusive_open() {
    let Some(mut bench) = Bench::new(&["mkfs.ext4", "unshare"]) else {
        return;
    };
    let Some((node, point)) = bench.ext4("data") else {
        return;
    };
    run(&["umount", text(&point)]).expect("nobody is in it");
    let script = format!(
        "mount {} {} && echo ready && read x",
        text(&node),
        text(&point)
    );
    let Some(_holder) = Helper::start(&["unshare", "--mount", "sh", "-c", &script]) else {
        skip("unshare may not mount");
        return;
    };
    assert_eq!(in_use(&Roots::default(), kernel_name(&node)), [""; 0]);
    assert!(held_exclusively(&node).expect("may open"));
}

#[test]
fn a_partition_stands_on_its_loop_device() {
    let Some(mut bench) = Bench::new(&["mkfs.ext4", "addpart", "delpart"]) else {
        return;
    };
    let Some(node) = bench.loop_device("disk.img", 64) else {
        return;
    };
    // Told to the kernel directly: not every kernel reads partition tables.
    for (number, start) in [("1", "2048"), ("2", "67584")] {
        let words = ["addpart", text(&node), number, start, "61440"];
        let undo = ["delpart", text(&node), number];
        if bench.step(&words, &undo).is_none() {
            return;
        }
    }
    let disk = kernel_name(&node).to_owned();
    let first = PathBuf::from(format!("{}p1", node.display()));
    run(&["mkfs.ext4", "-q", text(&first)]).expect("a file system");
    let Some(point) = bench.mount(&[], text(&first), "data") else {
        return;
    };
    let storage = storage_of(&point);
    let top: Vec<_> = storage.layers[..2]
        .iter()
        .map(|l| (l.name.as_str(), l.role))
        .collect();
    let partition = format!("{disk}p1");
    assert_eq!(
        top,
        [
            (partition.as_str(), LayerRole::Top),
            (disk.as_str(), LayerRole::Disk)
        ]
    );
    assert_eq!(storage.layers[0].identity.kind, DeviceKind::Partition);

    let clause = [format!("{partition} is mounted on {}", point.display())];
    assert_eq!(in_use(&Roots::default(), &disk), clause);
    assert_eq!(in_use(&Roots::default(), &format!("{disk}p2")), [""; 0]);

    assert!(!device_gone(&Roots::default(), &storage));
    run(&["umount", text(&point)]).expect("nobody is in it");
    run(&["delpart", text(&node), "1"]).expect("nobody uses it");
    assert!(device_gone(&Roots::default(), &storage));
}

#[test]
fn a_loop_device_on_a_device_node_guards_it() {
    let Some(mut bench) = Bench::new(&[]) else {
        return;
    };
    let Some(lower) = bench.loop_device("disk.img", 16) else {
        return;
    };
    let Some(upper) = bench.loop_over(&lower) else {
        return;
    };
    let (lower_name, upper_name) = (kernel_name(&lower), kernel_name(&upper));
    let clause = [format!("{lower_name} backs {upper_name}")];
    assert_eq!(in_use(&Roots::default(), lower_name), clause);
    assert_eq!(in_use(&Roots::default(), upper_name), [""; 0]);
    let storage = storage_of(&upper);
    assert_eq!(storage.layers[1].name, lower_name);
    assert_eq!(storage.layers[1].role, LayerRole::Beneath);
}

#[test]
fn a_loop_device_whose_file_was_removed_ends_the_stack() {
    let Some(mut bench) = Bench::new(&[]) else {
        return;
    };
    let Some(node) = bench.loop_device("disk.img", 16) else {
        return;
    };
    fs::remove_file(bench.path("disk.img")).expect("it exists");
    let storage = storage_of(&node);
    assert_eq!(storage.layers.len(), 1);
    let file = storage.layers[0].backing_file.as_deref().expect("its name");
    assert!(text(file).ends_with("(deleted)"));
}

#[test]
fn swap_space_is_refused() {
    let Some(mut bench) = Bench::new(&["mkswap", "swapon"]) else {
        return;
    };
    let Some(node) = bench.loop_device("swap.img", 16) else {
        return;
    };
    run(&["mkswap", text(&node)]).expect("swap space");
    let on = ["swapon", text(&node)];
    if bench.step(&on, &["swapoff", text(&node)]).is_none() {
        return;
    }
    let name = kernel_name(&node);
    let clause = [format!("{name} is in use as swap space")];
    assert_eq!(in_use(&Roots::default(), name), clause);
    assert!(held_exclusively(&node).expect("may open"));
}

#[test]
fn btrfs_is_resolved_on_one_device_and_unknown_on_two() {
    let Some(mut bench) = Bench::new(&["mkfs.btrfs", "btrfs"]) else {
        return;
    };
    let (Some(one), Some(two), Some(three)) = (
        bench.loop_device("one.img", 128),
        bench.loop_device("two.img", 128),
        bench.loop_device("three.img", 128),
    ) else {
        return;
    };
    run(&["mkfs.btrfs", "-q", "-f", text(&one)]).expect("a file system");
    let Some(single) = bench.mount(&[], text(&one), "single") else {
        return;
    };
    let subvolume = single.join("sub");
    run(&["btrfs", "subvolume", "create", text(&subvolume)]).expect("a subvolume");
    assert_eq!(top_name(&single), kernel_name(&one));
    assert_eq!(top_name(&subvolume), kernel_name(&one));

    run(&["mkfs.btrfs", "-q", "-f", text(&two), text(&three)]).expect("a file system");
    let Some(double) = bench.mount(&[], text(&two), "double") else {
        return;
    };
    assert!(why(&double).contains("2 devices"), "{}", why(&double));
    let found = in_use(&Roots::default(), kernel_name(&three));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("belongs to the mounted btrfs"));
}

#[test]
fn xfs_is_on_its_device() {
    let Some(mut bench) = Bench::new(&["mkfs.xfs"]) else {
        return;
    };
    let Some(node) = bench.loop_device("data.img", 320) else {
        return;
    };
    run(&["mkfs.xfs", "-q", text(&node)]).expect("a file system");
    let Some(point) = bench.mount(&[], text(&node), "a name") else {
        return;
    };
    assert_eq!(top_name(&point), kernel_name(&node));
    let storage = storage_of(&point);
    assert_eq!(storage.mount.expect("a mount").point, point);
    let (total, free) = (
        storage.total.expect("a size"),
        storage.available.expect("room"),
    );
    assert!(free < total && total.0 <= 320 * MIB);
}

#[test]
fn an_overlay_leads_to_the_layer_that_holds_the_file() {
    let Some(mut bench) = Bench::new(&["mkfs.ext4"]) else {
        return;
    };
    let (Some((lower_node, lower)), Some((upper_node, upper))) =
        (bench.ext4("lower"), bench.ext4("upper"))
    else {
        return;
    };
    for folder in ["up", "work"] {
        fs::create_dir(upper.join(folder)).expect("a folder");
    }
    fs::create_dir(lower.join("only-lower")).expect("a folder");
    fs::write(lower.join("old"), vec![1; 5000]).expect("a file");
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        text(&lower),
        text(&upper.join("up")),
        text(&upper.join("work"))
    );
    let Some(over) = bench.mount(&["-t", "overlay", "-o", &options], "overlay", "over") else {
        return;
    };
    fs::write(over.join("new"), vec![2; 5000]).expect("a file");
    assert_eq!(top_name(&over), kernel_name(&upper_node));
    assert_eq!(top_name(&over.join("only-lower")), kernel_name(&upper_node));
    assert_eq!(top_name(&over.join("new")), kernel_name(&upper_node));
    assert_eq!(top_name(&over.join("old")), kernel_name(&lower_node));
    assert_eq!(storage_of(&over).mount.expect("a mount").fs_type, "overlay");

    let bound = text(&over.join("only-lower")).to_owned();
    let Some(bind) = bench.mount(&["--bind"], &bound, "bind") else {
        return;
    };
    // The upper layer has no such folder yet, and the overlay's own root is
    // not reachable through this mount: there is nothing to compare.
    assert!(why(&bind).contains("upper layer"), "{}", why(&bind));
    fs::write(bind.join("x"), "x").expect("a file");
    assert_eq!(top_name(&bind), kernel_name(&upper_node));
}

#[test]
fn a_file_whose_metadata_alone_was_copied_up_is_not_in_the_upper_layer() {
    let Some(mut bench) = Bench::new(&["mkfs.ext4"]) else {
        return;
    };
    let (Some((_, lower)), Some((_, upper))) = (bench.ext4("lower"), bench.ext4("upper")) else {
        return;
    };
    for folder in ["up", "work"] {
        fs::create_dir(upper.join(folder)).expect("a folder");
    }
    fs::write(lower.join("old"), vec![1; 5000]).expect("a file");
    let options = format!(
        "metacopy=on,lowerdir={},upperdir={},workdir={}",
        text(&lower),
        text(&upper.join("up")),
        text(&upper.join("work"))
    );
    let Some(over) = bench.mount(&["-t", "overlay", "-o", &options], "overlay", "over") else {
        return;
    };
    run(&["chmod", "600", text(&over.join("old"))]).expect("the file is ours");
    let why = why(&over.join("old"));
    assert!(why.contains("none of the overlay's layers"), "{why}");
}

#[test]
fn tmpfs_is_memory() {
    let Some(mut bench) = Bench::new(&[]) else {
        return;
    };
    let Some(point) = bench.mount(&["-t", "tmpfs"], "tmpfs", "memory") else {
        return;
    };
    let storage = storage_of(&point);
    let expected = Backing::Memory {
        fs_type: "tmpfs".to_owned(),
    };
    assert_eq!((storage.backing, storage.layers.len()), (expected, 0));
    assert!(storage.available.is_some());
}

#[test]
fn another_process_that_writes_is_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("f");
    let roots = Roots::default();
    let own = [std::process::id()];
    let before = ProcessIoTable::take(&roots, &own);
    // printf is built into the shell, so the shell itself writes.
    let script = format!(
        "printf '%01048576d' 0 > {} && echo ready && read x",
        text(&file)
    );
    let writer = Helper::start(&["sh", "-c", &script]).expect("a shell");
    let after = ProcessIoTable::take(&roots, &own);
    let Some(list) = busiest(&before, &after, usize::MAX) else {
        skip("no other process may be looked at");
        return;
    };
    let Backing::Device { .. } = storage_of(folder.path()).backing else {
        skip("the temporary folder is not on a block device");
        return;
    };
    let seen = list.iter().find(|process| process.pid == writer.0.id());
    let seen = seen.expect("the shell did I/O");
    assert!(seen.write_bytes >= MIB, "{seen:?}");
    assert!(!list.iter().any(|process| process.pid == own[0]));
}

#[test]
fn paths_without_storage_are_refused() {
    let roots = Roots::default();
    let missing = resolve(&roots, Path::new("/no/such/path")).unwrap_err();
    assert!(matches!(missing, ResolveError::NotFound(_)), "{missing}");
    let beneath_a_file = resolve(&roots, Path::new("/proc/version/x")).unwrap_err();
    assert!(matches!(beneath_a_file, ResolveError::NotFound(_)));
    let null = resolve(&roots, Path::new("/dev/null")).unwrap_err();
    assert!(matches!(null, ResolveError::NotStorage(_)), "{null}");
}

#[test]
fn this_machine_is_described() {
    let system = system(&Roots::default());
    assert!(!system.kernel.is_empty() && !system.machine.is_empty());
    assert!(system.cpus >= 1);
    assert!(system.memory.0 > 64 * MIB);
    assert!(system.page_size.0.is_power_of_two());
}
