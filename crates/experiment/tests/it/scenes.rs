//! What ends an experiment and what it then says: plans in words with formulas that answer, and every finding in the snapshot.
use std::fmt::Write as _;

use powerband_experiment::{Bench, Fatal, FormulaBench, Halt, Journal, JournalError, run};
use powerband_record::{
    Better, CloseReason, Event, Finding, Metric, Outcome, PlannedTrial, Requirement, Started, Void,
};

use crate::{SECOND, count, noisy, rate, started};

type Answer = Box<dyn FnMut(&PlannedTrial) -> Result<Outcome, Void>>;

/// An experiment in words: its settings, and what differs from [`started`].
pub(crate) fn plan(text: &str) -> Started {
    let mut words = text.split(", ");
    let settings: Vec<&str> = words.next().unwrap().split(' ').collect();
    let mut plan = started(&settings, 1);
    let metric = |name: &str, judged| Metric { name: name.into(), better: Better::Lower, judged, boundary: None };
    for (what, value) in words.map(|word| word.split_once(' ').unwrap_or((word, "1"))) {
        match what {
            "seed" => plan.seed = value.parse().unwrap(),
            "margin" => plan.margin = value.parse().unwrap(),
            "blocks" => plan.max_blocks = value.parse().unwrap(),
            "least" => plan.min_blocks = value.parse().unwrap(),
            "warmup" => plan.warmup = value.parse().unwrap(),
            "budget" => plan.budget_ns = Some(value.parse::<u64>().unwrap() * SECOND),
            "cost" => plan.cost_order = value.split(' ').map(|it| it.parse().unwrap()).collect(),
            "limit" => plan.requirements.push(Requirement::parse(value).unwrap()),
            "calibration" => plan.calibration = true,
            "judged" => plan.metrics.push(metric(value, true)),
            "shown" => plan.metrics.push(metric(value, false)),
            "command" => plan.load = serde_json::json!({"kind": "command", "argv": ["x"], "ignore_failure": true}),
            other => panic!("{other}"),
        }
    }
    plan
}

