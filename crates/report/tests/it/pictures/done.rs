//! Searches, calibrations and articles done again.
use std::collections::BTreeMap;

use powerband_record::{
    Calibration, Detectable, Event, Finding, LimitSide, Requirement, SearchEnd, SearchFactor, SearchFactorKind,
    SearchFinding, SearchGoal, SearchPlan, SearchRole,
};
use powerband_report::courses::Courses;
use powerband_report::picture::{claims_picture, replication_pictures};
use powerband_report::published::ClaimKind;
use powerband_report::replication::{
    Answer, CheckedTakeaway, ClaimOutcome, Drawn, FigureLine, Judged, Point, Replication, Spot,
};

use super::*;

fn factor(name: &str, values: &[f64], role: Option<SearchRole>) -> SearchFactor {
    let kind = SearchFactorKind::Numbers(values.to_vec());
    SearchFactor { name: name.into(), kind, role, switch_s: 0.0, trends: BTreeMap::new() }
}

pub(crate) fn searched() -> Vec<Event> {
    let settings = [
        ("baseline", ""),
        ("s1", "max_freq=1GHz"),
        ("s2", "max_freq=2GHz"),
        ("s3", "max_freq=1GHz rx-usecs=9"),
        ("s4", "x=1"),
    ];
    let limit = Requirement { metric: "p99_us".into(), relation: LimitSide::AtMost, limit: 200.0, relative: false };
    let plan = SearchPlan {
        goal: SearchGoal { name: "power_w".into(), better: Better::Lower, known: vec![], found: None },
        requirements: vec![limit],
        safe: None,
        factors: vec![
            factor("max_freq", &[1e6, 2e6], Some(SearchRole::ClockKhz)),
            factor("rx-usecs", &[0.0, 9.0], Some(SearchRole::DelayUs)),
        ],
        points: vec![vec![Some(0), Some(0)], vec![Some(1), Some(0)], vec![Some(0), Some(1)], vec![Some(1), Some(1)]],
        found_at: None,
        found: vec![],
        between: vec![],
        only_held: false,
        noise: BTreeMap::new(),
    };
    let metrics =
        vec![metric("power_w", Better::Lower, true, Some("wall")), metric("p99_us", Better::Lower, true, None)];
    let mut journal = Journal::new(Started { search: Some(plan), ..started("sim:pc", &settings, metrics) });
    for (block, (setting, power, p99)) in
        (1..).zip([(0, 40.0, 90.0), (1, 30.0, 150.0), (2, 36.0, 100.0), (3, 28.0, 260.0)])
    {
        journal.valid(block, setting, &[("power_w", power), ("p99_us", p99)]);
    }
    let found = SearchFinding {
        end: SearchEnd::Confirmed,
        setting: Some(1),
        why: None,
        change: None,
        kept: vec![],
        confirmed_in: 3,
        expected_loss: Some(0.004),
        better_chance: Some(0.02),
        unproved: vec![],
        trials_needed: None,
        tried: 4,
        shares: vec![],
        together: None,
        unshared: None,
    };
    journal.close(Finding { search: Some(Box::new(found)), ..finding(CloseReason::Decided, 4) })
}

#[test]
fn a_knob_that_is_the_goal_has_its_value_as_it_is_typed() {
    // What is typed of the peer's knob is not the near one's value, which is printed as the number it is then.
    for (name, turns, value) in [
        ("cpufreq.max_freq", "max_freq=1GHz", "cpufreq.max_freq 1GHz"),
        ("max_freq", "max_freq@policy0=1GHz far/max_freq=2GHz", "max_freq 1GHz"),
        ("far/max_freq", "max_freq=1GHz far/max_freq=2GHz", "far/max_freq 2GHz"),
        ("max_freq", "far/max_freq=2GHz", "max_freq 1000000"),
    ] {
        let mut events = searched();
        for event in &mut events {
            if let Event::Started(started) = event {
                started.settings[1].turns = turns.into();
                let goal = &mut started.search.as_mut().unwrap().goal;
                (goal.name, goal.known) = (name.into(), vec![1e6, 2e6, 1e6, 1.0]);
            }
        }
        let model = Model::from_events(&events).unwrap();
        let brief = powerband_report::text::brief(&model, 80, false);
        for text in [brief, powerband_report::json::Report::new(&model).finding] {
            assert!(text.contains(value), "{text}");
        }
    }
}

#[test]
fn what_may_save_more_and_cannot_be_proved_is_one_sentence_of_the_short_report() {
    let mut events = searched();
    let printed = |events: &[Event]| {
        let model = Model::from_events(events).unwrap();
        powerband_report::text::brief(&model, 80, false).replace('\n', " ")
    };
    assert!(!printed(&events).contains("cannot prove"));
    for event in &mut events {
        if let Event::Closed(Finding { search: Some(found), .. }) = event {
            let expected = powerband_record::SearchExpected { metric: "p99_us".into(), typical: 200.0, error: 0.05 };
            let unproved = powerband_record::SearchUnproved { setting: 3, change: -0.1, expected: vec![expected] };
            found.unproved = vec![unproved.clone(), unproved];
        }
    }
    let text = printed(&events);
    let says =
        "May save more, but a few trials cannot prove it: s3: 27 W, p99_us 190.5..210 (p99_us<=200); 1 more with -v.";
    assert!(text.contains(says), "{text}");
}

