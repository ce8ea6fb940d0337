//! Finds the layer of an overlay that holds a file.
//!
//! Mountinfo shows the layers as they were passed to `mount`, perhaps in another mount namespace
//! (containers do so), where the same name may be another folder. A layer counts only if it
//! contains the same file, recognised by its stamp: the overlay reports the stamp of the real file.

use crate::files::{ExistingFile, FileKind, Files, Stamp};
use crate::mounts::MountEntry;
use std::path::{Path, PathBuf};

/// Returns the file in the layer that holds it; for a directory, the upper layer's folder in which
/// a new file would be created. Else the reason why it is not known.
pub(super) fn real_file(
    files: &dyn Files,
    entry: &MountEntry,
    found: &ExistingFile,
) -> Result<ExistingFile, String> {
    let below_mount = found
        .path
        .strip_prefix(&entry.mount.point)
        .map_err(|_| "the overlay's mount point does not lead to the file".to_owned())?;
    let root = entry.root.strip_prefix("/").unwrap_or(&entry.root);
    let inside = root.join(below_mount);
    match found.kind {
        FileKind::Directory => upper_folder(files, entry, &inside),
        _ => layer_of(files, entry, &inside, found),
    }
}

/// Returns the nearest parent folder that exists in the upper layer: a new file is created on the
/// same file system.
fn upper_folder(
    files: &dyn Files,
    entry: &MountEntry,
    inside: &Path,
) -> Result<ExistingFile, String> {
    let uppers: Vec<PathBuf> = option(entry, "upperdir=").collect();
    let named = uppers
        .first()
        .ok_or("the overlay is read-only: it has no upper layer")?;
    let below_root = entry.root.strip_prefix("/").unwrap_or(&entry.root);
    for folder in inside.ancestors() {
        let Ok(below_mount) = folder.strip_prefix(below_root) else {
            break;
        };
        let Ok(shown) = files.look(&entry.mount.point.join(below_mount)) else {
            continue;
        };
        let there = uppers
            .iter()
            .filter_map(|upper| files.look(&upper.join(folder)).ok());
        let there: Vec<ExistingFile> = there.collect();
        if !there.is_empty() {
            let mut there = there.into_iter();
            let real = there.find(|real| same(&shown, real));
            return real.ok_or_else(|| not_visible(named));
        }
    }
    Err(not_visible(named))
}

fn layer_of(
    files: &dyn Files,
    entry: &MountEntry,
    inside: &Path,
    found: &ExistingFile,
) -> Result<ExistingFile, String> {
    let options = entry.mount.super_options.iter();
    let lower = options
        .filter_map(|option| option.strip_prefix("lowerdir="))
        .flat_map(split_layers)
        .flat_map(|layer| places(entry, &layer))
        .chain(option(entry, "lowerdir+="))
        .chain(option(entry, "datadir+="));
    let layers: Vec<PathBuf> = option(entry, "upperdir=").chain(lower).collect();
    let there = layers.iter();
    let there = there.filter_map(|layer| files.look(&layer.join(inside)).ok());
    let there: Vec<ExistingFile> = there.collect();
    let real = there.iter().find(|real| same(found, real));
    let real = real.or_else(|| data_of(&there, found));
    real.cloned().ok_or_else(|| {
        "none of the overlay's layers that are visible here holds the file".to_owned()
    })
}

/// Returns the data of a file of which one layer has only the attributes (`metacopy=on`), if both
/// are on the same file system: opening it for writing copies the data up first.
fn data_of<'a>(there: &'a [ExistingFile], found: &ExistingFile) -> Option<&'a ExistingFile> {
    let Stamp {
        length, sectors, ..
    } = found.stamp;
    let attributes = |real: &ExistingFile| {
        Stamp {
            sectors,
            ..real.stamp
        } == found.stamp
    };
    let upper = there.iter().position(attributes)?;
    let mut lower = there.iter().skip(upper + 1);
    lower.find(|real| {
        real.device == there[upper].device
            && (real.stamp.length, real.stamp.sectors) == (length, sectors)
    })
}

fn same(shown: &ExistingFile, real: &ExistingFile) -> bool {
    shown.kind == real.kind && shown.stamp == real.stamp
}

fn not_visible(upper: &Path) -> String {
    format!(
        "the overlay's upper layer {} is not visible from here",
        upper.display()
    )
}

/// Returns the folders that an option may mean.
fn option<'a>(entry: &'a MountEntry, key: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
    let options = entry.mount.super_options.iter();
    options
        .filter_map(move |option| option.strip_prefix(key))
        .flat_map(|folder| places(entry, Path::new(folder)))
}

/// Returns the possible locations of a folder that was passed to `mount`: a relative path is
/// resolved against each folder above the mount point. A wrong location is harmless, since only the
/// same file counts.
fn places(entry: &MountEntry, folder: &Path) -> Vec<PathBuf> {
    let above = entry.mount.point.ancestors();
    let mut places: Vec<PathBuf> = above.map(|base| base.join(folder)).collect();
    places.dedup();
    places
}

/// Splits layers: `/a:/b\:c` are the two layers `/a` and `/b:c`; `::` separates data layers.
fn split_layers(text: &str) -> Vec<PathBuf> {
    let mut all = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let next = match c {
            ':' => {
                all.push(String::new());
                continue;
            }
            '\\' => chars.next().unwrap_or(c),
            other => other,
        };
        if let Some(last) = all.last_mut() {
            last.push(next);
        }
    }
    all.retain(|layer| !layer.is_empty());
    all.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_layers_are_split_at_unescaped_colons() {
        let layers = split_layers("/a:/b\\:c::/data:relative");
        assert_eq!(
            layers,
            ["/a", "/b:c", "/data", "relative"].map(PathBuf::from)
        );
    }
}
