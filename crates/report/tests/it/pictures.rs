//! Pictures: every mark lies where its values say, nothing breaks out of a drawing, and what has no value is not drawn.
use std::collections::BTreeSet;

use powerband_record::Event;
use powerband_report::picture::Picture;
use powerband_report::picture::palette::Theme;
use roxmltree::{Document, Node};

use crate::cases::{cases, others};
use crate::compared::compared_pictures;
use crate::fleets::fleets_pictures;
use crate::journals::{alone, pings, plan, router, searched};
use crate::shown::drawn;

const SVG: &str = "http://www.w3.org/2000/svg";

pub(crate) fn number(node: &Node, name: &str) -> Option<f64> {
    node.attribute(name).map(|value| value.parse().unwrap())
}

fn is_of(node: &Node, class: &str) -> bool {
    node.attribute("class").is_some_and(|it| it.split(' ').any(|it| it == class))
}

pub(crate) fn of_class<'a>(document: &'a Document<'a>, class: &str) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|node| is_of(node, class)).collect()
}

pub(crate) fn find<'a>(all: &'a [Picture], id: &str) -> &'a Picture {
    all.iter().find(|picture| picture.id == id).unwrap_or_else(|| panic!("no picture {id}"))
}

/// The value at a position of the axis that a mark is drawn by.
pub(crate) fn value_at(mark: &Node, axis: &str, place: f64) -> f64 {
    let mut axes = mark.ancestors().flat_map(|node| node.children().collect::<Vec<_>>());
    let found = axes.find(|node| node.attribute("data-axis") == Some(axis));
    let scale = found.unwrap().attribute("data-scale").unwrap();
    let (kind, ends) = scale.split_once(' ').unwrap();
    let ends: Vec<f64> = ends.split(' ').map(|word| word.parse().unwrap()).collect();
    let [low, high, from, to] = ends[..] else { panic!("{scale}") };
    let share = (place - from) / (to - from);
    if kind == "log" { low * (high / low).powf(share) } else { low + (high - low) * share }
}

/// Every point and interval lies where its values say, to a five-hundredth of its axis; the number of points.
pub(crate) fn lies_where_it_says(picture: &Picture) -> usize {
    let document = Document::parse(&picture.svg).unwrap();
    let same = |mark: &Node, axis: &str, place: &str, value: &str| {
        let [value, place] = [value, place].map(|name| number(mark, name).unwrap());
        let found = value_at(mark, axis, place);
        let around = value_at(mark, axis, place + 0.5) - value_at(mark, axis, place - 0.5);
        assert!((found - value).abs() <= around.abs() / 20.0, "{}: {axis} {found} is not {value}", picture.id);
    };
    let mut marks = 0;
    for mark in of_class(&document, "pb-mark") {
        if is_of(&mark, "pb-point") {
            marks += 1;
            let (x, y) = if mark.has_tag_name("circle") { ("cx", "cy") } else { ("data-cx", "data-cy") };
            same(&mark, "x", x, "data-x");
            if mark.ancestors().any(|node| is_of(&node, "pb-panel")) {
                same(&mark, "y", y, "data-y");
            }
        } else if is_of(&mark, "pb-interval") {
            let axis = if mark.has_attribute("data-y1") { "y" } else { "x" };
            same(&mark, axis, &format!("data-{axis}1"), "data-low");
            same(&mark, axis, &format!("data-{axis}2"), "data-high");
        }
    }
    marks
}

/// So many settings with long names, at numbers that come again.
fn crowd(count: u32) -> (Vec<Event>, Vec<f64>) {
    let label = |at: u32| format!("governor=conservative up_threshold={at} down_threshold=5");
    let labels: Vec<String> = (0..count).map(label).collect();
    let numbers: Vec<f64> = (0..count).map(|at| 10.0 + f64::from(at % 7)).collect();
    (alone(&labels.join("; "), &numbers), numbers)
}

/// Five governors at twenty delays each, against the baseline, around which the last points of all lines lie.
fn hundred() -> Vec<Event> {
    let (mut settings, mut numbers) = ("baseline|".to_owned(), vec![2.0]);
    for (line, governor) in (0..).zip(["ondemand", "powersave", "performance", "schedutil", "conservative"]) {
        for delay in 1..=20 {
            settings += &format!("; governor={governor} nic.rx-usecs={}", 10 * delay);
            numbers.push(0.1 * f64::from(delay) + 0.02 * f64::from(line));
        }
    }
    alone(&settings, &numbers)
}

