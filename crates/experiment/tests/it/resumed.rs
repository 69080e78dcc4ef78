//! Going on after an interruption: wherever the journal was cut, what comes out is what would have come without.
use std::cell::Cell;

use powerband_experiment::{
    Bench, Fatal, FormulaBench, Halt, Journal, JournalError, Past, Plan, ResumeError, WorldBench, check_rig,
    first_difference, rebuild, resolve, resume, run, standing,
};
use powerband_record::{CloseReason, Event, Outcome, PlannedTrial, Started, Void};
use powerband_sim::{Profile, SimWorld};

use crate::scenes::plan;
use crate::{SECOND, count, noisy, started};

type Answer = Result<Outcome, Void>;

/// A plan with a formula that answers by the planned trial alone.
struct Scene {
    name: &'static str,
    started: Started,
    formula: fn(&PlannedTrial) -> Answer,
}

fn scenes() -> Vec<Scene> {
    let scene = |name, words: &str, formula| Scene { name, started: plan(words), formula };
    vec![
        scene("leaving", "base better worse same, seed 11, margin 0.03, warmup 4", |trial| {
            noisy(11, 0.01, vec![1.0, 1.10, 0.9, 1.0])(trial)
        }),
        scene("knee", "600 125 250 500 550, seed 13, margin 0.05, cost 1 2 3 4 0", |trial| {
            noisy(13, 0.015, vec![1.0, 0.3, 0.6, 1.0, 1.0])(trial)
        }),
        scene("budget", "a b, seed 6, blocks 1000, budget 31", |trial| noisy(6, 0.2, vec![1.0, 1.0])(trial)),
        scene("set aside", "a b c far, seed 22, blocks 1000, margin 0.01, budget 140", |trial| {
            noisy(22, 0.20, vec![1.0, 1.0, 1.0, 1.4])(trial)
        }),
        scene("void", "a b broken, seed 3", |trial| match trial.trial % 3 {
            _ if trial.setting == 2 => Err(Void::LoadFailed { why: "crash".into() }),
            1 => Err(Void::NoMetric { metric: "rate_mbit_s".into(), why: "hiccup".into() }),
            _ => noisy(3, 0.01, vec![1.0, 0.9])(trial),
        }),
        scene("calibration", "a b, seed 17, calibration, blocks 12, warmup 2", |trial| {
            noisy(17, 0.02, vec![1.0, 1.0])(trial)
        }),
        scene("requirements", "a b, seed 19, limit rate_mbit_s>=95, limit rate_mbit_s<=+5%", |trial| {
            noisy(19, 0.02, vec![1.0, 1.0])(trial)
        }),
    ]
}

impl Scene {
    fn bench(&self) -> FormulaBench<fn(&PlannedTrial) -> Answer> {
        FormulaBench::new(SECOND, self.formula)
    }

    fn whole(&self) -> Vec<Event> {
        let mut journal = Vec::new();
        run(&self.started, &mut self.bench(), &mut journal).unwrap();
        journal
    }
}

/// What stands of a journal, and what it is after going on.
pub(crate) fn gone_on(
    started: &Started,
    cut: &[Event],
    past: Past,
    bench: &mut dyn Bench,
) -> Result<Vec<Event>, Fatal> {
    let mut journal = cut[..standing(cut).unwrap()].to_vec();
    let mut more = Vec::new();
    resume(started, &journal, past, bench, &mut more)?;
    journal.append(&mut more);
    Ok(journal)
}

fn closed(reason: CloseReason) -> Event {
    let mut finding =
        serde_json::json!({"at_ns": 0, "blocks": 0, "trials": 0, "voids": 0, "verdicts": [], "levels": []});
    finding["reason"] = serde_json::to_value(reason).unwrap();
    Event::Closed(serde_json::from_value(finding).unwrap())
}

