//! Several experiments in one answer: along what their loads differ in, side by side, and articles done again.
use powerband_record::{CloseReason, Event, ExperimentHeader, Finding, Started, Verdict};
use powerband_report::comparison::{Comparison, ComparisonRequest, ComparisonSide, Measured, several};
use powerband_report::picture::{Picture, claims_picture, comparison_pictures, replication_pictures};
use powerband_report::published::ClaimKind;
use powerband_report::replication::{
    Answer, CheckedTakeaway, ClaimOutcome, Drawn, FigureLine, Judged, Point, Replication, Spot, brief, render,
};
use powerband_report::{Model, page};
use serde_json::json;

use crate::consistent::random;
use crate::journals::{Journal, finding, header, level, plan};
use crate::pictures::{find, lies_where_it_says};
use crate::shown::{charts, html, kept};

/// Requests and watts of two settings in four blocks, which grow with the customers.
fn shop(customers: u32, judged: &str) -> Vec<Event> {
    let load = json!({"kind": "shop", "customers": customers});
    let plan = plan("sim:pc", "slow|governor=powersave; fast|governor=performance", judged);
    let names = [plan.metrics[0].name.clone(), plan.metrics[1].name.clone()];
    let mut journal = Journal::new(Started { load, ..plan });
    let of = |setting: u32| {
        let more = 1.0 + 0.2 * f64::from(setting);
        [f64::from(customers) / 10.0 * more, (100.0 + f64::from(customers) / 50.0) * more * more]
    };
    for block in 1..=4 {
        let wobble = 1.0 + 0.01 * f64::from(block % 2);
        for setting in [0, 1] {
            let values = names.iter().map(String::as_str).zip(of(setting).map(|value| value * wobble));
            journal.valid(block, setting, &values.collect::<Vec<_>>());
        }
        journal.block(block, vec![], None);
    }
    let both = |setting| names.iter().zip(of(setting)).map(move |(name, at)| level(setting, name, at, at * 0.01));
    let levels = (0..2).flat_map(both).collect();
    journal.close(Finding { levels, ..finding(CloseReason::Blocks, 4) })
}

/// Experiments compared with one another, each a side.
pub(crate) fn compared(all: &[Vec<Event>]) -> Option<Comparison> {
    let measured = (1..).zip(all).map(|(id, events)| Measured::of_events(id, "bench", events).unwrap());
    let measured: Vec<Measured> = measured.collect();
    let sides: Vec<ComparisonSide<'_>> = measured.iter().map(|one| (std::slice::from_ref(one), None)).collect();
    several(&sides, &ComparisonRequest { metrics: vec![], margin: None, alpha: None, mean: None }).ok()
}

fn side_by_side(journals: &[Vec<Event>]) -> (Comparison, Vec<Model>, Vec<Picture>) {
    let found = compared(journals).unwrap();
    let of = |(id, events): (i64, &Vec<Event>)| {
        Model::from_events(events).unwrap().with_header(ExperimentHeader { id, ..header() })
    };
    let models: Vec<Model> = (1..).zip(journals).map(of).collect();
    let pictures = comparison_pictures(&found, &models);
    (found, models, pictures)
}

const SHOP: &str = "requests_per_s+ power_w-";

fn along() -> [Vec<Event>; 3] {
    [shop(2000, SHOP), shop(500, SHOP), shop(1000, SHOP)]
}

fn alike() -> [Vec<Event>; 3] {
    [shop(500, SHOP), shop(500, SHOP), shop(500, SHOP)]
}

fn made(kind: &str) -> Vec<Event> {
    let mut events = random::made(&[("requests_per_s", true, 0.001)], &[[1.0, 1.0], [1.2, 1.0]]);
    let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
    started.load = json!({ "kind": kind });
    events
}

pub(crate) fn compared_pictures() -> Vec<Vec<Picture>> {
    let figures = replication_pictures(&Replication { figures: figures(), ..article() });
    vec![
        side_by_side(&along()).2,
        side_by_side(&alike()).2,
        figures,
        claims_picture(&[article()]).into_iter().collect(),
    ]
}

