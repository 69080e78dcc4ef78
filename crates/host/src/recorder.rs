//! A sampler: a deadline in the loop, and what was read at each.
use powerband_machine::{Handle, Sample};

/// Reads some handles at a fixed period.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) handles: Vec<Handle>,
    period_ns: u64,
    due_ns: u64,
    pub(crate) samples: Vec<Sample>,
}

impl Recorder {
    /// The first sample is due at once.
    pub(crate) fn new(handles: &[Handle], period_ns: u64, now_ns: u64) -> Self {
        Recorder { handles: handles.to_vec(), period_ns: period_ns.max(1), due_ns: now_ns, samples: Vec::new() }
    }

    /// When the next sample is due.
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// A sample was taken. What was missed is not made up for in a burst; the rhythm stays.
    pub(crate) fn took(&mut self, sample: Sample, now_ns: u64) {
        self.samples.push(sample);
        let missed = now_ns.saturating_sub(self.due_ns) / self.period_ns;
        self.due_ns += (missed + 1) * self.period_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rhythm_stays_when_samples_are_missed() {
        let mut recorder = Recorder::new(&[], 10, 100);
        for (now, due) in [(100, 110), (113, 120), (120, 130), (155, 160)] {
            recorder.took(Sample { at_ns: now, texts: Vec::new() }, now);
            assert_eq!(recorder.due_ns(), due);
        }
        assert_eq!(recorder.samples.len(), 4);
    }
}