/// Places to cut a journal of so many events: each of the first and the last ones, and one in seven between, which falls on every kind of
/// event in turn.
fn cuts(events: usize) -> impl Iterator<Item = usize> {
    (1..events).filter(move |end| *end < 30 || end % 7 == 0 || end + 8 > events)
}

#[test]
fn wherever_it_is_cut_the_journal_is_that_of_one_never_interrupted() {
    for scene in scenes() {
        let whole = scene.whole();
        for end in cuts(whole.len()) {
            for past in [Past::Computed, Past::Recalled] {
                let journal = gone_on(&scene.started, &whole[..end], past, &mut scene.bench()).unwrap();
                assert_eq!(journal, whole, "{}, {past:?} after {end} events", scene.name);
            }
        }
        assert_eq!(scene.whole(), whole);
    }
}

#[test]
fn the_scenes_hold_what_they_are_named_for() {
    let whys = ["decided", "worse than another", "", "deferred", "void 3 times"];
    let left = scenes().into_iter().zip(whys).map(|(scene, words)| {
        let left = |event: &Event| matches!(event, Event::SettingLeft { why, .. } if why.contains(words));
        count(&scene.whole(), left)
    });
    let left: Vec<usize> = left.collect();
    assert!(left[0] == 3 && [1, 3, 4].iter().all(|scene| left[*scene] > 0), "{left:?}");
    let budget = scenes()[2].whole();
    assert!(matches!(budget.last(), Some(Event::Closed(finding)) if finding.reason == CloseReason::Budget));
}

#[test]
fn how_it_had_ended_does_not_stand_and_neither_does_a_stopped_trial() {
    let scene = &scenes()[0];
    let whole = scene.whole();
    for end in 1..whole.len() - 2 {
        let plain = standing(&whole[..end]).unwrap();
        let why = "the disk is full".to_owned();
        for reason in [CloseReason::Stopped, CloseReason::Failed { why }] {
            let mut cut = whole[..end].to_vec();
            if let Some(Event::TrialStarted(trial)) = cut.last() {
                cut.push(Event::TrialVoid { trial: trial.trial, at_ns: trial.at_ns, why: Void::Stopped });
            }
            cut.push(Event::Restored { entries: 3, failed: Vec::new(), changed: Vec::new() });
            assert_eq!(standing(&cut).unwrap(), plain, "killed before its last word, after {end}");
            cut.push(closed(reason));
            assert_eq!(standing(&cut).unwrap(), plain, "after {end} events");
            assert_eq!(cut[..plain], whole[..plain]);
        }
    }
}

#[test]
fn what_came_to_its_end_or_never_began_cannot_go_on() {
    let scene = &scenes()[0];
    let whole = scene.whole();
    assert_eq!(standing(&whole), Err(ResumeError::Ended { how: "everything is decided".into() }));
    assert_eq!(standing(&[]), Err(ResumeError::NotBegun));
    assert_eq!(standing(&whole[1..4]), Err(ResumeError::NotBegun));
    let journal = [&whole[..9], &[closed(CloseReason::Blocks)]].concat();
    assert!(matches!(standing(&journal), Err(ResumeError::AtLimit { .. })));
    for reason in [CloseReason::Budget, CloseReason::LoadFailed { why: "crash".into() }] {
        let journal = [&whole[..9], &[closed(reason)]].concat();
        assert!(matches!(standing(&journal), Err(ResumeError::Ended { .. })));
    }
}

/// A bench whose clock runs between events too, a little differently each time it is asked.
struct Live {
    answer: fn(&PlannedTrial) -> Answer,
    clock_ns: Cell<u64>,
    seed: u64,
    ran: Vec<u32>,
}

impl Live {
    fn new(scene: &Scene, seed: u64) -> Self {
        Live { answer: scene.formula, clock_ns: Cell::new(seed * 1_000 * SECOND), seed, ran: Vec::new() }
    }
}

