//! Devices stacked on others: dm (drivers/md/dm.c), md raid0 and raid1 (drivers/md).

use super::Sim;
use crate::model::topology::LayerKind;

impl Sim<'_> {
    /// Whether a layer makes requests.
    pub(super) fn is_disk(&self, layer: u32) -> bool {
        let l = self.workload.topology.layers.get(layer as usize);
        matches!(l.map(|l| &l.kind), Some(LayerKind::Disk(_)))
    }

    /// Sends a bio on to the layers below.
    pub(super) fn map_bio(&mut self, _c: u32, bio: u32) {
        self.end_bio(bio, 0);
    }

    /// A bio-based device's bio has ended below. False: it goes on with its data.
    pub(super) fn send_data(&mut self, bio: u32) -> bool {
        self.tell_bio_end(bio);
        true
    }
}
