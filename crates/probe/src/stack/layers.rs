//! Resolves a device to the disks that it is made of.

use super::View;
use super::holder::{Holder, in_memory};
use crate::device::{Device, DeviceNumber, node};
use crate::files::{FileKind, Stamp};
use crate::identity;
use assay_model::storage::{FILE_IN_MEMORY, Layer, LayerRole};
use std::collections::VecDeque;
use std::path::Path;

/// Layers of a device.
pub(super) struct Stack {
    /// Layers from the top; each device once, with all its parents.
    pub(super) layers: Vec<Layer>,
    /// Type of the in-memory file system that holds the files of loop devices, if the stack ends in
    /// loop devices only.
    pub(super) memory: Option<String>,
}

impl View<'_> {
    /// Returns the stack below `tops`.
    pub(super) fn stack(&self, tops: Vec<Device>) -> Stack {
        let mut walk = Walk {
            view: self,
            layers: Vec::new(),
            loops: VecDeque::new(),
        };
        for top in tops {
            walk.add(top, LayerRole::Top, None);
        }
        let mut in_memory = Vec::new();
        // Loop devices are last, so that a disk reached both directly and below a loop device
        // counts as reached directly. Each device is followed once, so the loop ends.
        while let Some(device) = walk.loops.pop_front() {
            match self.below_loop(&device) {
                Some(Holder::Devices(below)) => {
                    for below in below {
                        walk.add(below, LayerRole::Beneath, Some(device.name.clone()));
                    }
                }
                Some(Holder::Memory { fs_type }) => {
                    let mut layers = walk.layers.iter_mut();
                    if let Some(layer) = layers.find(|layer| layer.name == device.name) {
                        let raw = &mut layer.identity.raw;
                        raw.insert(FILE_IN_MEMORY.to_owned(), fs_type.clone());
                    }
                    in_memory.push((device.name, fs_type));
                }
                None => {}
            }
        }
        Stack {
            memory: only_memory(&walk.layers, in_memory),
            layers: walk.layers,
        }
    }

    /// Returns the holder of a loop device's backing file; `None` if the file is not the one
    /// visible here under that name, and the kernel does not report its location.
    fn below_loop(&self, device: &Device) -> Option<Holder> {
        let name = device.backing_file()?;
        let told = (self.roots.loop_file)(&node(self.roots, &device.name));
        let told = told.map(|(number, inode)| (DeviceNumber::from_raw(number), inode));
        // Another file may have the name by now, or in this mount namespace.
        let is_it =
            |found: &super::ExistingFile| told.is_none_or(|it| it == (found.device, found.inode));
        let found = self.files.look(&name).ok();
        match found.as_ref().map(|found| (found, found.kind)) {
            Some((_, FileKind::BlockDevice(number))) => {
                Device::numbered(self.roots, number).map(|below| Holder::Devices(vec![below]))
            }
            Some((found, FileKind::Regular)) if covers(&found.stamp, device) && is_it(found) => {
                self.holder(found).ok()
            }
            _ => self.below_nameless(told?.0, &name),
        }
    }

    /// Returns the holder of a backing file without a name here (deleted, or in another mount
    /// namespace), by the device number of its file system.
    fn below_nameless(&self, number: DeviceNumber, name: &Path) -> Option<Holder> {
        if !number.is_anonymous() {
            return Device::numbered(self.roots, number).map(|below| Holder::Devices(vec![below]));
        }
        let mut mounts = self.mounts.iter();
        let fs_type = match mounts.find(|entry| entry.device == number) {
            Some(entry) => entry.mount.fs_type.as_str(),
            // The kernel's own mount of tmpfs, which is in no namespace (memfd_create(2)).
            None if name.to_str()?.starts_with("/memfd:") => "tmpfs",
            None => return None,
        };
        in_memory(fs_type)
    }
}

/// Returns the in-memory file system if each lowest layer is a loop device on a file there.
fn only_memory(layers: &[Layer], in_memory: Vec<(String, String)>) -> Option<String> {
    let has_layer_below = |layer: &Layer| layers.iter().any(|below| below.is_below(&layer.name));
    let mut lowest = layers.iter().filter(|layer| !has_layer_below(layer));
    let all = lowest.all(|layer| in_memory.iter().any(|(name, _)| *name == layer.name));
    let (_, fs_type) = in_memory.into_iter().next()?;
    all.then_some(fs_type)
}

/// `true` if a file is long enough to back the loop device. A shorter file of the same name is
/// another file, in another mount namespace.
fn covers(stamp: &Stamp, device: &Device) -> bool {
    device.size().is_some_and(|size| stamp.length >= size.0)
}

struct Walk<'a> {
    view: &'a View<'a>,
    layers: Vec<Layer>,
    loops: VecDeque<Device>,
}

impl Walk<'_> {
    fn add(&mut self, device: Device, role: LayerRole, parent: Option<String>) {
        let mut known = self.layers.iter_mut();
        if let Some(known) = known.find(|layer| layer.name == device.name) {
            // A loop device whose file is on its own file system is not below itself.
            let parent = parent.filter(|name| *name != device.name && !known.is_below(name));
            known.other_parents.extend(parent);
            return;
        }
        self.layers.push(layer(&device, role, parent));
        let beneath = role == LayerRole::Beneath;
        let or_beneath = |role| if beneath { LayerRole::Beneath } else { role };
        let roots = self.view.roots;
        if let Some(disk) = device.parent_disk(roots) {
            self.add(disk, or_beneath(LayerRole::Disk), Some(device.name.clone()));
        }
        let role = match device.is_multipath() {
            true => LayerRole::Path,
            false => LayerRole::Member,
        };
        for name in device.slaves().into_iter().chain(device.hidden_paths()) {
            if let Some(member) = Device::named(roots, &name) {
                self.add(member, or_beneath(role), Some(device.name.clone()));
            }
        }
        if device.backing_file().is_some() {
            self.loops.push_back(device);
        }
    }
}

pub(crate) fn layer(device: &Device, role: LayerRole, parent: Option<String>) -> Layer {
    Layer {
        name: device.name.clone(),
        major: device.number.major,
        minor: device.number.minor,
        role,
        parent,
        other_parents: Vec::new(),
        size: device.size(),
        backing_file: device.backing_file(),
        identity: identity::of(device),
    }
}
