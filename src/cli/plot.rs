//! `blkan plot` as clap sees it.

use super::common::{FilterArgs, OutputArgs, ReadArgs, WindowArgs};
use crate::commands::{Image, PlotOpts};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Form of a picture.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum As {
    // Scales; text is text.
    Svg,
    // Pixels.
    Png,
}

/// Paper and ink.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Theme {
    // White paper.
    Light,
    // Nearly black paper.
    Dark,
}

/// Figures: latency, phases, sizes, depth, offsets, flushes and more, as SVG, PNG or data
///
/// What the trace cannot show is not drawn, and told. With --with, a second trace is drawn beside the first.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan plot --list                                    the plots
  blkan plot latency trace.gz -o latency.svg           one of them
  blkan plot --all trace.gz -o figures/                all, one file each
  blkan plot latency-ecdf before.gz --with after.gz -o both.png
  blkan plot depth trace.gz --json | jq '.figures[].panels[].title'")]
pub struct PlotArgs {
    /// Names of plots (see --list), then the trace: files as for other commands, `-` is stdin
    #[arg(
        value_name = "NAME]... [TRACE",
        required_unless_present = "list",
        help_heading = "Input"
    )]
    words: Vec<String>,
    #[command(flatten)]
    input: ReadArgs,
    /// A second trace, drawn beside the first; repeat for its further files
    #[arg(long, value_name = "TRACE", help_heading = "Input")]
    with: Vec<PathBuf>,
    /// How the trace is called in the figure; twice with --with [default: its file or directory]
    #[arg(long, value_name = "TEXT", help_heading = "Drawing")]
    label: Vec<String>,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// The plots, each with a line
    #[arg(long, help_heading = "Drawing")]
    list: bool,
    /// Every plot that the trace can show
    #[arg(long, help_heading = "Drawing", conflicts_with = "list")]
    all: bool,
    /// SVG or PNG [default: by the ending of -o, else svg]
    #[arg(long = "as", value_name = "FORM", value_enum, help_heading = "Drawing")]
    form: Option<As>,
    /// Colours for white or for dark pages
    #[arg(long, value_enum, default_value_t = Theme::Light, help_heading = "Drawing")]
    theme: Theme,
    /// Pixels across, from 320 to 8192 [default: 900]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(320..=8192), help_heading = "Drawing")]
    width: Option<u32>,
    /// Pixels down, from 200 to 8192; more where the panels need it [default: by their number]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(200..=8192), help_heading = "Drawing")]
    height: Option<u32>,
    #[command(flatten)]
    output: OutputArgs,
}

impl PlotArgs {
    /// As the command takes it.
    pub fn opts(self) -> PlotOpts {
        let input = self.input.opts(Vec::new());
        PlotOpts {
            words: self.words,
            all: self.all,
            list: self.list,
            filter: self.filter.opts(input.raw_rwbs),
            input,
            with: self.with,
            labels: self.label,
            window: self.window.opts(),
            image: self.form.map(|f| match f {
                As::Svg => Image::Svg,
                As::Png => Image::Png,
            }),
            dark: matches!(self.theme, Theme::Dark),
            width: self.width,
            height: self.height,
            output: self.output.opts(false),
        }
    }
}
