//! Directories that are kept open while files in them are accessed by name.
//!
//! Between two uses of a path, the owner of a parent directory can rename the directory and put a
//! link in its place; root would then write where the link points. A name in a held directory is
//! therefore a path through the descriptor (`/proc/thread-self/fd/N/name`). The kernel resolves it from
//! the open directory, even if that was moved or another file has its old name, so any code that
//! takes a path can use it. Below the directory, [`open`] and the other functions here follow no
//! link either: they resolve each component as `openat2(2)` with
//! `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS` would. That call is missing before Linux 5.6, and
//! seccomp filters kill programs that try it.

#[cfg(feature = "sqlite")]
mod sqlite;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, fstatfs, mkdirat, openat, readlinkat,
    statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Components, Path, PathBuf};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

#[cfg(feature = "sqlite")]
pub use sqlite::let_sqlite_in;

/// Folders of the links to the open files of this thread, and of the process. A thread can have a
/// table of its own (`sys::own_file_table`); Linux before 3.17 has only the second folder.
const DESCRIPTORS: [&str; 2] = ["/proc/thread-self/fd/", "/proc/self/fd/"];

/// Returns the path of the link to a file that this thread has open.
pub(crate) fn link_to(file: BorrowedFd<'_>) -> PathBuf {
    static OF_THREADS: LazyLock<bool> = LazyLock::new(|| Path::new(DESCRIPTORS[0]).exists());
    let folder = DESCRIPTORS[usize::from(!*OF_THREADS)];
    Path::new(folder).join(file.as_raw_fd().to_string())
}

/// File systems that store no owners, by `f_type` (`linux/magic.h`): vfat, exfat, ntfs3. A mount
/// option sets the owner of all files there.
const WITHOUT_OWNERS: [u64; 3] = [0x4d44, 0x2011_bab0, 0x7366_746e];

/// Name of a temporary file that shows which owner new files get.
const PROBE: &str = "owner";

/// Currently held folders, by descriptor.
static HELD: RwLock<BTreeMap<RawFd, Arc<OpenFolder>>> = RwLock::new(BTreeMap::new());

#[derive(Debug)]
struct OpenFolder {
    folder: OwnedFd,
    /// Path to show to users.
    name: PathBuf,
}

/// A folder that is kept open until this value is dropped.
#[derive(Debug)]
pub struct HeldFolder {
    held: Arc<OpenFolder>,
    path: PathBuf,
}

impl HeldFolder {
    /// Opens and holds an existing folder. As root, follows no link in the path that another user
    /// can change.
    ///
    /// # Errors
    /// If the folder cannot be opened, or the path has such a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::hold(to_folder(path)?.folder, named(path).into_owned())
    }

    /// Holds a folder for root if another user can replace it or an entry in it; `None` if only
    /// root can, or the process is not root.
    ///
    /// # Errors
    /// As for [`HeldFolder::open`].
    pub fn if_open_to_others(path: &Path) -> io::Result<Option<Self>> {
        if !geteuid().is_root() || find(path).is_some() {
            return Ok(None);
        }
        let way = to_folder(path)?;
        match way.is_open_to_others {
            true => Self::hold(way.folder, path.to_owned()).map(Some),
            false => Ok(None),
        }
    }

    /// Creates a folder in `parent` that only this user can access, and holds it.
    ///
    /// # Errors
    /// If the folder cannot be created, or the name exists already or was replaced meanwhile,
    /// even by an empty folder of another user.
    pub fn make(parent: &Path, name: &str) -> io::Result<Self> {
        let within = to_folder(parent)?.folder;
        mkdirat(&within, name, Mode::RWXU).map_err(|errno| match errno {
            Errno::EXIST => {
                let kind = io::ErrorKind::AlreadyExists;
                io::Error::new(kind, format!("{name} is there, and not of this run"))
            }
            other => other.into(),
        })?;
        let folder = openat(&within, name, FOLDER, Mode::empty())?;
        let replaced = || Err(io::Error::other("another folder was put in its place"));
        if entries(&folder)?.next().is_some() {
            return replaced();
        }
        let made = Self::hold(folder, named(parent).join(name))?;
        match is_owner_of_new(&made) {
            Ok(true) => Ok(made),
            Ok(false) => replaced(),
            Err(error) => {
                let _ = made.remove();
                Err(error)
            }
        }
    }

    fn hold(folder: OwnedFd, name: PathBuf) -> io::Result<Self> {
        let number = folder.as_raw_fd();
        let path = link_to(folder.as_fd());
        let itself = fstat(&folder)?;
        let named = rustix::fs::stat(&path);
        if !named.is_ok_and(|named| is_same(&named, &itself)) {
            return Err(io::Error::other(
                "files in a folder that is held open cannot be named: mount /proc",
            ));
        }
        let held = Arc::new(OpenFolder { folder, name });
        let mut all = HELD.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(number, Arc::clone(&held));
        Ok(Self { held, path })
    }

    /// Returns the path through the descriptor. Paths that begin with it always lead into this
    /// folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path to show to users.
    pub fn name(&self) -> &Path {
        &self.held.name
    }

    /// Removes the folder, which must be empty, even if it was renamed in its parent folder or
    /// moved.
    ///
    /// # Errors
    /// Error that the kernel returned, or an error if the folder cannot be found.
    pub fn remove(&self) -> io::Result<()> {
        remove_folder(self.as_fd(), self.name())
    }
}

