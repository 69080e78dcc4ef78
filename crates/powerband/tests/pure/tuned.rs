//! `tune` on a table and on simulated machines: found, refused, without an answer.
use std::fs;

use powerband_record::SearchEnd;
use powerband_report::json::{Report, SearchRow};

use crate::desk::{Desk, KEEPER};

/// Its laws, as the file next to it has them, at a clock in GHz and a delay in us.
fn watts(f: f64, u: f64) -> f64 {
    let x = f / 2.0;
    24.0 + x * (0.6 + 0.4 * x).powi(2) * (36.0 + 9.0 / (1.0 + u / 50.0))
}

fn p99_us(f: f64, u: f64) -> f64 {
    let rho = (1.05 + 0.3 / (1.0 + u / 40.0)) / f;
    let room = ((1.0 + (12.0 * (1.0 - rho)).exp()).ln() / 12.0).max(0.001);
    55.0 / f + 1.05 * u + 24.0 / f * rho / room
}

fn search(report: &Report) -> &SearchRow {
    report.search.as_ref().unwrap()
}

/// Clock in GHz and delay in us of an answer, `freq=1400MHz rx-usecs=60`.
fn keeper_answer(search: &SearchRow) -> (f64, f64) {
    let turns = search.turns.as_ref().unwrap();
    let value = |name: &str| {
        let text = turns.split(' ').find_map(|word| word.strip_prefix(name)).unwrap_or_else(|| panic!("{turns}"));
        text.trim_end_matches("MHz").parse::<f64>().unwrap()
    };
    (value("freq=") / 1000.0, value("rx-usecs="))
}

#[test]
fn on_a_table_the_cheapest_setting_is_found_in_a_part_of_the_trials_and_proved() {
    let (clocks, delays) = (
        [1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6, 2.8],
        [10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0, 300.0, 400.0],
    );
    let all = clocks.iter().flat_map(|&f| delays.iter().map(move |&u| (f, u)));
    let best = all.filter(|&(f, u)| p99_us(f, u) <= 200.0).map(|(f, u)| watts(f, u)).fold(f64::MAX, f64::min);
    for seed in ["1", "2", "3"] {
        let desk = Desk::new();
        let ran = desk.run(&[&["--json", "--seed", seed], &KEEPER[..]].concat()).ended(0);
        assert!(ran.err.contains("a table of 184 rows, 90 settings") && ran.err.contains("nothing is changed"));
        let report = ran.report();
        let found = search(&report);
        assert_eq!(found.end, Some(SearchEnd::Confirmed), "{}", report.finding);
        let (f, u) = keeper_answer(found);
        assert!(p99_us(f, u) <= 200.0 * 1.01, "{}", report.finding);
        assert!(watts(f, u) <= best * 1.05, "{} W of {best}", watts(f, u));
        assert!(found.tried < 30 && report.settings.len() == found.tried as usize, "{} of 90 tried", found.tried);
        assert!(found.typed.is_none(), "a table is not turned: {:?}", found.typed);
        let told = desk.run(&["show", "-v"]).ended(0).out;
        for words in ["confirmed in", "at most 200", "freq (9) × rx-usecs (10)", "expected loss", "5 % better exists"]
        {
            assert!(told.replace('\n', " ").contains(words), "{words} in {told}");
        }
    }
}

#[test]
fn a_search_that_its_budget_ends_says_what_it_would_have_needed() {
    let desk = Desk::new();
    let report = desk.run(&[&KEEPER[..], &["--json", "--seed", "3", "--budget", "200s"]].concat()).ended(0).report();
    let found = search(&report);
    assert!(found.better_chance.is_some_and(|chance| chance > 0.2), "{:?}", found.better_chance);
    let needed = found.trials_needed.unwrap_or_default();
    assert!((3..80).contains(&needed), "{needed} more trials");
    let told = desk.run(&["show"]).ended(0).out.replace('\n', " ");
    for words in ["power found so far", "The budget ended the search", &format!("about {needed} more trials")] {
        assert!(told.contains(words), "{words} in {told}");
    }
    // Each of its steps, with the answer it would have given.
    assert!(found.course.len() >= 6 && found.course.last().is_some_and(|last| last.setting == found.setting));
    let whole = desk.run(&[&["--json", "--seed", "3"], &KEEPER[..]].concat()).ended(0).report();
    assert_eq!(search(&whole).trials_needed, None);
}

