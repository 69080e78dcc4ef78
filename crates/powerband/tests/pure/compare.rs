//! What was measured apart, compared by the rules that say what cannot be said.
use std::fs;

use serde_json::Value;

use crate::desk::{Desk, workspace};

/// Three rounds of tbench under two governors, MB/s, as they were published; each round ran the one and then the other.
const ROUNDS: &str = "setting,block,rate_mb_per_s
performance,1,2529.9
ondemand,1,2137.6
performance,2,2249.8
ondemand,2,2107.1
performance,3,2181.5
ondemand,3,2085.9
";

fn row(comparison: &Value) -> &Value {
    let rows = comparison["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{comparison}");
    &rows[0]
}

#[track_caller]
fn near(row: &Value, key: &str, want: f64, by: f64) {
    let have = row[key].as_f64().unwrap_or_else(|| panic!("no {key} in {row}"));
    assert!((have - want).abs() <= by, "{key}: {have}, not {want}");
}

#[test]
fn runs_of_hyperfines_json_are_compared() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../load/src/drivers/printed/hyperfine-1.15-two.json");
    let found = Desk::new().json(&["compare", "--from-csv", file]);
    let row = &found["rows"][0];
    assert_eq!((&row["metric"], &row["better"]), (&"real_s".into(), &"lower".into()), "{found}");
    assert!(found.to_string().contains("sleep 0.02"), "{found}");
}

