//! Reading any text format: the adapter's chunks put in order, their names and line numbers settled, sorted where the
//! source is not.
//!
//! Knows nothing of files and of other inputs.

use super::compress;
use super::lines::{Chunker, Tally};
use super::open::{BATCH, EventReader, How, Source};
use super::order::SortWindow;
use super::pipeline::{AnyFormat, Next, Reader, Recipe};
use super::{DeviceNames, ImportReport, Order};
use crate::error::{Error, Kind, Result};
use crate::event::{BlockEvent, CommId, CommTable, Fields, TraceMeta};
use std::path::PathBuf;

/// One text input being read.
pub(super) struct TextReader {
    path: PathBuf,
    format: AnyFormat,
    fields: Fields,
    reader: Reader,
    sorter: Option<SortWindow>,
    report: ImportReport,
    tally: Tally,
    ended: bool,
}

impl TextReader {
    /// Starts reading.
    pub(super) fn open(source: Source, format: AnyFormat, how: &How) -> TextReader {
        let Source {
            path,
            mut input,
            progress,
            ..
        } = source;
        let (compression, regular) = (input.compression, input.regular);
        let info = format.get().info();
        let told = format.get().tells_losses(input.peek(4096));
        let report = ImportReport {
            lost_events: told.then_some(0),
            ..ImportReport::of(&path, info, compression.name())
        };
        let sorter = (info.order == Order::PerCpu).then(|| SortWindow::new(how.window));
        let fields = format.get().fields(input.peek(4096));
        let begins = format.get().begins();
        let recipe = Recipe {
            format: format.clone(),
            raw_rwbs: how.raw_rwbs,
        };
        TextReader {
            path,
            format,
            fields,
            reader: Reader::new(
                Chunker::new(input, how.chunk, begins),
                recipe,
                how.threads,
                progress,
                regular,
            ),
            sorter,
            report,
            tally: Tally::default(),
            ended: false,
        }
    }

    fn read_chunk(&mut self, meta: &mut TraceMeta, out: &mut Vec<BlockEvent>) -> Result<()> {
        let next = self.reader.next().map_err(|_| {
            Error::new(Kind::Io, "a reading thread ended before its work was done")
                .path(&self.path)
                .hint("this is a bug in blkan; --threads 1 may avoid it")
        })?;
        let mut parsed = match next {
            Next::Chunk(parsed) => *parsed,
            Next::End(fault) => {
                self.ended = true;
                return self.end(fault, meta);
            }
        };
        settle(
            &mut parsed.events,
            &parsed.comms,
            self.report.lines,
            &mut meta.comms,
        );
        self.report.absorb(&mut parsed.report, self.report.lines);
        self.tally.add(&parsed.tally);
        self.report
            .sequences
            .add(std::mem::take(&mut parsed.sequences));
        if let Some(step) = self.report.steps.step() {
            self.fields.time_step_ns = step;
            meta.fields.time_step_ns = meta.fields.time_step_ns.max(step);
        }
        match &mut self.sorter {
            Some(sorter) => {
                sorter.push(&parsed.events, out);
                self.report.late_events = sorter.late();
            }
            None if out.is_empty() => std::mem::swap(out, &mut parsed.events),
            None => out.extend_from_slice(&parsed.events),
        }
        self.reader.recycle(parsed);
        Ok(())
    }

    fn end(&mut self, fault: Option<compress::Fault>, meta: &mut TraceMeta) -> Result<()> {
        if let Some(fault) = fault {
            let (kind, text) = fault
                .into_defect()
                .map_err(|e| Error::io(Some(&self.path), "reading the trace failed", e))?;
            self.report.defect(kind, 0, text.as_bytes());
        }
        let mut names = DeviceNames {
            names: &mut meta.names,
            tally: &self.tally,
        };
        self.format.get().finish(&mut self.report, &mut names);
        Ok(())
    }
}

impl EventReader for TextReader {
    fn fields(&self) -> Fields {
        self.fields
    }

    fn read_batch(&mut self, meta: &mut TraceMeta, out: &mut Vec<BlockEvent>) -> Result<()> {
        let before = out.len();
        while out.len() == before {
            if self.ended {
                if let Some(sorter) = &mut self.sorter {
                    sorter.drain(BATCH, out);
                    self.report.late_events = sorter.late();
                }
                return Ok(());
            }
            self.read_chunk(meta, out)?;
        }
        Ok(())
    }

    fn reports(&self) -> Vec<ImportReport> {
        vec![self.report.clone()]
    }
}

/// Turns a chunk's own line numbers and task ids into the trace's.
fn settle(events: &mut [BlockEvent], comms: &CommTable, lines: u64, all: &mut CommTable) {
    let ids: Vec<CommId> = comms.names().iter().map(|n| all.intern(n)).collect();
    let before = u32::try_from(lines).unwrap_or(u32::MAX);
    for e in events {
        e.line = e.line.saturating_add(before);
        if let Some(id) = ids.get(e.comm.0 as usize) {
            e.comm = *id;
        }
    }
}