#[test]
fn a_limit_against_the_machine_as_found_is_kept_too() {
    let desk = Desk::new();
    let words = [&KEEPER[..8], &["p99_us<=+50%", "--json"]].concat();
    let report = desk.run(&words).ended(0).report();
    let found = search(&report);
    assert_eq!(found.end, Some(SearchEnd::Confirmed), "{}", report.finding);
    let (f, u) = keeper_answer(found);
    let (truth, told) = (p99_us(f, u) / p99_us(2.6, 30.0) - 1.0, &found.kept[0]);
    assert!(truth <= 0.51 && (told.typical - truth).abs() < 0.03, "{truth}: {}", report.finding);
    assert!(report.finding.contains("at most +50 %"), "{}", report.finding);
    let listed = desk.json(&["list"]);
    let row = &listed["experiments"][0];
    assert_eq!((row["sought"].as_str(), row["pick"].as_str()), (Some("least power_w"), found.label.as_deref()));
    let text = desk.run(&["list"]).ended(0).out;
    assert!(text.contains("least") && text.contains("freq="), "{text}");
}

#[test]
fn what_comes_closest_to_limits_that_nothing_keeps_is_closest_in_the_table() {
    let desk = Desk::new();
    let rig = ["--machine", "sim:pc", "--far", "sim:pc", "--seed", "2", "tune", "rx-usecs=10..200:10"];
    let ask = ["--minimize", "rtt_ms", "--require", "p99_us<=82", "--require", "power_w<=-5%"];
    let said = desk.run(&[&rig[..], &ask, &["--load", "ping", "--for", "5s"]].concat()).ended(0).out;
    // No setting saves so much power; this one has less latency than the baseline and needs no more power.
    assert!(said.replace('\n', " ").contains("power_w<=-5%; rx-usecs=10 comes closest."), "{said}");
    // The head and the last lines give one duration.
    let spent = said.lines().nth(1).and_then(|line| line.rsplit(", ").next()).unwrap();
    assert!(said.contains(&format!(" trials, {spent}. ")), "{spent} in {said}");
}

#[test]
fn a_safe_search_breaks_limits_less_while_it_looks() {
    // Settings tried that break the limit by more than a tenth, and all that were tried.
    let tried = |safe: &[&str]| {
        let (mut broke, mut all) = (0, 0);
        for seed in ["1", "2", "3", "4"] {
            let report = Desk::new().report(&[&["--seed", seed], &KEEPER[..], safe].concat());
            assert_eq!(search(&report).end, Some(SearchEnd::Confirmed), "{}", report.finding);
            let (f, u) = keeper_answer(search(&report));
            assert!(p99_us(f, u) <= 200.0 * 1.01, "{}", report.finding);
            let levels = report.settings.iter().map(|setting| setting.levels["p99_us"].typical.unwrap());
            levels.for_each(|p99_us| (broke, all) = (broke + u32::from(p99_us > 220.0), all + 1));
        }
        (broke, f64::from(broke) / f64::from(all))
    };
    let (safe, bold) = (tried(&["--safe", "10%"]), tried(&[]));
    assert!(safe.0 < bold.0 && safe.1 < 0.3, "{safe:?} with --safe, {bold:?} without");
}

