//! When a load starts and when it is measured, on the monotonic clock.

/// Times, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) start_ns: u64,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

impl Times {
    /// Measures for `for_ns` after a ramp.
    pub(super) fn new(start_ns: u64, ramp_ns: u64, for_ns: u64) -> Self {
        let begin_ns = start_ns.saturating_add(ramp_ns);
        Times { start_ns, begin_ns, end_ns: begin_ns.saturating_add(for_ns) }
    }

    pub(super) fn measures(&self, at_ns: u64) -> bool {
        (self.begin_ns..self.end_ns).contains(&at_ns)
    }
}
