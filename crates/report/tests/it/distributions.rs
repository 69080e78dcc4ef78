//! Distributions in reports: percentiles and bars in the text, bins in JSON, lines in CSV.
use powerband_report::json::Report;
use powerband_report::{Model, csv, text};
use unicode_width::UnicodeWidthStr;

use crate::journals::{pings, router};
use crate::same_as_expected;

fn model() -> Model {
    Model::from_events(&pings()).unwrap()
}

#[test]
fn percentiles_and_bars() {
    let text = text::render(&model(), 80, false);
    let lines = text.split_inclusive('\n').skip_while(|line| !line.starts_with("rtt, us"));
    let part: String = lines.take_while(|line| *line != "settings\n").collect();
    same_as_expected(&part, "pings", include_str!("expected/pings.txt"));
    for width in [40, 57, 80, 200] {
        let text = text::render(&model(), width, false);
        assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
        assert!(text.contains("p99.9") && text.contains('█'), "{text}");
    }
    assert!(!text::render(&Model::from_events(&router()).unwrap(), 80, false).contains("percentiles"));
}

#[test]
fn json_has_the_merged_histogram() {
    let report = Report::new(&model());
    assert_eq!(Report::parse(&report.print().unwrap()).unwrap(), report);
    let row = &report.settings[1].distributions["rtt_ns"];
    assert_eq!((row.unit.as_str(), row.trials, row.count), ("ns", 5, 5_000));
    assert_eq!((row.bounds.len(), row.counts.iter().sum::<u64>()), (row.counts.len(), 5_000));
    assert!(row.bounds.windows(2).all(|pair| pair[0] < pair[1]) && row.bounds.last().unwrap() >= &row.max);
    // 500 of 1000 in each trial are at its base: 110 200, 110 400 .. 111 000 ns.
    assert_eq!((row.percentiles["p50"].value, row.min, row.max), (111_000.0, 110_200, 511_000));
    let p99 = &row.percentiles["p99"];
    assert!(p99.low.unwrap() < p99.value && p99.value < p99.high.unwrap());
    assert!(Report::new(&Model::from_events(&router()).unwrap()).settings[0].distributions.is_empty());
}

#[test]
fn csv_has_a_line_for_each_percentile() {
    let text = csv::render(&model());
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert!(lines[0].starts_with("setting,label,turns,metric,unit,statistic,trials,value,low,high,verdict"));
    // A typical value, five percentiles and five trials of each.
    assert_eq!(lines.len(), 1 + 2 * (1 + 5 + 5), "{text}");
    assert!(lines.contains(&"0,rx-usecs=10,nic.rx-usecs=10,rtt_ns,ns,max,5,460900,,,,,,"), "{text}");
    assert!(lines[12].starts_with("1,\"slow, \"\"100\"\"\",nic.rx-usecs=100,rtt_ms,ms,typical,5,0.11"), "{text}");
    assert!(lines[14].contains(",rtt_ns,ns,p90,5,"), "{text}");
    let router = csv::render(&Model::from_events(&router()).unwrap());
    assert!(router.contains(",rate_mbit_s,Mbit/s,typical,4,30.8,") && router.contains(",worse,-0.432,"), "{router}");
}
