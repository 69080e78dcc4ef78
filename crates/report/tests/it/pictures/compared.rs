//! Several experiments in one picture: curves over what their loads differ in, marks side by side, and the differences.

use powerband_record::{ExperimentHeader, Level};
use powerband_report::comparison::{Comparison, ComparisonRequest, ComparisonSide, Measured, several};
use powerband_report::picture::comparison_pictures;

use super::*;

/// Requests and watts of two settings in four blocks, which grow with the customers.
fn shop(customers: u32, metrics: &[&str]) -> Vec<Event> {
    let settings = [("slow", "governor=powersave"), ("fast", "governor=performance")];
    let of = |name: &&str| metric(name, if *name == "power_w" { Better::Lower } else { Better::Higher }, true, None);
    let load = serde_json::json!({"kind": "shop", "customers": customers});
    let plan = Started { load, ..started("sim:pc", &settings, metrics.iter().map(of).collect()) };
    let mut journal = Journal::new(plan);
    let (requests, watts) = (f64::from(customers) / 10.0, 100.0 + f64::from(customers) / 50.0);
    for block in 1..=4 {
        let wobble = 1.0 + 0.01 * f64::from(block % 2);
        for setting in [0_u32, 1] {
            let more = 1.0 + 0.2 * f64::from(setting);
            let values = [requests * more * wobble, watts * more * more * wobble];
            let values: Vec<(&str, f64)> = metrics.iter().copied().zip(values).collect();
            journal.valid(block, setting, &values);
        }
        journal.block(block, vec![], None);
    }
    let level = |setting: u32, name: &str, typical: f64| Level {
        setting,
        metric: name.into(),
        trials: 4,
        typical,
        low: Some(typical * 0.99),
        high: Some(typical * 1.01),
    };
    let both = |setting: u32| {
        let more = 1.0 + 0.2 * f64::from(setting);
        [level(setting, metrics[0], requests * more), level(setting, metrics[1], watts * more * more)]
    };
    let levels = [both(0), both(1)].concat();
    journal.close(Finding { levels, ..finding(CloseReason::Blocks, 4) })
}

fn side_by_side(journals: &[(i64, Vec<Event>)]) -> (Comparison, Vec<Picture>) {
    let measured = |(id, events): &(i64, Vec<Event>)| Measured::of_events(*id, "bench", events).unwrap();
    let measured: Vec<Measured> = journals.iter().map(measured).collect();
    let sides: Vec<ComparisonSide<'_>> = measured.iter().map(|one| (std::slice::from_ref(one), None)).collect();
    let ask = ComparisonRequest { metrics: vec![], margin: None, alpha: None, mean: None };
    let found = several(&sides, &ask).unwrap();
    let model = |(id, events): &(i64, Vec<Event>)| {
        Model::from_events(events).unwrap().with_header(ExperimentHeader { id: *id, ..journals::header() })
    };
    let models: Vec<Model> = journals.iter().map(model).collect();
    let pictures = comparison_pictures(&found, &models);
    (found, pictures)
}

#[test]
fn experiments_under_more_and_more_customers_are_a_curve_for_each_setting() {
    let metrics = ["requests_per_s", "power_w"];
    let journals = [(7, shop(2000, &metrics)), (3, shop(500, &metrics)), (5, shop(1000, &metrics))];
    let (found, all) = side_by_side(&journals);
    let along = found.along.as_ref().unwrap();
    assert_eq!((along.name.as_str(), along.value(3), along.value(7)), ("customers", Some(500.0), Some(2000.0)));
    let of = |label: &str| label.rsplit_once(" of ").map(|(_, experiment)| experiment.to_owned());
    assert!(
        found.rows.iter().all(|row| of(&row.setting) == of(&row.against)),
        "only within one load: {:?}",
        found.rows
    );
    assert!(found.finding.contains("; different loads, not comparable with one another: experiment 7 ("));
    assert!(found.finding.starts_with("3 experiments along customers, 500 to 2000; "), "{}", found.finding);
    let ids: Vec<&str> = all.iter().map(|picture| picture.id.as_str()).collect();
    assert_eq!(ids, ["summary", "curve-requests-per-s", "curve-power-w", "curve-requests-per-s-over-power-w"]);
    // One picture of every difference, in both metrics.
    assert_eq!(lies_where_it_says(&all[0]), found.rows.len());
    let all = &all[1..];
    for picture in all {
        assert_eq!(lies_where_it_says(picture), 6, "{}", picture.id);
    }
    // What is done for a watt: of each trial, so that what both have in common is not counted as noise.
    let ratio = &all[2];
    let row = ratio.rows.iter().find(|row| row[0] == "1000" && row[1] == "fast").unwrap();
    assert_eq!((row[2].as_str(), row[3].as_str()), ("5", "0.6944"));
    assert!(row[4].parse::<f64>().unwrap() > 0.69 && row[5].parse::<f64>().unwrap() < 0.7, "{row:?}");
    // Where the ratio is judged itself, it is not drawn twice.
    let metrics = ["requests_per_j", "power_w"];
    let (_, all) = side_by_side(&[(1, shop(500, &metrics)), (2, shop(1000, &metrics))]);
    assert_eq!(all.len(), 3, "the summary and a curve a metric");
}

#[test]
fn experiments_of_one_load_stand_side_by_side_with_their_differences() {
    let metrics = ["requests_per_s", "power_w"];
    let journals = [(1, shop(500, &metrics)), (2, shop(500, &metrics)), (4, shop(500, &metrics))];
    let (found, all) = side_by_side(&journals);
    assert!(found.along.is_none());
    let levels = find(&all, "compared-requests-per-s");
    assert_eq!((lies_where_it_says(levels), levels.rows.len()), (6, 6));
    assert!(levels.rows.contains(&["fast", "experiment 4", "60", "59.4", "60.6"].map(String::from).to_vec()));
    let differences = find(&all, "differences-requests-per-s");
    assert_eq!((lies_where_it_says(differences), differences.rows.len()), (2, 2));
    for (row, told) in found.rows.iter().zip(&differences.rows) {
        assert_eq!((&row.setting, row.verdict), (&told[0], Verdict::Same), "the same numbers");
        assert_eq!((told[2].as_str(), told[5].as_str()), ("0", "same"));
    }
    assert!(differences.svg.contains("the same of experiment 1") || found.rows[0].against == "fast of experiment 1");
}
