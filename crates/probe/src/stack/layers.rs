//! From a device down to the disks it is made of.

use super::View;
use super::holder::{Holder, in_memory};
use crate::device::{Device, DeviceNumber};
use crate::devices::node;
use crate::files::{FileKind, Stamp};
use crate::identity;
use assay_model::storage::{Layer, LayerRole};
use std::collections::VecDeque;
use std::path::Path;

/// Layers of a device.
pub(super) struct Stack {
    /// Top first; each device once.
    pub(super) layers: Vec<Layer>,
    /// The type of the file system in memory that holds the files of loop
    /// devices, when these are all that the stack ends in.
    pub(super) memory: Option<String>,
}

impl View<'_> {
    /// The stack of `top`.
    pub(super) fn stack(&self, top: Device) -> Stack {
        let mut walk = Walk {
            view: self,
            layers: Vec::new(),
            loops: VecDeque::new(),
        };
        walk.add(top, LayerRole::Top, None);
        let mut in_memory = Vec::new();
        // Last, so that a disk reached both directly and beneath a loop
        // device counts as reached directly. Each device is added once, so
        // this ends.
        while let Some(device) = walk.loops.pop_front() {
            match self.below_loop(&device) {
                Some(Holder::Device(below)) => {
                    walk.add(below, LayerRole::Beneath, Some(device.name));
                }
                Some(Holder::Memory { fs_type }) => in_memory.push((device.name, fs_type)),
                None => {}
            }
        }
        Stack {
            memory: only_memory(&walk.layers, in_memory),
            layers: walk.layers,
        }
    }

    /// Returns the holder of a loop device's backing file; `None` if the file is not the one
    /// visible here under that name, and the kernel does not tell where it is.
    fn below_loop(&self, device: &Device) -> Option<Holder> {
        let name = device.backing_file()?;
        match self.files.look(&name) {
            Ok(found) => match found.kind {
                FileKind::BlockDevice(number) => {
                    Device::numbered(self.roots, number).map(Holder::Device)
                }
                FileKind::Regular if covers(&found.stamp, device) => self.holder(&found).ok(),
                _ => self.below_nameless(device, &name),
            },
            Err(_) => self.below_nameless(device, &name),
        }
    }

    /// Returns the holder of a backing file that has no name here, be it deleted or in another
    /// mount namespace, by the device number of its file system.
    fn below_nameless(&self, device: &Device, name: &Path) -> Option<Holder> {
        let number = (self.roots.loop_file)(&node(self.roots, &device.name))?;
        let number = DeviceNumber::from_raw(number);
        if !number.is_anonymous() {
            return Device::numbered(self.roots, number).map(Holder::Device);
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

/// The file system in memory, when each layer that has none below it is a loop
/// device on a file there.
fn only_memory(layers: &[Layer], in_memory: Vec<(String, String)>) -> Option<String> {
    let has_layer_below = |layer: &Layer| {
        let mut all = layers.iter();
        all.any(|below| below.parent.as_deref() == Some(&layer.name))
    };
    let mut lowest = layers.iter().filter(|layer| !has_layer_below(layer));
    let all = lowest.all(|layer| in_memory.iter().any(|(name, _)| *name == layer.name));
    let (_, fs_type) = in_memory.into_iter().next()?;
    all.then_some(fs_type)
}

/// Returns true if a file is long enough to back the loop device. A shorter file of the same name
/// is another file, in another mount namespace.
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
        if self.layers.iter().any(|layer| layer.name == device.name) {
            return;
        }
        self.layers.push(layer(&device, role, parent));
        let beneath = role == LayerRole::Beneath;
        let or_beneath = |role| if beneath { LayerRole::Beneath } else { role };
        let roots = self.view.roots;
        if let Some(disk) = device.parent_disk(roots) {
            self.add(disk, or_beneath(LayerRole::Disk), Some(device.name.clone()));
        }
        for slave in device.slaves() {
            if let Some(member) = Device::named(roots, &slave) {
                let parent = Some(device.name.clone());
                self.add(member, or_beneath(LayerRole::Member), parent);
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
        size: device.size(),
        backing_file: device.backing_file(),
        identity: identity::of(device),
    }
}
