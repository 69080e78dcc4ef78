//! What programs read of the command begins with a version and a kind; what the kinds are, and which types tell them.
use powerband_record::Started;
use powerband_report::comparison::Comparison;
use powerband_report::fleet::{Applications, FleetAnswer};
use serde::Serialize;

/// Version of the shapes; raised when a field changes its meaning or goes.
pub(crate) const VERSION: u32 = 1;

/// A shape that is printed with `--json`; its schema is in `docs/schema`, by the name of its kind.
pub(crate) trait Document: Serialize {
    /// Told as `kind`: the words that were typed for it.
    const KIND: &'static str;
}

/// An experiment on a table, as `--dry-run` tells it.
impl Document for Started {
    const KIND: &'static str = "dry-run-table";
}

impl Document for Comparison {
    const KIND: &'static str = "comparison";
}

impl Document for FleetAnswer {
    const KIND: &'static str = "fleet";
}

impl Document for Applications {
    const KIND: &'static str = "applications";
}

/// A document as it is printed.
#[derive(Serialize)]
pub(super) struct Printed<'d, D> {
    version: u32,
    kind: &'static str,
    #[serde(flatten)]
    told: &'d D,
}

impl<'d, D: Document> Printed<'d, D> {
    pub(super) fn of(told: &'d D) -> Self {
        Printed { version: VERSION, kind: D::KIND, told }
    }
}
