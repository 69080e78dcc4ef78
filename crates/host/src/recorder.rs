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

    /// A sample was taken. The next is due at a whole multiple of the period: recorders of one period wake us together,
    /// and what was missed is not made up for in a burst.
    pub(crate) fn took(&mut self, sample: Sample, now_ns: u64) {
        self.samples.push(sample);
        self.due_ns = (now_ns / self.period_ns + 1).saturating_mul(self.period_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_to_multiples_of_the_period() {
        let mut recorder = Recorder::new(&[], 10, 104);
        for (now, due) in [(104, 110), (113, 120), (120, 130), (155, 160)] {
            recorder.took(Sample { at_ns: now, texts: Vec::new() }, now);
            assert_eq!(recorder.due_ns(), due);
        }
        assert_eq!(recorder.samples.len(), 4);
    }
}
