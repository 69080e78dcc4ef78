//! What is read around a load: open files, and one watch over some of them with the deadline of its next sample.
use std::os::fd::OwnedFd;
use std::path::Path;

use powerband_machine::{Errno, Handle, LinesPlace, Readable, Sample, Sampling};

use crate::followed::Followed;
use crate::perf::Counter;

/// Files kept open for repeated reading, by handle.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    files: Vec<Option<Open>>,
    buffer: Vec<u8>,
}

/// What is open.
#[derive(Debug)]
enum Open {
    File {
        file: OwnedFd,
        /// Whether one page holds all of it, as of all attributes in `/sys`.
        page: bool,
    },
    /// A program whose lines are kept.
    Lines(Box<Followed>),
    /// A counter of the kernel's perf.
    Count(Counter),
}

impl OpenFiles {
    /// Opens one more.
    pub(crate) fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        if let Readable::Perf(place) = Readable::of(path) {
            return self.add(Open::Count(Counter::open(place)?));
        }
        self.add(Open::File { file: crate::files::open(path)?, page: path.starts_with("/sys/") })
    }

    /// Starts a program through `program`, which is ourselves, and keeps its lines.
    pub(crate) fn follow(&mut self, program: &Path, place: LinesPlace<'_>) -> Result<Handle, Errno> {
        self.add(Open::Lines(Box::new(Followed::start(program, place)?)))
    }

    fn add(&mut self, open: Open) -> Result<Handle, Errno> {
        let index = self.files.iter().position(Option::is_none).unwrap_or_else(|| {
            self.files.push(None);
            self.files.len() - 1
        });
        self.files[index] = Some(open);
        u32::try_from(index).map(Handle).map_err(|_| Errno::ENOMEM)
    }

    /// Reads some from their beginnings, in order; `into` is cleared first.
    pub(crate) fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        let Self { files, buffer } = self;
        into.clear();
        into.extend(handles.iter().map(|handle| {
            let open = usize::try_from(handle.0).ok().and_then(|index| files.get_mut(index)?.as_mut());
            match open.ok_or(Errno::EBADF)? {
                Open::File { file, page: true } => crate::files::read_page(&*file, buffer),
                Open::File { file, page: false } => crate::files::read_open(&*file, buffer),
                Open::Lines(followed) => Ok(followed.read()),
                Open::Count(counter) => counter.read(),
            }
        }));
    }

    /// What to poll for programs that print.
    pub(crate) fn fds(&self) -> impl Iterator<Item = &OwnedFd> {
        self.files.iter().filter_map(|open| match open {
            Some(Open::Lines(followed)) => followed.fd(),
            _ => None,
        })
    }

    /// Takes what they have printed.
    pub(crate) fn visit(&mut self) {
        for open in self.files.iter_mut().flatten() {
            if let Open::Lines(followed) = open {
                followed.visit();
            }
        }
    }

    /// Gives one up.
    pub(crate) fn close(&mut self, handle: Handle) {
        if let Some(file) = usize::try_from(handle.0).ok().and_then(|index| self.files.get_mut(index)) {
            *file = None;
        }
    }
}

/// A watch while its load runs.
#[derive(Debug)]
pub(crate) struct Watching {
    watch: Sampling,
    due_ns: Option<u64>,
    samples: Vec<Sample>,
}

impl Watching {
    /// Nothing is read yet.
    pub(crate) fn new(watch: &Sampling) -> Self {
        Watching { watch: watch.clone(), due_ns: None, samples: Vec::new() }
    }

    /// When the next sample is due, if one ever is.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    /// Takes a sample now.
    pub(crate) fn read(&mut self, files: &mut OpenFiles) {
        let at_ns = crate::now_ns();
        let mut texts = Vec::with_capacity(self.watch.handles.len());
        files.read_many(&self.watch.handles, &mut texts);
        self.took(Sample { at_ns, texts });
    }

    /// The load only begins now: what was read before does not count.
    pub(crate) fn begin_again(&mut self, files: &mut OpenFiles) {
        self.samples.clear();
        self.read(files);
    }

    /// What was read.
    pub(crate) fn into_samples(self) -> Vec<Sample> {
        self.samples
    }

    /// The next is due at a whole multiple of the period: watches of one period wake us together, and what was missed is
    /// not made up for in a burst.
    fn took(&mut self, sample: Sample) {
        let next = |period_ns: u64| (sample.at_ns / period_ns.max(1) + 1).saturating_mul(period_ns.max(1));
        self.due_ns = self.watch.period_ns.map(next);
        self.samples.push(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_to_multiples_of_the_period() {
        let watch = |period_ns| Watching::new(&Sampling { handles: Vec::new(), period_ns });
        let sample = |at_ns| Sample { at_ns, texts: Vec::new() };
        let mut watching = watch(Some(10));
        for (now, due) in [(104, 110), (113, 120), (120, 130), (155, 160)] {
            watching.took(sample(now));
            assert_eq!(watching.due_ns(), Some(due));
        }
        assert_eq!(watching.into_samples().len(), 4);
        let mut only_around = watch(None);
        only_around.took(sample(104));
        assert_eq!(only_around.due_ns(), None);
    }
}