#[test]
fn comparisons_in_every_format() {
    let two = [made("shop"), made("ping")];
    for (name, journals) in [("along", &along()[..]), ("alike", &alike()), ("two-loads", &two)] {
        let (found, models, pictures) = side_by_side(journals);
        let narrow = [80, 60, 40].map(|width| found.brief(width, "powerband compare 1 2 -v") + &found.render(width));
        assert!(narrow[0].lines().all(|line| line.chars().count() <= 80));
        kept(&format!("compared-{name}.text"), &narrow.join("--------\n"));
        kept(&format!("compared-{name}.json"), &serde_json::to_string_pretty(&found).unwrap());
        kept(&format!("compared-{name}.page"), &html(&page::comparison(&found, &models, &pictures).unwrap()));
        kept(&format!("compared-{name}.charts"), &charts(&pictures));
    }
}

#[test]
fn loads_that_differ_in_a_number_are_compared_within_one_load_and_drawn_along_it() {
    let (found, _, all) = side_by_side(&along());
    let customers = found.along.as_ref().unwrap();
    assert_eq!((customers.value(2), customers.value(1)), (Some(500.0), Some(2000.0)));
    let of = |label: &str| label.rsplit_once(" of ").map(|(_, experiment)| experiment.to_owned());
    assert!(found.rows.iter().all(|row| of(&row.setting) == of(&row.against)));
    // One picture of every difference, in both metrics, and a curve each.
    assert_eq!((lies_where_it_says(&all[0]), all.len()), (found.rows.len(), 4));
    assert!(all[1..].iter().all(|picture| lies_where_it_says(picture) == 6));
    // What is done for a watt: of each trial, so that what both have in common is not counted as noise.
    let row = all[3].rows.iter().find(|row| row[0] == "1000" && row[1] == "fast").unwrap();
    assert_eq!((row[2].as_str(), row[3].as_str()), ("3", "0.6944"));
    assert!(row[4].parse::<f64>().unwrap() > 0.69 && row[5].parse::<f64>().unwrap() < 0.7, "{row:?}");
    // A ratio that is judged itself is not drawn twice.
    let judged = "requests_per_j+ power_w-";
    assert_eq!(side_by_side(&[shop(500, judged), shop(1000, judged)]).2.len(), 3);
    let found = compared(&[made("shop"), made("ping")]).unwrap();
    assert!(found.rows.iter().all(|row| row.verdict == Verdict::Better && row.against.starts_with("s0 of experiment")));
}

#[test]
fn experiments_of_one_load_show_the_same_numbers_in_table_and_chart() {
    let (found, _, all) = side_by_side(&alike());
    assert!(found.along.is_none());
    let levels = find(&all, "compared-requests-per-s");
    assert_eq!((lies_where_it_says(levels), levels.rows.len()), (6, 6));
    assert!(levels.rows.iter().any(|row| row.iter().eq(["fast", "experiment 3", "60", "59.4", "60.6"])));
    let differences = find(&all, "differences-requests-per-s");
    assert_eq!((lies_where_it_says(differences), differences.rows.len()), (2, 2));
    for (row, told) in found.rows.iter().zip(&differences.rows) {
        assert_eq!((&row.setting, row.verdict), (&told[0], Verdict::Same));
        assert!(told[2].parse::<f64>().unwrap().abs() < 1e-12 && told[5] == "same", "{told:?}");
    }
}