fn all() -> Vec<Vec<Picture>> {
    let journals = cases().into_iter().chain(others()).map(|(_, events)| events);
    let journals = journals.chain([2, 12, 100].map(|count| crowd(count).0)).chain([hundred()]);
    journals.map(|events| drawn(&events)).chain(compared_pictures()).chain(fleets_pictures()).collect()
}

/// Whether a drawing has what would load, run or style something.
fn asks(svg: &str) -> bool {
    let tags = ["href", "url(", "<style", "<script", "<image", "<foreignObject", "onclick", "onload"];
    svg.split('<').any(|tag| tags.iter().any(|it| format!("<{}", tag.split('>').next().unwrap()).contains(it)))
}

#[test]
fn marks_lie_where_their_values_say_and_a_drawing_stands_alone() {
    let mut points = 0;
    for all in all() {
        let ids: BTreeSet<&str> = all.iter().map(|picture| picture.id.as_str()).collect();
        assert_eq!(ids.len(), all.len());
        assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')));
        for picture in &all {
            let of = &picture.id;
            points += lies_where_it_says(picture);
            assert!(picture.rows.iter().all(|row| row.len() == picture.columns.len()), "{of}");
            assert!(!picture.rows.is_empty() && picture.desc.ends_with('.'), "{of}");
            assert!(!asks(&picture.svg) && !picture.svg.contains("NaN") && !picture.svg.contains("inf"), "{of}");
            let document = Document::parse(&picture.svg).unwrap();
            let root = document.root_element();
            let text = |name| root.children().find(|it| it.has_tag_name((SVG, name))).unwrap().text();
            assert_eq!((text("title"), text("desc")), (Some(&*picture.title), Some(&*picture.desc)));
            // A few points can be reached by keys, each with its values, and none is inside an image.
            let stops: Vec<Node> = document.descendants().filter(|it| it.has_attribute("tabindex")).collect();
            let titled = |it: &Node| it.children().any(|child| child.has_tag_name((SVG, "title")));
            assert!(stops.iter().all(titled), "{of}");
            let role = root.attribute("role");
            assert!(role == Some("group") || role == Some("img") && stops.is_empty(), "{of}");
            let plain = picture.file(Theme::Light);
            assert!(!plain.contains("var(") && Document::parse(&plain).is_ok(), "{of}");
        }
    }
    assert!(points > 500, "{points}");
}

#[test]
fn two_twelve_and_a_hundred_settings_have_a_mark_each() {
    for (count, reached) in [(2, 2), (12, 12), (100, 100), (101, 0)] {
        let (events, values) = crowd(count);
        let all = drawn(&events);
        let levels = find(&all, "levels-real-s");
        assert_eq!((lies_where_it_says(levels), levels.rows.len()), (values.len(), values.len()));
        let document = Document::parse(&levels.svg).unwrap();
        let points = of_class(&document, "pb-point");
        let shown: Vec<f64> = points.iter().map(|point| number(point, "data-x").unwrap()).collect();
        assert_eq!(shown, values, "exactly, in the order of the settings");
        // Labels stay apart: rows are at least as far from one another as letters are high.
        let ys = points.iter().filter_map(|it| number(it, "cy").or(number(it, "data-cy")));
        let mut ys: Vec<f64> = ys.collect();
        ys.sort_by(f64::total_cmp);
        assert!(ys.windows(2).all(|pair| pair[1] - pair[0] > 12.0));
        assert_eq!(lies_where_it_says(find(&all, "trials-real-s")), 3 * values.len());
        assert_eq!(document.descendants().filter(|it| it.has_attribute("tabindex")).count(), reached);
    }
}

#[test]
fn hostile_labels_stay_text() {
    let hostile = "</text><script>alert(1)</script>\"'& \u{202e}gnp.exe\u{2066}\u{0}\u{1b}[31m\u{7f}\u{fffe}\u{2028}";
    let all = drawn(&alone(&format!("{hostile}|; b"), &[1.0, 2.0]));
    assert!(!all.is_empty());
    for picture in &all {
        let document = Document::parse(&picture.svg).unwrap();
        let known = "svg title desc rect g line text path circle";
        let mut elements = document.descendants().filter(Node::is_element).map(|it| it.tag_name().name());
        assert!(elements.all(|it| known.split(' ').any(|known| known == it)));
        let steers = |c: char| {
            c.is_control() || "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}".contains(c)
        };
        assert!(!asks(&picture.svg) && !picture.svg.contains(steers), "{}", picture.svg);
        let mut labels = document.descendants().filter_map(|node| node.attribute("data-label"));
        let label = labels.find(|it| it.contains("script")).unwrap();
        assert!(label.contains("</text><script>") && label.contains("U+202E") && label.contains("U+001B"), "{label}");
    }
}

