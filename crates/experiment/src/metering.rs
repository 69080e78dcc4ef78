//! Metering of trials: the meters of the near machine, started and stopped around a load.
use std::collections::BTreeMap;

use powerband_machine::World;
use powerband_meter::{Meters, Session};
use powerband_record::Side;

/// The meters found on the near machine.
#[derive(Debug, Default)]
pub(crate) struct Metering {
    meters: Meters,
}

/// What the meters said about one run.
#[derive(Debug, Default)]
pub(crate) struct Metered {
    /// Value by metric name.
    pub(crate) values: BTreeMap<String, f64>,
    /// Why a metric was refused.
    pub(crate) refused: BTreeMap<String, String>,
}
