//! Everything that is printed of an experiment of each kind, held by snapshots; of its variants, the lines that differ.
use std::collections::BTreeSet;

use powerband_record::Event;
use powerband_report::courses::Courses;
use powerband_report::json::Report;
use powerband_report::picture::{Picture, pictures};
use powerband_report::text::{self, ProgressState, progress};
use powerband_report::{Model, csv, markdown, page};
use roxmltree::{Attribute, Document, Node};

use crate::cases::{cases, others, variants};
use crate::journals::header;

/// Most marks of a chart that are shown one by one.
const MARKS: usize = 40;

/// Holds a text against the snapshot of this name.
pub(crate) fn kept(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

pub(crate) fn model(events: &[Event]) -> Model {
    Model::from_events(events).unwrap().with_header(header())
}

pub(crate) fn drawn(events: &[Event]) -> Vec<Picture> {
    let courses = Courses::from_events(events).unwrap();
    pictures(&Model::from_events(events).unwrap(), Some(&courses))
}

pub(crate) fn paged(events: &[Event]) -> String {
    page::experiment(&model(events), events, &drawn(events)).unwrap()
}

/// Lines of a journal while it runs.
pub(crate) fn running(events: &[Event]) -> Vec<String> {
    let mut state = ProgressState::default();
    let line = |event: &Event| {
        state.see(event);
        progress(event, &state)
    };
    events.iter().filter_map(line).collect()
}

/// A page, a tag a line, without styles, scripts, data and drawings.
pub(crate) fn html(page: &str) -> String {
    let mut page = page.to_owned();
    for (from, to) in [("<style>", "</style>"), ("<script", "</script>"), ("<svg", "</svg>"), ("\"default-src", "\"")] {
        while let Some((before, rest)) = page.split_once(from) {
            page = before.to_owned() + rest.split_once(to).unwrap().1;
        }
    }
    let lines = page.replace('<', "\n<").replace("\n</", "</");
    lines.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("{}\n", line.trim_end())).collect()
}

/// What charts show: their words, and the values of their marks without their places.
pub(crate) fn charts(all: &[Picture]) -> String {
    let is_value = |it: &Attribute| it.name().starts_with("data-") && !it.name().contains(['1', '2', '0', 'c']);
    let mut told = String::new();
    for picture in all {
        let document = Document::parse(&picture.svg).unwrap();
        let words =
            document.descendants().filter(|it| it.is_text() && it.parent().unwrap().tag_name().name() == "text");
        let words: Vec<&str> = words.filter_map(|it| it.text()).collect();
        told += &format!("== {}: {}\n{}\n{}\n", picture.id, picture.title, picture.desc, words.join(" · "));
        let mark = |node: Node| {
            let class = node.attribute("class").filter(|it| it.contains("pb-mark") || it.contains("pb-ring"))?;
            let values = node.attributes().filter(is_value);
            let values: String = values.map(|it| format!(" {}={}", &it.name()[5..], it.value())).collect();
            Some(format!("{}{values}\n", class.trim_start_matches("pb-mark pb-")))
        };
        let marks: Vec<String> = document.descendants().filter_map(mark).collect();
        told += &if marks.len() > MARKS { format!("{} marks\n", marks.len()) } else { marks.concat() };
    }
    told
}

/// Every format of a report, its texts at these widths.
fn formats(events: &[Event], widths: &[usize]) -> Vec<(&'static str, String)> {
    let model = model(events);
    let at = |print: fn(&Model, usize, bool) -> String| {
        widths.iter().map(|width| print(&model, *width, false)).collect::<Vec<_>>().join("--------\n")
    };
    vec![
        ("short", at(text::brief)),
        ("full", at(text::render)),
        ("charts", charts(&drawn(events))),
        ("markdown", markdown::render(&model) + "\n" + &markdown::table(&model)),
        ("csv", csv::render(&model).replace('\r', "")),
        ("json", Report::new(&model).print().unwrap()),
        ("page", html(&paged(events))),
        ("progress", running(events).join("\n")),
    ]
}

#[test]
fn experiments_of_each_kind_in_every_format() {
    for (name, events) in cases() {
        for (format, text) in formats(&events, &[80, 60, 40]) {
            kept(&format!("{name}.{format}"), &text);
        }
    }
    for (name, events) in others() {
        let texts = formats(&events, &[80]).into_iter().take(3).map(|(_, text)| text);
        kept(name, &texts.collect::<Vec<_>>().join("========\n"));
    }
}

#[test]
fn variants_differ_in_these_lines() {
    for (base, events, variants) in variants() {
        let (known, mut told) = (formats(&events, &[80]), String::new());
        for (name, events) in variants {
            told += &format!("# {name}\n");
            for ((format, known), (_, text)) in known.iter().zip(formats(&events, &[80])) {
                let (before, after): (BTreeSet<&str>, BTreeSet<&str>) =
                    (known.lines().collect(), text.lines().collect());
                let gone =
                    known.lines().filter(|line| !after.contains(line)).map(|line| format!("{format} - {line}\n"));
                let new = text.lines().filter(|line| !before.contains(line)).map(|line| format!("{format} + {line}\n"));
                told.extend(gone.chain(new));
            }
        }
        kept(&format!("variants-of-{base}"), &told);
    }
}
