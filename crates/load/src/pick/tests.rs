//! Metrics as users write them, lines of `tests/metrics.txt`, and numbers picked out of output: both in the snapshot.
use std::fmt::Write as _;

use powerband_record::{ExitStatus, Output, Usage};

use super::*;

fn printed(stdout: &str) -> Finished {
    let output = Output { stdout: stdout.into(), stderr: String::new(), cut: false };
    Finished { status: ExitStatus::Code(0), usage: Usage::default(), report: None, output, around: Vec::new() }
}

#[test]
fn metrics_are_read_and_picked_or_refused() {
    assert!(matches!(MetricSpec::parse(""), Err(PickError::Form(_))));
    let mut all = String::new();
    for line in include_str!("tests/metrics.txt").lines().filter(|line| !line.starts_with('#')) {
        let (spec, text) = line.split_once(" | ").map_or((line, None), |(spec, text)| (spec, Some(text)));
        writeln!(all, "{line}").unwrap();
        let spec = match MetricSpec::parse(spec) {
            Ok(spec) => spec,
            Err(error) => {
                let text = format!("{error:?}");
                writeln!(all, "    {}: {error}", text.split([' ', '(', '{']).next().unwrap()).unwrap();
                continue;
            }
        };
        let Metric { name, better, judged, .. } = &spec.metric;
        let source = match &spec.source {
            Source::Measured(name) => format!("measured {name}"),
            Source::Ratio(over, under) => format!("ratio of {over} to {under}"),
            Source::Pattern(pattern) => format!("pattern {pattern}"),
            Source::Path(path) => format!("path {path}"),
        };
        writeln!(all, "    {name} {better:?} judged {judged} stated {}: {source}", spec.stated).unwrap();
        text.into_iter().for_each(|text| writeln!(all, "    {:?}", spec.pick(&printed(text))).unwrap());
    }
    insta::assert_snapshot!("metrics", all);
}
