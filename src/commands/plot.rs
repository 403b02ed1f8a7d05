//! `blkan plot`.

use super::filter::{Census, Picker};
use super::output::{Output, complain, spare_inputs};
use super::session::{self, Consumer};
use super::{Done, Filter, InputOpts, OutputOpts, Rows, Window, warnings};
use crate::error::{Error, Result};
use crate::event::{BlockEvent, CommId, DevId, Rwbs, TraceMeta};
use crate::lifecycle::{Bio, FlushStep, Merge, Request, Sink};
use crate::metrics::figures::{Figure, Figures, PLOTS, Plot, Plotter, Setting, Side, beside};
use crate::present;
use crate::units::Nanos;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Form of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// Scales; text is text.
    Svg,
    /// Pixels.
    Png,
}

/// Options of `plot`.
#[derive(Clone, Debug, Default)]
pub struct PlotOpts {
    /// Names of plots, then traces, as they were typed.
    pub words: Vec<String>,
    /// `--all`.
    pub all: bool,
    /// `--list`.
    pub list: bool,
    /// How to read; its `traces` are not used.
    pub input: InputOpts,
    /// `--with`.
    pub with: Vec<PathBuf>,
    /// `--label`.
    pub labels: Vec<String>,
    /// Part of the trace.
    pub window: Window,
    /// Which bios and requests.
    pub filter: Filter,
    /// `--as`.
    pub image: Option<Image>,
    /// `--theme dark`.
    pub dark: bool,
    /// `--width`.
    pub width: Option<u32>,
    /// `--height`.
    pub height: Option<u32>,
    /// Output.
    pub output: OutputOpts,
}

/// The plotter, and what its filters met.
struct PlotSink {
    plotter: Plotter,
    picker: Picker,
    /// None without filters.
    census: Option<Census>,
}

impl PlotSink {
    fn note(&mut self, rwbs: Rwbs, pid: u32, comm: CommId) {
        if let Some(c) = &mut self.census {
            c.note(self.picker.pass(rwbs, pid, comm), rwbs, pid, comm);
        }
    }
}

impl Sink for PlotSink {
    fn event(&mut self, ev: &BlockEvent) {
        self.plotter.event(ev);
    }
    fn bio(&mut self, bio: &Bio) {
        self.note(bio.rwbs, bio.pid, bio.comm);
        self.plotter.bio(bio);
    }
    fn request(&mut self, rq: &Request) {
        self.note(rq.rwbs, rq.pid, rq.comm);
        self.plotter.request(rq);
    }
    fn issue(&mut self, rq: &Request, ev: &BlockEvent) {
        self.plotter.issue(rq, ev);
    }
    fn merge(&mut self, m: &Merge) {
        self.plotter.merge(m);
    }
    fn flush_step(&mut self, s: &FlushStep) {
        self.plotter.flush_step(s);
    }
    fn depth(&mut self, dev: DevId, time: Nanos, depth: u32) {
        self.plotter.depth(dev, time, depth);
    }
}

