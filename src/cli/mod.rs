//! The command line: the only place that knows clap. Every subcommand is one file that turns clap's structs into the
//! plain ones of [`crate::commands`]; exit codes are made here.

mod check;
mod common;
mod compare;
mod convert;
mod explain;
mod generate;
mod plot;
mod policy;
mod replay;
mod report;
mod rows;
mod sql;
mod stats;
mod values;

use crate::commands::{self, Done};
use crate::error::{Kind, Result};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Reads traces of the Linux block layer, rebuilds the life of every request, and prints the numbers
#[derive(Parser, Debug)]
#[command(
    name = "blkan",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "\
Examples:
  blkan stats trace.gz                 the numbers of a blkparse or bpftrace log
  blkan check trace.gz                 whether the trace can be trusted
  blkan explain trace.gz               why the I/O looks as it does
  blkan compare before.gz after.gz     what a change really changed
  blkan plot --all trace.gz -o figures/   pictures of latency, phases, sizes, depth and more
  blkan report trace.gz -o report.html   all of it as one page for the browser
  zcat trace.gz | blkan requests -     every request, one a line

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 damaged input with --strict"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Stats(stats::StatsArgs),
    Check(check::CheckArgs),
    Explain(explain::ExplainArgs),
    Compare(compare::CompareArgs),
    Replay(Box<replay::ReplayArgs>),
    Plot(plot::PlotArgs),
    Report(Box<report::ReportArgs>),
    /// Every event, one row each
    #[command(after_help = rows::EVENTS)]
    Events(rows::RowArgs),
    /// Every request: what it carried, when it moved, how it ended
    #[command(after_help = rows::REQUESTS)]
    Requests(rows::RowArgs),
    /// Every bio: who submitted it, which request carried it, how it ended
    #[command(after_help = rows::BIOS)]
    Bios(rows::RowArgs),
    Sql(sql::SqlArgs),
    Convert(convert::ConvertArgs),
    Generate(generate::GenerateArgs),
}

/// Parses the process's arguments, runs the command, prints its error, and returns the exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            return match e.print() {
                Err(io) if io.kind() != std::io::ErrorKind::BrokenPipe => {
                    commands::complain(&format!("error: cannot write the help: {io}"));
                    ExitCode::FAILURE
                }
                _ => ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(2)),
            };
        }
    };
    match run(cli.command) {
        Ok(Done::Sound) => ExitCode::SUCCESS,
        Ok(Done::Unusable) => ExitCode::from(1),
        Ok(Done::Damaged) => ExitCode::from(3),
        Err(e) => {
            if e.kind != Kind::ClosedPipe {
                commands::complain(&format!("error: {e}"));
            }
            ExitCode::from(e.exit_code())
        }
    }
}

fn run(command: Command) -> Result<Done> {
    match command {
        Command::Stats(a) => commands::stats(&a.opts()),
        Command::Check(a) => commands::check(&a.opts()),
        Command::Explain(a) => commands::explain(&a.opts()),
        Command::Compare(a) => commands::compare(&a.opts()),
        Command::Replay(a) => commands::replay(&a.opts()?),
        Command::Plot(a) => commands::plot(&a.opts()),
        Command::Report(a) => commands::report(&a.opts()),
        Command::Events(a) => commands::events(&a.opts()),
        Command::Requests(a) => commands::requests(&a.opts()),
        Command::Bios(a) => commands::bios(&a.opts()),
        Command::Sql(a) => commands::sql(&a.opts()),
        Command::Convert(a) => commands::convert(&a.opts()),
        Command::Generate(a) => commands::generate(&a.opts()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn definitions_are_consistent_and_every_option_has_help() {
        let mut cmd = Cli::command();
        cmd.build();
        cmd.clone().debug_assert();
        for sub in cmd.get_subcommands().filter(|s| s.get_name() != "help") {
            // clap's own check of this is not in a release build.
            let mut names = std::collections::BTreeSet::new();
            for arg in sub.get_arguments() {
                for name in arg.get_long_and_visible_aliases().unwrap_or_default() {
                    let twice = !names.insert(name.to_string());
                    assert!(!twice, "{} --{name} twice", sub.get_name());
                }
                assert!(
                    arg.get_help().is_some(),
                    "{} {}",
                    sub.get_name(),
                    arg.get_id()
                );
            }
            let after = sub
                .get_after_help()
                .map(|s| s.to_string())
                .unwrap_or_default();
            assert!(after.contains("Examples:"), "{}", sub.get_name());
        }
    }

    #[test]
    fn a_device_list_and_times_arrive_in_the_plain_options() {
        let cli = Cli::try_parse_from([
            "blkan", "stats", "--dev", "8,0", "--dev", "sdb", "--from", "-0.5", "--by", "comm,op",
            "--csv", "t.gz",
        ]);
        let Ok(Cli {
            command: Command::Stats(a),
        }) = cli
        else {
            panic!("{cli:?}");
        };
        let o = a.opts();
        assert_eq!(o.window.devs.len(), 2);
        assert_eq!(o.window.from, Some(crate::units::Nanos(-500_000_000)));
        assert_eq!(o.by.len(), 2);
        assert_eq!(o.output.rows, commands::Rows::Csv);
    }
}
