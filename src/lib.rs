//! blkan reads traces of the Linux block layer, rebuilds the life of every request, and computes the numbers that
//! block-layer arguments are settled with.
//!
//! ```text
//! bytes ─► format ─► events ─► lifecycle ─► requests ─► metrics ─► present ─► terminal, JSON, file
//!                                           └─► frame ─► CSV, JSON lines, Parquet, Arrow
//! ```
//!
//! Data flows one way; `tests/suite/architecture.rs` holds the table of who may import whom.
#![deny(missing_docs)]

pub mod cli;
pub mod commands;
pub mod diagnose;
pub mod error;
pub mod event;
pub mod format;
pub mod frame;
pub mod lifecycle;
pub mod metrics;
pub mod model;
pub mod present;
pub mod stats;
pub mod units;
