//! `blkan generate` as clap sees it, and the rendering of pages from the option definitions.

use super::Cli;
use crate::commands::{self, GenerateOpts, Page};
use crate::error::{Error, Result};
use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

/// What to generate.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum What {
    // Man pages, one a subcommand.
    Man,
    // A completion script for a shell.
    Completions,
    // blkan's bpftrace script.
    Recorder,
}

/// Man pages, shell completions, and the bpftrace script that records a trace
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan generate man -o ~/.local/share/man/man1
  blkan generate completions --shell bash > /etc/bash_completion.d/blkan
  blkan generate man | man -l -
  blkan generate recorder > blkan.bt   then, as root: bpftrace blkan.bt | gzip > trace.log.gz")]
pub struct GenerateArgs {
    /// Man pages (one a subcommand), a completion script for a shell, or the bpftrace script for this kernel
    #[arg(value_enum)]
    what: What,
    /// Which shell
    #[arg(long, value_enum, required_if_eq("what", "completions"))]
    shell: Option<Shell>,
    /// A directory for one file a page; without it the main page goes to stdout
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    output: Option<PathBuf>,
}

impl GenerateArgs {
    /// Renders the pages.
    ///
    /// # Errors
    /// A page that cannot be rendered.
    pub fn opts(self) -> Result<GenerateOpts> {
        let pages = match (self.what, self.shell) {
            (What::Man, _) => man_pages()?,
            (What::Completions, Some(shell)) => vec![completions(shell)],
            (What::Recorder, _) => vec![commands::recorder()],
            (What::Completions, None) => return Err(Error::usage("completions need --shell")),
        };
        Ok(GenerateOpts {
            pages,
            dir: self.output,
        })
    }
}

fn man_pages() -> Result<Vec<Page>> {
    let mut root = Cli::command();
    root.build();
    let mut pages = vec![man_page(root.clone())?];
    for sub in root.get_subcommands().filter(|s| s.get_name() != "help") {
        pages.push(man_page(sub.clone())?);
    }
    Ok(pages)
}

fn man_page(cmd: clap::Command) -> Result<Page> {
    // The display name of a built subcommand is `blkan-stats`.
    let name = format!("{}.1", cmd.get_display_name().unwrap_or(cmd.get_name()));
    let mut content = Vec::new();
    clap_mangen::Man::new(cmd)
        .render(&mut content)
        .map_err(|e| Error::io(None, "cannot render a man page", e))?;
    Ok(Page { name, content })
}

fn completions(shell: Shell) -> Page {
    let mut content = Vec::new();
    let mut cmd = Cli::command();
    clap_complete::generate(shell, &mut cmd, "blkan", &mut content);
    let name = match shell {
        Shell::Zsh => "_blkan".to_string(),
        Shell::Fish => "blkan.fish".to_string(),
        other => format!("blkan.{other}"),
    };
    Page { name, content }
}
