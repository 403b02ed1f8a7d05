//! The progress bar: on stderr, only for people, only when it takes long enough to wonder.

use super::{InputOpts, OutputOpts};
use crate::format::expanded;
use crate::units::human_count;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Runs shorter than this show no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// A bar that appears late, or never.
pub struct Progress {
    bar: Option<Arc<OnceLock<ProgressBar>>>,
    total: u64,
    events: Arc<AtomicU64>,
}

impl Progress {
    /// A bar over the inputs' bytes; none with `-q`, or if stderr is no terminal.
    pub fn new(input: &InputOpts, output: &OutputOpts) -> Progress {
        let wanted = !output.quiet && std::io::stderr().is_terminal();
        // Rows on a terminal would tangle with a bar.
        let free = output.file.is_some()
            || !std::io::stdout().is_terminal()
            || output.rows == super::Rows::Text;
        let files = expanded(&input.traces).unwrap_or_default();
        let sizes = files.iter().map(|p| std::fs::metadata(p).map(|m| m.len()));
        let total = sizes.sum::<Result<u64, _>>().unwrap_or(0);
        Progress {
            bar: (wanted && free).then(Arc::default),
            total,
            events: Arc::default(),
        }
    }

    /// More events went through.
    pub fn add(&self, events: usize) {
        self.events.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// What the reader calls with the bytes read so far.
    pub fn callback(&self) -> Option<Arc<dyn Fn(u64) + Send + Sync>> {
        let bar = self.bar.clone()?;
        let start = Instant::now();
        let total = self.total;
        let events = self.events.clone();
        Some(Arc::new(move |bytes| {
            let spent = start.elapsed();
            if spent >= PATIENCE {
                let bar = bar.get_or_init(|| new_bar(total));
                bar.set_message(rate(events.load(Ordering::Relaxed), spent));
                bar.set_position(bytes);
            }
        }))
    }

    /// Wipes the bar.
    pub fn clear(&self) {
        if let Some(bar) = self.bar.as_ref().and_then(|b| b.get()) {
            bar.finish_and_clear();
        }
    }
}

fn new_bar(total: u64) -> ProgressBar {
    let known = total > 0;
    let bar = if known {
        ProgressBar::new(total)
    } else {
        ProgressBar::no_length()
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
    let template = if known {
        "{bar:30} {percent:>3} %  {bytes} of {total_bytes}  {msg}  {eta} left"
    } else {
        "{spinner} {bytes}  {msg}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}

/// `1,234,000 events/s`, to three digits: more would flicker.
fn rate(events: u64, spent: Duration) -> String {
    let per_s = events as f64 / spent.as_secs_f64();
    let unit = 10f64.powf(per_s.max(1.0).log10().floor() - 2.0).max(1.0);
    // A float to an integer saturates; a rate is far below that.
    let rounded = ((per_s / unit).round() * unit) as u64;
    format!("{} events/s", human_count(rounded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_three_digits() {
        let of = |n, ms| rate(n, Duration::from_millis(ms));
        assert_eq!(of(0, 500), "0 events/s");
        assert_eq!(of(61, 500), "122 events/s");
        assert_eq!(of(1_234_567, 1000), "1,230,000 events/s");
    }
}
