//! One experiment on many nodes, reported together: verdicts in the drawn order, merged attempts, odd nodes, kinds, lines to paste.
use std::collections::BTreeSet;

use powerband_record::{CloseReason, Event, ExperimentHeader, Requirement, Started, Verdict};
use powerband_report::fleet::{
    Applications, Fleet, FleetAnswer, FleetError, GroupAnswer, NodeState, OddIn, answer, applications,
};
use powerband_report::page;
use powerband_report::picture::{Picture, fleet_pictures};
use powerband_testkit::formula_fleet::{FormulaFleet as Formula, SimulatedNode};
use serde_json::{from_value, json};

use crate::journals::{Journal, finding, header, plan};
use crate::shown::{charts, html, kept};

type Stored = (ExperimentHeader, Vec<Event>);

/// What a node stored: energy falls where the formula rises.
fn stored(node: &SimulatedNode, settings: usize, reason: Option<CloseReason>) -> Vec<Event> {
    let labels = ["baseline|", "baseline|; governor=powersave", "baseline|; governor=powersave; max_freq=2GHz"];
    let plan = plan("sim:node", labels[settings], "energy_j-@package");
    let mut journal = Journal::new(Started { margin: 0.01, ..plan });
    for (block, row) in (1..).zip(&node.rows) {
        for (setting, x) in (0..).zip(row) {
            journal.valid(block, setting, &[("energy_j", 300.0 * libm::exp(-x))]);
        }
        journal.block(block, Vec::new(), None);
    }
    let blocks = u32::try_from(node.rows.len()).unwrap();
    reason.map(|reason| finding(reason, blocks)).map_or(journal.events.clone(), |end| journal.close(end))
}

fn of_node(position: usize, nodes: usize, events: Vec<Event>) -> Stored {
    let node = format!("n{}", position + 1);
    let task = json!({"fleet": "f1ee7".repeat(6), "node": node, "position": position, "nodes": nodes, "attempt": 0});
    let (id, run) = (i64::try_from(position).unwrap() + 1, Some(format!("{position:032x}")));
    (ExperimentHeader { id, run, fleet: Some(from_value(task).unwrap()), ..header() }, events)
}

/// A good fleet, but for `name=value …`.
fn formula(typed: &str) -> Formula {
    let mut formula = Formula { nodes: 12, effect: 0.05, level_sd: 0.05, ..Formula::default() };
    for (name, value) in typed.split_whitespace().map(|it| it.split_once('=').unwrap()) {
        let number: f64 = value.parse().unwrap();
        match name {
            "nodes" => formula.nodes = number as usize,
            "blocks" => formula.blocks = (number as u32, number as u32),
            "settings" => formula.settings = number as usize,
            "effect" => formula.effect = number,
            "between" => formula.between_sd = number,
            "noise" => formula.noise_sd = number,
            "odd" => formula.odd_level = number,
            "first" => formula.shifted.0 = number as usize,
            "shifted" => formula.shifted.1 = number,
            other => panic!("{other}"),
        }
    }
    formula
}

fn fleet(typed: &str, seed: u64) -> Vec<Stored> {
    let formula = formula(typed);
    let events = |node: &SimulatedNode| stored(node, formula.settings, Some(CloseReason::Blocks));
    let node = |(at, node)| of_node(at, formula.nodes, events(&node));
    (0..).zip(formula.draw(seed)).map(node).collect()
}

/// What is reported of a fleet of which this is known.
fn known(nodes: &[Stored], change: impl FnOnce(&mut Fleet)) -> FleetAnswer {
    let mut fleet = Fleet::default();
    change(&mut fleet);
    answer(nodes, &fleet).unwrap()
}

fn over(nodes: &[Stored]) -> FleetAnswer {
    known(nodes, |it| it.over = true)
}

fn ended(typed: &str, seed: u64) -> FleetAnswer {
    over(&fleet(typed, seed))
}

fn first(answer: &FleetAnswer) -> &GroupAnswer {
    &answer.metrics[0].settings[0].fleet
}