#[test]
fn columns_are_called_as_they_are_and_units_show_which_way_is_better() {
    let desk = Desk::new();
    let file = desk.beside("units.csv");
    fs::write(&file, "setting,block,watts,joules,ms,mystery\na,1,5,50,9,1\nb,1,6,40,9,2\na,2,5,50,9,1\nb,2,6,41,9,2\n")
        .unwrap();
    let file = file.to_str().unwrap();
    let found = desk.json(&["compare", "--from-csv", file]);
    let metrics: Vec<_> = found["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["metric"].as_str().unwrap(), row["better"].as_str().unwrap()))
        .collect();
    assert_eq!(metrics, [("watts", "lower"), ("joules", "lower"), ("ms", "lower"), ("mystery", "lower")]);
    let notes = found["notes"].to_string();
    assert!(notes.contains("the name mystery") && !notes.contains("watts"), "{notes}");
    let found = desk.json(&["compare", "--from-csv", file, "--metric", "watts:higher"]);
    assert_eq!(found["rows"][0]["better"], "higher");
}

/// Two runs of the same two settings on a simulated machine, the second under another seed.
fn two_days(desk: &Desk) {
    for seed in ["1", "2"] {
        let words = ["--machine", "sim:quadcore", "--seed", seed, "try", "governor=powersave,performance"];
        desk.run(&[&words[..], &["--load", "counter", "--for", "2s", "--margin", "3%", "-r", "8"]].concat()).ended(0);
    }
}

#[test]
fn three_rounds_of_two_governors_decide_nothing() {
    let desk = Desk::new();
    let file = desk.beside("rounds.csv");
    std::fs::write(&file, ROUNDS).unwrap();
    let file = file.to_str().unwrap();
    let found = desk.json(&["compare", "--from-csv", file]);
    let row = row(&found);
    assert_eq!((row["how"].as_str(), row["verdict"].as_str()), (Some("blocks"), Some("undecided")));
    assert_eq!((row["setting"].as_str(), row["against"].as_str()), (Some("ondemand"), Some("performance")));
    near(row, "t", -2.1592, 0.0005);
    near(row, "df", 3.5558, 0.0005);
    near(row, "p", 0.106, 0.0005);
    near(row, "p_asked", 0.01167, 0.00005);
    near(row, "low", -0.263, 0.005);
    near(row, "high", 0.127, 0.005);
    assert_eq!((row["better"].as_str(), row["count"].as_u64()), (Some("higher"), Some(3)));
    assert_eq!(row["predicted"], serde_json::json!([6, 20]));
    let text = desk.run(&["compare", "--from-csv", file, "-v"]).ended(0).out;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["undecided", "-26 .. +13", "about 6 to 20 blocks", "not randomised"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let mirrored = desk.json(&["compare", "--from-csv", file, "ondemand", "performance"]);
    near(self::row(&mirrored), "t", 2.1592, 0.0005);
}

#[test]
fn more_rounds_decide_and_other_orders_are_told() {
    let desk = Desk::new();
    let file = desk.beside("rounds.csv");
    let mut text = "setting,block,real_s,power_w\n".to_owned();
    for block in 0..8 {
        let [a, b] = [10.0 + 0.01 * f64::from(block % 3), 9.0 + 0.01 * f64::from(block % 2)];
        let mut lines = [format!("old,{block},{a},{a}"), format!("new,{block},{b},\n")];
        if block % 2 == 1 {
            lines.reverse();
        }
        text += &lines.map(|line| line.trim().to_owned() + "\n").concat();
    }
    std::fs::write(&file, text.replace("power_w\nold", "\"power_w\"\nold")).unwrap();
    let found = desk.json(&["compare", "--from-csv", file.to_str().unwrap(), "old", "new", "--metric", "real_s"]);
    let row = row(&found);
    assert_eq!(row["verdict"], "better");
    near(row, "change", -0.1, 0.005);
    assert!(row["notes"][0].as_str().unwrap().contains("is not known"), "{row}");
}

#[test]
fn what_shares_nothing_is_shown_and_never_decided() {
    let desk = Desk::new();
    let (first, second) = (desk.beside("old.csv"), desk.beside("new.csv"));
    std::fs::write(&first, "real_s\n10\n10.1\n9.9\n10\n10.05\n").unwrap();
    std::fs::write(&second, "real_s\n5\n5.1\n4.9\n5\n5.05\n").unwrap();
    let files = ["--from-csv", first.to_str().unwrap(), "--from-csv", second.to_str().unwrap()];
    let found = desk.json(&[&["compare"], &files[..]].concat());
    let apart = row(&found);
    // Twice as fast, and still: nobody knows what else differed.
    assert_eq!((apart["how"].as_str(), apart["verdict"].as_str()), (Some("apart"), Some("undecided")));
    assert!(apart["high"].as_f64().unwrap() < -0.4 && apart.get("p_asked").is_none(), "{apart}");
    assert!(apart["notes"][0].as_str().unwrap().contains("3 sessions"), "{apart}");
    let sessions = |values: &[f64]| {
        let lines =
            values.iter().enumerate().flat_map(|(day, v)| [format!("{day},{v}\n"), format!("{day},{}\n", v * 1.01)]);
        "session,real_s\n".to_owned() + &lines.collect::<String>()
    };
    std::fs::write(&first, sessions(&[10.0, 10.2, 9.9])).unwrap();
    std::fs::write(&second, sessions(&[5.0, 5.1, 4.95])).unwrap();
    let found = desk.json(&[&["compare"], &files[..]].concat());
    let by_session = row(&found);
    assert_eq!((by_session["how"].as_str(), by_session["verdict"].as_str()), (Some("sessions"), Some("better")));
    assert_eq!(by_session["count"], 3);
    // Two files that name the same blocks are one table of blocks.
    std::fs::write(&first, "block,real_s\n1,10\n2,11\n3,12\n4,13\n").unwrap();
    std::fs::write(&second, "block,real_s\n4,6.5\n2,5.5\n3,6.01\n1,5\n").unwrap();
    let found = desk.json(&[&["compare"], &files[..]].concat());
    assert_eq!((row(&found)["how"].as_str(), row(&found)["verdict"].as_str()), (Some("blocks"), Some("better")));
}

#[test]
fn a_reference_that_measured_something_else_is_named() {
    let desk = Desk::new();
    let (file, built_in) = (desk.beside("ours.toml"), workspace().join("machines/sim/omap3530.toml"));
    let text = fs::read_to_string(built_in).unwrap();
    let slower = text.replace("cycles_per_iteration = 600.0", "cycles_per_iteration = 750.0");
    let machine = format!("sim:{}", file.display());
    for text in [&text, &slower] {
        fs::write(&file, text).unwrap();
        let words = ["--machine", &machine, "--seed", "1", "try", "governor=performance,powersave"];
        desk.run(&[&words[..], &["--load", "counter", "--for", "2s", "--blocks", "5"]].concat()).ended(0);
    }
    let words = ["compare", "1:powersave", "2:powersave", "--metric", "count"];
    let found = desk.json(&words);
    assert_eq!(row(&found)["how"], "shared_reference");
    let notes = row(&found)["notes"].to_string();
    assert!(notes.contains("itself has a count that is 20 % lower in experiment 2 than in experiment 1"), "{notes}");
    let text = desk.run(&words).ended(0).out;
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains("count that is 20 % lower"), "{text}");
}

#[test]
fn experiments_are_compared_through_the_reference_they_share() {
    let desk = Desk::new();
    two_days(&desk);
    let metric = ["--metric", "count"];
    let found = desk.json(&[&["compare", "1:performance", "2:performance"], &metric[..]].concat());
    let through = row(&found);
    assert_eq!((through["how"].as_str(), through["verdict"].as_str()), (Some("shared_reference"), Some("same")));
    let found = desk.json(&[&["compare", "1:powersave", "2:performance"], &metric[..]].concat());
    let through = row(&found);
    assert_eq!((through["how"].as_str(), through["verdict"].as_str()), (Some("shared_reference"), Some("better")));
    let all = desk.json(&[&["compare", "1", "2"], &metric[..]].concat());
    assert_eq!(all["rows"].as_array().unwrap().len(), 2, "each setting that both have");
    // What tells the rows apart is not cut off.
    let table = desk.run(&["compare", "1", "2"]).ended(0).out;
    assert!(table.contains(" 2:performance ") && table.contains(" 2:powersave "), "{table}");
    let found = desk.json(&[&["compare", "1:powersave", "1:performance"], &metric[..]].concat());
    assert_eq!((row(&found)["how"].as_str(), row(&found)["verdict"].as_str()), (Some("blocks"), Some("better")));
    let found = desk.json(&[&["compare", "1,2:powersave", "1,2:performance"], &metric[..]].concat());
    assert_eq!((row(&found)["how"].as_str(), row(&found)["verdict"].as_str()), (Some("apart"), Some("undecided")));
}

#[test]
fn experiments_with_different_loads_are_compared_each_within_itself() {
    let desk = Desk::new();
    for (load, margin) in [("ping", "1%"), ("stream", "1%"), ("stream", "4%")] {
        let pair = ["--machine", "sim:omap3530", "--far", "sim:pc", "try", "governor=ondemand", "--load", load];
        let rules = ["--for", "1s", "--metric", "power_w", "--blocks", "3", "--margin", margin];
        desk.run(&[&pair[..], &rules].concat()).ended(0);
    }
    let compared = |one: &str, other: &str| {
        let printed = desk.run(&["compare", "-v", one, other]).ended(0).out;
        printed.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let differ = compared("1:governor=ondemand", "2:governor=ondemand");
    assert!(differ.contains("different loads, not comparable with one another: experiment 1 (ping"), "{differ}");
    assert!(differ.contains("; experiment 2 (stream") && !differ.contains("nothing in common"), "{differ}");
    let alike = compared("2:governor=ondemand", "3:governor=ondemand");
    assert!(!alike.contains("different loads"), "{alike}");
    assert!(alike.contains("margins of 1 % to 4 %: the larger is used"), "{alike}");
    // Each by itself has its own margin.
    let apart = compared("1:governor=ondemand", "3:governor=ondemand");
    assert!(apart.contains("margin 1 % or 4 %") && apart.contains("judged anew at the end"), "{apart}");
    let three =
        desk.run(&["--json", "compare", "2:baseline", "2:governor=ondemand", "3:governor=ondemand"]).ended(0).value();
    let notes = three["notes"].to_string();
    assert!(notes.contains("margins of 1 % to 4 %") && notes.contains("may be undecided here"), "{notes}");
    // One band cannot show two margins.
    for (other, band) in [("2", true), ("3", false)] {
        let page = desk.beside(&format!("{other}.html")).display().to_string();
        desk.run(&["compare", "1", other, "-o", &page]).ended(0);
        let page = fs::read_to_string(&page).unwrap().to_lowercase();
        assert_eq!(page.contains("band is the margin"), band, "{other}");
    }
}

#[test]
fn means_are_compared_where_that_is_asked_or_was_judged() {
    let desk = Desk::new();
    let file = desk.beside("late.csv");
    let mut table = String::from("setting,block,p50_ms\n");
    for block in 1..=80_u32 {
        // The same but for some tenths, and every fourth of the second takes 40 % longer.
        let tenths = f64::from(block * 7 % 11) / 10.0;
        let late = if block % 4 == 0 { 40.0 } else { 0.0 };
        table +=
            &format!("a,{block},{}\nb,{block},{}\n", 100.0 + tenths, 100.0 + f64::from(block * 5 % 11) / 10.0 + late);
    }
    std::fs::write(&file, table).unwrap();
    let words = ["compare", "--from-csv", file.to_str().unwrap()];
    let change = |more: &[&str]| {
        let found = desk.json(&[&words[..], more].concat());
        (row(&found)["change"].as_f64().unwrap(), row(&found)["verdict"].clone(), found["notes"].to_string())
    };
    let (typical, _, notes) = change(&[]);
    assert!(typical < 0.06 && !notes.contains("mean"), "{typical} {notes}");
    let (mean, verdict, notes) = change(&["--judge", "mean"]);
    assert!(
        (9.0..11.0).contains(&mean) && verdict == "worse" && notes.contains("the mean of all trials"),
        "{mean} {verdict}"
    );
    desk.run(&[&words[..], &["--judge", "p95"]].concat()).refused(2);
    let try_means =
        ["--machine", "sim:quadcore", "try", "governor=powersave,performance", "--load", "counter", "--for", "1s"];
    desk.run(&[&try_means[..], &["--judge", "mean"]].concat()).ended(0);
    let settings = ["1:governor=powersave", "1:governor=performance"];
    let stored = desk.json(&[&["compare"], &settings[..]].concat());
    assert!(stored["notes"].to_string().contains("the mean of all trials"), "{stored}");
    let typical = desk.json(&[&["compare"], &settings[..], &["--judge", "typical"]].concat());
    assert!(!typical["notes"].to_string().contains("the mean of all trials"), "{typical}");
}

#[test]
fn a_difference_never_has_an_interval_on_both_sides_of_zero() {
    let desk = Desk::new();
    // Whole steps of 1: by how much b is higher is hidden by them, that it is higher is not.
    let rows = (0..300).map(|i| format!("a,{i},{}\nb,{i},{}\n", f64::from(i % 7) + 1.5, f64::from(i % 7) + 2.5));
    fs::write(desk.beside("steps.csv"), format!("setting,block,x\n{}", rows.collect::<String>())).unwrap();
    let comparison = desk.json(&["compare", "--from-csv", &desk.beside("steps.csv").display().to_string()]);
    let row = row(&comparison);
    let (low, high) = (row["low"].as_f64().unwrap(), row["high"].as_f64().unwrap());
    assert!(row["verdict"] == "worse" && low >= 0.0 && high > 0.5, "{row}");
}

#[test]
fn names_that_differ_in_what_is_not_seen_do_not_look_alike() {
    let desk = Desk::new();
    let rows = (0..6).map(|i| format!("a,{i},10{i}\na\u{1b}[31m,{i},20{i}\n"));
    fs::write(desk.beside("esc.csv"), format!("setting,block,x\n{}", rows.collect::<String>())).unwrap();
    let csv = desk.beside("esc.csv").display().to_string();
    for words in [&["compare", "--from-csv", &csv][..], &["compare", "--from-csv", &csv, "-v"]] {
        let text = desk.run(words).ended(0).out;
        assert!(text.contains("aU+001B[31m is worse than a"), "{text}");
    }
}

#[test]
fn rows_of_several_experiments_keep_their_numbers_where_their_labels_are_cut() {
    let desk = Desk::new();
    let label = |end: &str| format!("a-very-long-name-of-a-setting-that-is-longer-than-the-column-{end}:");
    let (one, two) = (label("one") + "governor=performance", label("two") + "governor=powersave");
    for seed in ["1", "2", "3"] {
        let rig = ["--machine", "sim:quadcore", "--seed", seed, "try", "-s", &one, "-s", &two];
        desk.run(&[&rig[..], &["--blocks", "3", "--load", "counter"]].concat()).ended(0);
    }
    let said = desk.run(&["compare", "1", "2", "3"]).ended(0).out;
    let rows = said.lines().filter(|line| line.starts_with("power_w ")).map(|line| line.split_whitespace().nth(1));
    let rows: std::collections::BTreeSet<_> = rows.collect();
    assert_eq!(rows.len(), 4, "{said}");
    assert!(rows.iter().flatten().all(|label| label.starts_with(['2', '3'])), "{said}");
}
