//! Small documents that promise what is not there.
use super::*;

fn document(path: &str, text: &str) -> Document {
    Document { path: path.into(), text: text.into() }
}

fn said(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn the_lists_of_crates_are_complete_and_true() {
    let packages = ["crates/record", "crates/stats", "xtask"]
        .map(|folder| Package { folder: folder.into(), ..Package::default() });
    let both = "| `crates/record` | x |\n| `crates/stats` | y |\nsee https://x.org/crates/serde\n";
    let good = [document("ARCHITECTURE.md", both), document("crates/README.md", both)];
    assert_eq!(crates_named(&packages, &good), []);

    let bad = [document("ARCHITECTURE.md", "`crates/record`\n`crates/fleet`\n"), good[1].clone()];
    let problems = said(&crates_named(&packages, &bad));
    assert_eq!(
        problems,
        [
            "ARCHITECTURE.md: does not name `crates/stats`",
            "ARCHITECTURE.md:2: names `crates/fleet`, which is not there"
        ]
    );
    assert_eq!(said(&crates_named(&packages, &good[..1])), ["crates/README.md: is missing"]);
}

#[test]
fn a_chore_that_is_promised_exists() {
    let text = "Run `cargo xtask test` or `cargo xtask --help`.\nThen `cargo xtask fly`.\n";
    let problems = said(&chores_named(&[document("CONTRIBUTING.md", text)]));
    assert_eq!(problems, ["CONTRIBUTING.md:2: there is no `cargo xtask fly`"]);
}

#[test]
fn a_verb_that_is_promised_exists() {
    let cli = "enum Verb {\n    Info(Info),\n    DryRun,\n    #[command(hide = true)]\n    Inside {\n        Words: u8,\n    },\n}\nenum Other {\n    List,\n}\n";
    let sources = [Source::new(VERBS, cli)];
    let text = "\
A powerband user says `powerband info`.
```
$ powerband info
  powerband --version
sudo powerband dry-run x
powerband list
powerband 4711 is turning it
```
`powerband words` too.
";
    let readme = [document("README.md", text)];
    let problems = said(&verbs_named(&sources, &readme));
    assert_eq!(problems, ["README.md:6: there is no `powerband list`", "README.md:9: there is no `powerband words`"]);
    assert_eq!(verbs_named(&[], &readme), []);
    assert_eq!(verbs_named(&[Source::new(VERBS, "struct X;\n")], &readme).len(), 1);
}
