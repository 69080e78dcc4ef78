//! A World in which somebody interferes: starting that, a new owner after the last one ended, and what is left over.
use std::rc::Rc;

use powerband_machine::{LedgerStore, Wake};
use powerband_record::Side;

use super::{SimError, SimWorld};
use crate::board::Board;
use crate::interference::{Interference, OwnerStep};
use crate::machine;

impl SimWorld {
    /// Lets every step of the near machine's owner pass through `interference` from now on, and keeps its ledger in `store`.
    ///
    /// # Errors
    /// [`SimError::NoMachine`] cannot be: every World has a near machine. [`SimError::Ledger`] when the ledger cannot be read.
    pub fn interfere(
        &mut self,
        interference: Rc<dyn Interference>,
        store: Box<dyn LedgerStore>,
    ) -> Result<(), SimError> {
        let near = self.machines.first_mut().ok_or(SimError::NoMachine(Side::Near))?;
        machine::load_ledger(near, store)?;
        near.device_mut().interference = Some(interference);
        Ok(())
    }

    /// A new owner takes over, with the near machine's ledger as `store` has it; the loads of the last one are gone. After a
    /// power cut every machine of the rig has booted anew, its clock begins at 0, and only ordinary files are as they were.
    ///
    /// # Errors
    /// [`SimError::Ledger`] when the ledger could not be read.
    pub fn succeed(&mut self, after_power_cut: bool, store: Box<dyn LedgerStore>) -> Result<(), SimError> {
        self.wakes.clear();
        if after_power_cut {
            self.reboots += 1;
            self.now_ns = 0;
        }
        let has_far = self.machines.len() > 1;
        let seed = self.seed.wrapping_add(self.reboots);
        let mut store = Some(store);
        for machine in &mut self.machines {
            let board = &mut machine.device_mut().board;
            if after_power_cut {
                let mut fresh = Board::boot(board.profile.as_ref().clone(), board.side, has_far, seed)?;
                fresh.keep_files_of(board);
                *board = fresh;
            }
            board.end_all();
            board.close_all();
            if let Some(store) = store.take() {
                machine::load_ledger(machine, store)?;
            }
        }
        Ok(())
    }

    /// A side's machine itself, past its owner and its ledger.
    pub fn board(&mut self, side: Side) -> Option<&mut Board> {
        let place = self.place(side)?;
        self.machines.get_mut(place).map(|machine| &mut machine.device_mut().board)
    }

    /// The step that a wait is; the answer is for an owner that has ended.
    pub(super) fn meet_in_wait(&mut self) -> Option<Wake> {
        let near = self.machines.first_mut()?.device_mut();
        match near.meet(OwnerStep::Wait) {
            Ok(()) => None,
            Err(_) => Some(Wake::Lost(Side::Near, "its owner has ended".into())),
        }
    }
}
