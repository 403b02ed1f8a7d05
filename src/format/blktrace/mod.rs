//! Binary blktrace: what `blktrace` leaves behind, versions 7 and 8, in either byte order; per-CPU files, the merged
//! stream of `blkparse -d`, and what `blktrace -o -` writes to a pipe.
//!
//! Sources: include/uapi/linux/blktrace_api.h; kernel/trace/blktrace.c of 6.1 and 6.12; blkparse.c of blktrace 1.2.0.

mod feed;
mod frames;
mod meaning;
mod merge;
mod names;
mod neighbours;
mod part;
mod reader;
mod record;
mod sequence;
pub(super) mod write;

use super::{EventReader, FormatInfo, How, Order, Sniff, Source, TraceFormat};
use crate::error::Result;
use crate::event::Fields;

/// The reader of binary blktrace.
#[derive(Debug, Clone, Copy)]
pub struct Blktrace;

/// For the registry.
pub static BLKTRACE: Blktrace = Blktrace;

static INFO: FormatInfo = FormatInfo {
    name: "blktrace",
    aliases: &["blktrace-binary"],
    title: "binary blktrace",
    fields: Fields {
        sector_of_empty: true,
        ..Fields::BLKTRACE
    },
    order: Order::Sorted,
    record: "blktrace -d /dev/sda -w 10",
    serial: true,
};

impl TraceFormat for Blktrace {
    fn info(&self) -> &FormatInfo {
        &INFO
    }

    /// The magic number with a version that is read, in either byte order.
    fn sniff(&self, head: &[u8]) -> Sniff {
        match record::Form::of(head) {
            Some(_) => Sniff::Yes,
            None => Sniff::No,
        }
    }

    fn binary(&self) -> bool {
        true
    }

    fn together(&self) -> bool {
        true
    }

    fn open(&'static self, sources: Vec<Source>, how: &How) -> Result<Box<dyn EventReader>> {
        Ok(Box::new(reader::Records::open(sources, how, &INFO)?))
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
