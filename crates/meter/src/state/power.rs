//! What is drawn, meter by meter: each number keeps its boundary, and none are added up.
use powerband_machine::{Handle, Look};

use super::Text;
use crate::{Kind, MeterInstance, advance_uj};

/// Meters of power and energy, open.
#[derive(Debug, Default)]
pub struct Powers {
    meters: Vec<MeterInstance>,
    /// Of each meter its file, and the one it is multiplied by.
    handles: Vec<Vec<Handle>>,
}

/// What each meter read at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerNow {
    /// The machine's clock, ns.
    pub at_ns: u64,
    /// Microwatts or microjoules, in the order of [`Powers::meters`].
    pub read: Vec<Option<u64>>,
}

impl Powers {
    /// Opens `meters`; those that cannot be opened are left out.
    pub fn open(machine: &mut dyn Look, meters: &[MeterInstance]) -> Self {
        let mut all = Powers::default();
        for meter in meters {
            let files = [Some(&meter.source), meter.times.as_ref()].into_iter().flatten();
            let mut handles = Vec::new();
            let opened = files.map(|file| machine.open(file)).try_for_each(|open| open.map(|it| handles.push(it)));
            match opened {
                Ok(()) => {
                    all.handles.push(handles);
                    all.meters.push(meter.clone());
                }
                Err(_) => handles.into_iter().for_each(|handle| machine.close(handle)),
            }
        }
        all
    }

    /// What is read of them.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        self.handles.concat()
    }

    /// The meters.
    #[must_use]
    pub fn meters(&self) -> &[MeterInstance] {
        &self.meters
    }

    /// What they read at `at_ns`.
    #[must_use]
    pub fn snapshot(&self, at_ns: u64, texts: &[Text]) -> PowerNow {
        let mut rest = texts;
        let mut read = Vec::new();
        for (meter, handles) in self.meters.iter().zip(&self.handles) {
            let (own, others) = rest.split_at_checked(handles.len()).unwrap_or_default();
            let texts: Option<Vec<&str>> = own.iter().map(|text| text.as_deref().ok()).collect();
            read.push(texts.filter(|texts| !texts.is_empty()).and_then(|texts| meter.number(texts.into_iter()).ok()));
            rest = others;
        }
        PowerNow { at_ns, read }
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