impl AsFd for HeldFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.folder.as_fd()
    }
}

impl Drop for HeldFolder {
    fn drop(&mut self) {
        let mut all = HELD.write().unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.held.folder.as_raw_fd());
    }
}

/// Checks that root would follow no link in `path`, including its last component, that another
/// user can change.
///
/// # Errors
/// If there is such a link. Other problems of the path are left to the function that opens it.
pub fn check_way(path: &Path) -> io::Result<()> {
    match to(path) {
        Err(error) if error.raw_os_error().is_none() => Err(error),
        _ => Ok(()),
    }
}

/// Maximum number of attempts to find the name of a folder that is constantly renamed.
const ATTEMPTS: u32 = 100;

/// Removes an open, empty folder. Finds its parent through its `..` entry, because a link may
/// have replaced a part of its path.
///
/// # Errors
/// Error that the kernel returned, or an error if the folder cannot be found.
pub fn remove_folder(folder: BorrowedFd<'_>, name: &Path) -> io::Result<()> {
    let itself = fstat(folder)?;
    for _ in 0..ATTEMPTS {
        let parent = openat(folder, "..", PLACE, Mode::empty())?;
        let is_it = |name: &CStr| {
            let found = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW);
            found.is_ok_and(|found| is_same(&found, &itself))
        };
        let told = name.file_name().and_then(c_name);
        let name = match told.filter(|name| is_it(name)) {
            Some(name) => Some(name),
            None => entries(&parent)?.find(|name| is_it(name)),
        };
        match name.map(|name| unlinkat(&parent, &*name, AtFlags::REMOVEDIR)) {
            Some(Ok(())) => return Ok(()),
            // It was renamed meanwhile.
            None | Some(Err(Errno::NOENT | Errno::NOTDIR)) => {}
            Some(Err(errno)) => return Err(errno.into()),
        }
    }
    Err(io::Error::other("it was moved, and is not found again"))
}

/// Opens a file or folder; in a held folder, without following links.
///
/// # Errors
/// Error that the kernel returned; `ELOOP` for a link in a held folder.
pub fn open(path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    match HeldName::of(path)? {
        Some(place) => openat(place.folder(), place.name, flags | OFlags::NOFOLLOW, mode),
        None => rustix::fs::open(path, flags, mode),
    }
}

/// Opens a file to read it, as [`File::open`] does.
///
/// # Errors
/// As for [`open`].
pub fn open_to_read(path: &Path) -> io::Result<File> {
    Ok(open(path, OFlags::RDONLY, Mode::empty())?.into())
}

/// Creates a file for reading and writing. The name must not exist, not even as a link.
///
/// # Errors
/// As for [`open`].
pub fn create_new(path: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
    open(path, flags, Mode::from_raw_mode(0o666)).map(File::from)
}

/// Removes a file or link, without following it; in a held folder, without following links in the
/// path.
///
/// # Errors
/// Error that the kernel returned.
pub fn remove_file(path: &Path) -> io::Result<()> {
    Ok(unlink(path, AtFlags::empty())?)
}

/// Removes a name as `unlinkat(2)` does: an empty folder with `AtFlags::REMOVEDIR`, else a file
/// or link; in a held folder, without following links in the path.
///
/// # Errors
/// Error that the kernel returned.
pub fn unlink(path: &Path, flags: AtFlags) -> Result<(), Errno> {
    match HeldName::of(path)? {
        Some(place) => unlinkat(place.folder(), place.name, flags),
        None => unlinkat(CWD, path, flags),
    }
}

/// Creates a folder in an existing one; in a held folder, without following links.
///
/// # Errors
/// Error that the kernel returned.
pub fn make_folder(path: &Path, mode: Mode) -> Result<(), Errno> {
    match HeldName::of(path)? {
        Some(place) => mkdirat(place.folder(), place.name, mode),
        None => mkdirat(CWD, path, mode),
    }
}

