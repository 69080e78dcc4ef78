//! JSON: it reads back as it was, holds no number that is none, and spells things as everywhere.
use powerband_record::Event;
use powerband_report::json::{JsonError, Report};
use powerband_report::{Model, no_advice};

use crate::journals::{governors, header, open, router, stopped};

fn report(events: &[Event]) -> Report {
    Report::new(&Model::from_events(events).unwrap().with_header(header()))
}

#[test]
fn it_reads_back_as_it_was() {
    for events in [router(), governors(), stopped(), open(), router()[..9].to_vec()] {
        let report = report(&events);
        let text = report.print().unwrap();
        assert_eq!(Report::parse(&text).unwrap(), report);
        assert_eq!(Report::parse(&text).unwrap().print().unwrap(), text);
    }
}

#[test]
fn what_is_recommended_or_why_nothing_is_as_the_text_says() {
    let row = report(&router()).recommended.unwrap();
    assert_eq!((row.setting.as_str(), row.turns.as_str()), ("500 MHz", "governor=userspace freq=500MHz"));
    let apply = "powerband --machine sim:omap3530 --far sim:pc set governor=userspace freq=500MHz";
    assert_eq!((row.apply.as_deref(), row.no_command, row.keep), (Some(apply), None, None));
    assert_eq!(row.undo.as_deref(), Some("powerband --machine sim:omap3530 --far sim:pc undo"));
    for events in [governors(), open(), stopped()] {
        let (report, model) = (report(&events), Model::from_events(&events).unwrap());
        assert_eq!((&report.recommended, &report.not_recommended), (&None, &no_advice(&model)));
    }
    assert!(report(&open()).not_recommended.unwrap().ends_with("but is undecided in real_s"));
}

#[test]
fn numbers_that_are_none_are_left_out() {
    let mut events = router();
    for event in &mut events {
        if let Event::Closed(finding) = event {
            finding.levels[0].typical = f64::NAN;
            finding.levels[0].high = Some(f64::INFINITY);
            finding.verdicts[0].change = f64::NAN;
        }
    }
    let report = report(&events);
    let text = report.print().unwrap();
    assert!(!text.contains("null"), "{text}");
    assert_eq!(Report::parse(&text).unwrap(), report);
    assert_eq!(report.settings[0].levels["rate_mbit_s"].typical, None);
}

#[test]
fn the_spelling_is_the_one_of_the_command() {
    let json: serde_json::Value = serde_json::from_str(&report(&router()).print().unwrap()).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["kind"], "report");
    assert_eq!(json["state"], "ended");
    assert_eq!(json["reason"], "decided");
    assert_eq!(json["finding"], "500 MHz is the knee: 500, 550 and 600 MHz are the same within 5 %");
    assert_eq!(json["header"]["id"], 12);
    assert_eq!(json["header"]["observer_cpu_s"], 0.4237);
    assert_eq!(json["load"]["kind"], "stream");
    assert_eq!(json["metrics"][1]["name"], "power_w");
    assert_eq!(json["metrics"][1]["unit"], "W");
    assert_eq!(json["metrics"][1]["boundary"], "modelled");
    assert_eq!(json["metrics"][0]["better"], "higher");
    assert_eq!(json["settings"][0]["reference"], true);
    assert_eq!(json["settings"][3]["levels"]["rate_mbit_s"]["typical"], 30.8);
    assert_eq!(json["settings"][3]["verdicts"]["rate_mbit_s"]["verdict"], "worse");
    assert_eq!(json["settings"][3]["verdicts"]["rate_mbit_s"]["change"], -0.432);
    assert_eq!(json["knee"]["knee"], "500 MHz");
    assert_eq!(json["restored"]["entries"], 2);
    assert_eq!(json["elapsed_s"], 210.0);
}

#[test]
fn other_versions_and_other_things_are_refused() {
    let text = report(&open()).print().unwrap();
    let newer = text.replacen("\"version\": 1", "\"version\": 2", 1);
    let error = Report::parse(&newer).unwrap_err();
    assert!(matches!(error, JsonError::Version(2)), "{error}");
    for text in ["", "{}", "[1]", "{\"version\": 1}"] {
        assert!(matches!(Report::parse(text), Err(JsonError::Shape(_))), "{text}");
    }
}
