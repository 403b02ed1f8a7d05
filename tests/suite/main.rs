//! The suite: the real binary against recordings, hand-made traces and damaged input, and the source against its own
//! rules. One test binary, so that it links once.

mod architecture;
mod btt;
mod cli;
mod compare;
mod conversion;
mod corpus;
mod cross_format;
mod docs;
mod golden;
mod hard_cases;
mod hostile;
mod labels;
mod laws;
mod load;
mod mutations;
mod recognition;
mod recorders;
mod recordings;
mod shapes;
mod snoop;
mod source;
mod support;
mod tables;
#[cfg(feature = "tables")]
mod tables_read;
#[cfg(feature = "tables")]
mod tables_sql;
mod tracepoints;
mod truths;
mod user_formats;