#[test]
fn a_simulated_machine_is_tuned_for_energy_with_a_limit_on_work_and_the_answer_can_be_typed() {
    let desk = Desk::new();
    let words =
        ["--machine", "sim:quadcore", "tune", "max_freq=all", "governor=all", "--load", "counter", "--for", "5s"];
    let report = desk.report(&[&words[..], &["--minimize", "energy_j", "--require", "count_per_s>=3800000"]].concat());
    let found = search(&report);
    assert_eq!(found.end, Some(SearchEnd::Confirmed), "{}", report.finding);
    // Slower clocks do not count so far, faster ones take more; which governor runs there makes no difference.
    let turns = found.turns.as_ref().unwrap();
    assert!(turns.contains("max_freq=1867MHz") && !turns.contains("powersave"), "{}", report.finding);
    let change = found.change.unwrap();
    assert!(change.high.unwrap() < 0.0 && change.low.unwrap() <= change.change, "{change:?}");
    assert_eq!(found.settings, 16);
    let typed: Vec<&str> = found.typed.as_ref().unwrap().split(' ').collect();
    assert_eq!(typed[0], "powerband");
    desk.run(&typed[1..]).ended(0);
    let reads = desk.json(&["--machine", "sim:quadcore", "get", "max_freq"]);
    assert!(reads["readings"][0]["reading"]["value"].as_str().unwrap().starts_with("1867"), "{reads}");
}

#[test]
fn knobs_that_act_under_one_governor_alone_are_searched_beside_the_others() {
    let desk = Desk::new();
    let words =
        ["--machine", "sim:quadcore", "tune", "governor=ondemand,userspace", "freq=all", "up_threshold=60,80,95"];
    let asked = ["--load", "counter", "--for", "5s", "--minimize", "energy_j", "--require", "count_per_s>=3800000"];
    let report = desk.report(&[&words[..], &asked].concat());
    let found = search(&report);
    assert_eq!(found.settings, 3 + 4, "each governor with its own knob: {:?}", found.factors);
    assert_eq!(found.turns.as_deref(), Some("governor=userspace freq=1867MHz"), "{}", report.finding);
}

#[test]
fn the_knee_of_a_table_is_found_as_that_of_a_machine() {
    let desk = Desk::new();
    let rate = |f: f64, repeat: u32| f.min(500.0) / 5.0 + f64::from(repeat % 4) * 0.05;
    let row = |(f, repeat): (u32, u32)| format!("{},{:.2},{:.3},{repeat}\n", f * 1000, rate(f.into(), repeat), f / 100);
    let rows = [400, 500, 600, 700].into_iter().flat_map(|f| (0..8).map(move |repeat| (f, repeat))).map(row);
    fs::write(desk.beside("k.csv"), format!("khz,rate,watts,repeat\n{}", rows.collect::<String>())).unwrap();
    let about = "title = \"knee\"\ntrial = \"10s\"\nrepeat = \"repeat\"\nfound = { khz = \"700000\" }\n[[knob]]\ncolumn = \"khz\"\nname = \"freq\"\n\
        [[metric]]\ncolumn = \"rate\"\nbetter = \"higher\"\njudged = true\n[[metric]]\ncolumn = \"watts\"\nboundary = \"wall\"\n";
    fs::write(desk.beside("k.toml"), about).unwrap();
    let machine = format!("table:{}", desk.beside("k.csv").display());
    let report = desk.report(&["--machine", &machine, "try", "freq=all", "--knee", "freq", "--blocks", "40"]);
    assert_eq!(report.settings[0].label, "freq=700MHz", "the costliest is the reference");
    assert_eq!(report.knee.and_then(|knee| knee.knee).as_deref(), Some("freq=500MHz"));
    let why = desk.run(&["--machine", &machine, "try", "freq=all", "--knee", "rx-usecs"]).refused(2);
    assert!(why.contains("rx-usecs"), "{why}");
}

