//! Verdicts by what disturbs the machine: the tables of docs/design/error-rates.md.

use crate::row::{Limit, Row, Table, once, row};
use crate::{linear, spending};
use powerband_stats::{Claim, Draws, Rules, TableLook};
use powerband_testkit::machines::{DisturbedMachine, DisturbedResult, TrialReading, all};

/// Experiments of a cell.
const RUNS: u32 = 4000;
/// 5 %, and what chance adds to it in so many experiments: 250 of 4,000.
const FIVE: Limit = Limit::Most(6.25);
const FROM: &str = "5 % and what chance adds in 4,000 experiments; less strict ones are known and explained in docs/design/error-rates.md";

fn play(machine: &DisturbedMachine, rules: &Rules, blocks: u32, effect: f64, key: u64) -> DisturbedResult {
    machine.experiment(rules, &spending(), blocks, effect, key).unwrap()
}

fn any(ended: &DisturbedResult, is: fn(Claim) -> bool) -> f64 {
    once(ended.claims.iter().copied().any(is))
}

/// A row for each machine that is wanted.
fn rows(
    wanted: fn(&DisturbedMachine) -> bool,
    limits: fn(&DisturbedMachine) -> Vec<Limit>,
    play: fn(&DisturbedMachine, u64) -> Vec<f64>,
) -> Vec<Row> {
    let machines = all().into_iter().filter(wanted);
    machines.map(|machine| row((machine.name, ""), RUNS, &limits(&machine), move |key| play(&machine, key))).collect()
}

fn is_steep(machine: &DisturbedMachine) -> bool {
    ["2", "5", "20"].iter().any(|slope| machine.name == format!("slope of {slope} s.d. a trial"))
}

/// False differences, false "same", power and trials.
fn by_noise() -> Table {
    let limits = |machine: &DisturbedMachine| {
        let known = match machine.name {
            "one setting skewed, the means alike" => Some(14.0),
            "one setting adds 2 s.d. to the next trial, 2 settings" => Some(19.0),
            "one setting wanders alone by 2 s.d. for tens of trials" => Some(50.0),
            _ => None,
        };
        // "Same" is controlled for each setting.
        let same = if known.is_none() { Limit::Most(6.25 * machine.settings as f64) } else { Limit::Any };
        let (power, trials) =
            if is_steep(machine) { (Limit::Least(95.0), Limit::Most(19.0)) } else { (Limit::Any, Limit::Any) };
        vec![known.map_or(FIVE, Limit::Most), same, power, trials]
    };
    let play = |machine: &DisturbedMachine, key| {
        // Just beyond the margin: whatever is called the same is not.
        let [none, beyond, above] = [(0.5, 0.0), (2.0, 2.05), (0.5, 2.0)]
            .map(|(margin, effect)| play(machine, &linear(margin), 20, effect, key ^ effect.to_bits()));
        let higher = any(&above, |claim| claim == Claim::Higher);
        vec![any(&none, Claim::is_difference), any(&beyond, Claim::is_same), higher, f64::from(above.trials)]
    };
    let columns = &["false better/worse, %", "false same, %", "power, %", "trials"];
    Table { part: "verdicts", title: "Error rates by noise", from: FROM, columns, rows: rows(|_| true, limits, play) }
}