impl Bench for Live {
    fn now_ns(&self) -> u64 {
        let now_ns = self.clock_ns.get();
        let step = (now_ns / 7 + self.seed * 7919) % 90_000_000;
        self.clock_ns.set(now_ns + 1 + step);
        now_ns + 1 + step
    }

    fn trial(&mut self, trial: &PlannedTrial, _: &mut dyn Journal) -> Result<Outcome, Halt> {
        self.ran.push(trial.trial);
        self.clock_ns.set(self.clock_ns.get() + SECOND);
        Ok((self.answer)(trial)?)
    }
}

#[test]
fn with_a_live_clock_no_trial_is_lost_or_repeated_and_time_goes_on() {
    for scene in scenes() {
        let (mut whole, mut bench) = (Vec::new(), Live::new(&scene, 1));
        run(&scene.started, &mut bench, &mut whole).unwrap();
        for end in cuts(whole.len()) {
            let kept = standing(&whole[..end]).unwrap();
            let mut bench = Live::new(&scene, 2);
            let journal = gone_on(&scene.started, &whole[..end], Past::Recalled, &mut bench).unwrap();
            assert_eq!(journal[..kept], whole[..kept], "{} after {end}", scene.name);
            let is_end = |event: &&Event| matches!(event, Event::TrialDone { .. } | Event::TrialVoid { .. });
            let finished = whole[..kept].iter().filter(is_end).count();
            let all = journal.iter().filter(is_end).count();
            let expected: Vec<u32> = (u32::try_from(finished).unwrap()..u32::try_from(all).unwrap()).collect();
            assert_eq!(bench.ran, expected, "{} after {end}: each trial once", scene.name);
            let times: Vec<u64> = journal.iter().filter_map(ended_ns).collect();
            assert!(times.is_sorted(), "{} after {end}: {times:?}", scene.name);
            if let Some(budget) = scene.started.budget_ns {
                assert!(times.last().is_some_and(|&last| last < budget + 2 * SECOND), "only what was measured counts");
            }
        }
    }
}

fn ended_ns(event: &Event) -> Option<u64> {
    match event {
        Event::TrialDone { at_ns, .. } | Event::TrialVoid { at_ns, .. } => Some(*at_ns),
        Event::Closed(finding) => Some(finding.at_ns),
        _ => None,
    }
}

/// A bench that could not restore everything.
struct Leaves(FormulaBench<fn(&PlannedTrial) -> Answer>);

impl Bench for Leaves {
    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }

    fn trial(&mut self, trial: &PlannedTrial, journal: &mut dyn Journal) -> Result<Outcome, Halt> {
        self.0.trial(trial, journal)
    }

    fn left(&mut self) -> Vec<String> {
        vec!["a limit".into()]
    }
}

#[test]
fn what_is_left_after_going_on_is_told() {
    let scene = &scenes()[1];
    let whole = scene.whole();
    for past in [Past::Computed, Past::Recalled] {
        let journal = gone_on(&scene.started, &whole[..12], past, &mut Leaves(scene.bench())).unwrap();
        let told = |event: &Event| matches!(event, Event::Restored { failed, .. } if failed == &["a limit"]);
        assert_eq!(count(&journal, told), 1, "{past:?}");
    }
}

#[test]
fn a_journal_that_was_changed_is_refused_and_nothing_is_added() {
    let scene = &scenes()[0];
    let whole = scene.whole();
    let mut cut = whole[..30].to_vec();
    let changed = cut.iter_mut().rev().find_map(|event| match event {
        Event::TrialDone { trial, outcome, .. } => {
            *outcome.metrics.get_mut("rate_mbit_s").unwrap() += 1.0;
            Some(*trial)
        }
        _ => None,
    });
    let mut more = Vec::new();
    let stands = &cut[..standing(&cut).unwrap()];
    let error = resume(&scene.started, stands, Past::Computed, &mut scene.bench(), &mut more).unwrap_err();
    assert!(matches!(error, Fatal::Differs { .. }));
    assert!(error.to_string().starts_with(&format!("trial {} (block ", changed.unwrap())), "{error}");
    assert_eq!(more, []);
}

