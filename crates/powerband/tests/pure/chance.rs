//! A setting against itself: how often a difference is claimed where there is none.
use std::fmt::Write as _;

use powerband_record::Verdict;
use powerband_stats::{Draws, Purpose, block_order, slots};

use crate::desk::Desk;

/// Error rate that is promised when nothing else is asked for.
const ALPHA: f64 = 0.05;

/// A correct method fails a test by chance this seldom.
const BY_CHANCE: f64 = 0.002;

/// Most false claims in `runs` that chance allows: the least k with P(X > k) < `BY_CHANCE`, X binomial with `ALPHA`.
fn limit(runs: u32) -> u32 {
    let mut probability = (1.0 - ALPHA).powi(i32::try_from(runs).unwrap());
    let mut below = probability;
    let mut k = 0;
    while 1.0 - below >= BY_CHANCE {
        probability *= f64::from(runs - k) / f64::from(k + 1) * ALPHA / (1.0 - ALPHA);
        below += probability;
        k += 1;
    }
    k
}

/// Whether a sweep asks for the long form.
fn long() -> bool {
    std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1")
}

/// Where seeds begin.
fn first_seed() -> u64 {
    std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Whether a difference was claimed.
fn claimed(desk: &Desk, words: &[&str]) -> bool {
    let report = desk.report(words);
    assert_eq!(report.state, "ended");
    assert!(report.blocks > 0);
    let differs = |verdict: &Verdict| matches!(verdict, Verdict::Better | Verdict::Worse);
    report.settings.iter().flat_map(|setting| setting.verdicts.values()).any(|row| differs(&row.verdict))
}

/// Runs `words` under seeds that have not been seen and holds the false claims against the limit.
#[track_caller]
fn seldom_claims(words: &[&str]) {
    // Rates are measured by the sweep; here it is shown that the runs end and that a broken rule, which claims half the time, is noticed.
    let runs = if long() { 1000 } else { 12 };
    let first = first_seed();
    let seeds: Vec<u64> = (0..u64::from(runs)).map(|run| first.wrapping_add(run)).collect();
    let wrong: Vec<&u64> =
        seeds.iter().filter(|seed| claimed(&Desk::new(), &[&["--seed", &seed.to_string()], words].concat())).collect();
    let limit = limit(runs) as usize;
    assert!(wrong.len() <= limit, "{} of {runs} claim a difference, at most {limit} may: seeds {wrong:?}", wrong.len());
}

#[test]
fn limits_are_those_of_the_binomial() {
    assert_eq!(limit(100), 12);
    assert_eq!(limit(20), 5);
    assert!((66..80).contains(&limit(1000)), "{}", limit(1000));
}

#[test]
fn sweep_the_simulated_quadcore_against_itself() {
    seldom_claims(&["--machine", "sim:quadcore", "try", "-s", "a:", "-s", "b:", "--load", "counter"]);
}

#[test]
fn sweep_the_simulated_router_against_itself() {
    let machines = ["--machine", "sim:omap3530", "--far", "sim:pc"];
    seldom_claims(&[&machines[..], &["try", "-s", "a:", "-s", "b:", "--load", "stream", "--blocks", "12"]].concat());
}

#[test]
fn sweep_simulated_pings_against_themselves() {
    let machines = ["--machine", "sim:pc", "--far", "sim:quadcore"];
    let load = ["--load", "ping", "--for", "2s", "--blocks", "12"];
    seldom_claims(&[&machines[..], &["try", "-s", "a:", "-s", "b:"], &load[..]].concat());
}

/// Experiments on days that have nothing in common, compared through the reference they share; each ended when it liked.
#[test]
fn sweep_stored_experiments_against_one_another() {
    let pairs = if long() { 300 } else { 30 };
    let (desk, first) = (Desk::new(), first_seed());
    let mut wrong = Vec::new();
    for pair in 0..pairs {
        for day in 0..2 {
            let seed = first.wrapping_add(2 * pair + day).to_string();
            let words = ["--machine", "sim:quadcore", "--seed", &seed, "try", "-s", "a:", "-s", "b:"];
            desk.run(&[&words[..], &["--load", "counter", "--for", "2s", "--blocks", "8", "--json"]].concat()).ended(0);
        }
        let sides = [format!("{}:b", 2 * pair + 1), format!("{}:b", 2 * pair + 2)];
        let found = desk.json(&["compare", &sides[0], &sides[1]]);
        let rows = found["rows"].as_array().unwrap();
        assert!(rows.iter().all(|row| row["how"] == "shared_reference"), "{found}");
        if rows.iter().any(|row| row["verdict"] == "better" || row["verdict"] == "worse") {
            wrong.push(pair);
        }
    }
    let limit = limit(u32::try_from(pairs).unwrap()) as usize;
    assert!(wrong.len() <= limit, "{} of {pairs} claim a difference, at most {limit} may: {wrong:?}", wrong.len());
}

/// So many blocks of a setting against itself, a column each for experiments that have nothing to do with one another.
fn alike(columns: u64, blocks: u32, seed: u64) -> String {
    let mut text = "setting,block".to_owned();
    (0..columns).for_each(|column| write!(text, ",metric{column}").unwrap());
    for block in 0..blocks {
        for slot in block_order(seed, block, &slots(1, &[1])) {
            write!(text, "\n{},{block}", slot.setting).unwrap();
            for column in 0..columns {
                let mut draws = Draws::new(seed, Purpose::Noise, column, u64::from(2 * block) + slot.setting as u64);
                write!(text, ",{}", (0.02 * draws.normal()).exp()).unwrap();
            }
        }
    }
    text
}

/// A table that is looked at as it grows: what is claimed of a hundred columns together, and how many of the columns would be
/// taken for different by who believes p.
#[test]
fn sweep_growing_tables_against_themselves() {
    const COLUMNS: u64 = 100;
    let tables = if long() { 100 } else { 4 };
    let desk = Desk::new();
    let file = desk.beside("rounds.csv");
    let (mut wrong, mut tempted) = (Vec::new(), 0);
    for table in 0..tables {
        let seed = first_seed().wrapping_add(table);
        let (mut claimed, mut tempting) = (false, vec![false; COLUMNS as usize]);
        for blocks in [3, 4, 5, 6, 8, 10, 12, 15, 20] {
            std::fs::write(&file, alike(COLUMNS, blocks, seed)).unwrap();
            let found = desk.json(&["compare", "--from-csv", file.to_str().unwrap(), "0", "1", "--margin", "0.1%"]);
            let rows = found["rows"].as_array().unwrap();
            assert_eq!(rows.len(), COLUMNS as usize);
            for (row, tempting) in rows.iter().zip(&mut tempting) {
                claimed |= row["verdict"] == "better" || row["verdict"] == "worse";
                *tempting |= row["p"].as_f64().unwrap() < ALPHA;
            }
        }
        wrong.extend(claimed.then_some(seed));
        tempted += tempting.iter().filter(|it| **it).count() as u64;
    }
    let limit = limit(u32::try_from(tables).unwrap()) as usize;
    assert!(wrong.len() <= limit, "{} of {tables} claim a difference, at most {limit} may: {wrong:?}", wrong.len());
    assert!(100 * tempted >= 15 * tables * COLUMNS, "p misled {tempted} of {} columns only", tables * COLUMNS);
}
