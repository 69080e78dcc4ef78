//! The schemas in `docs/schema` are those of the types. That what the command prints is valid against them, the tests of
//! services hold, where a validator is at hand.
use crate::desk::workspace;

/// Makes the schemas anew instead of comparing them.
const WRITE: &str = "POWERBAND_WRITE_DOCS";

#[test]
fn the_schemas_are_those_of_the_shapes() {
    let folder = workspace().join("docs/schema");
    let schemas = powerband_report::schema::all();
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
