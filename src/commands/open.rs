//! Everything that is asked of [`crate::format`] before and beside reading events: readers made from `--line` and
//! `--bt`, the `--queue` snapshot, and blkparse's own summary.

use super::InputOpts;
use super::output::complain;
use crate::error::{Error, Kind, Result};
use crate::event::{DevId, QueueInfo};
use crate::format::blkparse::summary::{self, Figure};
use crate::format::{ImportReport, LineFormat, ReadOptions, parse_queue, template};
use crate::metrics::SummaryDevice;
use crate::metrics::blkparse_totals::{Scaled, SummaryRow, Total};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// What a `--queue` snapshot tells of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueDevice {
    /// Its name in /sys/block.
    pub name: String,
    /// Its number, where the snapshot holds the `dev` file.
    pub dev: Option<DevId>,
    /// Bytes, from the `size` file.
    pub capacity: Option<u64>,
    /// All it tells.
    pub info: QueueInfo,
}

/// The options of [`crate::format::Trace::open`].
///
/// # Errors
/// A template or script that cannot be understood.
pub fn read_options(
    o: &InputOpts,
    quiet: bool,
    progress: Option<Arc<dyn Fn(u64) + Send + Sync>>,
) -> Result<ReadOptions> {
    Ok(ReadOptions {
        format: o.format.clone(),
        custom: custom_reader(o, quiet)?,
        raw_rwbs: o.raw_rwbs,
        threads: o.threads,
        progress,
    })
}

fn custom_reader(o: &InputOpts, quiet: bool) -> Result<Option<Arc<dyn LineFormat>>> {
    match (&o.bt, o.lines.is_empty()) {
        (Some(path), _) => {
            let (reader, notes) = from_script(
                &read_text(
                    path,
                    "a bpftrace script",
                    "name the script that made the log",
                )?,
                path,
            )?;
            for note in notes.iter().filter(|_| !quiet) {
                complain(&format!("note: {}: {note}", path.display()));
            }
            Ok(Some(reader))
        }
        (None, false) => from_templates(&o.lines).map(Some),
        (None, true) if !o.blkparse_formats.is_empty() => {
            let reader = template::from_blkparse_formats(&o.blkparse_formats)?;
            for note in reader.notes().iter().filter(|_| !quiet) {
                complain(&format!("note: --blkparse-format: {note}"));
            }
            Ok(Some(Arc::new(reader)))
        }
        (None, true) => Ok(None),
    }
}

/// A script or a snapshot is not longer.
const SMALL: u64 = 4 << 20;

/// Reads a small text file that an option names.
///
/// # Errors
/// It cannot be read, is too long (a device, a pipe without end), or no UTF-8.
fn read_text(path: &Path, what: &str, hint: &str) -> Result<String> {
    let about = |text: String| Error::new(Kind::Format, text).path(path).hint(hint);
    let cannot = |e| Error::io(Some(path), format!("cannot read {what}"), e).hint(hint);
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    file.take(SMALL + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() as u64 > SMALL {
        let text = format!("longer than {} MiB, expected {what}", SMALL >> 20);
        return Err(about(text));
    }
    String::from_utf8(bytes).map_err(|_| about(format!("this is no text, expected {what}")))
}

fn from_templates(lines: &[String]) -> Result<Arc<dyn LineFormat>> {
    Ok(Arc::new(template::compile(lines)?))
}

fn from_script(text: &str, path: &Path) -> Result<(Arc<dyn LineFormat>, Vec<String>)> {
    let reader = template::from_script(text, path)?;
    let notes = reader.notes().to_vec();
    Ok((Arc::new(reader), notes))
}

/// The `--queue` snapshot.
///
/// # Errors
/// It cannot be read or understood.
pub fn queue(path: &Path) -> Result<Vec<QueueDevice>> {
    let hint = "take the snapshot with: grep . /sys/block/DEV/dev /sys/block/DEV/size /sys/block/DEV/queue/*";
    let text = read_text(path, "a snapshot of queue settings", hint)?;
    let all = parse_queue(path, &text)?;
    Ok(all
        .into_iter()
        .map(|(name, info)| QueueDevice {
            name,
            dev: info.dev,
            capacity: info.capacity,
            info,
        })
        .collect())
}

/// blkparse's own summary at the end of an input, one entry a device in its order. Empty: there is none.
pub fn summary(report: &ImportReport) -> Vec<SummaryDevice> {
    let printed = summary::parse(&report.trailer);
    printed.devices.iter().filter_map(summary_device).collect()
}

fn summary_device(d: &summary::Device) -> Option<SummaryDevice> {
    let account = d.total?;
    let halves = [(account.reads, false), (account.writes, true)];
    Some(SummaryDevice {
        name: d.name.clone(),
        dev: None,
        rows: halves
            .into_iter()
            .flat_map(|(half, write)| summary_rows(half, write))
            .collect(),
        unplugs: account
            .io_unplugs
            .map(scaled)
            .zip(account.timer_unplugs.map(scaled)),
    })
}

fn scaled(f: Figure) -> Scaled {
    Scaled {
        value: f.value,
        unit: f.unit,
    }
}

fn summary_rows(d: summary::Direction, write: bool) -> Vec<SummaryRow> {
    let sized = |p: Option<(Figure, Figure)>| p.map(|(n, size)| (n, Some(size)));
    let bare = |p: Option<Figure>| p.map(|n| (n, None));
    let printed = [
        (Total::Queued, sized(d.queued)),
        (Total::Dispatches, sized(d.dispatched)),
        (Total::Requeued, bare(d.requeued)),
        (Total::Completed, sized(d.completed)),
        (Total::Merges, sized(d.merged)),
        (Total::PcQueued, bare(d.pc_queued)),
        (Total::PcDispatches, bare(d.pc_dispatched)),
        (Total::PcRequeued, bare(d.pc_requeued)),
        (Total::PcCompleted, bare(d.pc_completed)),
    ];
    let row = |(total, p): (Total, Option<(Figure, Option<Figure>)>)| {
        p.map(|(n, size)| SummaryRow {
            total,
            write,
            count: scaled(n),
            // Sizes are compared in KiB.
            kib: size.map(|s| Scaled {
                value: s.value,
                unit: s.unit >> 10,
            }),
        })
    };
    printed.into_iter().filter_map(row).collect()
}