/// The good fleet, of which the plans, the headers or the events are others.
fn with(mut nodes: Vec<Stored>, change: impl Fn(usize, &mut ExperimentHeader, &mut Event)) -> FleetAnswer {
    for (at, (header, events)) in nodes.iter_mut().enumerate() {
        events.iter_mut().for_each(|event| change(at, header, event));
    }
    over(&nodes)
}

fn planned(change: fn(&mut Started)) -> FleetAnswer {
    with(fleet("", 7), |_, _, event| {
        if let Event::Started(started) = event {
            change(started)
        }
    })
}

fn kinds(fact: Option<&str>) -> FleetAnswer {
    // The first eight nodes lose by what the others gain from.
    with(fleet("nodes=16 first=8 shifted=-0.09", 5), |at, header, _| {
        let facts = &mut header.fleet.as_mut().unwrap().facts;
        if let Some(fact) = fact {
            facts.insert(fact.into(), if at < 8 { "0x1a" } else { "0x2b" }.into());
            facts.insert("rack".into(), format!("r{at}"));
        }
    })
}

/// Two blocks of much noise on nodes that hardly differ, each after a long warm-up.
fn open() -> FleetAnswer {
    with(fleet("nodes=8 blocks=2 effect=0.012 between=0 noise=0.02", 7), |_, _, event| match event {
        Event::TrialStarted(trial) => trial.at_ns += 3_600_000_000_000,
        Event::BlockDone(block) => block.at_ns = 3_600_000_000_000 + u64::from(block.block) * 10_000_000_000,
        _ => {}
    })
}

/// Three nodes named, of which the last was lost.
fn lost(over: bool) -> FleetAnswer {
    known(&fleet("nodes=3", 7)[..2], |it| {
        it.order = (1..=3).map(|node| format!("n{node}")).collect();
        (it.resume, it.over) = (Some("powerband fleet resume f1ee7f1e".into()), over);
    })
}

/// Half of the nodes die under the second of two settings that change nothing.
fn deadly(dying: usize) -> FleetAnswer {
    let mut nodes = fleet("settings=2 effect=0 between=0 noise=0.001", 3);
    for (_, events) in nodes.iter_mut().take(dying) {
        events.truncate(events.len() - 2);
        let trial = json!({"trial": 999, "block": 5, "setting": 2, "copy": 0, "at_ns": 1});
        events.push(Event::TrialStarted(from_value(trial).unwrap()));
    }
    over(&nodes)
}

/// A metric that may be zero is compared in its own unit.
fn below_zero() -> FleetAnswer {
    with(fleet("", 7), |_, _, event| {
        let Event::TrialDone { outcome, .. } = event else { return };
        for value in outcome.metrics.values_mut() {
            *value -= 300.0;
        }
    })
}

const REVERSED: &str = "nodes=24 blocks=8 first=1 shifted=-0.10";

fn cases() -> Vec<(&'static str, FleetAnswer)> {
    let narrower = |answer: &FleetAnswer| {
        let found = first(answer);
        let (next, mean) = (found.next_node.unwrap(), found.low.zip(found.high).unwrap());
        next.1 - next.0 < mean.1 - mean.0
    };
    let limit = |plan: &mut Started| plan.requirements.push(Requirement::parse("count_per_s>=-10%").unwrap());
    let background = |plan: &mut Started| plan.settings[1].turns = "background=spin@cpu1 governor=powersave".into();
    let titled = |plan: &mut Started| {
        plan.title = Some("Frequency limits on the nodes of a fleet, by package".into());
        plan.settings[1].label += " with a rather long name that nobody would like to read";
    };
    let (few, all) = (&fleet("", 7)[..2], fleet("", 7));
    let mut alike = (1..40).map(|seed| ended("nodes=3 between=0", seed));
    vec![
        ("good", ended("", 7)),
        ("on four CPUs", planned(|plan| plan.cpus = "0-3".parse().ok())),
        ("with a limit", planned(limit)),
        ("with a background", planned(background)),
        ("titled", planned(titled)),
        ("hardly begun", known(few, |_| ())),
        ("too few", over(few)),
        ("one lost", lost(true)),
        ("not needed", known(&all, |it| (it.over, it.not_needed) = (true, 2))),
        ("cancelled", known(&all, |it| (it.over, it.cancelled) = (true, 1))),
        ("narrower", alike.find(narrower).unwrap()),
        ("reversed", ended(REVERSED, 11)),
        ("slow", ended("odd=0.8", 12)),
        ("kinds", kinds(Some("microcode"))),
        ("kinds unknown", kinds(None)),
        ("deadly", deadly(6)),
        ("below zero", below_zero()),
        ("open", open()),
    ]
}