#[test]
fn a_journal_with_a_hole_is_refused() {
    let scene = &scenes()[0];
    let mut holed = scene.whole()[..30].to_vec();
    let hole = holed.iter().position(|event| matches!(event, Event::TrialDone { trial: 3, .. })).unwrap();
    holed.remove(hole);
    for past in [Past::Computed, Past::Recalled] {
        let error = gone_on(&scene.started, &holed, past, &mut scene.bench()).unwrap_err();
        assert!(matches!(error, Fatal::Differs { .. }), "{error}");
    }
}

#[test]
fn stopped_while_it_computes_again_adds_nothing() {
    let scene = &scenes()[0];
    let whole = scene.whole();
    let mut bench = FormulaBench::new(SECOND, |trial: &PlannedTrial| match trial.trial {
        5 => Err(Void::Stopped),
        _ => (scene.formula)(trial),
    });
    let error = gone_on(&scene.started, &whole[..30], Past::Computed, &mut bench).unwrap_err();
    assert_eq!(error, Fatal::StoppedComputing);
}

#[test]
fn an_interrupted_trial_is_not_one_of_three_void_ones() {
    let scene = Scene {
        name: "two of three",
        started: started(&["a", "b"], 5),
        formula: |trial| match trial.trial {
            4 | 5 => Err(Void::LoadFailed { why: "hiccup".into() }),
            _ => noisy(5, 0.01, vec![1.0, 0.9])(trial),
        },
    };
    let whole = scene.whole();
    let at = whole.iter().position(|e| matches!(e, Event::TrialStarted(t) if t.trial == 6)).unwrap();
    let stopped = Event::TrialVoid { trial: 6, at_ns: 7 * SECOND, why: Void::Stopped };
    let cut = [&whole[..=at], &[stopped, closed(CloseReason::Stopped)]].concat();
    assert_eq!(gone_on(&scene.started, &cut, Past::Recalled, &mut scene.bench()).unwrap(), whole);
    assert_eq!(count(&whole, |event| matches!(event, Event::SettingLeft { why, .. } if why.contains("void"))), 0);
}

/// A journal that is full after so many events.
pub(crate) struct Full(pub(crate) Vec<Event>, pub(crate) usize);

impl Journal for Full {
    fn record(&mut self, event: &Event) -> Result<(), JournalError> {
        if self.0.len() == self.1 {
            return Err(JournalError { why: "the disk is full".into() });
        }
        self.0.push(event.clone());
        Ok(())
    }
}

#[test]
fn a_disk_that_was_full_costs_nothing_but_the_trial_it_was_full_in() {
    let scene = &scenes()[1];
    let whole = scene.whole();
    for room in 1..40 {
        let mut full = Full(Vec::new(), room);
        run(&scene.started, &mut scene.bench(), &mut full).unwrap_err();
        let mut more = Full(full.0[..standing(&full.0).unwrap()].to_vec(), usize::MAX);
        let stands = more.0.clone();
        resume(&scene.started, &stands, Past::Recalled, &mut scene.bench(), &mut more).unwrap();
        assert_eq!(more.0, whole);
    }
}

const PLAN: &str = r#"
    machine = "sim:quadcore"
    settings = ["slow: governor=powersave", "quick: governor=performance", "same: governor=performance"]
    metrics = ["score=real_s:lower"]
    blocks = 4
    warmup = 2
    cpus = "0"
    [load]
    kind = "counter"
    for = "200ms"
"#;

fn world(seed: u64) -> SimWorld {
    SimWorld::new(Profile::builtin("quadcore").unwrap(), None, seed).unwrap()
}

