//! Workloads: from a trace, and made.
