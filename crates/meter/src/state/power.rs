//! What is drawn, meter by meter: each number keeps its boundary, and none are added up.
use powerband_machine::{Handle, Machine};

use super::{Text, number};
use crate::{Kind, MeterInstance, advance_uj};

/// Meters of power and energy, open.
#[derive(Debug, Default)]
pub struct Powers {
    meters: Vec<MeterInstance>,
    handles: Vec<Handle>,
}

/// What each meter read at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerNow {
    /// The machine's clock, ns.
    pub at_ns: u64,
    /// In each meter's own unit, in the order of [`Powers::meters`].
    pub read: Vec<Option<u64>>,
}

impl Powers {
    /// Opens `meters`; those that cannot be opened are left out.
    pub fn open(machine: &mut dyn Machine, meters: &[MeterInstance]) -> Self {
        let mut all = Powers::default();
        for meter in meters {
            if let Ok(handle) = machine.open(&meter.source) {
                all.handles.push(handle);
                all.meters.push(meter.clone());
            }
        }
        all
    }

    /// What is read of them.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        self.handles.clone()
    }

    /// The meters.
    #[must_use]
    pub fn meters(&self) -> &[MeterInstance] {
        &self.meters
    }

    /// What they read at `at_ns`.
    #[must_use]
    pub fn snapshot(&self, at_ns: u64, texts: &[Text]) -> PowerNow {
        PowerNow { at_ns, read: texts.iter().map(|text| number(Some(text))).collect() }
    }

    /// Each meter's power, W: a gauge's as it stands, a counter's on average since `earlier`. `None` where it did not read,
    /// where nothing came before, or where the counter may have come round unseen.
    #[must_use]
    pub fn watts(&self, earlier: Option<&PowerNow>, now: &PowerNow) -> Vec<Option<f64>> {
        let watts = |(place, meter): (usize, &MeterInstance)| {
            let read = (*now.read.get(place)?)?;
            match meter.kind {
                Kind::Gauge { .. } => Some(read as f64 * 1e-6),
                Kind::Counter { wrap } => {
                    let before = (earlier?.at_ns, (*earlier?.read.get(place)?)?);
                    let ns = now.at_ns.checked_sub(before.0).filter(|&ns| ns > 0)?;
                    let uj = advance_uj(&[before, (now.at_ns, read)], wrap).ok()?;
                    Some(uj as f64 * 1e3 / ns as f64)
                }
            }
        };
        self.meters.iter().enumerate().map(watts).collect()
    }
}
