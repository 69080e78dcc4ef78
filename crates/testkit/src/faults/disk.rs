//! The disk a ledger is kept on: it tells what is durable from what is only written, and outlives its owners.
use powerband_machine::{Errno, LedgerError, LedgerStore};
use powerband_stats::Draws;

use super::{Blunder, Ending, Fault, Faults, Step, Strike};

/// What an append met on a full disk, as often as that.
const FOR_GOOD: u32 = u32::MAX;

/// The bytes of one ledger.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    /// What a reader sees.
    bytes: Vec<u8>,
    /// So many of them survive a power cut.
    durable: usize,
    acknowledged: Vec<Vec<u8>>,
    /// Records whose writers ended in them, since the last sync.
    unsure: Vec<Vec<u8>>,
    refused: Vec<(u64, Vec<u8>)>,
}

/// A disk at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// What a reader sees.
    pub bytes: Vec<u8>,
    /// The records whose writer was told that they are durable, since the ledger was last emptied.
    pub acknowledged: Vec<Vec<u8>>,
    /// The records whose writers ended in the middle, since the last sync: each may be there or not.
    pub unsure: Vec<Vec<u8>>,
    /// The records that a full disk has refused so far, each with the step in which it was to be written.
    pub refused: Vec<(u64, Vec<u8>)>,
}

impl Disk {
    pub(super) fn image(&self) -> Image {
        let Disk { bytes, acknowledged, unsure, refused, .. } = self.clone();
        Image { bytes, acknowledged, unsure, refused }
    }

    /// The power is gone: of what was not synced an arbitrary beginning is there.
    pub(super) fn cut(&mut self, stream: &mut Draws) {
        let kept = stream.below((self.bytes.len() - self.durable) as u64 + 1);
        self.bytes.truncate(self.durable + usize::try_from(kept).unwrap_or(0));
        self.durable = self.bytes.len();
    }

    /// A beginning of what was to be appended arrives, and nothing is synced.
    fn tear(&mut self, bytes: &[u8], stream: &mut Draws) -> bool {
        let arrived = usize::try_from(stream.below(bytes.len() as u64 + 1)).unwrap_or(0);
        self.bytes.extend_from_slice(&bytes[..arrived]);
        (1..bytes.len()).contains(&arrived)
    }
}

/// A disk as a ledger's store.
pub(super) struct SimDisk(pub(super) Faults);

impl SimDisk {
    /// Takes a step, and answers whether the write may go on.
    fn meet(&self, step: Step, bytes: &[u8]) -> Result<(), Errno> {
        match self.0.next(step) {
            Strike::Nothing => {}
            Strike::Dead(stream) => {
                if let Some(mut stream) = stream {
                    self.die_writing(step, bytes, &mut stream);
                }
                return Err(Errno::EIO);
            }
            Strike::Fault(fault, mut stream) => {
                self.0.0.borrow_mut().full =
                    if fault == Fault::DiskFullLasting { FOR_GOOD } else { 1 + stream.below(3) as u32 };
                self.0.struck(fault);
            }
        }
        let mut state = self.0.0.borrow_mut();
        match state.full {
            0 => return Ok(()),
            FOR_GOOD => {}
            _ => state.full -= 1,
        }
        Err(Errno::ENOSPC)
    }

    /// The owner ends in this write.
    fn die_writing(&self, step: Step, bytes: &[u8], stream: &mut Draws) {
        let mut state = self.0.0.borrow_mut();
        let cut = state.ended == Some(Ending::PowerCut);
        if step == Step::Append {
            state.disk.unsure.push(bytes.to_vec());
            if state.disk.tear(bytes, stream) {
                *state.tally.entry(Fault::TornAppend).or_default() += 1;
            }
            if cut {
                state.disk.cut(stream);
            }
        } else if stream.below(2) == 1 {
            // A replacement is there as a whole or not at all.
            state.disk.put(bytes);
        }
    }
}

impl Disk {
    /// What was written in doubt and is there is there for good; the rest never will be.
    fn sync(&mut self) {
        for record in std::mem::take(&mut self.unsure) {
            if self.bytes.windows(record.len()).any(|part| part == record) {
                self.acknowledged.push(record);
            }
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes = bytes.to_vec();
        self.durable = bytes.len();
        if bytes.is_empty() {
            self.acknowledged.clear();
            self.unsure.clear();
        }
    }
}

impl LedgerStore for SimDisk {
    fn place(&self) -> String {
        "on a simulated disk".into()
    }

    fn load(&mut self) -> Result<Vec<u8>, LedgerError> {
        Ok(self.0.0.borrow().disk.bytes.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.meet(Step::Append, bytes).inspect_err(|errno| {
            if *errno == Errno::ENOSPC {
                let mut state = self.0.0.borrow_mut();
                let step = state.step;
                state.disk.refused.push((step, bytes.to_vec()));
            }
        })?;
        let synced = !self.0.blunder(Blunder::AcknowledgesTooEarly);
        let disk = &mut self.0.0.borrow_mut().disk;
        if synced {
            disk.sync();
        }
        disk.bytes.extend_from_slice(bytes);
        disk.acknowledged.push(bytes.to_vec());
        if synced {
            disk.durable = disk.bytes.len();
        }
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        // A full disk has room for nothing, which is what most replacements leave.
        if bytes.is_empty() {
            if let Strike::Dead(stream) = self.0.next(Step::Replace) {
                if let Some(mut stream) = stream {
                    self.die_writing(Step::Replace, bytes, &mut stream);
                }
                return Err(Errno::EIO);
            }
        } else {
            self.meet(Step::Replace, bytes)?;
            if self.0.blunder(Blunder::KeepsTheTornTail) {
                return Ok(());
            }
        }
        self.0.0.borrow_mut().disk.put(bytes);
        Ok(())
    }
    /// Kept by nobody: this disk tears the end of a file at most, and that is no damage.
    fn set_aside(&mut self, _lines: &[u8]) -> Result<(), Errno> {
        Err(Errno::EIO)
    }
}
