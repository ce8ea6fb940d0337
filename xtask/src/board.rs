//! `cargo xtask board`: prepares an emulated aarch64 board for tests, and with `PROGRAM` a Debian
//! program for it. All files come from Debian's packages and stay in the build folder: it installs
//! nothing and changes no setting of the system's package manager.
//!
//! The board's root file system contains busybox, an ssh server, programs that make and check ext4,
//! and drivers of its storage. `assay_testkit::Board` starts the board.

use crate::packages;
use crate::packages::{BOARD, Packages, launcher, unpack};
use crate::run::run;
use anyhow::{Context, Result, bail};
use assay_testkit::board;
use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, FileHeader};
use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Version of the prepared files. Raise it with every change to them.
const RECIPE: &str = "3";

/// Makes the folder unless it exists.
pub fn prepare() -> Result<()> {
    packages::prepare(board::FOLDER, RECIPE, make).context("cannot prepare the emulated board")
}

fn make(folder: &Path) -> Result<()> {
    let work = folder.join("work");
    let packages = Packages::update(&work.join("apt"))?;

    let host = folder.join("host");
    let needed = ["qemu-system-arm", "kmod", "cpio"];
    for package in packages.to_run(&needed)? {
        unpack(&package, &host)?;
    }
    let data = "-L \"$here/usr/share/qemu\"";
    launcher(folder, &host, &format!("usr/bin/{}", board::QEMU), data)?;

    let kernel = work.join("kernel");
    let image = packages.kernel_of(&format!("linux-image-arm64:{BOARD}"))?;
    unpack(&packages.download_of(BOARD, &image)?, &kernel)?;
    let version = image.trim_start_matches("linux-image-");
    fs::copy(
        kernel.join(format!("boot/vmlinuz-{version}")),
        folder.join(board::KERNEL),
    )?;

    let key = folder.join(board::KEY);
    run(Command::new("ssh-keygen")
        .args([
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            "emulated board",
            "-f",
        ])
        .arg(&key))?;
    let guest = work.join("guest");
    for package in INITRAMFS_PACKAGES {
        unpack(&packages.download_of(BOARD, package)?, &guest)?;
    }
    make_initramfs(&InitramfsParts {
        guest: &guest,
        kernel: &kernel,
        version,
        host: &host,
        public_key: &key.with_extension("pub"),
        image: &folder.join(board::INITRAMFS),
    })?;
    fs::remove_dir_all(&work)?;
    Ok(())
}

/// Returns the path of a program in a tree of unpacked packages, or else the
/// system's.
pub fn program(host: &Path, paths: &[&str]) -> PathBuf {
    let unpacked = paths.iter().map(|path| host.join(path));
    unpacked
        .into_iter()
        .find(|path| path.exists())
        .or_else(|| Some(PathBuf::from(Path::new(paths.first()?).file_name()?)))
        .unwrap_or_default()
}

/// Makes a symbolic link unless its name exists.
fn link(to: &str, at: &Path) -> Result<()> {
    if at.symlink_metadata().is_err() {
        symlink(to, at).with_context(|| at.display().to_string())?;
    }
    Ok(())
}

/// Version of the prepared files. Raise it with every change to them.
const PROGRAM_RECIPE: &str = "1";
/// Programs with their packages.
const PROGRAMS: [(&str, &str); 2] = [("fio", "fio"), ("ssh", "openssh-client")];

/// `cargo xtask board PROGRAM`: prepares a Debian program for the emulated board with all libraries
/// that it needs: fio, to compare its rates with assay's there, and the OpenSSH client, with which
/// an assay on the board reaches another machine. fio takes 60 MB from Debian's servers and a while
/// to copy to the board, so no other command prepares them. Makes the folder of the program unless
/// it exists.
pub fn prepare_program(program: &str) -> Result<()> {
    let known = PROGRAMS.iter().find(|(name, _)| *name == program);
    let (_, package) = known.context("programs for the board: fio, ssh")?;
    let make_program = |folder: &Path| make_program(folder, program, package);
    packages::prepare(
        &board::program_folder(program),
        PROGRAM_RECIPE,
        make_program,
    )
    .with_context(|| format!("cannot prepare the board's {program}"))
}

fn make_program(folder: &Path, program: &str, package: &str) -> Result<()> {
    let work = folder.join("work");
    let packages = Packages::update(&work.join("apt"))?;
    let tree = work.join("tree");
    for package in packages.all_of(BOARD, &[package])? {
        unpack(&package, &tree)?;
    }
    let chosen = work.join("chosen");
    fs::create_dir(&chosen)?;
    for file in with_libraries(&tree, program)? {
        let name = file.file_name().context("a file without a name")?;
        fs::copy(&file, chosen.join(name))?;
    }
    run(Command::new("tar")
        .arg("--create")
        .arg("--file")
        .arg(folder.join(board::PROGRAM_ARCHIVE))
        .arg("--directory")
        .args([chosen.as_path(), Path::new(".")]))?;
    fs::remove_dir_all(&work)?;
    Ok(())
}

