//! Scales: back and forth, at ticks, and at what cannot be shown.
use super::label::{Placing, folded, length, told_apart, visible};
use super::mark::Orientation;
use super::palette::{DARK, Theme, plain};
use super::plane::{Rule, words_of};
use super::scale::{AxisScale, Reach};

#[test]
fn scales_give_back_what_they_placed() {
    let values = [3.2, 47.0, 0.4, 1200.0];
    for reach in [Reach::Values, Reach::Zero, Reach::Log] {
        for ends in [(50.0, 430.0), (210.0, 20.0)] {
            let scale = AxisScale::new(reach, values, ends).unwrap();
            for value in values {
                let place = scale.place(value).unwrap();
                assert!(place > ends.0.min(ends.1) && place < ends.0.max(ends.1));
                assert!((scale.value(place) / value - 1.0).abs() < 1e-9, "{value} {place}");
            }
        }
    }
    let band = AxisScale::band(4, (0.0, 80.0));
    assert_eq!((band.place(0.0), band.place(3.0), band.step()), (Some(10.0), Some(70.0), 20.0));
}

#[test]
fn what_has_no_place_gets_none() {
    let log = AxisScale::new(Reach::Log, [0.0, -3.0, f64::NAN, 10.0, 1000.0], (0.0, 100.0)).unwrap();
    assert!(log.place(0.0).is_none() && log.place(-3.0).is_none() && log.place(f64::NAN).is_none());
    assert!(log.place(10.0).unwrap() > 0.0 && log.place(1000.0).unwrap() < 100.0);
    assert_eq!(AxisScale::new(Reach::Log, [0.0, -1.0], (0.0, 1.0)), None);
    assert_eq!(AxisScale::new(Reach::Values, [f64::NAN, f64::INFINITY], (0.0, 1.0)), None);
    assert_eq!(AxisScale::new(Reach::Values, [], (0.0, 1.0)), None);
}

#[test]
fn one_value_and_alike_values_lie_in_the_middle() {
    for value in [0.0, 5.0, -7.0, 1e-300, 3e300, 54.12] {
        let scale = AxisScale::new(Reach::Values, [value, value], (0.0, 100.0)).unwrap();
        let place = scale.place(value).unwrap();
        assert!((0.0..=60.0).contains(&place), "{value} at {place}");
        assert!(scale.ticks(5).iter().all(|tick| tick.value.is_finite()));
    }
}

