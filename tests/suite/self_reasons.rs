//! Why a recording that is replayed under its own policy is not met in all numbers: what was found by looking into each.

/// Classes of reasons, explained.
pub const CLASSES: &[(&str, &str)] = &[];

/// Recording → the classes that hold for it. Required for one that misses a bar, refused for one that does not.
pub const REASONS: &[(&str, &[&str])] = &[];