pub(crate) fn fleets_pictures() -> Vec<Vec<Picture>> {
    let all = [ended("", 7), kinds(Some("microcode")), ended(REVERSED, 11)];
    all.iter().map(fleet_pictures).collect()
}

#[test]
fn fleets_in_every_format() {
    let mut told = String::new();
    for (name, answer) in cases() {
        let (brief, full, pictures) = (answer.brief(80), answer.render(80), fleet_pictures(&answer));
        let mut lines = brief.lines().chain(full.lines());
        assert!(brief.lines().count() <= 24 && lines.all(|line| line.chars().count() <= 80), "{name}");
        let page = page::fleet(&answer, &pictures).unwrap();
        assert_eq!(page.matches("<svg").count(), pictures.len());
        for node in &answer.nodes {
            assert!(page.contains(&format!("<bdi>{}</bdi>", node.node)), "{name}");
        }
        if let Some(recommended) = &answer.choice.recommended {
            assert!([&page, &brief, &full].iter().all(|it| it.contains(&recommended.keep)), "{name}");
        }
        let json = serde_json::to_string(&(&answer.choice, &answer.notes, &answer.odd, &answer.kinds)).unwrap();
        told += &format!("# {name}\n{brief}{json}\n");
        if ["good", "kinds", "one lost", "open"].contains(&name) {
            let name = name.replace(' ', "-");
            kept(&format!("fleet-{name}.short"), &[60, 40].map(|width| answer.brief(width)).concat());
            kept(&format!("fleet-{name}.page"), &html(&page));
            kept(&format!("fleet-{name}.charts"), &charts(&pictures));
        }
        told += &full;
    }
    kept("fleets", &told);
}

#[test]
fn a_fleet_is_judged_by_the_means_of_its_nodes() {
    let answer = ended("", 7);
    let found = first(&answer);
    let [change, low, high] = [found.change, found.low, found.high].map(Option::unwrap);
    assert_eq!((found.verdict, answer.looked_at), (Verdict::Better, 12));
    assert!((change + 0.05).abs() < 0.01 && low < change && change < high && high < 0.0, "{found:?}");
    assert_eq!((answer.metrics[0].settings[0].effects.len(), answer.odd.len()), (12, 0));
    let next = found.next_node.unwrap();
    assert!(next.0 < -0.05 && next.1 > -0.06 && next.1 < 0.0, "{next:?}");
    let holds = found.holds.as_ref().unwrap();
    assert!(holds.on_most == Some(Verdict::Better) && holds.if_bell_shaped);
    // What is worse or unknown to some is recommended to none.
    let recommended = |answer: &FleetAnswer| answer.choice.recommended.is_some();
    let none = cases().into_iter().filter(|(_, answer)| !recommended(answer)).map(|(name, _)| name);
    let wanted = "with a limit,with a background,hardly begun,too few,one lost,kinds,kinds unknown,deadly,open";
    assert_eq!(none.collect::<Vec<_>>().join(","), wanted);
    let zero = below_zero();
    assert!(zero.metrics[0].absolute && first(&zero).verdict == Verdict::Better);
    let found = kinds(Some("microcode"));
    let parts = &found.kinds.as_ref().unwrap().parts;
    let verdicts: Vec<Verdict> = parts.iter().map(|kind| kind.metrics[0][0].verdict).collect();
    assert_eq!(verdicts, [Verdict::Worse, Verdict::Better]);
    // Over all of them it is neither, whatever the first nodes of the order showed.
    assert_eq!((first(&found).verdict, first(&found).holds.as_ref().unwrap().on_most), (Verdict::Undecided, None));
    let (open, plan) = (open(), first(&open()).new_fleet.unwrap());
    assert_eq!(first(&open).verdict, Verdict::Undecided);
    assert!(plan.blocks > 2 && plan.nodes < 8 + first(&open).more_nodes.unwrap().1, "{plan:?}");
}