/// Returns the program and its direct and indirect libraries.
fn with_libraries(tree: &Path, program: &str) -> Result<Vec<PathBuf>> {
    let mut there = BTreeMap::new();
    libraries(tree, &mut there)?;
    let mut found = vec![tree.join("usr/bin").join(program)];
    let mut looked_at = 0;
    while let Some(file) = found.get(looked_at) {
        for name in needed(file)? {
            // `remove` makes sure that each is added once.
            found.extend(there.remove(&name));
        }
        looked_at += 1;
    }
    Ok(found)
}

/// Finds files of a tree with names of libraries. Links in packages point to files beside them.
fn libraries(folder: &Path, found: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            libraries(&path, found)?;
        } else if path.is_file() && name.contains(".so") {
            found.insert(name, path);
        }
    }
    Ok(())
}

/// Names of the libraries that a file is linked to.
fn needed(file: &Path) -> Result<Vec<String>> {
    let image = fs::read(file)?;
    let read = || -> object::Result<Vec<String>> {
        let header = FileHeader64::<Endianness>::parse(&*image)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, &*image)?;
        let Some((entries, strings)) = sections.dynamic(endian, &*image)? else {
            return Ok(Vec::new());
        };
        let strings = sections.strings(endian, &*image, strings)?;
        let wanted = entries
            .iter()
            .filter(|entry| entry.tag(endian) == DT_NEEDED);
        wanted
            .map(|entry| entry.string(endian, strings))
            .map(|name| Ok(String::from_utf8_lossy(name?).into_owned()))
            .collect()
    };
    read().with_context(|| file.display().to_string())
}

/// Debian packages in the image.
pub const INITRAMFS_PACKAGES: [&str; 14] = [
    "busybox-static",
    "dropbear-bin",
    "e2fsprogs",
    "libblkid1",
    "libc6",
    "libcom-err2",
    "libcrypt1",
    "libext2fs2",
    "libgmp10",
    "libss2",
    "libtomcrypt1",
    "libtommath1",
    "libuuid1",
    "zlib1g",
];

/// Drivers in loading order; their dependencies are loaded before them.
const MODULES: [&str; 17] = [
    "virtio_pci",
    "virtio-rng",
    "virtio_net",
    "crc32c_generic",
    "crct10dif_generic",
    "crc64_rocksoft_generic",
    "sdhci-pci",
    "xhci-pci",
    "usb-storage",
    "uas",
    "sd_mod",
    "nvme",
    "ext4",
    "bfq",
    "kyber-iosched",
    "loop",
    "vfat",
];

/// Module options. Without multipath, the NVMe drive has one path, as on boards, and the kernel
/// counts its I/O under the drive's own name.
const OPTIONS: [(&str, &str); 1] = [("nvme-core.ko", "multipath=N")];

const INITTAB: &str = "\
::sysinit:/etc/rcS
::respawn:/usr/sbin/dropbear -F -E -R -s -p 22
";

/// Script that starts the board. `assay_testkit::Board` waits for its last line.
const RC_S: &str = "\
#!/bin/busybox sh
/bin/busybox --install -s
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /dev/shm
mount -t debugfs debugfs /sys/kernel/debug
hostname emulated-board
while read -r module options; do
    insmod \"/lib/modules/$module\" $options
done < /etc/modules
ifconfig lo up
ifconfig eth0 10.0.2.15 up
route add default gw 10.0.2.2
tries=0
until [ -b /dev/mmcblk0 ] && [ -b /dev/sda ] && [ -b /dev/nvme0n1 ] || [ $tries = 60 ]; do
    tries=$((tries + 1))
    sleep 1
done
mount -t ext4 /dev/mmcblk0 /mnt/sd
echo the board is up
";

/// Parts of the image.
pub struct InitramfsParts<'a> {
    /// The unpacked [`INITRAMFS_PACKAGES`].
    pub guest: &'a Path,
    /// The unpacked kernel.
    pub kernel: &'a Path,
    /// Version of the kernel.
    pub version: &'a str,
    /// The unpacked packages for this machine.
    pub host: &'a Path,
    /// Public ssh key of root.
    pub public_key: &'a Path,
    /// Path of the image to make.
    pub image: &'a Path,
}