/// Reports of a machine on which nothing differs.
fn named() -> Table {
    const QUIET: [&str; 6] = [
        "normal",
        "Student's t, 3 degrees of freedom",
        "5 % of trials 5 times as wide",
        "log-normal",
        "one setting skewed, the means alike",
        "one of 6 settings 5 times as noisy",
    ];
    const WAVES: [&str; 3] =
        ["square wave of 2 trials", "square wave of 6 trials", "square wave of 3 trials, 3 settings"];
    let limits = |machine: &DisturbedMachine| {
        let after = match (machine.name.contains("next trial"), machine.settings) {
            // In step with two blocks: what a setting leaves and what the wave does are much alike. The period is named as well.
            (false, 2) if machine.name.starts_with("square wave of 6") => Limit::Most(12.0),
            (false, _) => FIVE,
            (true, 1) => Limit::Least(60.0),
            (true, _) => Limit::Least(92.0),
        };
        let period = match machine.name {
            name if QUIET.contains(&name) => FIVE,
            name if WAVES.contains(&name) => Limit::Least(90.0),
            _ => Limit::Any,
        };
        vec![after, period, if is_steep(machine) { Limit::Least(99.0) } else { Limit::Any }]
    };
    let play = |machine: &DisturbedMachine, key| {
        let look = play(machine, &linear(0.5), 20, 0.0, key).look;
        let says = |says: fn(&TableLook) -> bool| once(look.as_ref().is_some_and(says));
        let shown = [
            says(|look| look.after.is_some_and(|it| it.is_shown())),
            says(|look| look.period.is_some_and(|it| it.is_shown())),
            says(|look| look.drift.is_some()),
        ];
        shown.to_vec()
    };
    let columns = &["effect on the next trial shown, %", "period shown, %", "drift shown, %"];
    Table { part: "verdicts", title: "What is named by noise", from: FROM, columns, rows: rows(|_| true, limits, play) }
}

/// A skewed setting with the mean of the other: its typical trial differs, its mean does not.
fn means() -> Table {
    let wanted = |machine: &DisturbedMachine| {
        ["normal", "log-normal", "one setting skewed, the means alike"].contains(&machine.name)
    };
    let play = |machine: &DisturbedMachine, key: u64| {
        let rules = Rules { margin: 0.5, ..Rules::mean() };
        let (none, above) = (play(machine, &rules, 20, 0.0, key), play(machine, &rules, 20, 2.0, !key));
        let higher = once(above.claims[0] == Claim::Higher);
        vec![any(&none, Claim::is_difference), higher, f64::from(above.trials)]
    };
    let rows = rows(wanted, |_| vec![FIVE, Limit::Least(65.0), Limit::Any], play);
    let columns = &["false better/worse, %", "power, %", "trials"];
    Table { part: "verdicts", title: "Judged by the mean", from: FROM, columns, rows }
}

/// Settings that are not the same, whose readings nearly are.
fn nearly_the_same() -> Table {
    let case = |name: &'static str, blocks: u32, start: fn(f64) -> TrialReading, sd: f64| {
        let machine = DisturbedMachine { name, settings: 1, start: Box::new(move |_| start(sd)) };
        let play = move |key| vec![any(&play(&machine, &linear(0.5), blocks, 0.0, key), Claim::is_same)];
        row((name, &sd.to_string()), RUNS, &[FIVE], play)
    };
    // Margin 0.5: what truly differs by 0.55 is never the same, though it may read so.
    let steps = |sd: f64| -> TrialReading {
        Box::new(move |_, setting, _, draws: &mut Draws| (100.1 + 0.55 * setting as f64 + sd * draws.normal()).round())
    };
    // Typical trials are alike; a twentieth is 20 s.d. slower, so the mean is 1 s.d. higher, twice the margin.
    let rare = |sd: f64| -> TrialReading {
        Box::new(move |_, setting, _, draws: &mut Draws| {
            let slow = setting == 1 && draws.uniform() < 0.05;
            sd * draws.normal() + if slow { 20.0 } else { 0.0 }
        })
    };
    let mut rows: Vec<Row> =
        [0.02, 0.1, 0.3, 1.0].map(|sd| case("readings in steps, noise of part of a step", 20, steps, sd)).into();
    rows.push(case("rare slow trials of one setting", 60, rare, 1.0));
    let columns = &["false same, %"];
    Table { part: "verdicts", title: "Same by its readings alone", from: FROM, columns, rows }
}

pub(crate) fn tables() -> Vec<Table> {
    vec![by_noise(), named(), means(), nearly_the_same()]
}
