//! What is read around a process: files at its start, at a period while virtual time passes, and at its end.
use powerband_machine::{Sample, Sampling};

use crate::board::{Board, Event};

/// A watch while its process runs.
#[derive(Debug)]
pub(crate) struct Watching {
    watch: Sampling,
    samples: Vec<Sample>,
}

impl Watching {
    /// Nothing is read yet. A period below 1 us is taken as 1 us.
    pub(crate) fn new(watch: &Sampling) -> Self {
        let period_ns = watch.period_ns.map(|period_ns| period_ns.max(1_000));
        Watching { watch: Sampling { period_ns, ..watch.clone() }, samples: Vec::new() }
    }

    /// What was read.
    pub(crate) fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}

impl Board {
    /// Reads every watch of a process.
    pub(crate) fn sample_all(&mut self, process: u32) {
        for watch in 0..u32::try_from(self.process(process).around.len()).unwrap_or(0) {
            self.sample(process, watch);
        }
    }

    /// Reads one watch of a process, forgetting what was read before; when it is read next stays.
    pub(crate) fn sample_anew(&mut self, process: u32, watch: usize) {
        let Some(watching) = self.process(process).around.get_mut(watch) else { return };
        let handles = watching.watch.handles.clone();
        let texts = handles.iter().map(|&handle| self.read_handle(handle)).collect();
        let sample = Sample { at_ns: self.now_ns, texts };
        if let Some(watching) = self.process(process).around.get_mut(watch) {
            watching.samples = vec![sample];
        }
    }

    /// Reads one watch of a process, if it is still there, and plans when to read it again.
    pub(crate) fn sample(&mut self, process: u32, watch: u32) {
        let place = watch as usize;
        let Some(watching) = self.process(process).around.get_mut(place) else { return };
        let handles = std::mem::take(&mut watching.watch.handles);
        let texts = handles.iter().map(|&handle| self.read_handle(handle)).collect();
        let at_ns = self.now_ns;
        let Some(watching) = self.process(process).around.get_mut(place) else { return };
        watching.watch.handles = handles;
        watching.samples.push(Sample { at_ns, texts });
        if let Some(period_ns) = watching.watch.period_ns {
            self.plan(at_ns.saturating_add(period_ns), Event::Sample { process, watch });
        }
    }
}