impl Consumer for PlotSink {
    fn names(&mut self, meta: &TraceMeta) {
        self.picker.learn(&meta.comms);
        self.plotter.names(&meta.comms);
    }
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or output, an unknown plot, nothing to draw, or a build that cannot draw.
pub fn plot(o: &PlotOpts) -> Result<Done> {
    if o.list {
        return list(&o.output);
    }
    let (names, traces) = words(o)?;
    let drawing = o.output.rows != Rows::Json;
    if drawing {
        drawable()?;
    }
    let image = image(o)?;
    let labels = named_after(&o.labels, &traces, &o.with)?;
    let mut damaged = false;
    let mut side = |traces: &[PathBuf], label: &str| side(o, traces, label, &mut damaged);
    let a = side(&traces, &labels.0)?;
    let mut figures = match o.with.is_empty() {
        true => a.figures,
        false => beside(a, side(&o.with, &labels.1)?),
    };
    let wanted = |name: &str| names.is_empty() || names.contains(name);
    figures.figures.retain(|f| wanted(f.name));
    figures
        .skipped
        .retain(|s| wanted(s.name) || s.name == "all");
    if drawing && !o.output.quiet {
        tell_skipped(&figures);
    }
    if !drawing {
        let mut out = Output::new(&o.output);
        out.write(&present::json::document(&figures)?)?;
        out.finish()?;
    } else {
        let input = InputOpts {
            traces: traces.iter().chain(&o.with).cloned().collect(),
            ..o.input.clone()
        };
        write(&figures, o, image, &input)?;
    }
    Ok(if o.output.strict && damaged {
        Done::Damaged
    } else {
        Done::Sound
    })
}

fn list(output: &OutputOpts) -> Result<Done> {
    let wide = PLOTS.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let mut out = Output::new(output);
    for p in PLOTS {
        let line = format!("{:wide$}  {}: {}\n", p.name, p.title, p.about);
        out.write(line.as_bytes())?;
    }
    out.finish()?;
    Ok(Done::Sound)
}

/// Names of plots at the front, traces behind. A file named like a plot is `./NAME`.
fn words(o: &PlotOpts) -> Result<(BTreeSet<String>, Vec<PathBuf>)> {
    let plots = |w: &String| w.split(',').all(|n| Plot::named(n).is_some());
    let n = o.words.iter().take_while(|w| plots(w)).count();
    let (names, traces) = o.words.split_at(n);
    let names: BTreeSet<String> = names
        .iter()
        .flat_map(|w| w.split(','))
        .map(str::to_string)
        .collect();
    let known = || PLOTS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    if let [first, _, ..] = traces
        && first != "-"
        && !Path::new(first).exists()
        && !first.contains(['.', '/'])
    {
        return Err(Error::usage(format!("there is no plot named {first}"))
            .hint(format!("plots: {}", known())));
    }
    if traces.is_empty() {
        return Err(Error::usage("no trace is named").hint("blkan plot NAME TRACE"));
    }
    if names.is_empty() && !o.all {
        return Err(
            Error::usage("no plot is named").hint(format!("one of {}; or --all -o DIR", known()))
        );
    }
    let names = if o.all { BTreeSet::new() } else { names };
    Ok((names, traces.iter().map(PathBuf::from).collect()))
}

/// SVG or PNG, by `--as` or the file's name; `None`: not told.
fn image(o: &PlotOpts) -> Result<Option<Image>> {
    let ends = o.output.file.as_ref().and_then(|p| p.extension());
    let by_name = match ends.and_then(|e| e.to_str()) {
        Some("svg") => Some(Image::Svg),
        Some("png") => Some(Image::Png),
        _ => None,
    };
    match (o.image, by_name) {
        (Some(a), Some(b)) if a != b => Err(Error::usage(
            "--as and the ending of -o name different forms",
        )
        .hint("leave one of them out")),
        (a, b) => Ok(a.or(b)),
    }
}

/// What the traces are called in pictures.
///
/// # Errors
/// More names are given than there are traces.
pub(super) fn named_after(
    given: &[String],
    traces: &[PathBuf],
    with: &[PathBuf],
) -> Result<(String, String)> {
    let two = !with.is_empty();
    if given.len() > 1 + usize::from(two) {
        return Err(Error::usage("more --label than traces").hint("one for each side"));
    }
    let base = |p: &[PathBuf], parts: usize| {
        let first = p.first().map(PathBuf::as_path).unwrap_or(Path::new("-"));
        let all: Vec<String> = first
            .components()
            .map(|c| c.as_os_str().to_string_lossy().into_owned())
            .collect();
        let from = all.len().saturating_sub(parts);
        all.get(from..).unwrap_or_default().join("/")
    };
    let (mut a, mut b) = match two {
        true => (base(traces, 1), base(with, 1)),
        false => (base(traces, 2), String::new()),
    };
    if two && a == b {
        // Recordings of one setup are often named alike, in directories that tell them apart.
        let parent = |p: &[PathBuf]| base(p, 2).split('/').next().unwrap_or_default().to_string();
        (a, b) = (parent(traces), parent(with));
    }
    if two && a == b {
        (a, b) = ("A".to_string(), "B".to_string());
    }
    let mut told = given.iter().cloned();
    Ok((told.next().unwrap_or(a), told.next().unwrap_or(b)))
}

/// One pass over one side.
fn side(o: &PlotOpts, traces: &[PathBuf], label: &str, damaged: &mut bool) -> Result<Side> {
    let input = InputOpts {
        traces: traces.to_vec(),
        ..o.input.clone()
    };
    let mut sink = PlotSink {
        plotter: Plotter::new(o.filter.clone()),
        picker: Picker::new(o.filter.clone()),
        census: (!o.filter.is_empty()).then(Census::default),
    };
    let f = session::run(&input, &o.window, &o.output, &mut sink)?;
    if let Some(c) = &sink.census {
        c.require_some(&sink.picker, "bios and requests")?;
    }
    warnings::warn(&f, &o.output);
    *damaged |= f.damaged();
    let queue = f
        .queue
        .iter()
        .filter_map(|q| Some((q.dev?, q.info.clone())));
    let queue = queue.collect();
    let origin = sink.plotter.origin();
    let figures = sink.plotter.finish(&Setting {
        tracker: &f.tracker,
        meta: &f.meta,
        names: &f.names,
        queue: &queue,
        source: label,
    });
    Ok(Side {
        figures,
        label: label.to_string(),
        origin,
    })
}

fn device(name: &Option<String>, dev: Option<DevId>) -> String {
    match (name, dev) {
        (Some(n), _) => format!(" of {n}"),
        (None, Some(d)) => format!(" of {d}"),
        (None, None) => String::new(),
    }
}

fn tell_skipped(all: &Figures) {
    for s in &all.skipped {
        let of = device(&s.device, s.dev);
        complain(&format!("note: no figure {}{of}: {}", s.name, s.why));
    }
}

/// The file of a figure in a directory.
fn file_name(f: &Figure, all: &[Figure], image: Image) -> String {
    let ends = match image {
        Image::Svg => "svg",
        Image::Png => "png",
    };
    let lone = all.iter().all(|o| o.dev == f.dev);
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') => c,
        _ => '-',
    };
    let dev = match (&f.device, f.dev) {
        (_, None) => None,
        // Two devices may have one name, never one number.
        (Some(n), Some(_))
            if all
                .iter()
                .all(|o| o.device.as_ref() != Some(n) || o.dev == f.dev) =>
        {
            Some(n.clone())
        }
        (_, Some(d)) => Some(d.to_string()),
    };
    match dev {
        Some(d) if !lone => {
            let d: String = d.chars().map(plain).collect();
            format!("{}.{d}.{ends}", f.name)
        }
        _ => format!("{}.{ends}", f.name),
    }
}

