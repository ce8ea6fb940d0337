//! Databases in held folders.

use rusqlite::ffi::{SQLITE_OK, sqlite3_vfs, sqlite3_vfs_find};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::mem::transmute;
use std::sync::OnceLock;

/// `stat(2)` and `lstat(2)` as `SQLite` calls them: what they fill is its own business.
type Look = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;

/// Functions that SQLite called before [`look`] replaced them.
static LOOKS: OnceLock<Option<(Look, Look)>> = OnceLock::new();

/// From now on `SQLite` takes a path into a held folder as it is. It looks at each part of
/// a path and writes out the links that it finds (`unixFullPathname` of `os_unix.c`); the
/// link of a descriptor would become the name that its folder has now, and be lost with
/// it. Its interface for replacing system calls (`xSetSystemCall`) shows it a folder there.
/// The names of journals are made from the full name of the database.
///
/// # Errors
/// When `SQLite` does not take it.
pub fn let_sqlite_in() -> io::Result<()> {
    static TAKEN: OnceLock<bool> = OnceLock::new();
    let taken = LOOKS.get_or_init(looks).is_some() && *TAKEN.get_or_init(replace);
    let refused = || io::Error::other("SQLite takes no other system call (xSetSystemCall)");
    taken.then_some(()).ok_or_else(refused)
}

/// The default VFS, which lives as long as the process.
fn vfs() -> Option<(*mut sqlite3_vfs, &'static sqlite3_vfs)> {
    // SAFETY: without a name, it gives the default VFS, or null.
    let vfs = unsafe { sqlite3_vfs_find(std::ptr::null()) };
    // SAFETY: it is registered for good, and nobody changes its fields.
    unsafe { vfs.as_ref() }.map(|it| (vfs, it))
}

fn looks() -> Option<(Look, Look)> {
    let (vfs, calls) = vfs()?;
    let get = calls.xGetSystemCall?;
    // SAFETY: the names are strings that end in a zero byte; the VFS is its own. What
    // `os_unix.c` keeps under these names are functions of that type.
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
    // SAFETY: `look` has the type of what it replaces, and lives as long as the process.
    let answer = unsafe {
        let look = transmute::<Look, unsafe extern "C" fn()>(look);
        set(vfs, c"lstat".as_ptr(), Some(look))
    };
    answer == SQLITE_OK
}

/// `lstat(2)`, but through the links that lead to open files.
unsafe extern "C" fn look(path: *const c_char, into: *mut c_void) -> c_int {
    let Some(&Some((stat, lstat))) = LOOKS.get() else {
        return -1;
    };
    // SAFETY: `SQLite` gives a string that ends in a zero byte.
    let name = unsafe { CStr::from_ptr(path) }.to_bytes();
    let leads_to_open_file = name.strip_prefix(b"/proc/self").is_some_and(|rest| {
        let number = rest.strip_prefix(b"/fd/");
        rest.is_empty() || number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
    });
    let call = if leads_to_open_file { stat } else { lstat };
    // SAFETY: both take what `SQLite` gave.
    unsafe { call(path, into) }
}