#[test]
fn a_claim_of_most_nodes_that_the_last_look_does_not_bear_out_is_not_repeated() {
    let mut drawn = formula("nodes=10").draw(7);
    drawn[9].rows.iter_mut().for_each(|row| row[1] = 2.0 * row[0] - row[1]);
    let node = |(at, node): (usize, &SimulatedNode)| of_node(at, 10, stored(node, 1, Some(CloseReason::Blocks)));
    let nodes: Vec<Stored> = drawn.iter().enumerate().map(node).collect();
    let most = |answer: FleetAnswer| first(&answer).holds.as_ref().unwrap().on_most;
    assert_eq!(most(known(&nodes[..8], |_| ())), Some(Verdict::Better));
    assert_eq!(most(over(&nodes)), None);
}

#[test]
fn nodes_count_in_their_order_as_far_as_all_before_them_have_ended() {
    let few = known(&fleet("", 7)[..2], |_| ());
    assert_eq!((first(&few).verdict, first(&few).nodes, few.over), (Verdict::Undecided, 2, false));
    assert_eq!(few.nodes.iter().filter(|node| node.state == NodeState::Waiting).count(), 10);
    // The fifth node of the order still runs: the look is at the four before it.
    let mut nodes = fleet("", 7);
    nodes[4] = of_node(4, 12, stored(&formula("").draw(7)[4], 1, None));
    let running = known(&nodes, |_| ());
    assert_eq!((running.looked_at, running.nodes[4].state, first(&running).nodes), (4, NodeState::Running, 4));
    // Given up, its complete blocks count.
    let given_up = |it: &mut Fleet| it.given_up = BTreeSet::from(["n5".to_owned()]);
    let ended = known(&nodes, given_up);
    assert_eq!((ended.looked_at, ended.nodes[4].state, ended.over), (12, NodeState::Partial, true));
    assert_eq!(first(&ended).nodes, 12);
    // The order in which experiments are handed in means nothing.
    nodes.reverse();
    assert_eq!(known(&nodes, given_up), ended);
    let mut nodes = fleet("", 7);
    nodes.remove(2);
    let lost = known(&nodes, |it| {
        it.order = (1..=12).map(|node| format!("n{node}")).collect();
        (it.resume, it.over) = (Some("again".into()), true);
    });
    assert_eq!((lost.nodes[2].state, &*lost.nodes[2].node, first(&lost).nodes), (NodeState::Lost, "n3", 11));
    // Decided without them, or while others still come, lost nodes are not to be started again.
    assert_eq!((first(&lost).verdict, &lost.resume), (Verdict::Better, &None));
    assert_eq!((self::lost(false).resume, self::lost(true).resume.is_some()), (None, true));
}

#[test]
fn of_several_attempts_the_most_complete_counts_once() {
    let nodes = fleet("", 7);
    let want = over(&nodes);
    let mut more = nodes.clone();
    // An attempt that was cut short, and the same experiment from two stores.
    let mut half = formula("").draw(7)[3].clone();
    half.rows.truncate(2);
    let (mut first, events) = of_node(3, 12, stored(&half, 1, None));
    (first.id, first.run) = (99, Some("f".repeat(32)));
    more.insert(0, (first, events));
    more[4].0.fleet.as_mut().unwrap().attempt = 1;
    more.push(nodes[6].clone());
    let have = over(&more);
    assert_eq!(have.metrics, want.metrics);
    let [fourth, seventh] = [&have.nodes[3], &have.nodes[6]];
    assert_eq!((fourth.attempts, fourth.attempt, fourth.blocks, seventh.attempts), (2, Some(1), 4, 1));
    kept("fleet-attempts", &have.notes.join("\n"));
}

