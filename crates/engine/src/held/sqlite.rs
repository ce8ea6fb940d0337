//! SQLite databases in held folders.

use rusqlite::ffi::{SQLITE_OK, sqlite3_vfs, sqlite3_vfs_find};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::mem::transmute;
use std::sync::OnceLock;

/// Type of `stat(2)` and `lstat(2)` as `SQLite` calls them. The structure that they fill is
/// not accessed here.
type Look = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;

/// The `stat` and `lstat` of SQLite before [`look`] replaced `lstat`.
static LOOKS: OnceLock<Option<(Look, Look)>> = OnceLock::new();

/// Lets `SQLite` use a path into a held folder unchanged. `SQLite` inspects each part of a
/// path and resolves the links that it finds (`unixFullPathname` of `os_unix.c`). The link
/// of a descriptor would become the current path of its folder, which is not protected
/// against replacement. This replaces its `lstat` (`xSetSystemCall`) by one that reports a
/// folder for such links. Journals are opened the same way, because `SQLite` derives their
/// names from the full path of the database.
///
/// # Errors
/// If `SQLite` refuses the replacement.
pub fn let_sqlite_in() -> io::Result<()> {
    static TAKEN: OnceLock<bool> = OnceLock::new();
    let taken = LOOKS.get_or_init(looks).is_some() && *TAKEN.get_or_init(replace);
    let refused = || io::Error::other("SQLite takes no other system call (xSetSystemCall)");
    taken.then_some(()).ok_or_else(refused)
}

/// Returns the default VFS, which lives as long as the process.
fn vfs() -> Option<(*mut sqlite3_vfs, &'static sqlite3_vfs)> {
    // SAFETY: without a name, the call returns the default VFS, or null.
    let vfs = unsafe { sqlite3_vfs_find(std::ptr::null()) };
    // SAFETY: it is registered for the life of the process, and its fields are never
    // changed.
    unsafe { vfs.as_ref() }.map(|it| (vfs, it))
}

fn looks() -> Option<(Look, Look)> {
    let (vfs, calls) = vfs()?;
    let get = calls.xGetSystemCall?;
    // SAFETY: the names are strings that end in a zero byte; the VFS is its own. The
    // functions that `os_unix.c` stores under these names have this type.
    unsafe {
        let stat = get(vfs, c"stat".as_ptr())?;
        let lstat = get(vfs, c"lstat".as_ptr())?;
        Some((
            transmute::<unsafe extern "C" fn(), Look>(stat),
            transmute::<unsafe extern "C" fn(), Look>(lstat),
        ))
    }
}

fn replace() -> bool {
    let Some((vfs, set)) = vfs().and_then(|(vfs, it)| Some((vfs, it.xSetSystemCall?))) else {
        return false;
    };
    // SAFETY: `look` has the type of the function that it replaces, and lives as long as
    // the process.
    let answer = unsafe {
        let look = transmute::<Look, unsafe extern "C" fn()>(look);
        set(vfs, c"lstat".as_ptr(), Some(look))
    };
    answer == SQLITE_OK
}

/// Does what `lstat(2)` does, but follows the links to open files in `/proc`.
unsafe extern "C" fn look(path: *const c_char, into: *mut c_void) -> c_int {
    let Some(&Some((stat, lstat))) = LOOKS.get() else {
        return -1;
    };
    // SAFETY: `SQLite` gives a string that ends in a zero byte.
    let name = unsafe { CStr::from_ptr(path) }.to_bytes();
    let of_thread = name.strip_prefix(b"/proc/thread-self");
    let of_process = || name.strip_prefix(b"/proc/self");
    let leads_to_open_file = of_thread.or_else(of_process).is_some_and(|rest| {
        let number = rest.strip_prefix(b"/fd/");
        rest.is_empty() || number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
    });
    let call = if leads_to_open_file { stat } else { lstat };
    // SAFETY: `SQLite` passes valid arguments for both calls.
    unsafe { call(path, into) }
}
