//! Output folder for several files: symbolic links in it are not followed.

use crate::exit::Failure;
use crate::output::admit_output;
use crate::stored::lookup::replace_file;
use assay_agent::HeldFolder;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Folder for files with known names.
pub struct OutputFolder {
    /// Path, as the user gave it.
    name: PathBuf,
    /// Open folder, for root in a folder where another user could put a link.
    held: Option<HeldFolder>,
}

impl OutputFolder {
    /// Opens a folder, which is created if it does not exist.
    ///
    /// # Errors
    /// If it cannot be created or opened, or root would follow a link that another user can change.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let held = make(path).and_then(|()| HeldFolder::if_open_to_others(path));
        let held = held.map_err(|error| {
            Failure::usage(format!("cannot write into {}: {error}", path.display()))
        })?;
        Ok(Self {
            name: path.to_owned(),
            held,
        })
    }

    /// Writes a file as a whole or not at all. It replaces a regular file with the name, but nothing
    /// else.
    ///
    /// # Errors
    /// If the file cannot be written, or something else has the name.
    pub fn write(
        &self,
        file: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let shown = self.name.join(file);
        admit_output(&shown)?;
        let held = self.held.as_ref().map(HeldFolder::path);
        let real = held.unwrap_or(&self.name).join(file);
        if real.symlink_metadata().is_ok_and(|there| !there.is_file()) {
            return Err(Failure::usage(format!(
                "{} is a link or no file: it is left alone; remove it, or name another folder",
                shown.display()
            )));
        }
        replace_file(&real, &shown, write)
    }
}

/// Creates the missing part of a path in its existing parent folder.
fn make(path: &Path) -> io::Result<()> {
    let is_there = |folder: &&Path| folder.as_os_str().is_empty() || folder.is_dir();
    let there = path.ancestors().find(is_there).unwrap_or(path);
    let held = HeldFolder::if_open_to_others(there)?;
    let within = held.as_ref().map_or(there, HeldFolder::path);
    match path.strip_prefix(there) {
        Ok(missing) if !missing.as_os_str().is_empty() => fs::create_dir_all(within.join(missing)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::Scratch;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_replaced_and_a_link_of_its_name_is_refused() {
        let scratch = Scratch::new().unwrap();
        let (folder, other) = (scratch.join("new/pages"), scratch.join("other"));
        let output = OutputFolder::open(&folder).unwrap();
        for text in ["first", "second"] {
            output
                .write("a", |out| out.write_all(text.as_bytes()))
                .unwrap();
            assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), text);
        }
        fs::write(&other, "kept").unwrap();
        symlink(&other, folder.join("b")).unwrap();
        symlink(scratch.join("none"), folder.join("c")).unwrap();
        for name in ["b", "c"] {
            let refused = output.write(name, |out| out.write_all(b"x")).unwrap_err();
            assert!(refused.to_string().contains("is a link"), "{refused}");
        }
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
        assert!(!scratch.join("none").exists());
        let names = fs::read_dir(&folder).unwrap().count();
        assert_eq!(names, 3, "nothing is left beside them");
    }
}
