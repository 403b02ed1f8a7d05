//! The recorder script that blkan ships, and its form for a kernel that lacks some tracepoints.

/// The script as shipped (`recorder/blkan.bt`).
pub const RECORDER: &str = include_str!("../../../recorder/blkan.bt");

/// The script for one machine: probes of tracepoints that `available` does not know are left out (bpftrace refuses a
/// script that names a missing one), optional ones that it knows are switched on. `available` gets the bare name, as
/// in `/sys/kernel/tracing/events/block/NAME`.
pub fn recorder_for(available: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(RECORDER.len());
    for line in RECORDER.lines() {
        let code = line.strip_prefix("//? ").unwrap_or(line);
        let keep = match code.strip_prefix("tracepoint:block:") {
            Some(rest) => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                available(&rest[..end.unwrap_or(rest.len())])
            }
            None => true,
        };
        if keep {
            out.push_str(code);
            out.push('\n');
        }
    }
    out
}
