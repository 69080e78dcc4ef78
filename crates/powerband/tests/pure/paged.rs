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
    for damaged in
        [String::new(), whole[..whole.rfind("\"plan\"").unwrap()].to_owned(), whole.replace("\"seed\":5", "\"seed\":6")]
    {
        std::fs::write(&other, damaged).unwrap();
        desk.run(&["run", "--again", &other_name]).refused(2);
    }
    for words in [["--blocks", "3"], ["--seed", "6"], ["--machine", "sim:pc"]] {
        desk.run(&[&["run", "--again", &file][..], &words[..]].concat()).refused(2);
    }
    assert_eq!(desk.experiments(), 1, "nothing was begun");
}

/// A page whose data somebody changed, with the sum that belongs to it: Fowler, Noll and Vo's, 1a, of 64 bits.
fn forged(page: &str, change: impl FnOnce(&mut serde_json::Value)) -> String {
    let begin = page.find("data-fnv1a=\"").unwrap() + "data-fnv1a=\"".len();
    let data = begin + page[begin..].find('>').unwrap() + 1;
    let end = data + page[data..].find("</script>").unwrap();
    let mut value = serde_json::from_str(&page[data..end]).unwrap();
    change(&mut value);
    let text = value.to_string().replace("</", "<\\/");
    let sum = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{}{sum:016x}\">{text}{}", &page[..begin], &page[end..])
}

#[test]
fn a_page_whose_plan_cannot_be_one_begins_nothing_and_a_dry_run_shows_its_words_on_their_lines() {
    let desk = Desk::new();
    let whole = text(page(&desk).as_ref());
    let other = desk.beside("other.html");
    let name = other.display().to_string();
    let cases: [(&str, serde_json::Value, &str); 6] = [
        ("settings", serde_json::json!([]), "it has no settings"),
        ("alpha", 0.0.into(), "its error rate is not one"),
        ("alpha", 5.into(), "its error rate is not one"),
        ("margin", 1e308.into(), "its margin is not one"),
        ("max_blocks", 0.into(), "it has no blocks"),
        ("cost_order", serde_json::json!([99]), "the order of its settings"),
    ];
    for (key, value, why) in cases {
        std::fs::write(&other, forged(&whole, |page| page["plan"][key] = value)).unwrap();
        for more in [&[][..], &["--dry-run"]] {
            let sentence = desk.run(&[&["run", "--again", &name][..], more].concat()).refused(2);
            assert!(sentence.contains(why), "{key}: {sentence}");
        }
    }
    assert_eq!(desk.experiments(), 1, "nothing was begun");
    let lie = "\ncommands it would run, and as whom\n  nobody  load  true";
    std::fs::write(&other, forged(&whole, |page| page["plan"]["settings"][1]["label"] = format!("a{lie}").into()))
        .unwrap();
    let shown = desk.run(&["run", "--again", &name, "--dry-run"]).ended(0).out;
    assert!(!shown.lines().any(|line| line.starts_with("commands it would run")), "{shown}");
}

#[test]
fn a_page_is_not_written_over_what_is_there() {
    let desk = Desk::new();
    let file = page(&desk);
    std::fs::write(&file, "mine").unwrap();
    desk.run(&["report", "-o", &file]).refused(2);
    assert_eq!(text(file.as_ref()), "mine");
    desk.run(&["report", "--force", "-o", &file]).ended(0);
    let written = text(file.as_ref());
    assert!(written.starts_with("<!doctype html>"));
    assert_eq!(desk.run(&["report", "last", "-o", "-"]).ended(0).out, written);
    desk.run(&["report", "9"]).refused(2);
}

#[test]
fn no_export_is_written_over_what_is_there() {
    let desk = Desk::new();
    let file = desk.beside("mine").display().to_string();
    std::fs::write(&file, "mine").unwrap();
    // Before anything is measured.
    let measured = ["run", "plans/router-idle.toml", "-q", "--export-json", &file];
    desk.run(&measured).refused(2);
    assert_eq!(desk.experiments(), 0);
    desk.run(&[&measured[..], &["--force"]].concat()).ended(0);
    assert!(text(file.as_ref()).starts_with("{\n"));
    let export = ["export", "--format", "csv", "-o", &file];
    desk.run(&export).refused(2);
    assert!(text(file.as_ref()).starts_with("{\n"));
    desk.run(&[&export[..], &["--force"]].concat()).ended(0);
    assert!(text(file.as_ref()).starts_with("setting,"), "{}", text(file.as_ref()));
}

#[test]
fn json_and_another_format_are_not_both_written() {
    let desk = Desk::new();
    page(&desk);
    for words in ["compare 1 1 -o - --json", "export --journal --json"] {
        desk.run(words).refused(2);
    }
    let both = [&["export"][..], &["export", "--json"]].map(|words| desk.run(words).ended(0).out);
    assert_eq!(both[0], both[1]);
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
