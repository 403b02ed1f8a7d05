//! Traces of a few lines, through the tracker.
