//! Builders for tests: requests, bios and events driven into a collector by hand.