#[test]
fn on_a_simulated_machine_every_cut_computes_to_the_same_journal() {
    let plan = Plan::parse("p", &PLAN.replace("score=real_s:lower", "power_w")).unwrap();
    let begun = resolve(&plan, &mut world(1)).unwrap();
    let mut whole = Vec::new();
    let mut machines = world(1);
    run(&begun.started, &mut WorldBench::new(&mut machines, &begun), &mut whole).unwrap();
    assert!(count(&whole, |event| matches!(event, Event::Landed { .. })) > 5);
    let Some(Event::Started(started)) = whole.first() else { panic!("no beginning") };
    let again = rebuild(started).unwrap();
    for end in (1..whole.len()).step_by(3) {
        let mut machines = world(1);
        check_rig(started, &mut machines).unwrap();
        let mut bench = WorldBench::new(&mut machines, &again);
        assert_eq!(gone_on(started, &whole[..end], Past::Computed, &mut bench).unwrap(), whole, "after {end}");
    }
    let mut other = world(2);
    let error = gone_on(started, &whole[..20], Past::Computed, &mut WorldBench::new(&mut other, &again)).unwrap_err();
    assert!(matches!(error, Fatal::Differs { .. }), "another seed is another machine");
}

#[test]
fn an_experiment_is_rebuilt_from_its_beginning_alone() {
    let text = PLAN.replace("score=real_s:lower", "p99=regex:p99 = ([0-9.]+):lower").replace(
        "kind = \"counter\"\n    for = \"200ms\"",
        "kind = \"command\"\n    argv = [\"./bench\", \"a b\"]\n    ignore_failure = true\n    pin = \"1-2\"",
    );
    let text = text.replace("settings = [", "settings = [\"odd: 'file:/tmp/a b'='say \\\"x\\\"'\", ");
    let begun = resolve(&Plan::parse("p", &text).unwrap(), &mut world(1)).unwrap();
    let json = serde_json::to_string(&begun.started).unwrap();
    let read: Started = serde_json::from_str(&json).unwrap();
    assert_eq!(read, begun.started);
    let again = rebuild(&read).unwrap();
    assert_eq!((&again.load, &again.narrow), (&begun.load, &begun.narrow));
    let turned = |resolved: &powerband_experiment::Resolved| {
        let pairs = resolved.settings.iter().map(|setting| (setting.label(), setting.assignments.clone()));
        let metrics = resolved.picks.iter().map(|pick| pick.metric.clone());
        (pairs.collect::<Vec<_>>(), metrics.collect::<Vec<_>>())
    };
    assert_eq!(turned(&again), turned(&begun));
}

#[test]
fn another_machine_and_another_plan_are_named() {
    let plan = PLAN.replace("score=real_s:lower", "power_w");
    let of = |text: &str| resolve(&Plan::parse("p", text).unwrap(), &mut world(1)).unwrap().started;
    let begun = of(&plan);
    check_rig(&begun, &mut world(7)).unwrap();
    assert_eq!(first_difference(&begun, &of(&format!("title = \"other\"\n{plan}"))), None);
    let changes: [fn(&mut Started); 3] = [
        |started| started.system = "6.2.0".into(),
        |started| started.far = Some("sim:pc".into()),
        |started| {
            let metered = started.metrics.iter_mut().filter(|metric| metric.boundary.is_some());
            metered.for_each(|metric| metric.boundary = Some("wall".into()));
        },
    ];
    let mut told: Vec<String> = Vec::new();
    for change in changes {
        let mut other = begun.clone();
        change(&mut other);
        told.push(check_rig(&other, &mut world(1)).unwrap_err().to_string());
    }
    for (from, to) in [
        ("blocks = 4", "blocks = 5"),
        ("cpus = \"0\"", ""),
        ("blocks = 4", "margin = \"2%\"\nblocks = 4"),
        ("slow: governor=powersave", "slow: governor=ondemand"),
        (", \"same: governor=performance\"", ""),
    ] {
        told.push(first_difference(&begun, &of(&plan.replace(from, to))).unwrap());
    }
    insta::assert_snapshot!("differences", told.join("\n"));
}
