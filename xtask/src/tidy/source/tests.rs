//! What the splitter takes for code, comment, string and test.
use super::*;

fn code(text: &str) -> String {
    split(text).iter().map(|line| line.code.as_str()).collect::<Vec<_>>().join("\n")
}

fn tests(text: &str) -> Vec<usize> {
    let source = Source::new("crates/a/src/lib.rs", text);
    source.numbered().filter(|(_, line)| line.test).map(|(number, _)| number).collect()
}

#[test]
fn strings_and_comments_are_not_code() {
    assert_eq!(code("let a = \"std::fs\"; // std::fs"), "let a = \"\"; ");
    assert_eq!(code("a /* x /* y */ z */ b"), "a   b");
    assert_eq!(code("let q = r#\"say \"std::fs\" now\"#;"), "let q = \"\";");
    assert_eq!(code("let q = br\"x\\\";y"), "let q = b\"\";y");
    assert_eq!(code("\"a\\\"b\" c"), "\"\" c");
    assert_eq!(code("\"one\ntwo\" three"), "\"\n\" three");
}

#[test]
fn a_quote_as_a_character_opens_no_string_and_a_lifetime_no_character() {
    assert_eq!(code("f('\"', '\\'', '\\u{41}', 'x') + g"), "f( ,  ,  ,  ) + g");
    assert_eq!(code("fn f<'a>(x: &'a str)"), "fn f<'a>(x: &'a str)");
    assert_eq!(code("let r#type = 1;"), "let r#type = 1;");
}

#[test]
fn layers_keep_what_belongs_to_them() {
    let lines = split("go(\"sim:x\"); // later\n//! doc\n");
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].strings, "\"sim:x");
    assert_eq!(lines[0].comment, " later");
    assert_eq!(lines[1].comment, "! doc");
}

#[test]
fn test_items_are_marked_to_their_end() {
    assert_eq!(tests("a();\n#[cfg(test)]\nmod tests {\n  fn f() {}\n}\nb();\n"), [2, 3, 4, 5]);
    assert_eq!(tests("#[cfg(test)]\n#[expect(x)]\nfn f(a: [u8; 4]) {\n}\nb();\n"), [1, 2, 3, 4]);
    assert_eq!(tests("#[cfg(test)]\nuse x::y;\nb();\n"), [1, 2]);
    assert_eq!(tests("#[cfg(not(test))]\nfn f() {}\n"), [0_usize; 0]);
    assert_eq!(tests("#[cfg(all(test, unix))]\nfn f() {}\n"), [1, 2]);
    assert_eq!(tests("#![cfg(test)]\nfn f() {}\n"), [1, 2]);
}

#[test]
fn files_of_test_modules_are_tests() {
    let mut sources = [
        Source::new("crates/a/src/lib.rs", "mod x;\n#[cfg(test)]\nmod fake;\n"),
        Source::new("crates/a/src/fake.rs", "f();\n"),
        Source::new("crates/a/src/x.rs", "#[cfg(test)]\npub(crate) mod tests;\n"),
        Source::new("crates/a/src/x/tests.rs", "f();\n"),
        Source::new("crates/a/src/x/real.rs", "f();\n"),
        Source::new("crates/a/tests/it/main.rs", "f();\n"),
    ];
    follow_test_modules(&mut sources);
    let marked: Vec<bool> = sources.iter().map(|source| source.lines.iter().all(|line| line.test)).collect();
    assert_eq!(marked, [false, true, true, true, false, true]);
    assert_eq!(sources[3].package(), "crates/a");
}