#[test]
fn a_search_shows_its_path_its_surface_and_its_limit() {
    let all = drawn(&searched());
    let path = find(&all, "search-path");
    assert_eq!(lies_where_it_says(path), 4);
    let kept: Vec<(&str, &str)> = path.rows.iter().map(|row| (row[3].as_str(), row[4].as_str())).collect();
    assert_eq!(
        kept,
        [("yes", "40"), ("yes", "30"), ("yes", "30"), ("no", "30")],
        "what breaks the limit is never the best"
    );
    assert!(path.desc.contains("expected loss 0.4 %"), "{}", path.desc);
    let surface = find(&all, "search-surface");
    let document = Document::parse(&surface.svg).unwrap();
    let cells = document.descendants().filter(|it| it.attribute("class") == Some("pb-mark pb-bar"));
    let cells: Vec<[f64; 3]> =
        cells.map(|it| ["data-x", "data-y", "data-value"].map(|name| number(&it, name).unwrap().round())).collect();
    assert_eq!(
        cells,
        [[1000.0, 0.0, 30.0], [2000.0, 0.0, 36.0], [1000.0, 9.0, 28.0]],
        "only what was tried, clocks in MHz"
    );
    assert_eq!(lies_where_it_says(find(&all, "search-limit")), 4);
}

#[test]
fn a_calibration_shows_what_minutes_can_show() {
    let found = Calibration {
        metric: "real_s".into(),
        relative: true,
        trials: 24,
        blocks: 12,
        level: 3.0,
        sigma: 0.01,
        sigma_df: 11.0,
        sigma_robust: 0.01,
        rho: 0.0,
        autocorrelation: vec![],
        drift_per_block: 0.0,
        drift_low: None,
        drift_high: None,
        changed_after: None,
        outlier_share: 0.0,
        outliers: vec![],
        bimodal: false,
        regimes: None,
        upper: vec![],
        gain_of_doubling: None,
        false_alarm: None,
        back_to_back: None,
        mde: vec![Detectable { minutes: 2.0, effect: 0.04 }, Detectable { minutes: 10.0, effect: 0.015 }],
        time_for: vec![Detectable { minutes: 1.0, effect: 0.1 }],
        default_margin: 0.02,
        advice: vec![],
    };
    let plan = Started {
        calibration: true,
        ..started("sim:pc", &[("baseline", ""), ("the same", "")], vec![metric("real_s", Better::Lower, true, None)])
    };
    let mut journal = Journal::new(plan);
    (0..4).for_each(|trial| journal.valid(1 + trial / 2, trial % 2, &[("real_s", 3.0)]));
    let all = drawn(&journal.close(Finding { calibrations: vec![found], ..finding(CloseReason::Blocks, 2) }));
    let ids: Vec<&str> = all.iter().map(|picture| picture.id.as_str()).collect();
    assert_eq!(ids, ["detectable", "trials-real-s"], "settings that are one machine are not compared");
    assert_eq!((lies_where_it_says(&all[0]), lies_where_it_says(&all[1])), (3, 4));
    assert_eq!(all[0].rows[0], ["real_s", "1", "10"]);
}

/// An article of three points and three claims.
fn article() -> Replication {
    let point = |setting: &str, found, tolerance| Point {
        setting: setting.into(),
        metric: "rate_mbit_s".into(),
        published: 50.0,
        found,
        error: Some(0.5),
        tolerance,
        held_out: setting == "c",
    };
    let claim = |id: &str, holds, deviation| Judged {
        id: id.into(),
        kind: ClaimKind::Finding,
        text: "Faster is more.".into(),
        holds,
        checks: vec![Answer { holds, found: "1.2 times (1.1)".into(), factor: None, deviation }],
        built_in: None,
        why_off: None,
        does_not_follow: None,
        why: None,
    };
    Replication {
        name: "router".into(),
        takeaway: None,
        title: "A router".into(),
        ran: vec![],
        points: vec![point("a", Some(51.0), Some(0.05)), point("b", Some(70.0), Some(0.05)), point("c", None, None)],
        tables: vec![],
        figures: vec![],
        claims: vec![
            claim("faster", ClaimOutcome::Yes, Some(0.4)),
            claim("cooler", ClaimOutcome::No, Some(7.0)),
            claim("open", ClaimOutcome::Undecidable, None),
        ],
    }
}