/// An article of three points and three claims.
fn article() -> Replication {
    let point = |setting: &str, found, tolerance| {
        let (setting, metric, held_out) = (setting.into(), "rate_mbit_s".into(), setting == "c");
        Point { setting, metric, published: 50.0, found, error: Some(0.5), tolerance, held_out }
    };
    let claim = |id: &str, holds, deviation| {
        let checks = vec![Answer { holds, found: "1.2 times (1.1)".into(), factor: None, deviation }];
        let (id, text, kind) = (id.into(), "Faster is more.".into(), ClaimKind::Finding);
        let (built_in, why_off, does_not_follow, why) = (None, None, None, None);
        Judged { id, kind, text, holds, checks, built_in, why_off, does_not_follow, why }
    };
    let (faster, cooler) = (ClaimOutcome::Yes, ClaimOutcome::No);
    let open = claim("open", ClaimOutcome::Undecidable, None);
    Replication {
        name: "router".into(),
        takeaway: None,
        title: "A router".into(),
        ran: vec![],
        points: vec![point("a", Some(51.0), Some(0.05)), point("b", Some(70.0), Some(0.05)), point("c", None, None)],
        tables: vec![],
        figures: vec![],
        claims: vec![claim("faster", faster, Some(0.4)), claim("cooler", cooler, Some(7.0)), open],
    }
}

fn figures() -> Vec<Drawn> {
    let spot = |at: f64, setting: &str, published: Option<f64>| {
        let (found, span) = (10.0 * at + 5.0, published.map(|mean| (mean - 1.0, mean + 2.0)));
        Spot { at, setting: setting.into(), found, interval: Some((found - 1.0, found + 1.0)), published, span }
    };
    let figure = |along: &str, lines| {
        let (title, metric) = (format!("rate {along}"), "at_10_power_w".into());
        Drawn { title, metric, along: along.into(), lines }
    };
    let line = |label: &str, spots| FigureLine { label: label.into(), spots };
    let one = vec![spot(1.0, "a", Some(16.0)), spot(2.0, "b", Some(24.0)), spot(3.0, "c", None)];
    let two = vec![line("x", vec![spot(1.0, "x", None), spot(2.0, "x", None)]), line("y", vec![spot(1.0, "y", None)])];
    let rows = ["d", "e"].map(|setting| line(setting, vec![spot(0.0, setting, Some(4.0))]));
    vec![figure("clock, MHz", vec![line("", one)]), figure("customers", two), figure("", rows.into())]
}

#[test]
fn articles_done_again_in_every_format() {
    let takeaway = |claim: &str, holds| CheckedTakeaway { text: "it is cooler".into(), claim: claim.into(), holds };
    for (name, holds) in [("refuted", ClaimOutcome::No), ("repeated", ClaimOutcome::Yes)] {
        let one = Replication { takeaway: Some(takeaway("cooler", holds)), figures: figures(), ..article() };
        let all = [one, Replication { name: "again".into(), ..article() }];
        let texts = [80, 60, 40]
            .map(|width| brief(&all, "2 articles", "powerband replicate -v", width) + &render(&all[0], width));
        kept(&format!("article-{name}.text"), &texts.join("--------\n"));
        let pictures: Vec<Vec<Picture>> = all.iter().map(replication_pictures).collect();
        kept(&format!("article-{name}.page"), &html(&page::replication(&all, &pictures).unwrap()));
        let all: Vec<Picture> = claims_picture(&all).into_iter().chain(pictures.concat()).collect();
        kept(&format!("article-{name}.charts"), &charts(&all));
    }
}

#[test]
fn an_open_claim_or_point_has_a_row_and_no_mark() {
    let of = |all: &[Picture], id| (lies_where_it_says(find(all, id)), find(all, id).rows.len());
    let all = replication_pictures(&Replication { figures: figures(), ..article() });
    assert_eq!(of(&all, "again-router-rate-mbit-s"), (2, 3));
    assert_eq!(of(&all, "figure-router-rate-clock-mhz"), (5, 3), "what was found and what was published");
    assert_eq!((of(&all, "figure-router-rate-customers").0, of(&all, "figure-router-rate")), (3, (4, 2)));
    let claims = claims_picture(&[article(), Replication { name: "again".into(), ..article() }]).unwrap();
    assert_eq!((lies_where_it_says(&claims), claims.rows.len()), (4, 6));
    let nothing = Replication { points: vec![], claims: vec![], ..article() };
    assert_eq!((replication_pictures(&nothing), claims_picture(&[nothing])), (vec![], None));
}
