//! The pages in `docs/knobs` say what the catalogue says.
use std::path::Path;

/// Makes the pages anew instead of comparing them.
const WRITE: &str = "POWERBAND_WRITE_DOCS";

#[test]
fn the_pages_are_those_of_the_catalogue() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/knobs");
    let pages = powerband_knob::docs::pages();
    if std::env::var_os(WRITE).is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        for (family, page) in &pages {
            std::fs::write(folder.join(format!("{family}.md")), page).unwrap();
        }
    }
    for (family, page) in &pages {
        let written = std::fs::read_to_string(folder.join(format!("{family}.md"))).unwrap_or_default();
        assert!(written == *page, "docs/knobs/{family}.md is stale: run `{WRITE}=1 cargo test -p powerband pages`");
    }
    let files = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(files, pages.len(), "a page of docs/knobs belongs to no family");
}

#[test]
fn each_family_stands_together_in_the_catalogue() {
    let mut families: Vec<String> = powerband_knob::docs::pages().into_iter().map(|(family, _)| family).collect();
    let count = families.len();
    families.sort();
    families.dedup();
    assert_eq!(families.len(), count);
}