#[test]
fn ticks_are_round_inside_and_told_apart() {
    let spans = "0..1 0.1..0.35 15.98..54 -3..2 3386958..5129488 1e-6..3e-6 299.1..299.4".split(' ');
    for (low, high) in spans.map(|it| it.split_once("..").unwrap()) {
        let [low, high]: [f64; 2] = [low, high].map(|it| it.parse().unwrap());
        for reach in [Reach::Values, Reach::Log] {
            let Some(scale) = AxisScale::new(reach, [low, high], (0.0, 400.0)) else { continue };
            let ticks = scale.ticks(6);
            assert!((2..=14).contains(&ticks.len()), "{low} {high} {reach:?}: {ticks:?}");
            for pair in ticks.windows(2) {
                assert!(pair[0].value < pair[1].value && pair[0].label != pair[1].label, "{ticks:?}");
            }
            assert!(ticks.iter().all(|tick| (-1.0..=401.0).contains(&scale.place(tick.value).unwrap())), "{ticks:?}");
        }
    }
    let labels = |reach, values: [f64; 2], most| {
        let scale = AxisScale::new(reach, values, (0.0, 1.0)).unwrap();
        scale.ticks(most).into_iter().map(|it| it.label).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(labels(Reach::Values, [0.0, 0.5], 6), "0 0.1 0.2 0.3 0.4 0.5");
    assert_eq!(labels(Reach::Log, [0.02, 20_000.0], 8), "0.01 0.1 1 10 100 1000 10k");
}

#[test]
fn a_scale_has_two_ticks_however_low_and_trials_have_whole_numbers() {
    let low = AxisScale::new(Reach::Values, [195.0, 903.0], (100.0, 0.0)).unwrap();
    assert!(low.ticks(2).len() >= 2, "{:?}", low.ticks(2));
    for last in [1.0, 3.0, 8.0, 250.0] {
        let trials = AxisScale::new(Reach::Count, [0.0, last], (0.0, 100.0)).unwrap();
        let ticks = trials.ticks(8);
        assert!(ticks.len() >= 2 && ticks.iter().all(|tick| tick.value.fract() == 0.0), "{last}: {ticks:?}");
        let (first, end) = (trials.place(0.0).unwrap(), trials.place(last).unwrap());
        assert!(first > 2.0 && end < 98.0, "no trial lies on the frame: {first} {end}");
    }
}

#[test]
fn labels_keep_to_their_room() {
    let long = "governor=conservative up_threshold=98 down_threshold=95";
    assert_eq!(folded(long, 24, 2), ["governor=conservative", "up_threshold=98 down_th…"]);
    assert_eq!(folded("short", 24, 2), ["short"]);
    let knobs = "governor=ondemand rx-usecs=10";
    assert_eq!(folded(knobs, 22, 2), ["governor=ondemand", "rx-usecs=10"], "not inside the name of a knob");
    assert_eq!(folded("conclusion-tuned-conservative", 24, 2), ["conclusion-tuned-", "conservative"]);
    assert!(folded(&"x".repeat(90), 20, 2).iter().all(|line| line.chars().count() <= 20));
    assert!(length("漢字", 12.0) > length("ab", 12.0), "wide letters take two columns");
    let mut placing = Placing::new((0.0, 0.0, 200.0, 100.0), &[(20.0, 50.0)], 4.0);
    let first = placing.place("first", (20.0, 50.0), 10.0).unwrap();
    assert_ne!(placing.place("first", (20.0, 50.0), 10.0), Some(first), "two labels never share a place");
    assert_eq!(placing.place(&"far too long ".repeat(9), (20.0, 50.0), 10.0), None);
}

#[test]
fn labels_too_long_lose_what_all_have() {
    let labels = ["baseline", "governor=conservative up_threshold=1 x=2", "governor=conservative up_threshold=9 x=2"];
    assert_eq!(told_apart(&labels, 20), ["baseline", "up_threshold=1", "up_threshold=9"]);
    assert_eq!(told_apart(&labels, 60), labels, "with room enough they stay");
    let alike = ["governor=conservative up_threshold=1", "governor=conservative up_threshold=1"];
    assert_eq!(told_apart(&alike, 20), alike, "nothing tells these apart");
    let several = ["baseline", "up_threshold=24 freq_step=5", "up_threshold=27 freq_step=50"];
    let cut = ["baseline", "up_t…=24 freq…=5", "up_t…=27 freq…=50"];
    assert_eq!(told_apart(&several, 18), cut, "values are what tells these apart");
}

#[test]
fn colours_without_properties_are_those_behind_them() {
    let drawing = "a var(--pb-1,#0072b2) b var(--pb-ink,#222222)";
    assert_eq!(plain(drawing, Theme::Light), "a #0072b2 b #222222");
    assert_eq!(plain(drawing, Theme::Dark), "a #56b4e9 b #e8eaed");
    assert_eq!(plain("no colour, var(--pb-broken", Theme::Light), "no colour, var(--pb-broken");
    assert_eq!(visible("a\u{202e}b\u{7}\u{85}"), "aU+202EbU+0007U+0085");
}

#[test]
fn dark_drawings_have_the_colours_of_dark_pages() {
    let style = include_str!("../page/page.css");
    let (_, dark) = style.split_once("prefers-color-scheme: dark").unwrap();
    let dark = dark.split_once("\n}").unwrap().0;
    for (name, colour) in DARK {
        assert!(dark.contains(&format!("--pb-{name}: {colour};")), "--pb-{name} is not {colour} on dark pages");
    }
}

#[test]
fn rules_too_near_for_words_of_their_own_share_them() {
    let rule = |value: f64, label: &str| Rule { way: Orientation::Upright, value, label: label.into() };
    let y = AxisScale::new(Reach::Values, [-31.0, 0.0], (200.0, 0.0)).unwrap();
    let rules = [rule(0.0, "no difference"), rule(-29.8, "mean"), rule(-31.0, "low"), rule(-29.0, "high")];
    assert_eq!(words_of(&rules, &y), ["no difference", "", "", "high / mean / low"]);
    let apart = [rule(0.0, "no difference"), rule(-10.0, "mean"), rule(-20.0, "low")];
    assert_eq!(words_of(&apart, &y), ["no difference", "mean", "low"]);
}