/// A finding in a few lines, after what holds of every one.
fn told(plan: &Started, finding: &Finding, journal: &[Event]) -> String {
    let voids = count(journal, |event| matches!(event, Event::TrialVoid { .. }));
    let done = count(journal, |event| matches!(event, Event::TrialDone { trial, .. } if *trial >= plan.warmup));
    assert_eq!((finding.voids as usize, finding.trials as usize), (voids, done));
    assert!(matches!(journal.last(), Some(Event::Closed(last)) if last == finding));
    let of_rate = finding.levels.iter().filter(|level| level.metric == "rate_mbit_s").map(|level| level.trials);
    // What a block brought that was cut short counts nowhere.
    let whole = |event: &Event| match event {
        Event::TrialStarted(it) if (1..=finding.blocks).contains(&it.block) => Some(it.trial),
        _ => None,
    };
    let whole: Vec<u32> = journal.iter().filter_map(whole).collect();
    let counted = count(journal, |event| matches!(event, Event::TrialDone { trial, .. } if whole.contains(trial)));
    assert_eq!(of_rate.sum::<u32>() as usize, counted, "{:?}", finding.levels);
    assert!(plan.budget_ns.is_none_or(|budget_ns| plan.calibration || finding.at_ns <= budget_ns));
    let label = |setting: u32| plan.settings[setting as usize].label.clone();
    let mut all = String::new();
    let of_first = |event: &Event| matches!(event, Event::TrialStarted(PlannedTrial { block: 1, .. }));
    let Finding { reason, blocks, trials, voids, .. } = finding;
    let first = count(journal, of_first);
    writeln!(all, "    {reason:?}: {blocks} blocks, {trials} trials, {voids} void, {first} begun in block 1").unwrap();
    for it in &finding.verdicts {
        let (name, low, high) = (label(it.setting), it.low.unwrap_or(f64::NAN), it.high.unwrap_or(f64::NAN));
        let change = format!("{:.3} [{low:.3}, {high:.3}] by {} blocks", it.change, it.blocks);
        let withheld = it.withheld.iter().map(|why| format!(", {why}")).collect::<String>();
        writeln!(all, "    {name} {}: {:?} {change}{withheld}", it.metric, it.verdict).unwrap();
    }
    for it in &finding.requirements {
        let (found, which) = (&it.found, &plan.requirements[it.requirement as usize]);
        assert!((0.0..=1.0).contains(&found.probability));
        let estimate = found.estimate.map_or("none".into(), |it| format!("{it:.3}"));
        let rest = format!("{estimate} of {}, predicted {:?}", found.trials, found.predicted);
        let session = if found.this_session { ", this session" } else { "" };
        let (name, chance) = (label(it.setting), found.probability);
        writeln!(all, "    {name} {which}: {:?} {chance:.3} {rest}{session}", found.standing).unwrap();
    }
    for it in &finding.calibrations {
        let runs = it.false_alarm.map(|it| it.runs);
        let effect = it.mde.iter().find(|it| it.minutes == 15.0).map(|it| (it.effect * 1e4).round());
        let (metric, trials, sigma) = (&it.metric, it.trials, it.sigma);
        writeln!(all, "    {metric}: {trials} trials, noise {sigma:.3}, 1e-4 {effect:?}, checked {runs:?}").unwrap();
    }
    for event in journal {
        let text = serde_json::to_string(event).unwrap();
        assert_eq!(&serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
        match event {
            Event::SettingLeft { setting, block, why } => {
                writeln!(all, "    {} left in block {block}: {why}", label(*setting)).unwrap();
            }
            Event::Restored { failed, .. } if !failed.is_empty() => writeln!(all, "    left: {failed:?}").unwrap(),
            _ => {}
        }
    }
    finding.notes.iter().for_each(|note| writeln!(all, "    note: {note}").unwrap());
    all
}

fn holds(name: &str, scenes: Vec<(&str, Answer)>) {
    let mut all = String::new();
    for (words, answer) in scenes {
        let (plan, mut journal) = (plan(words), Vec::new());
        let finding = run(&plan, &mut FormulaBench::new(SECOND, answer), &mut journal).unwrap();
        write!(all, "{words}\n{}", told(&plan, &finding, &journal)).unwrap();
    }
    insta::assert_snapshot!(name, all);
}

fn failing() -> Result<Outcome, Void> {
    Err(Void::LoadFailed { why: "out of cheese".into() })
}

fn hiccup() -> Result<Outcome, Void> {
    Err(Void::NoMetric { metric: "rate_mbit_s".into(), why: "hiccup".into() })
}

/// Answers of a formula unless `instead` has another.
fn but(mut own: Answer, instead: impl Fn(&PlannedTrial) -> Option<Result<Outcome, Void>> + 'static) -> Answer {
    Box::new(move |trial| instead(trial).unwrap_or_else(|| own(trial)))
}

fn of(seed: u64, sigma: f64, factors: &[f64]) -> Answer {
    Box::new(noisy(seed, sigma, factors.to_vec()))
}

#[test]
fn what_ends_an_experiment() {
    // Scattered: a straight line would be a drift, and decided.
    let scattered = |trial: &PlannedTrial| Some(Ok(rate(100.0 + f64::from(trial.trial * 37 % 11))));
    let stopped = move |trial: &PlannedTrial| if trial.trial < 7 { scattered(trial) } else { Some(Err(Void::Stopped)) };
    holds(
        "ends",
        vec![
            ("a b, warmup 5", Box::new(|_| failing())),
            ("a b, seed 5, warmup 2, command", but(of(5, 0.01, &[1.0, 0.9]), |it| (it.trial == 0).then(hiccup))),
            ("a b, seed 5, warmup 2, command", Box::new(|_| hiccup())),
            ("a b, seed 3", but(of(3, 0.01, &[1.0, 0.9]), |it| (it.trial % 3 == 1).then(hiccup))),
            ("a broken c, seed 4", but(of(4, 0.01, &[1.0, 1.0, 0.8]), |it| (it.setting == 1).then(failing))),
            ("a b, seed 5", but(of(5, 0.01, &[1.0, 1.0]), stopped)),
            ("a b, seed 6, blocks 4", of(6, 0.2, &[1.0, 1.0])),
            ("a b, seed 6, blocks 1000, budget 13", of(6, 0.2, &[1.0, 1.0])),
            ("a b c, seed 9", but(of(9, 0.01, &[1.0]), |it| (it.setting > 0).then(failing))),
            ("a b, seed 5, calibration, blocks 12, warmup 3", of(5, 0.03, &[1.0, 1.0])),
            ("a b, seed 5, calibration, blocks 10000, warmup 3, budget 3", of(5, 0.03, &[1.0, 1.0])),
            (
                "a b, seed 5, calibration, blocks 8, warmup 3",
                but(of(5, 0.03, &[1.0, 1.0]), |it| {
                    (it.trial % 5 == 4).then(|| Err(Void::NotTurned { why: "hiccup".into() }))
                }),
            ),
        ],
    );
}

/// What a trial keeps of the level before it: a share.
fn kept(share: f64) -> Answer {
    let factors = [1.0, 1.0, 1.2];
    let (mut own, mut before) = (noisy(3, 0.002, factors.to_vec()), None);
    Box::new(move |trial| {
        let (value, level) = (own(trial)?.metrics["rate_mbit_s"], 100.0 * factors[trial.setting as usize]);
        let kept = before.map_or(0.0, |before: f64| share * (before - level));
        before = Some(level);
        Ok(rate(value + kept))
    })
}

/// Settings that differ in nothing, of which the second adds a share to the trial after it.
fn moved(share: f64, noise: f64) -> Answer {
    let (mut own, mut before) = (noisy(3, noise, vec![1.0; 4]), 0);
    Box::new(move |trial| {
        let moved = if before == 1 { 1.0 + share } else { 1.0 };
        before = trial.setting;
        Ok(rate(own(trial)?.metrics["rate_mbit_s"] * moved))
    })
}

/// Every so manieth trial of the second setting takes twice the time.
fn slow(every: u32) -> Answer {
    let (mut own, mut trials) = (noisy(4, 0.01, vec![1.0, 1.0]), 0);
    Box::new(move |trial| {
        trials += u32::from(trial.setting == 1);
        let is_slow = trial.setting == 1 && trials % every == 0;
        own(trial).map(|it| if is_slow { rate(0.5 * it.metrics["rate_mbit_s"]) } else { it })
    })
}

/// Three trials in six are quicker.
fn square(share: f64) -> Answer {
    let mut own = noisy(5, 0.005, vec![1.0, 1.0]);
    Box::new(move |trial| {
        let times = if trial.trial % 6 < 3 { 1.0 } else { 1.0 + share };
        Ok(rate(own(trial)?.metrics["rate_mbit_s"] * times))
    })
}

#[test]
fn what_carries_over_and_what_disturbs_is_named_and_nothing_is_called_the_same_or_better_for_it() {
    holds(
        "carried",
        vec![
            ("a b c, seed 3, margin 0.05, blocks 40, least 40", kept(0.5)),
            ("a b c, seed 3, margin 0.05, blocks 40, least 40", kept(0.0)),
            ("a b, seed 3, margin 0.0005, blocks 20, least 20", moved(0.03, 0.005)),
            ("a b, seed 3, margin 0.0005, blocks 20, least 20", moved(0.0, 0.005)),
            ("a b c d, seed 3, margin 0.0005, blocks 20, least 20", moved(0.03, 0.005)),
            ("a b c d, seed 4, margin 0.0005, blocks 20, least 20", moved(0.0, 0.005)),
            ("a b, seed 3, margin 0.01, blocks 20, least 20", moved(0.000_2, 1e-6)),
            ("a b, seed 3, margin 0.01, blocks 20, least 20", moved(0.002, 1e-6)),
            ("a b, seed 4, margin 0.01, blocks 60, least 60", slow(10)),
            ("a b, seed 4, margin 0.01, blocks 60, least 60", slow(1000)),
            ("a b, seed 5, margin 0.0005, blocks 20, least 20", square(0.05)),
            ("a b, seed 5, margin 0.0005, blocks 20, least 20", square(0.0)),
        ],
    );
}

/// A second metric next to the rates; what is lost above 1 % voids.
fn with(seed: u64, name: &'static str, at: impl Fn(&PlannedTrial) -> f64 + 'static) -> Answer {
    let mut rates = noisy(seed, 0.01, vec![1.0, 1.1]);
    Box::new(move |trial| {
        let (mut outcome, value) = (rates(trial)?, at(trial));
        if name == "lost_percent" && value > 1.0 {
            return Err(Void::Lossy { lost_percent: value, why: format!("{value} of 100 were lost") });
        }
        outcome.metrics.insert(name.into(), value);
        Ok(outcome)
    })
}

/// Every run above a length of the second setting's is killed.
fn killed(seed: u64, above: f64) -> Answer {
    let mut all = noisy(seed, 0.04, vec![1.0, 1.0]);
    Box::new(move |trial| {
        let outcome = all(trial)?;
        let is_long = trial.setting == 1 && outcome.metrics["rate_mbit_s"] < above;
        if is_long { Err(Void::LoadFailed { why: "killed".into() }) } else { Ok(outcome) }
    })
}

#[test]
fn what_is_left_of_killed_trials_is_not_called_better() {
    holds(
        "killed",
        vec![
            ("a b, seed 41, blocks 60, least 60", killed(41, 97.0)),
            ("a b, seed 41, blocks 60, least 60", killed(41, 0.0)),
        ],
    );
}

/// Losses in a part of all trials: void for the rates, and known all the same.
#[test]
fn a_trial_void_for_its_loss_counts_for_its_limit() {
    let part = |trial: u32| if trial % 5 < 2 { 3.0 } else { 0.0 };
    holds("lossy", vec![("a b, seed 31, blocks 30, shown lost_percent, limit lost_percent<=1", lost(31, part))]);
}

fn lost(seed: u64, of_second: impl Fn(u32) -> f64 + 'static) -> Answer {
    with(seed, "lost_percent", move |trial| if trial.setting == 0 { 0.0 } else { of_second(trial.trial) })
}

#[test]
fn limits_are_decided_if_clear_and_stay_open_else() {
    let mut steady = noisy(6, 0.01, vec![1.0, 1.1]);
    let drifting = move |trial: &PlannedTrial| {
        let value = steady(trial)?.metrics["rate_mbit_s"];
        Ok(rate(value * (1.0 + 0.05 * f64::from(trial.block))))
    };
    let clear = || of(1, 0.01, &[1.0, 1.1]);
    // A reference that is zero in its first blocks, later, or throughout has no share to be held against.
    let zero = |trial: &PlannedTrial| f64::from(trial.setting * (trial.trial % 3));
    let first = |trial: &PlannedTrial| if trial.block < 3 { 0.0 } else { f64::from(2 + trial.trial % 2) };
    let later = |trial: &PlannedTrial| if trial.block < 3 { 3.0 } else { 0.0 };
    holds(
        "limits",
        vec![
            ("a b, limit rate_mbit_s>=90, limit rate_mbit_s<=+20%, limit rate_mbit_s>=112", clear()),
            ("a b, limit rate_mbit_s<=+20%", clear()),
            ("a b, seed 5, blocks 12, limit rate_mbit_s>=110", of(5, 0.02, &[1.0, 1.1])),
            ("a b, seed 6, limit rate_mbit_s>=50", Box::new(drifting)),
            ("a b, seed 21, blocks 6, shown drops, limit drops<=+10%", with(21, "drops", zero)),
            ("a b, seed 21, blocks 6, shown drops, limit drops<=+10%", with(21, "drops", first)),
            ("a b, seed 21, blocks 6, shown drops, limit drops<=+10%", with(21, "drops", later)),
            ("a b, seed 31, judged lost_percent, limit lost_percent<=1", lost(31, |_| 90.0)),
            ("a b, seed 31, judged lost_percent", lost(31, |_| 90.0)),
            // A bad trial at the beginning is repeated, and shows nothing of the limit.
            (
                "a b, seed 31, judged lost_percent, limit lost_percent<=1",
                lost(31, |it| if it < 4 { 40.0 } else { 0.0 }),
            ),
            ("a b, seed 32, judged lost_percent", lost(32, |_| 0.0)),
            ("a b, seed 32, judged lost_percent", lost(32, |trial| 0.8 + 0.01 * f64::from(trial % 3))),
        ],
    );
}

/// Two settings that are alike, never the same at this margin; and how many looks there were: each brings another difference.
fn alike(words: &str) -> (Finding, usize) {
    let mut journal = Vec::new();
    let finding = run(&plan(words), &mut FormulaBench::new(SECOND, of(21, 0.01, &[1.0, 1.0])), &mut journal).unwrap();
    let change = |event: &Event| match event {
        Event::BlockDone(done) => done.verdicts.first().map(|verdict| verdict.change.to_bits()),
        _ => None,
    };
    let mut changes: Vec<u64> = journal.iter().filter_map(change).collect();
    changes.dedup();
    (finding, changes.len())
}

#[test]
fn looks_grow_rarer_in_a_long_experiment_and_its_end_is_judged_by_all_its_blocks() {
    let (finding, looks) = alike("a b, seed 21, margin 1e-9, blocks 451");
    assert_eq!((finding.reason, finding.blocks, finding.verdicts[0].blocks), (CloseReason::Blocks, 451, 451));
    // All of the first 200 that can be compared, and every second to fourth of the others.
    assert!((250..310).contains(&looks), "{looks}");
    for budget_s in 900..912 {
        let (finding, _) = alike(&format!("a b, seed 21, margin 1e-9, blocks 1000, budget {budget_s}"));
        assert_eq!((finding.reason, finding.blocks > 200), (CloseReason::Budget, true));
        assert_eq!(finding.verdicts[0].blocks, finding.blocks, "{budget_s} s");
    }
}

/// A journal whose disk fills up.
struct Full(usize);

impl Journal for Full {
    fn record(&mut self, _: &Event) -> Result<(), JournalError> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| JournalError { why: "no space left on device".into() })?;
        Ok(())
    }
}