#[test]
fn a_dry_run_says_how_long_a_search_takes_and_how_many_settings_there_is_time_for() {
    let desk = Desk::new();
    let of = |budget: &str| {
        let knobs = ["max_freq=all", "governor=performance,powersave,ondemand"];
        let asked = ["--minimize", "power_w", "--load", "counter", "--for", "2s", "--budget", budget, "--dry-run"];
        desk.run(&[&["--machine", "sim:quadcore", "tune"], &knobs[..], &asked].concat()).ended(0).out
    };
    assert!(of("10m").contains("among 12 settings, at most about 10 min 0 s"), "{}", of("10m"));
    assert!(of("40s").contains("among 12 settings, with time for about 10 runs, at most about 40 s"), "{}", of("40s"));
}

#[test]
fn a_hundred_thousand_settings_are_searched_and_no_more() {
    let desk = Desk::new();
    let of = |bias: &str| {
        let bias = format!("powersave_bias={bias}");
        let knobs = ["governor=ondemand", "up_threshold=11..60:1", "sampling_down_factor=1..20:1", &bias];
        let asked = ["--minimize", "power_w", "--load", "counter", "--dry-run"];
        desk.run(&[&["--machine", "sim:pc", "tune"], &knobs[..], &asked].concat())
    };
    let told = of("0..990:10").ended(0).out;
    assert!(told.contains("among 100000 settings; a run takes up to about 4 s"), "{told}");
    let why = of("0..1000:10").refused(2);
    assert!(why.contains("101000") && why.contains("100000"), "{why}");
    let help = desk.run(&["tune", "--help"]).ended(0).out;
    assert!(help.contains("up to 100,000 settings"), "{help}");
}

#[test]
fn of_settings_that_became_the_same_the_one_that_was_asked_for_exactly_is_measured() {
    let desk = Desk::new();
    let rig = ["--machine", "sim:quadcore", "--seed", "1", "tune", "governor=userspace", "freq=2GHz,2133MHz,2400MHz"];
    let ask = ["--minimize", "power_w", "--load", "counter", "--for", "1s"];
    desk.run(&[&rig[..], &ask].concat()).ended(0);
    let said = desk.run(&["show", "-v"]).ended(0).out;
    let (_, left) = said.split_once("left out of the search\n").unwrap();
    assert!(left.starts_with("- freq=2000MHz: equal to freq=2133MHz: both became 2133 MHz"), "{said}");
}

#[test]
fn a_difference_of_numbers_without_a_unit_is_written_plainly() {
    let desk = Desk::new();
    let rows = (0..8).map(|at| format!("1,{at},{}\n2,{at},{}\n", at % 3, 8 + at % 3));
    fs::write(desk.beside("n.csv"), "delay,repeat,n\n".to_owned() + &rows.collect::<String>()).unwrap();
    let about = "title = \"n\"\ntrial = \"1s\"\nrepeat = \"repeat\"\nfound = { delay = \"1\" }\n[[knob]]\ncolumn = \"delay\"\n\
        name = \"rx-usecs\"\n[[metric]]\ncolumn = \"n\"\nbetter = \"lower\"\njudged = true\n";
    fs::write(desk.beside("n.toml"), about).unwrap();
    let machine = format!("table:{}", desk.beside("n.csv").display());
    let words = ["--machine", &machine, "--seed", "1", "try", "rx-usecs=2", "--blocks", "12"];
    let said = desk.run(&words).ended(0).out;
    let whole = [&said, &desk.run(&["show", "-v"]).ended(0).out, &desk.run(&["export", "last", "--format", "md"]).out];
    assert!(said.contains(" higher n"), "{said}");
    assert!(whole.iter().all(|text| !text.contains("own unit")), "{whole:?}");
}

#[test]
fn a_dry_run_begins_nothing() {
    let desk = Desk::new();
    desk.run(&[&KEEPER[..], &["--dry-run"]].concat()).ended(0);
    assert!(!desk.state().join("powerband.sqlite").exists());
}
