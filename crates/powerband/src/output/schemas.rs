//! The schemas in `docs/schema` are those of the types. That what is printed is valid against them, the tests of services hold,
//! where a validator is at hand.
use std::path::Path;

use powerband_experiment::ShownMetrics;
use powerband_record::Started;
use powerband_report::comparison::Comparison;
use powerband_report::fleet::{Applications, FleetAnswer};
use powerband_report::schema;
use powerband_session::dry_run::Planned;
use schemars::JsonSchema;
use serde_json::Value;

use super::document::{Document, VERSION};
use crate::verb::{
    capture, check, confirm, doctor, fleet, get, guard, info, keep, knobs, service, set, sim, store, undo, why,
};

/// Makes the schemas anew instead of comparing them.
const WRITE: &str = "POWERBAND_WRITE_DOCS";

fn of<D: Document + JsonSchema>() -> (&'static str, Value) {
    schema::of::<D>(D::KIND, VERSION)
}

fn all() -> Vec<(&'static str, Value)> {
    let mut all = schema::all();
    all.extend([
        of::<info::All>(),
        of::<get::Readings>(),
        of::<set::Turned<'_>>(),
        of::<undo::TakenBack<'_>>(),
        of::<undo::Turned<'_>>(),
        of::<why::Answers>(),
        of::<why::watch::Changed>(),
        of::<guard::Line>(),
        of::<guard::Checked>(),
        of::<knobs::Catalogue>(),
        of::<knobs::OneKnob>(),
        of::<doctor::Lacking<'_>>(),
        of::<capture::Captured<'_>>(),
        of::<confirm::Kept>(),
        of::<keep::Kept>(),
        of::<check::Compared>(),
        of::<fleet::FleetStatus>(),
        of::<powerband_session::Decided>(),
        of::<service::Allowed>(),
        of::<sim::Machines>(),
        of::<sim::OneMachine>(),
        of::<store::Pushed>(),
        of::<store::Migrated>(),
        of::<Planned<'_>>(),
        of::<ShownMetrics>(),
        of::<Started>(),
        of::<Comparison>(),
        of::<FleetAnswer>(),
        of::<Applications>(),
        schema::of::<powerband_watch::RowShape>(powerband_watch::KIND, powerband_watch::VERSION),
    ]);
    all
}

#[test]
fn the_schemas_are_those_of_the_shapes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let schemas = all();
    for (kind, schema) in &schemas {
        let file = folder.join(format!("{kind}.json"));
        let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
        if std::env::var_os(WRITE).is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, &text).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(written == text, "docs/schema/{kind}.json is stale: run `{WRITE}=1 cargo test -p powerband schemas`");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), schemas.len(), "a file of docs/schema has no shape");
}
