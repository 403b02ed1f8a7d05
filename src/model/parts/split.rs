//! Where bios are cut, and how page-sized writes of a raw block device change with its block size.

use super::shape::sectors_left;

/// What a queue lets one bio be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Longest bio in sectors.
    pub max_sectors: u64,
    /// No bio crosses a multiple of so many sectors (a zoned device: of its zones); 0: no such limit.
    pub chunk_sectors: u64,
    /// Sectors of a physical block; a cut is made at its border if one is in reach.
    pub physical_sectors: u64,
    /// Sectors of a logical block; no cut is made within.
    pub logical_sectors: u64,
}

impl Cut {
    /// Sectors of the front part of a bio that has to be cut, else `None` (`get_max_io_size`, block/blk-merge.c, 6.12). The
    /// front part is never merged (REQ_NOMERGE), the rest is looked at again.
    pub fn front(&self, sector: u64, sectors: u64) -> Option<u64> {
        let most = self
            .max_sectors
            .min(sectors_left(sector, self.chunk_sectors))
            .max(1);
        let physical = self.physical_sectors.max(1);
        let into = sector % physical;
        let end = (into.saturating_add(most)) / physical * physical;
        let front = if end > into {
            end - into
        } else {
            most / self.logical_sectors.max(1) * self.logical_sectors.max(1)
        };
        // Less than a logical block: the limits contradict each other; the bio is left whole rather than cut without end.
        (front > 0 && front < sectors).then_some(front)
    }

    /// All parts of a bio: first sector and sectors.
    pub fn parts(&self, sector: u64, sectors: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut left = (sectors > 0).then_some((sector, sectors));
        std::iter::from_fn(move || {
            let (at, n) = left?;
            let front = self.front(at, n).unwrap_or(n);
            left = (front < n).then_some((at + front, n - front));
            Some((at, front))
        })
    }
}

/// Sectors of a memory page of 4 KiB.
pub const PAGE: u64 = 8;

/// A write of the page cache to a raw block device, as it was and as it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First sector.
    pub sector: u64,
    /// Length in sectors.
    pub sectors: u64,
    /// Which of the given writes it stands for first, and how many: the submitter's times and letters are theirs.
    pub of: (usize, usize),
}

/// The writes that a writeback with blocks of `block` sectors (1, 2, 4 or 8) would send for the same pages. Writeback sends one
/// bio a dirty buffer head (`submit_bh_wbc`, fs/buffer.c), and a block is dirty as a whole: neighbours in one block become
/// one write of that block, a longer write becomes one a block. `writes` (first sector, sectors) are one task's, in order of
/// submission; what is longer than a page is no buffer head's write, and stays.
pub fn with_block(writes: &[(u64, u64)], block: u64, out: &mut Vec<Piece>) {
    let block = block.clamp(1, PAGE);
    for (i, (sector, sectors)) in writes.iter().copied().enumerate() {
        if sectors == 0
            || sectors > PAGE
            || sector % PAGE + sectors > PAGE
            || sector > u64::MAX - PAGE
        {
            out.push(Piece {
                sector,
                sectors,
                of: (i, 1),
            });
            continue;
        }
        let mut at = sector / block * block;
        while at < sector + sectors {
            match out.last_mut() {
                // The same block again: only if it goes on where the write before ended, else it was dirtied anew.
                Some(last) if last.sector == at && last.sectors == block && follows(writes, i) => {
                    last.of.1 = i + 1 - last.of.0;
                }
                _ => out.push(Piece {
                    sector: at,
                    sectors: block,
                    of: (i, 1),
                }),
            }
            at += block;
        }
    }
}

fn follows(writes: &[(u64, u64)], i: usize) -> bool {
    let before = i.checked_sub(1).and_then(|j| writes.get(j));
    match (before, writes.get(i)) {
        (Some((s, n)), Some((at, _))) => s + n == *at,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Cut = Cut {
        max_sectors: 256,
        chunk_sectors: 0,
        physical_sectors: 1,
        logical_sectors: 1,
    };

    fn parts(c: Cut, sector: u64, sectors: u64) -> Vec<(u64, u64)> {
        c.parts(sector, sectors).collect()
    }

    #[test]
    fn bios_are_cut_by_length() {
        assert_eq!(FREE.front(5, 256), None);
        assert_eq!(parts(FREE, 5, 600), [(5, 256), (261, 256), (517, 88)]);
        assert_eq!(parts(FREE, 5, 0), []);
    }

    #[test]
    fn bios_are_cut_at_chunks_and_zones() {
        let c = Cut {
            chunk_sectors: 128,
            ..FREE
        };
        assert_eq!(parts(c, 100, 200), [(100, 28), (128, 128), (256, 44)]);
        assert_eq!(parts(c, 128, 128), [(128, 128)]);
    }

    #[test]
    fn a_cut_lies_on_a_physical_block() {
        // max 255 sectors, physical block 8: from sector 4 the last border in reach is (4 + 255) / 8 * 8 = 256.
        let c = Cut {
            max_sectors: 255,
            physical_sectors: 8,
            ..FREE
        };
        assert_eq!(parts(c, 4, 300), [(4, 252), (256, 48)]);
        assert_eq!(parts(c, 0, 300), [(0, 248), (248, 52)]);
        assert_eq!(
            parts(c, 0, 250),
            [(0, 248), (248, 2)],
            "though 255 are allowed"
        );
        // None in reach: whole logical blocks.
        let c = Cut {
            max_sectors: 5,
            physical_sectors: 64,
            logical_sectors: 2,
            ..FREE
        };
        assert_eq!(parts(c, 2, 9), [(2, 4), (6, 4), (10, 1)]);
    }

    #[test]
    fn limits_that_contradict_each_other_leave_the_bio_whole() {
        let c = Cut {
            max_sectors: 1,
            physical_sectors: 8,
            logical_sectors: 8,
            ..FREE
        };
        assert_eq!(parts(c, 0, 16), [(0, 16)]);
        let c = Cut {
            max_sectors: 0,
            ..FREE
        };
        assert_eq!(parts(c, 0, 2), [(0, 1), (1, 1)]);
    }

    fn blocks(writes: &[(u64, u64)], block: u64) -> Vec<(u64, u64, (usize, usize))> {
        let mut out = Vec::new();
        with_block(writes, block, &mut out);
        out.iter().map(|p| (p.sector, p.sectors, p.of)).collect()
    }

    #[test]
    fn a_page_becomes_as_many_writes_as_it_has_blocks() {
        let page = [(16, 8), (800, 8)];
        let whole: Vec<(u64, u64)> = blocks(&page, 4).iter().map(|p| (p.0, p.1)).collect();
        assert_eq!(whole, [(16, 4), (20, 4), (800, 4), (804, 4)]);
        assert_eq!(blocks(&page, 1).len(), 16);
        assert_eq!(blocks(&page, 8), [(16, 8, (0, 1)), (800, 8, (1, 1))]);
    }

    #[test]
    fn halves_of_a_page_become_one_write_of_it() {
        let halves = [(16, 4), (20, 4), (804, 4), (900, 4), (32, 100)];
        assert_eq!(
            blocks(&halves, 8),
            [
                (16, 8, (0, 2)),
                (800, 8, (2, 1)),
                (896, 8, (3, 1)),
                (32, 100, (4, 1)),
            ]
        );
        // Four quarters, and the same page once more.
        let quarters = [(0, 2), (2, 2), (4, 2), (6, 2), (0, 2)];
        assert_eq!(
            blocks(&quarters, 4),
            [(0, 4, (0, 2)), (4, 4, (2, 2)), (0, 4, (4, 1)),]
        );
    }
}
