//! A World in which things go wrong: starting that, a new owner after the last one ended, healing, and what is left over.
use powerband_machine::Wake;
use powerband_record::Side;

use super::{SimError, SimWorld};
use crate::board::Board;
use crate::fault::{Ending, FaultPlan, Faults, Step};
use crate::machine;

impl SimWorld {
    /// Lets things go wrong on the near machine from now on. Its ledger is kept on a simulated disk that outlives its
    /// owner; who is killed is told so by each call that can fail, until [`SimWorld::succeed`].
    ///
    /// # Errors
    /// [`SimError::NoMachine`] cannot be: every World has a near machine.
    pub fn inject(&mut self, plan: FaultPlan) -> Result<Faults, SimError> {
        let near = self.machines.first_mut().ok_or(SimError::NoMachine(Side::Near))?;
        machine::inject(near, plan)
    }

    /// A new owner takes over, with the ledger as the disk has it; the loads of the last one are gone. After a power cut
    /// every machine of the rig has booted anew, its clock begins at 0, and only ordinary files are as they were.
    ///
    /// # Errors
    /// [`SimError::Ledger`] when the ledger could not be read, which also ends this owner: nothing it does has effect.
    pub fn succeed(&mut self) -> Result<(), SimError> {
        let ended = self.machines.first().and_then(|near| near.device().faults()).and_then(Faults::succeed);
        self.wakes.clear();
        if ended == Some(Ending::PowerCut) {
            self.reboots += 1;
            self.now_ns = 0;
        }
        let has_far = self.machines.len() > 1;
        let seed = self.seed.wrapping_add(self.reboots);
        for machine in &mut self.machines {
            let board = &machine.device().board;
            let (side, profile) = (board.side, &board.profile);
            let fresh = (ended == Some(Ending::PowerCut))
                .then(|| Board::boot(profile.as_ref().clone(), side, has_far, seed))
                .transpose()?;
            machine::succeed(machine, fresh)?;
        }
        Ok(())
    }

    /// From now on nothing goes wrong: what refused works, what was full has room, CPUs are back in service.
    pub fn heal(&mut self) {
        for machine in &mut self.machines {
            let machine = machine.device_mut();
            let Some(faults) = machine.faults() else { continue };
            faults.heal();
            for cpu in 1..u32::try_from(machine.board.cpus.len()).unwrap_or(0) {
                machine.board.set_online(cpu, true);
            }
            machine.board.follow_cpufreq();
        }
    }

    /// Names of the control groups on a side's machine.
    #[must_use]
    pub fn groups(&self, side: Side) -> Vec<String> {
        let machine = self.place(side).and_then(|place| self.machines.get(place));
        let groups = machine.map(|machine| machine.device().board.groups.iter().filter(|group| group.exists));
        groups.into_iter().flatten().map(|group| group.name.clone()).collect()
    }

    /// How many processes run on a side's machine.
    #[must_use]
    pub fn running(&self, side: Side) -> usize {
        self.place(side)
            .and_then(|place| self.machines.get(place))
            .map_or(0, |machine| machine.device().board.running().len())
    }

    /// The step that a wait is; the answer is for an owner that is dead.
    pub(super) fn meet_in_wait(&mut self) -> Option<Wake> {
        let near = self.machines.first_mut()?.device_mut();
        near.faults()?;
        match near.hands().meet(Step::Wait) {
            Ok(()) => None,
            Err(_) => Some(Wake::Lost(Side::Near, "its owner has ended".into())),
        }
    }
}
