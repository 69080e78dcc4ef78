//! What settings must fulfil besides being good: shown to hold, shown to be broken, or open.
use powerband_record::Standing;
use powerband_report::json::{Report, RequirementRow};

use crate::desk::Desk;

/// A ping whose answer waits for a card, shorter or longer.
const PING: [&str; 12] = [
    "--machine",
    "sim:pc",
    "--far",
    "sim:quadcore",
    "try",
    "rx-usecs=10,500",
    "--load",
    "ping",
    "--for",
    "2s",
    "--margin",
    "10%",
];

fn typical(report: &Report, label: &str, metric: &str) -> f64 {
    let setting = report.settings.iter().find(|setting| setting.label.contains(label)).unwrap();
    setting.levels[metric].typical.unwrap()
}

fn standing<'a>(report: &'a Report, label: &str) -> &'a RequirementRow {
    let setting = report.settings.iter().find(|setting| setting.label.contains(label)).unwrap();
    assert_eq!(setting.requirements.len(), 1, "{setting:?}");
    &setting.requirements[0]
}

#[test]
fn a_limit_holds_or_is_broken_by_the_level_of_trials() {
    let desk = Desk::new();
    let without = desk.report(&PING);
    let (quick, slow) = (typical(&without, "=10", "p99_us"), typical(&without, "=500", "p99_us"));
    assert!(slow > 1.5 * quick, "{quick} {slow}");
    let limit = (quick * slow).sqrt();
    let required = format!("p99_us<={limit:.0}");
    let words = [&PING[..], &["--require", &required]].concat();
    let report = desk.report(&words);
    let (holds, broken) = (standing(&report, "=10"), standing(&report, "=500"));
    assert_eq!((holds.found.standing, broken.found.standing), (Standing::Holds, Standing::Broken));
    assert!(holds.found.trials >= 5 && holds.found.probability > 0.9 && broken.found.probability < 0.1);
    assert!(
        holds.found.high.unwrap() <= limit * 1.01 && broken.found.low.unwrap() >= limit * 0.99,
        "{holds:?} {broken:?}"
    );
    // Four trials a block at least, so that those of one setting are apart: two of the reference next to the two compared.
    let trials = |setting: usize| report.settings[setting].levels["p99_us"].trials;
    assert!(trials(0) > report.blocks, "{} in {} blocks", trials(0), report.blocks);
    desk.run(&[&words[..], &["--fail-on", "broken"]].concat()).refused(1);
}

#[test]
fn the_percentile_is_that_of_all_values_together() {
    let desk = Desk::new();
    let report = desk.report(&[&PING[..], &["--require", "p99_us<=100000"]].concat());
    for setting in &report.settings {
        let p99_us = setting.distributions["rtt_ns"].percentiles["p99"].value / 1e3;
        let estimate = setting.requirements[0].found.estimate.unwrap();
        assert!((estimate / p99_us - 1.0).abs() < 0.005, "{estimate} {p99_us}");
        assert_eq!(setting.requirements[0].found.standing, Standing::Holds);
    }
}

#[test]
fn a_limit_against_the_reference_is_a_difference_inside_blocks() {
    let desk = Desk::new();
    let words = [&PING[..], &["--reference", "rx-usecs=10", "--require", "p99_us<=+20%"]].concat();
    let report = desk.report(&words);
    let (broken, free) = (standing(&report, "=500"), report.settings[0].requirements.len());
    assert_eq!((broken.found.standing, free), (Standing::Broken, 0));
    assert_eq!(broken.requirement, "p99_us<=+20%");
    let report = desk.report(&[&PING[..], &["--require", "p99_us<=+2000%", "--require", "lost_percent<=50"]].concat());
    let of_first: Vec<&str> = report.settings[1].requirements.iter().map(|it| it.requirement.as_str()).collect();
    assert_eq!(of_first, ["p99_us<=+2000%", "lost_percent<=50"]);
    assert!(report.settings[1].requirements.iter().all(|it| it.found.standing == Standing::Holds), "{report:?}");
}

#[test]
fn a_knee_that_is_held_back_by_an_open_limit_is_not_hidden() {
    let desk = Desk::new();
    let machines = ["--machine", "sim:omap3530", "--far", "sim:pc", "--seed", "6"];
    let settings = ["try", "governor=userspace", "freq=500MHz,600MHz", "--reference", "freq=600MHz", "--knee", "freq"];
    let rest = ["--margin", "5%", "--load", "stream", "--for", "5s", "--blocks", "6", "--require", "rtt_ms<=1.64"];
    let ran = desk.run(&[&machines[..], &settings, &rest, &["--fail-on", "undecided"]].concat()).ended(1);
    let said = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("500MHz does the same work, but is not shown to keep rtt_ms<=1.64."), "{said}");
    assert!(!said.contains("nothing cheaper") && said.contains("powerband resume 1 --blocks "), "{said}");
}

#[test]
fn where_means_are_judged_the_first_look_is_named() {
    let desk = Desk::new();
    let words = ["--machine", "sim:pc", "--far", "sim:pc", "--seed", "6", "try", "rx-usecs=10,50", "--load", "ping"];
    let said = desk.run(&[&words[..], &["--for", "5s", "--judge", "mean", "--blocks", "4"]].concat()).ended(0).out;
    assert!(said.replace('\n', " ").contains("after 4 blocks, and the first look comes after 8;"), "{said}");
}

#[test]
fn plans_require_too() {
    let desk = Desk::new();
    let plan = desk.beside("plan.toml");
    let text = "machine = \"sim:quadcore\"\nsettings = [\"a:\", \"b:\"]\nrequire = \"count>=1\"\nblocks = 6\n[load]\nkind = \"counter\"\nfor = \"1s\"\n";
    std::fs::write(&plan, text).unwrap();
    let report = desk.report(&["run", plan.to_str().unwrap()]);
    assert!(
        report.settings.iter().all(|setting| setting.requirements[0].found.standing == Standing::Holds),
        "{report:?}"
    );
    // One setting besides: three of the reference fill the block to four.
    assert_eq!(report.settings[0].levels["count"].trials, 3 * report.blocks);
}