/// Makes the image.
pub fn make_initramfs(parts: &InitramfsParts<'_>) -> Result<()> {
    let root = parts.guest;
    let doc = root.join("usr/share");
    if doc.exists() {
        fs::remove_dir_all(doc)?;
    }
    settle(root, parts.public_key)?;
    let loaded = driver_modules(parts)?;
    let folder = root.join("lib/modules");
    fs::create_dir_all(&folder)?;
    let mut names = String::new();
    for module in loaded {
        let name = module.file_name().context("a module without a name")?;
        fs::copy(&module, folder.join(name))?;
        let name = name.to_string_lossy();
        let options = OPTIONS.iter().find(|(module, _)| *module == name);
        let options = options.map_or("", |(_, options)| options);
        names.push_str(&format!("{name} {options}\n"));
    }
    fs::write(root.join("etc/modules"), names)?;
    pack(root, parts.host, parts.image)
}

/// Makes folders, settings and the account of root.
fn settle(root: &Path, public_key: &Path) -> Result<()> {
    for folder in [
        "dev",
        "etc/dropbear",
        "mnt/sd",
        "mnt/usb",
        "mnt/nvme",
        "proc",
        "root/.ssh",
        "sbin",
        "sys",
        "tmp",
        "usr/bin",
        "usr/sbin",
        "var/tmp",
    ] {
        fs::create_dir_all(root.join(folder))?;
    }
    link("bin/busybox", &root.join("init"))?;
    link("busybox", &root.join("bin/sh"))?;
    fs::write(root.join("etc/inittab"), INITTAB)?;
    fs::write(root.join("etc/rcS"), RC_S)?;
    fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")?;
    fs::write(root.join("etc/group"), "root:x:0:\n")?;
    fs::write(root.join("etc/shells"), "/bin/sh\n")?;
    fs::copy(public_key, root.join("root/.ssh/authorized_keys"))?;
    for (path, mode) in [
        ("etc/rcS", 0o755),
        ("root", 0o700),
        ("root/.ssh", 0o700),
        ("root/.ssh/authorized_keys", 0o600),
    ] {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Returns files of the [`MODULES`] and of their dependencies, in an order in which they can be
/// loaded.
fn driver_modules(parts: &InitramfsParts<'_>) -> Result<Vec<PathBuf>> {
    let depmod = program(parts.host, &["bin/kmod", "usr/bin/kmod"]);
    run(Command::new(depmod)
        .arg0("depmod")
        .arg("--basedir")
        .args([parts.kernel.as_os_str(), parts.version.as_ref()]))?;
    let folder = parts.kernel.join("lib/modules").join(parts.version);
    let depends = fs::read_to_string(folder.join("modules.dep"))?;
    let order = load_order(&depends, &MODULES)?;
    Ok(order.into_iter().map(|path| folder.join(path)).collect())
}

/// Returns the loading order from `modules.dep`, in which each line has a module and all its
/// dependencies, the deepest last.
fn load_order<'a>(depends: &'a str, wanted: &[&str]) -> Result<Vec<&'a str>> {
    let by_name: BTreeMap<String, (&str, &str)> = depends
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter_map(|(path, needs)| Some((name_of(path)?, (path, needs))))
        .collect();
    let mut order: Vec<&str> = Vec::new();
    for name in wanted {
        let Some((path, needs)) = by_name.get(&name.replace('-', "_")) else {
            bail!("the kernel has no module {name}");
        };
        for module in needs.split_whitespace().rev().chain([*path]) {
            if !order.contains(&module) {
                order.push(module);
            }
        }
    }
    Ok(order)
}

/// Returns the name of a module file. The kernel takes `-` and `_` as equal.
fn name_of(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?.strip_suffix(".ko")?;
    Some(name.replace('-', "_"))
}

/// Packs all files below `root`, owned by root, into a compressed cpio archive.
pub fn pack(root: &Path, host: &Path, image: &Path) -> Result<()> {
    let mut find = Command::new("find")
        .arg(".")
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut cpio = Command::new(program(host, &["bin/cpio", "usr/bin/cpio"]));
    cpio.args(["--quiet", "--create", "--format=newc", "--owner=0:0"])
        .current_dir(root)
        .stdin(find.stdout.take().context("find has no output")?)
        .stdout(Stdio::piped());
    let mut archive = cpio.spawn().context("cannot start cpio")?;
    let mut gzip = Command::new("gzip");
    gzip.arg("-6")
        .stdin(archive.stdout.take().context("cpio has no output")?)
        .stdout(File::create(image)?);
    run(&mut gzip)?;
    for (name, child) in [("find", &mut find), ("cpio", &mut archive)] {
        let status = child.wait()?;
        if !status.success() {
            bail!("{name} failed: {status}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_loaded_after_all_that_it_needs_and_once() {
        let depends = "k/a.ko: k/b.ko k/c-d.ko\nk/b.ko: k/c-d.ko\nk/c-d.ko:\n";
        let order = load_order(depends, &["b", "a", "c_d"]).unwrap();
        assert_eq!(order, ["k/c-d.ko", "k/b.ko", "k/a.ko"]);
        assert!(load_order(depends, &["x"]).is_err());
    }
}
