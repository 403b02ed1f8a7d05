//! The progress bar: on stderr, only for people, only when it takes long enough to wonder.

use super::{InputOpts, OutputOpts};
use crate::format::expanded;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Runs shorter than this show no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// A bar that appears late, or never.
pub struct Progress {
    bar: Option<Arc<OnceLock<ProgressBar>>>,
    total: u64,
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
        }
    }

    /// What the reader calls with the bytes read so far.
    pub fn callback(&self) -> Option<Arc<dyn Fn(u64) + Send + Sync>> {
        let bar = self.bar.clone()?;
        let start = Instant::now();
        let total = self.total;
        Some(Arc::new(move |bytes| {
            if start.elapsed() >= PATIENCE {
                bar.get_or_init(|| new_bar(total)).set_position(bytes);
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
        "{bar:40} {percent:>3} %  {bytes}  {eta}"
    } else {
        "{spinner} {bytes}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}