#[test]
fn a_setting_that_nodes_die_under_is_never_the_same() {
    assert_eq!(deadly(0).metrics[0].settings[1].fleet.verdict, Verdict::Same);
    let found = deadly(6);
    let [first, second] = &found.metrics[0].settings[..] else { panic!("two settings") };
    assert_eq!((first.lost_under, first.fleet.verdict), (false, Verdict::Same));
    assert_eq!((second.lost_under, second.fleet.verdict), (true, Verdict::Undecided));
    assert!(second.fleet.holds.is_none());
}

#[test]
fn what_is_no_fleet_is_refused() {
    let with = |change: fn(&mut Vec<Stored>)| {
        let mut nodes = fleet("", 7);
        change(&mut nodes);
        answer(&nodes, &Fleet { over: true, ..Fleet::default() })
    };
    assert_eq!(with(Vec::clear), Err(FleetError::Empty));
    assert_eq!(with(|nodes| nodes[0].0 = header()), Err(FleetError::NoFleet(12)));
    let two = with(|nodes| nodes[5].0.fleet.as_mut().unwrap().fleet = "other".into());
    assert!(matches!(two, Err(FleetError::TwoFleets(..))));
    let damaged = with(|nodes| nodes[5].0.fleet.as_mut().unwrap().nodes = u32::MAX);
    assert!(matches!(damaged, Err(FleetError::TooMany(_))));
    assert_eq!(with(|nodes| nodes[1].1.clear()).unwrap().nodes[1].state, NodeState::Lost);
}

#[test]
fn a_name_of_a_fact_is_text() {
    let found = with(fleet("", 7), |_, header, _| {
        let facts = &mut header.fleet.as_mut().unwrap().facts;
        facts.insert("cpu".into(), "<img src=x onerror=alert(1)>".into());
    });
    let page = page::fleet(&found, &fleet_pictures(&found)).unwrap();
    assert!(!page.contains("<img") && page.contains("&lt;img src=x"));
}

/// Nodes that are named, each with what it is odd in.
fn odd(answer: &FleetAnswer) -> Vec<(&str, OddIn)> {
    answer.odd.iter().map(|odd| (odd.node.as_str(), odd.odd_in)).collect()
}

#[test]
fn odd_nodes_and_kinds_are_named_before_the_end_and_change_nothing() {
    let nodes = fleet(REVERSED, 11);
    let early = |nodes: &[Stored], count: usize| known(&nodes[..count], |_| ());
    assert!(odd(&early(&nodes, 15)).is_empty(), "it is no look");
    for count in [16, 20] {
        assert_eq!(odd(&early(&nodes, count)), [("n1", OddIn::Effect)], "{count}");
    }
    // What is named at both looks is named once.
    assert_eq!(odd(&ended(REVERSED, 11)), [("n1", OddIn::Effect)]);
    assert_eq!(odd(&ended("odd=0.8", 12))[0], ("n1", OddIn::Baseline));
    // Kinds before the end are a note.
    let mut nodes = fleet("nodes=24 first=8 shifted=-0.09", 5);
    let plain = early(&nodes, 16);
    for (at, (header, _)) in nodes.iter_mut().enumerate() {
        let microcode = if at < 8 { "0x1a" } else { "0x2b" };
        header.fleet.as_mut().unwrap().facts.insert("microcode".into(), microcode.into());
    }
    let found = early(&nodes, 16);
    assert_eq!((found.kinds.is_none(), &found.metrics), (true, &plain.metrics));
    kept("fleet-early-kinds", &found.notes.join("\n"));
}