/// A bench that breaks in its first trial.
struct Breaking(Fatal);

impl Bench for Breaking {
    fn now_ns(&self) -> u64 {
        0
    }
    fn trial(&mut self, _: &PlannedTrial, _: &mut dyn Journal) -> Result<Outcome, Halt> {
        Err(self.0.clone().into())
    }
}

#[test]
fn what_breaks_it_is_in_the_journal_and_the_error() {
    let mut bench = FormulaBench::new(SECOND, of(7, 0.01, &[1.0, 1.0]));
    let error = run(&started(&["a", "b"], 7), &mut bench, &mut Full(9)).unwrap_err();
    assert_eq!(error, Fatal::Journal(JournalError { why: "no space left on device".into() }));
    let stuck = "cpufreq.governor at policy0 (EIO)".to_owned();
    let lost = Fatal::Lost { side: "far".into(), why: "the cable".into() };
    for (fatal, left) in [(lost, vec![]), (Fatal::CannotRestore { what: stuck.clone() }, vec![stuck])] {
        let mut journal = Vec::new();
        let error = run(&started(&["a", "b"], 8), &mut Breaking(fatal.clone()), &mut journal).unwrap_err();
        assert_eq!(error, fatal);
        let Some(Event::Closed(finding)) = journal.last() else { panic!("{journal:?}") };
        assert!(matches!(finding.reason, CloseReason::Failed { .. }));
        let failed =
            journal.iter().filter_map(|it| if let Event::Restored { failed, .. } = it { Some(failed) } else { None });
        assert_eq!(failed.flatten().cloned().collect::<Vec<_>>(), left);
    }
}
