//! A page repeats its experiment from itself alone; a file that is no page, or no longer one, is told so.
use crate::desk::{Desk, text};

/// Runs the router's plan shortly and writes its page; where it is.
fn page(desk: &Desk) -> String {
    desk.run(&["run", "plans/router.toml", "--blocks", "2", "--seed", "5"]).ended(0);
    let file = desk.beside("a.html").display().to_string();
    desk.run(&["report", "-o", &file]).ended(0);
    file
}

#[test]
fn a_page_is_run_again_to_the_same_numbers() {
    let desk = Desk::new();
    let file = page(&desk);
    let first = desk.journal();
    let elsewhere = Desk::new();
    let again = elsewhere.run(&["run", "--again", &file]).ended(0);
    assert_eq!(first, elsewhere.journal(), "event by event");
    assert!(again.out.contains("powerband show 1 -v"), "{}", again.out);
}

#[test]
fn a_table_is_drawn_from_again() {
    let desk = Desk::new();
    let table = ["--machine", "table:machines/tables/keeper.csv", "try", "freq=1200MHz,1400MHz"];
    desk.run(&[&table[..], &["rx-usecs=80", "--metric", "power_w:lower", "--blocks", "3"]].concat()).ended(0);
    let file = desk.beside("t.html").display().to_string();
    desk.run(&["report", "last", "-o", &file]).ended(0);
    let first = desk.journal();
    desk.run(&["run", "--again", &file]).ended(0);
    assert_eq!(first, desk.journal());
}

#[test]
fn what_is_no_page_or_a_damaged_one_is_one_sentence() {
    let desk = Desk::new();
    let file = page(&desk);
    let whole = text(file.as_ref());
    let other = desk.beside("other.html");
    let other_name = other.display().to_string();
    for (damaged, says) in [
        (String::new(), "it is not a page that `powerband report` wrote"),
        ("<html><p>powerband</p></html>".to_owned(), "it is not a page"),
        (whole[..whole.rfind("\"plan\"").unwrap()].to_owned(), "damaged"),
        (whole.replace("\"seed\":5", "\"seed\":6"), "damaged: its data is not what was written"),
    ] {
        std::fs::write(&other, damaged).unwrap();
        let sentence = desk.run(&["run", "--again", &other_name]).refused(2);
        assert!(sentence.contains(says), "{sentence}");
    }
    assert!(desk.run(&["run", "--again", "/nowhere.html"]).refused(2).contains("no such file"));
    for words in [["--blocks", "3"], ["--seed", "6"], ["--machine", "sim:pc"]] {
        desk.run(&[&["run", "--again", &file][..], &words[..]].concat()).refused(2);
    }
    assert_eq!(desk.experiments(), 1, "nothing was begun");
}

#[test]
fn a_page_is_not_written_over_what_is_there() {
    let desk = Desk::new();
    let file = page(&desk);
    std::fs::write(&file, "mine").unwrap();
    let sentence = desk.run(&["report", "-o", &file]).refused(2);
    assert!(sentence.contains("is there already") && sentence.contains("--force"), "{sentence}");
    assert_eq!(text(file.as_ref()), "mine");
    desk.run(&["report", "--force", "-o", &file]).ended(0);
    let written = text(file.as_ref());
    assert!(written.starts_with("<!doctype html>"));
    assert_eq!(desk.run(&["report", "last", "-o", "-"]).ended(0).out, written);
    desk.run(&["report", "9"]).refused(2);
}

#[test]
fn results_are_exported_as_markdown() {
    let desk = Desk::new();
    page(&desk);
    let markdown = desk.run(&["export", "--format", "md"]).ended(0).out;
    let report = desk.run(&["export"]).ended(0).report();
    assert!(markdown.starts_with("**") && markdown.contains("| setting | rate\\_mbit\\_s |"), "{markdown}");
    for setting in &report.settings {
        assert!(markdown.contains(&format!("| {} | ", setting.label)), "{}\n{markdown}", setting.label);
    }
    desk.run(&["export", "--format", "md", "--picture", "x"]).refused(2);
    assert!(desk.run(&["export", "--format", "svg", "--picture", "none-such"]).refused(2).contains("has no picture"));
}