fn write(all: &Figures, o: &PlotOpts, image: Option<Image>, input: &InputOpts) -> Result<()> {
    let Some(first) = all.figures.first() else {
        let why = all.skipped.first().map_or("nothing to draw", |s| &s.why);
        return Err(Error::usage(format!("no figure can be drawn: {why}"))
            .hint("blkan check TRACE tells what the trace can show"));
    };
    let form = image.unwrap_or(Image::Svg);
    let file = o.output.file.as_deref();
    let named = file.filter(|p| image.is_some() && p.extension().is_some() && !p.is_dir());
    let dir = file.filter(|_| named.is_none());
    if let Some(dir) = dir {
        std::fs::create_dir_all(dir).map_err(|e| {
            Error::io(Some(dir), "cannot create the directory", e)
                .hint("-o takes NAME.svg, NAME.png, or a directory for several figures")
        })?;
        for f in &all.figures {
            let path = dir.join(file_name(f, &all.figures, form));
            let output = OutputOpts {
                file: Some(path),
                ..o.output.clone()
            };
            spare_inputs(input, &output)?;
            put(&output, &drawn(f, o, form)?)?;
        }
        return Ok(());
    }
    if all.figures.iter().any(|f| f.name != first.name) {
        return Err(Error::usage("several plots do not fit into one file")
            .hint("-o DIR writes one file each"));
    }
    // One file, several devices: the one that shows most.
    let weight = |f: &&Figure| present::json::document(f).map_or(0, |d| d.len());
    let busiest = all.figures.iter().max_by_key(weight).unwrap_or(first);
    if all.figures.len() > 1 && !o.output.quiet {
        let of = device(&busiest.device, busiest.dev);
        complain(&format!(
            "note: the figure is{of}; {} more devices have one: choose with --dev, or -o DIR for all",
            all.figures.len() - 1
        ));
    }
    put(&o.output, &drawn(busiest, o, form)?)
}

/// Writes figures that another command made: one file (the busiest device), or a directory for all.
///
/// # Errors
/// Output that cannot be written, a name that is neither a picture's nor a directory's, or a build that cannot draw.
pub fn put_figures(all: &Figures, path: &Path, input: &InputOpts, quiet: bool) -> Result<()> {
    drawable()?;
    let o = PlotOpts {
        output: OutputOpts {
            file: Some(path.to_path_buf()),
            quiet,
            ..OutputOpts::default()
        },
        ..PlotOpts::default()
    };
    spare_inputs(input, &o.output)?;
    if !quiet {
        tell_skipped(all);
    }
    write(all, &o, image(&o)?, input)
}

fn put(output: &OutputOpts, bytes: &[u8]) -> Result<()> {
    let mut out = Output::new(output);
    out.write(bytes)?;
    out.finish()
}

#[cfg(feature = "plots")]
fn drawable() -> Result<()> {
    Ok(())
}

#[cfg(not(feature = "plots"))]
fn drawable() -> Result<()> {
    Err(
        Error::usage("this build cannot draw: it was made without the feature plots")
            .hint("cargo build --release --features plots; or take the data with plot --json"),
    )
}

#[cfg(feature = "plots")]
fn drawn(f: &Figure, o: &PlotOpts, form: Image) -> Result<Vec<u8>> {
    use crate::present::draw::{Look, Theme, figure_png, figure_svg};
    let look = Look {
        theme: if o.dark { Theme::Dark } else { Theme::Light },
        width: o.width.unwrap_or(Look::WIDTH),
        height: o.height,
    };
    match form {
        Image::Svg => figure_svg(f, &look).map(String::into_bytes),
        Image::Png => figure_png(f, &look),
    }
}

#[cfg(not(feature = "plots"))]
fn drawn(_: &Figure, _: &PlotOpts, _: Image) -> Result<Vec<u8>> {
    drawable().map(|()| Vec::new())
}
