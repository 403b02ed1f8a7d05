//! `blkan explain` as clap sees it.

use super::common::{InputArgs, OutputArgs, WindowArgs};
use crate::commands::{ExplainOpts, Question};
use clap::Args;

/// Causes: why so much small I/O, why so many flushes, where the time goes, why requests are issued again
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  blkan explain trace.gz                          every cause that the trace shows, ranked
  blkan explain --why flushes trace.gz            one question only
  blkan explain --capacity 1900000000000 trace.gz   with the capacity: why blocks are small")]
pub struct ExplainArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    window: WindowArgs,
    /// Only these questions: small-io, flushes, latency, requeues, all [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = question, help_heading = "Selection")]
    why: Vec<Asked>,
    #[command(flatten)]
    output: OutputArgs,
}

/// One question, or all of them (`None`).
type Asked = Option<Question>;

fn question(s: &str) -> Result<Asked, String> {
    let found = Question::ALL.into_iter().find(|q| q.name() == s);
    match (found, s) {
        (Some(q), _) => Ok(Some(q)),
        (None, "all") => Ok(None),
        _ => {
            let names: Vec<&str> = Question::ALL.iter().map(|q| q.name()).collect();
            Err(format!("expected one of {}, all", names.join(", ")))
        }
    }
}

impl ExplainArgs {
    /// As the command takes it.
    pub fn opts(self) -> ExplainOpts {
        let all = self.why.iter().any(Option::is_none);
        ExplainOpts {
            input: self.input.opts(),
            window: self.window.opts(),
            why: match all {
                true => Vec::new(),
                false => self.why.into_iter().flatten().collect(),
            },
            output: self.output.opts(false),
        }
    }
}
