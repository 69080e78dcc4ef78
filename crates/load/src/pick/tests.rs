//! Picking numbers out of output.
use powerband_record::{ExitStatus, Output, Usage};

use super::*;

fn printed(stdout: &str) -> Finished {
    let output = Output { stdout: stdout.into(), stderr: String::new(), cut: false };
    Finished { status: ExitStatus::Code(0), usage: Usage::default(), report: None, output, around: Vec::new() }
}

#[test]
fn numbers_are_found_by_pattern_and_by_path() {
    for (spec, name, better, text, value) in [
        (r"rate=regex:(\d+\.\d+) MB/s", "rate", Better::Higher, "moved 12.5 MB/s\n", 12.5),
        (r"p99_us=regex:p99[:=] *([\d,]+):lower", "p99_us", Better::Lower, "p99: 1,204 us", 1204.0),
        (r"score=regex:=(\d+):higher", "score", Better::Higher, "x=7", 7.0),
        ("bits=json:$.end.sum.bps:higher", "bits", Better::Higher, r#"{"end":{"sum":{"bps":5e6}}}"#, 5e6),
        ("t_s=json:$.rows[1].t", "t_s", Better::Lower, r#"{"rows":[{"t":1},{"t":"2.5"}]}"#, 2.5),
    ] {
        let spec = MetricSpec::parse(spec).unwrap();
        assert_eq!((spec.metric.name.as_str(), spec.metric.better), (name, better));
        assert_eq!(spec.pick(&printed(text)), Ok(value));
    }
}

#[test]
fn what_does_not_come_is_said() {
    for (spec, text, words) in [
        (r"a=regex:(\d+) apples", "no fruit", "nothing that matches"),
        (r"a=regex:is (\w+)", "it is much", "no number"),
        ("a=json:$.x", "plain text", "did not print JSON"),
        ("a=json:$.x", r#"{"y":1}"#, "nothing at"),
        ("a=json:$.x", r#"{"x":[1]}"#, "no number"),
    ] {
        let why = MetricSpec::parse(spec).unwrap().pick(&printed(text)).unwrap_err();
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn bad_specs_are_refused_and_synonyms_known() {
    for text in
        ["", "=x", "a=", r"regex:(\d+)", r"a=regex:\d+", "a=regex:(", "a=json:x[", "a b", "a@", "a@b@c", "a-b", "a@b c"]
    {
        assert!(MetricSpec::parse(text).is_err(), "{text}");
    }
    let watts = MetricSpec::parse("watts").unwrap();
    assert_eq!(watts.metric.name, "power_w");
    assert!(matches!(watts.source, Source::Measured(name) if name == "power_w"));
    for (text, name, measured) in [
        ("far/watts", "far/power_w", "far/power_w"),
        ("both/joules:lower", "both/energy_j", "both/energy_j"),
        ("near/watts", "power_w", "power_w"),
        ("there_w=far/power_w", "there_w", "far/power_w"),
        ("far/packets@enp1s0-a.5:lower", "far/packets@enp1s0-a.5", "far/packets@enp1s0-a.5"),
    ] {
        let spec = MetricSpec::parse(text).unwrap();
        assert_eq!((spec.metric.name.as_str(), spec.metric.better), (name, Better::Lower));
        assert!(matches!(spec.source, Source::Measured(from) if from == measured));
    }
    let unknown = MetricSpec::parse("left/power_w").unwrap_err().to_string();
    assert!(unknown.starts_with("'left/power_w' names no machine; write far/, both/ or all/"), "{unknown}");
    assert_eq!(MetricSpec::parse("real_s:higher").unwrap().metric.better, Better::Higher);
}

#[test]
fn one_metric_by_another_has_a_name_and_two_sides() {
    for (text, name, over, under) in [
        ("work_per_joule=count/joules", "work_per_joule", "count", "energy_j"),
        ("x=far/watts/both/watts", "x", "far/power_w", "both/power_w"),
        ("x=near/watts/far/watts:lower", "x", "power_w", "far/power_w"),
    ] {
        let spec = MetricSpec::parse(text).unwrap();
        assert_eq!((spec.metric.name.as_str(), spec.stated), (name, text.ends_with(":lower")));
        assert!(matches!(&spec.source, Source::Ratio(a, b) if a == over && b == under), "{spec:?}");
    }
    for text in ["count/energy_j", "x=a/b/c", "x=a/", "x=/a", "x=far/", "x=far/both/power_w"] {
        assert!(MetricSpec::parse(text).is_err(), "{text}");
    }
}

#[test]
fn what_is_for_information_is_not_judged() {
    let spec = MetricSpec::parse("clock_mhz:info").unwrap();
    assert!(!spec.metric.judged && !spec.stated);
    assert!(MetricSpec::parse("clock_mhz").unwrap().metric.judged);
}