/// Creates a folder and its missing parents; in a held folder, without following links.
///
/// # Errors
/// Error that the kernel returned.
pub fn make_folders(path: &Path, mode: Mode) -> io::Result<()> {
    let make = || -> io::Result<()> {
        let Some(place) = HeldName::of(path)? else {
            let mut builder = DirBuilder::new();
            return builder.recursive(true).mode(mode.bits()).create(path);
        };
        match mkdirat(place.folder(), place.name, mode) {
            Err(Errno::EXIST) => {
                openat(place.folder(), place.name, FOLDER, Mode::empty())?;
                Ok(())
            }
            made => Ok(made?),
        }
    };
    match (make(), path.parent()) {
        // Retried once only: the held folder itself may have been removed.
        (Err(error), Some(above)) if error.kind() == io::ErrorKind::NotFound => {
            make_folders(above, mode)?;
            make()
        }
        (made, _) => made,
    }
}

/// Returns the status of a path; of the link itself if it is one. In a held folder no link is
/// followed.
///
/// # Errors
/// The kernel's error.
pub fn status(path: &Path) -> io::Result<Stat> {
    let found = match HeldName::of(path)? {
        Some(place) => statat(place.folder(), place.name, AtFlags::SYMLINK_NOFOLLOW),
        None => statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW),
    };
    Ok(found?)
}

/// Returns the status of the file at a path, as `stat(2)` does. In a held folder links are not
/// followed; the status of the link is returned.
///
/// # Errors
/// The kernel's error.
pub fn stat(path: &Path) -> Result<Stat, Errno> {
    match HeldName::of(path)? {
        Some(place) => statat(place.folder(), place.name, AtFlags::SYMLINK_NOFOLLOW),
        None => rustix::fs::stat(path),
    }
}

/// Returns true if an open folder belongs to this user, as far as its file system can tell.
pub fn is_own(folder: impl AsFd) -> bool {
    let is_ours = |uid| uid == geteuid().as_raw();
    let has_owners = || {
        let kind = fstatfs(&folder).map(|meta| u64::try_from(meta.f_type).unwrap_or(0));
        !kind.is_ok_and(|kind| WITHOUT_OWNERS.contains(&kind))
    };
    fstat(&folder).is_ok_and(|meta| is_ours(meta.st_uid)) || !has_owners()
}

/// Returns a path as text for messages, with the folder's path instead of the descriptor.
pub fn shown(path: &Path) -> String {
    named(path).display().to_string()
}

/// Returns a path with the folder's path instead of the descriptor.
pub fn named(path: &Path) -> Cow<'_, Path> {
    match find(path) {
        Some((held, rest)) if rest.as_path().as_os_str().is_empty() => held.name.clone().into(),
        Some((held, rest)) => held.name.join(rest).into(),
        None => Cow::Borrowed(path),
    }
}

/// Returns the held folder with which a path begins, and the names after it.
fn find(path: &Path) -> Option<(Arc<OpenFolder>, Components<'_>)> {
    // Compares bytes first, because this runs before each call of engines that take a path per
    // I/O.
    let path = path.as_os_str().as_bytes();
    let names = DESCRIPTORS
        .iter()
        .find_map(|folder| path.strip_prefix(folder.as_bytes()))?;
    let mut names = Path::new(OsStr::from_bytes(names)).components();
    let number: RawFd = names.next()?.as_os_str().to_str()?.parse().ok()?;
    let all = HELD.read().unwrap_or_else(PoisonError::into_inner);
    all.get(&number).map(|held| (Arc::clone(held), names))
}

/// A name in a held folder, or in a folder below one.
struct HeldName<'a> {
    held: Arc<OpenFolder>,
    /// Folder of the name, if it is not the held folder itself.
    below: Option<OwnedFd>,
    name: &'a OsStr,
}

impl<'a> HeldName<'a> {
    /// Resolves a path; `None` if it does not begin with a held folder.
    fn of(path: &'a Path) -> Result<Option<Self>, Errno> {
        let Some((held, names)) = find(path) else {
            return Ok(None);
        };
        let mut place = Self {
            held,
            below: None,
            name: OsStr::new("."),
        };
        for (number, name) in names.enumerate() {
            let Component::Normal(name) = name else {
                return Err(Errno::XDEV);
            };
            if number > 0 {
                let flags = PLACE | OFlags::DIRECTORY;
                place.below = Some(openat(place.folder(), place.name, flags, Mode::empty())?);
            }
            place.name = name;
        }
        Ok(Some(place))
    }

    fn folder(&self) -> BorrowedFd<'_> {
        let below = self.below.as_ref().unwrap_or(&self.held.folder);
        below.as_fd()
    }
}