/// 64 nodes whose effects are half a percent apart, one of them reversed: it is named, and hardly ever another. Looks share one
/// error rate: of good nodes that are looked at twice, too, hardly ever one is named.
#[test]
fn reversed_nodes_are_named_nineteen_times_of_twenty_and_good_ones_four_of_a_hundred_at_most() {
    let (mut named, mut others) = (0, 0);
    for seed in 100..120 {
        let found = ended("nodes=64 blocks=8 settings=2 first=1 shifted=-0.06 effect=0.03", seed);
        named += u32::from(odd(&found).contains(&("n1", OddIn::Effect)));
        others += u32::from(found.odd.iter().any(|odd| odd.position != 0));
        assert_eq!(first(&found).verdict, Verdict::Better);
    }
    assert!(named >= 19 && others <= 1, "{named} {others}");
    let named = (500..600).filter(|seed| !ended("nodes=20 blocks=8", *seed).odd.is_empty()).count();
    // More than four of a hundred at 1 % happens once in three hundred times.
    assert!(named <= 4, "{named}");
}

#[test]
fn applications_are_the_rows_of_a_table_of_settings() {
    let of = |effect: f64, seed: u64| ended(&format!("settings=2 effect={effect}"), seed);
    let gains = [("mail".to_owned(), of(0.05, 7)), ("solver".to_owned(), of(0.04, 8))];
    let table = applications(&gains).unwrap();
    for (row, (name, answer)) in table.metrics[0].rows.iter().zip(&gains) {
        let (cell, found) = (row.cells[0].as_ref().unwrap(), first(answer));
        assert_eq!((&row.application, cell.verdict, cell.change), (name, found.verdict, found.change));
        assert_eq!((cell.low, cell.high), (found.low, found.high));
    }
    let title = "Prime numbers counted by MPI over all nodes";
    let alike = [(title.to_owned(), gains[0].1.clone()), (format!("{title} (4f2a91c0)"), gains[1].1.clone())];
    let harmed = [gains[0].clone(), ("web shop".to_owned(), of(-0.04, 9))];
    let (mut apart, mut other) = (gains.clone(), gains.clone());
    apart[1].1.metrics[0].settings.iter_mut().for_each(|setting| setting.turns.push_str(" boost=0"));
    other[1].1.nodes[0].node = "elsewhere".into();
    let (mut told, tables) = (String::new(), [table, applications(&alike).unwrap(), applications(&harmed).unwrap()]);
    for table in tables.iter().chain(&[applications(&apart).unwrap(), applications(&other).unwrap()]) {
        for width in [80, 60] {
            let text = table.render(width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            told += &text;
        }
        told += &format!("{}\n", serde_json::to_string(&table.choice).unwrap());
    }
    kept("applications", &told);
    // Both are better for both, and this one gains most in all; what harms one is no setting for all.
    let chosen = |table: &Applications| table.choice.recommended.as_ref().map(|it| it.keep.clone());
    assert_eq!(chosen(&tables[0]).as_deref(), Some("powerband keep max_freq=2GHz"));
    assert_eq!((chosen(&tables[2]), chosen(&applications(&apart).unwrap())), (None, None));
    other[1].1.reference = "governor=performance".into();
    assert!(applications(&other).is_err());
}

/// Ten thousand nodes in one report, which must stay a matter of seconds.
#[test]
fn a_fleet_of_thousands_is_reported() {
    let nodes = if std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1") { 10_000 } else { 1_000 };
    let found = ended(&format!("nodes={nodes} settings=2"), 1);
    assert_eq!(first(&found).nodes, u32::try_from(nodes).unwrap());
    let holds = first(&found).holds.as_ref().unwrap();
    assert!(!holds.if_bell_shaped && holds.on_most == Some(Verdict::Better), "{}", holds.words);
    assert!(found.brief(80).lines().count() <= 24);
    assert!(fleet_pictures(&found).iter().all(|picture| picture.svg.len() < 1 << 24));
}
