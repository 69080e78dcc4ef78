//! Recorders: files read at a period while virtual time passes.
use powerband_machine::{Handle, RecorderId, Sample};

use crate::board::{Board, Event};

/// One recorder; it stays as an empty place once it has ended.
#[derive(Debug)]
pub(crate) struct Recorder {
    handles: Vec<Handle>,
    period_ns: u64,
    samples: Vec<Sample>,
    runs: bool,
}

impl Board {
    /// Reads now and then every `period_ns`; a period below 1 µs is taken as 1 µs.
    pub(crate) fn record(&mut self, handles: &[Handle], period_ns: u64) -> RecorderId {
        let recorder = u32::try_from(self.recorders.len()).unwrap_or(u32::MAX);
        let period_ns = period_ns.max(1_000);
        self.recorders.push(Recorder { handles: handles.to_vec(), period_ns, samples: Vec::new(), runs: true });
        self.sample(recorder);
        RecorderId(recorder)
    }

    pub(crate) fn sample(&mut self, recorder: u32) {
        let place = recorder as usize;
        if !self.recorders[place].runs {
            return;
        }
        let handles = std::mem::take(&mut self.recorders[place].handles);
        let texts = handles.iter().map(|&handle| self.read_handle(handle)).collect();
        let at_ns = self.now_ns;
        let this = &mut self.recorders[place];
        this.handles = handles;
        this.samples.push(Sample { at_ns, texts });
        let next = at_ns.saturating_add(this.period_ns);
        self.plan(next, Event::Sample { recorder });
    }

    /// Ends a recorder; an unknown one saw nothing.
    pub(crate) fn end_record(&mut self, recorder: RecorderId) -> Vec<Sample> {
        let Some(this) = self.recorders.get_mut(recorder.0 as usize) else { return Vec::new() };
        this.runs = false;
        std::mem::take(&mut this.samples)
    }

    /// Ends every recorder; nobody asks what they saw.
    pub(crate) fn end_records(&mut self) {
        for this in &mut self.recorders {
            (this.runs, this.samples) = (false, Vec::new());
        }
    }
}