#[test]
fn what_has_no_value_is_not_drawn() {
    for (settings, judged) in [("a", "x-"), ("a; b", "real_s-")] {
        assert_eq!(drawn(&[Event::Started(Box::new(plan("sim:pc", settings, judged)))]), []);
    }
    // A level that is no number is left out, the others stay; one setting, and all settings alike.
    for (values, points) in [(&[1.0, f64::NAN, 3.0][..], 2), (&[5.0], 1), (&[0.0; 4], 4)] {
        let settings = ["a", "b", "c", "d"][..values.len()].join("; ");
        let all = drawn(&alone(&settings, values));
        assert_eq!((lies_where_it_says(&all[0]), all[0].rows.len()), (points, points));
        assert!(all.iter().all(|picture| !picture.svg.contains("NaN") && !picture.svg.contains("inf")));
    }
}

#[test]
fn what_stands_out_is_marked() {
    let ringed = |picture: &Picture| -> BTreeSet<String> {
        let document = Document::parse(&picture.svg).unwrap();
        of_class(&document, "pb-ring").iter().map(|it| it.attribute("data-label").unwrap().to_owned()).collect()
    };
    let knee = drawn(&router());
    assert!(ringed(find(&knee, "rate-mbit-s-against-knob")).iter().eq(["500 MHz"]));
    let mut others = others().into_iter().map(|(_, events)| drawn(&events));
    let [front, ladder, lines] = [(); 3].map(|()| others.next().unwrap());
    // b beats a in both; d is the cheapest, c the fastest.
    let front = find(&front, "front-rate-mbit-s-power-w");
    assert!(ringed(front).iter().eq(["b", "c", "d"]));
    let best = front.rows.iter().filter(|row| row[7] == "yes").map(|row| &row[0]);
    assert!(best.eq(["b", "c", "d"]));
    assert_eq!(lies_where_it_says(find(&ladder, "ladder-power-w")), 8);
    assert_eq!(lies_where_it_says(find(&lines, "real-s-against-knob")), 6);
    let tail = drawn(&pings());
    assert!(lies_where_it_says(find(&tail, "tail-rtt")) >= 6, "percentiles of two settings");
    let search = drawn(&searched());
    let path = find(&search, "search-path").rows.iter().map(|row| (&*row[3], &*row[4]));
    assert!(
        path.eq([("yes", "40"), ("yes", "30"), ("yes", "30"), ("no", "30")]),
        "what breaks the limit is never the best"
    );
}

#[test]
fn more_lines_than_three_have_a_panel_each_and_words_keep_clear_of_points() {
    let all = drawn(&hundred());
    let picture = find(&all, "real-s-against-knob");
    assert_eq!(lies_where_it_says(picture), 100);
    let document = Document::parse(&picture.svg).unwrap();
    let panels = of_class(&document, "pb-panel");
    assert_eq!(panels.len(), 5);
    let axes = of_class(&document, "pb-axis").into_iter().filter(|it| it.attribute("data-axis") == Some("y"));
    let scale = |it: Node| -> Vec<String> {
        it.attribute("data-scale").unwrap().split(' ').take(3).map(str::to_owned).collect()
    };
    assert_eq!(axes.map(scale).collect::<BTreeSet<_>>().len(), 1, "all on one scale");
    for panel in panels {
        let inside = |class| panel.descendants().filter(move |it| is_of(it, class)).collect::<Vec<Node>>();
        let (lines, points) = (inside("pb-line"), inside("pb-point"));
        let own: Vec<&str> = lines.iter().filter_map(|it| it.attribute("data-label")).collect();
        assert_eq!((lines.len(), own.len(), points.len()), (5, 1, 20));
        assert!(panel.attribute("data-title").unwrap().starts_with(own[0]));
        let words = inside("pb-text").into_iter().find(|it| it.text() == Some("baseline")).unwrap();
        let [x, y] = ["x", "y"].map(|name| number(&words, name).unwrap());
        let left = if words.attribute("text-anchor") == Some("end") { x - 50.0 } else { x };
        for point in points {
            let at = |name: &str| number(&point, name).or_else(|| number(&point, &format!("data-{name}"))).unwrap();
            let (cx, cy) = (at("cx"), at("cy"));
            let on = cx > left && cx < left + 50.0 && cy > y - 8.0 && cy < y;
            assert!(!on, "'baseline' at {x}, {y} lies on {cx}, {cy}");
        }
    }
}