#[test]
fn an_article_done_again_shows_points_and_claims() {
    let all = replication_pictures(&article());
    let points = find(&all, "again-router-rate-mbit-s");
    assert_eq!((lies_where_it_says(points), points.rows.len()), (2, 3), "what was not found is in the table alone");
    let document = Document::parse(&points.svg).unwrap();
    let states: Vec<&str> = document
        .descendants()
        .filter(|it| it.attribute("class") == Some("pb-mark pb-point"))
        .filter_map(|it| it.attribute("data-state"))
        .collect();
    assert_eq!(states, ["holds", "off"]);
    assert!(points.desc.contains("1 of 2 points within their tolerance"), "{}", points.desc);
    let nothing = Replication { points: vec![], claims: vec![], ..article() };
    assert_eq!(replication_pictures(&nothing), []);
    assert_eq!(claims_picture(&[nothing]), None);
    let again = Replication { name: "again".into(), ..article() };
    let claims = claims_picture(&[article(), again]).unwrap();
    assert_eq!((lies_where_it_says(&claims), claims.rows.len()), (4, 6), "an open claim has a row and no mark");
    assert_eq!(claims.rows[1], ["router: cooler", "does not follow", "7"], "the data has what the drawing cuts off");
    let said = "2 of 6 claims hold; 2 do not follow (cooler, cooler); 2 are not decidable (open, open)";
    assert!(claims.desc.contains(said), "{}", claims.desc);
}

#[test]
fn the_page_opens_with_what_to_take_away_and_the_chart_of_all_claims() {
    let takeaway = |claim: &str, holds| CheckedTakeaway { text: "it is cooler".into(), claim: claim.into(), holds };
    let page = |takeaway| {
        let articles = [Replication { takeaway: Some(takeaway), ..article() }];
        powerband_report::page::replication(&articles, &[vec![]]).unwrap()
    };
    let refuted = page(takeaway("cooler", ClaimOutcome::No));
    let place = |words: &str| refuted.find(words).unwrap_or_else(|| panic!("{words}: {refuted}"));
    assert!(place(">Not confirmed: it is cooler.<") < place("Deviation of every claim from the article"));
    assert!(place("Deviation of every claim from the article") < place("id=\"articles\""));
    assert!(
        page(takeaway("warmer", ClaimOutcome::Yes)).contains(">Repeated on models of these machines: it is cooler.<")
    );
}

#[test]
fn an_articles_figures_are_drawn_with_what_was_published() {
    let spot = |at: f64, setting: &str, published| Spot {
        at,
        setting: setting.into(),
        found: 10.0 * at + 5.0,
        interval: Some((10.0 * at + 4.0, 10.0 * at + 6.0)),
        published,
        span: published.map(|mean: f64| (mean - 1.0, mean + 2.0)),
    };
    let figure = |along: &str, lines| Drawn {
        title: format!("rate {along}"),
        metric: "at_10_power_w".into(),
        along: along.into(),
        lines,
    };
    let line = |label: &str, spots| FigureLine { label: label.into(), spots };
    let one = vec![spot(1.0, "a", Some(16.0)), spot(2.0, "b", Some(24.0)), spot(3.0, "c", None)];
    let two = vec![line("x", vec![spot(1.0, "x", None), spot(2.0, "x", None)]), line("y", vec![spot(1.0, "y", None)])];
    let rows = ["d", "e"].map(|setting| line(setting, vec![spot(0.0, setting, Some(4.0))]));
    let figures = vec![figure("clock, MHz", vec![line("", one)]), figure("customers", two), figure("", rows.into())];
    let all = replication_pictures(&Replication { figures, ..article() });
    // What was found and what was published, each with its place.
    let over = find(&all, "figure-router-rate-clock-mhz");
    assert_eq!((lies_where_it_says(over), over.rows.len()), (5, 3));
    assert_eq!(over.rows[0], ["1", "a", "15", "14", "16", "16", "15", "18"]);
    assert!(over.svg.contains(">published<") && over.svg.contains(">power_w, W<"), "{}", over.svg);
    assert_eq!(lies_where_it_says(find(&all, "figure-router-rate-customers")), 3);
    let rows = find(&all, "figure-router-rate");
    assert_eq!((lies_where_it_says(rows), rows.rows.len(), rows.columns[0].as_str()), (4, 2, "setting"));
}

#[test]
fn power_over_a_trial_is_a_step_line_for_each_meter() {
    let events = crate::timelines::events();
    let model = Model::from_events(&events).unwrap();
    let courses = Courses::from_events(&events).unwrap();
    let all = pictures(&model, Some(&courses));
    let power: Vec<&Picture> = all.iter().filter(|picture| picture.id.starts_with("power-")).collect();
    let ids: Vec<&str> = power.iter().map(|picture| picture.id.as_str()).collect();
    assert_eq!(ids, ["power-hwmon-the-board", "power-far-powercap-package-0"]);
    assert_eq!(power[0].rows[0], ["rx-usecs=10", "1", "30", "17.25", "10", "24.5"]);
    for picture in power {
        let document = Document::parse(&picture.svg).unwrap();
        let lines = document.descendants().filter(|it| it.attribute("class") == Some("pb-mark pb-step"));
        let steps: Vec<usize> = lines.map(|line| line.attribute("d").unwrap().matches('H').count()).collect();
        // The counter comes round twice and has no power where it does: there its line is parted.
        assert_eq!(steps.len(), if picture.id.contains("powercap") { 3 } else { 1 });
        assert!(steps.iter().sum::<usize>() >= 24, "a step for each reading: {steps:?}");
    }
}
