//! The measured values of one metric: settings by blocks, with holes where a trial was void or a setting had left.

use crate::error::Error;
use crate::order::Slot;
use serde::{Deserialize, Serialize};

/// Raw values of one metric, in its own unit, by block and slot. Setting 0 is the reference.
///
/// A cell is empty until its trial is valid; racing and void trials leave holes, and every procedure here works
/// on what is present.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Table {
    settings: usize,
    blocks: usize,
    cells: Vec<Option<f64>>,
    /// When the trial of each cell ran, where that is known.
    #[serde(default)]
    ran: Vec<Option<TrialTime>>,
}

/// When a trial ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialTime {
    /// Its number among all trials, void ones included.
    pub trial: u32,
    /// The setting of the trial right before it; none where there was none, or a void one.
    pub before: Option<usize>,
}

/// The reference may stand up to three times in a block, every other setting once.
const REFERENCE_PLACES: usize = 3;

impl Table {
    /// An empty table for `settings` settings compared with a reference.
    #[must_use]
    pub fn new(settings: usize) -> Self {
        Self { settings, blocks: 0, cells: Vec::new(), ran: Vec::new() }
    }

    /// Settings compared with the reference, which is not counted.
    #[must_use]
    pub fn settings(&self) -> usize {
        self.settings
    }

    /// Blocks begun.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Valid trials in the table.
    #[must_use]
    pub fn trials(&self) -> usize {
        self.cells.iter().flatten().count()
    }

    /// Begins a block and gives its number, counted from 0.
    pub fn push_block(&mut self) -> usize {
        self.blocks += 1;
        self.cells.resize(self.blocks * self.stride(), None);
        self.ran.resize(self.blocks * self.stride(), None);
        self.blocks - 1
    }

    /// Enters a valid trial's value, replacing what was there.
    ///
    /// # Errors
    /// `NoSuchCell` outside the table, `NotFinite` for NaN and infinities.
    pub fn set(&mut self, block: usize, slot: Slot, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            return Err(Error::NotFinite { setting: slot.setting, block });
        }
        let place = self.place(block, slot)?;
        self.cells[place] = Some(value);
        Ok(())
    }

    /// As [`Table::set`] for a trial of which it is known when it ran.
    ///
    /// # Errors
    /// As [`Table::set`].
    pub fn set_ran(&mut self, block: usize, slot: Slot, value: f64, ran: TrialTime) -> Result<(), Error> {
        self.set(block, slot, value)?;
        let place = self.place(block, slot)?;
        if let Some(known) = self.ran.get_mut(place) {
            *known = Some(ran);
        }
        Ok(())
    }

    /// When the trial of a cell ran, where that is known.
    #[must_use]
    pub fn ran(&self, block: usize, slot: Slot) -> Option<TrialTime> {
        self.place(block, slot).ok().and_then(|place| self.ran.get(place).copied().flatten())
    }

    /// Empties a cell: the trial was void and has not been repeated.
    ///
    /// # Errors
    /// `NoSuchCell` outside the table.
    pub fn clear(&mut self, block: usize, slot: Slot) -> Result<(), Error> {
        let place = self.place(block, slot)?;
        self.cells[place] = None;
        Ok(())
    }

    /// The value of a cell, if it holds one.
    #[must_use]
    pub fn get(&self, block: usize, slot: Slot) -> Option<f64> {
        self.place(block, slot).ok().and_then(|place| self.cells[place])
    }

    /// The table as it was after its first `blocks` blocks.
    #[must_use]
    pub fn prefix(&self, blocks: usize) -> Self {
        let blocks = blocks.min(self.blocks);
        let end = blocks * self.stride();
        let ran = self.ran.get(..end).unwrap_or_default().to_vec();
        Self { settings: self.settings, blocks, cells: self.cells[..end].to_vec(), ran }
    }

    /// The filled cells of a block, the reference's first.
    pub fn block(&self, block: usize) -> impl Iterator<Item = (Slot, f64)> + '_ {
        let stride = self.stride();
        let start = (block * stride).min(self.cells.len());
        let end = (start + stride).min(self.cells.len());
        self.cells[start..end].iter().enumerate().filter_map(|(place, cell)| {
            let slot = if place < REFERENCE_PLACES {
                Slot { setting: 0, copy: place }
            } else {
                Slot::first(place + 1 - REFERENCE_PLACES)
            };
            cell.map(|value| (slot, value))
        })
    }

    fn stride(&self) -> usize {
        self.settings + REFERENCE_PLACES
    }

    fn place(&self, block: usize, slot: Slot) -> Result<usize, Error> {
        let Slot { setting, copy } = slot;
        let copies = if setting == 0 { REFERENCE_PLACES } else { 1 };
        if block >= self.blocks || setting > self.settings || copy >= copies {
            return Err(Error::NoSuchCell { setting, copy, block });
        }
        let inside = if setting == 0 { copy } else { setting + REFERENCE_PLACES - 1 };
        Ok(block * self.stride() + inside)
    }
}
