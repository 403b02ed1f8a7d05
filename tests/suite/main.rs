//! The suite: the real binary against recordings, hand-made traces and damaged input, and the source against its own
//! rules. One test binary, so that it links once.

mod architecture;
mod btt;
mod cli;
mod compare;
mod compare_more;
mod compare_named;
mod conversion;
mod corpus;
mod cross_format;
mod docs;
mod drift;
mod figures;
#[cfg(feature = "plots")]
mod figures_drawn;
mod golden;
mod hard_cases;
mod hostile;
mod labels;
mod laws;
mod load;
mod model;
mod mutations;
mod perfetto;
mod predictions;
mod recognition;
mod recorders;
mod recordings;
mod replay;
mod replay_device;
mod replay_more;
mod report;
mod self_reasons;
mod self_replay;
mod shapes;
mod snoop;
mod source;
mod support;
mod tables;
#[cfg(feature = "tables")]
mod tables_read;
#[cfg(feature = "tables")]
mod tables_sql;
mod threads;
mod tracepoints;
mod truths;
mod user_formats;
mod workloads;