/// Returns true if both describe the same file.
fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Returns true if new files in a folder get the folder's owner. This holds in a folder that this
/// user has made, also if the file system assigns all files to another user.
fn is_owner_of_new(folder: &HeldFolder) -> io::Result<bool> {
    let path = folder.path().join(PROBE);
    let made = fstat(create_new(&path)?);
    remove_file(&path)?;
    Ok(made?.st_uid == fstat(folder)?.st_uid)
}

/// Returns the names in a folder.
fn entries(folder: &OwnedFd) -> io::Result<impl Iterator<Item = Box<CStr>>> {
    let readable = openat(folder, ".", FOLDER, Mode::empty())?;
    let names = Dir::new(readable)?.filter_map(|entry| {
        let name = entry.ok()?.file_name().to_owned();
        (!matches!(name.to_bytes(), b"." | b"..")).then(|| name.into_boxed_c_str())
    });
    Ok(names)
}

fn c_name(name: &OsStr) -> Option<Box<CStr>> {
    let name = std::ffi::CString::new(name.as_encoded_bytes()).ok()?;
    Some(name.into_boxed_c_str())
}

/// Flags to open a folder for access to its entries.
const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// Flags to open a file of any kind for inspection only.
const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Maximum number of links in a path, which is that of the kernel.
const MOST_LINKS: u32 = 40;

/// A resolved path.
struct Way {
    /// Folder or file at the end of the path; it may be unreadable.
    folder: OwnedFd,
    /// True if a user other than root can replace a component of the path, or an entry of the
    /// folder.
    is_open_to_others: bool,
}

/// Resolves a path to a folder.
fn to_folder(path: &Path) -> io::Result<Way> {
    let mut way = to(path)?;
    way.folder = openat(&way.folder, ".", PLACE | OFlags::DIRECTORY, Mode::empty())?;
    way.is_open_to_others |= others_can_change(&fstat(&way.folder)?, None);
    Ok(way)
}

/// Resolves a path to a file or folder. As root, follows only links that no other user can
/// change, because a user may have created the link to redirect root.
fn to(path: &Path) -> io::Result<Way> {
    let (mut at, rest) = start(path)?;
    // Remaining names, the next one last.
    let mut names = names_of(rest);
    let mut is_open_to_others = false;
    let mut links = 0;
    while let Some(name) = names.pop() {
        let found = openat(&at, &name, PLACE, Mode::empty())?;
        let meta = fstat(&found)?;
        let is_exposed = others_can_change(&fstat(&at)?, Some(&meta));
        is_open_to_others |= is_exposed;
        if FileType::from_raw_mode(meta.st_mode) != FileType::Symlink {
            at = found;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        if is_exposed && geteuid().is_root() {
            return Err(io::Error::other(format!(
                "there is a link on the way, {}, that another user can change, which root does \
                 not follow: name the folder that it leads to",
                name.to_string_lossy()
            )));
        }
        let target = readlinkat(&found, "", Vec::new())?.into_bytes();
        let target = PathBuf::from(OsString::from_vec(target));
        if target.is_absolute() {
            at = start(&target)?.0;
        }
        names.extend(names_of(&target));
    }
    Ok(Way {
        folder: at,
        is_open_to_others,
    })
}

/// Returns the folder in which a path starts, and the rest of the path.
fn start(path: &Path) -> Result<(OwnedFd, &Path), Errno> {
    if let Some((held, rest)) = find(path) {
        let folder = openat(&held.folder, ".", PLACE, Mode::empty())?;
        return Ok((folder, rest.as_path()));
    }
    let start = if path.is_absolute() { "/" } else { "." };
    Ok((openat(CWD, start, PLACE, Mode::empty())?, path))
}

/// Returns the names of a path, the last one first.
fn names_of(path: &Path) -> Vec<OsString> {
    let names = path.components().rev();
    let named = names.filter(|name| matches!(name, Component::Normal(_) | Component::ParentDir));
    named.map(|name| name.as_os_str().to_owned()).collect()
}

/// Returns true if a user other than root can replace an entry, or any entry if none is given.
fn others_can_change(folder: &Stat, entry: Option<&Stat>) -> bool {
    const STICKY: u32 = 0o1000;
    let is_root = |stat: &Stat| stat.st_uid == 0;
    let group = folder.st_gid != 0 && folder.st_mode & 0o020 != 0;
    let others_write = group || folder.st_mode & 0o002 != 0;
    let is_kept = folder.st_mode & STICKY != 0 && entry.is_some_and(is_root);
    !is_root(folder) || others_write && !is_kept
}

#[cfg(test)]
mod tests;
