//! Numbers without I/O terms: quantiles and histograms.
