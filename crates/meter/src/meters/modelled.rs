//! `modelled`: the energy a simulated machine computes for itself.
use powerband_machine::Look;

use crate::{Absent, Kind, Meter, MeterAbout, MeterInstance};

/// The energy counter of simulated machines.
#[derive(Clone, Copy, Debug)]
pub struct Modelled;

const FOLDER: &str = "/sys/kernel/powerband";

const ABOUT: MeterAbout = MeterAbout {
    name: "modelled",
    summary: "energy as a simulated machine computes it",
    unit: "uJ",
    boundary: "modelled: what the model of the machine covers; no real watt was measured",
    kind: "counter",
    cost: "none",
    source: "/sys/kernel/powerband/energy_uj of simulated machines",
};

impl Meter for Modelled {
    fn about(&self) -> &'static MeterAbout {
        &ABOUT
    }

    fn find(&self, machine: &mut dyn Look) -> Result<Vec<MeterInstance>, Absent> {
        let source = format!("{FOLDER}/energy_uj");
        if let Err(errno) = machine.read(&source) {
            let why = format!("only simulated machines have it ({source}: {errno})");
            return Err(Absent::new(ABOUT.name, why));
        }
        let boundary = machine.read(&format!("{FOLDER}/boundary")).ok().map(|text| text.trim().to_owned());
        let boundary = boundary.filter(|text| !text.is_empty()).unwrap_or_else(|| ABOUT.name.to_owned());
        Ok(vec![MeterInstance::new(ABOUT.name, boundary, source, Kind::Counter { wrap: None })])
    }
}
