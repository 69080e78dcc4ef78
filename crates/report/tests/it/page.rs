//! Pages: the verdict first, in the words of every report; data that comes back whole; names that stay names.
use powerband_record::{Better, Event, SettingVerdict, Started, Verdict};
use powerband_report::advice;
use powerband_report::json::Report;
use powerband_report::page::{PageError, PageOrigin, data_in, experiment};
use powerband_report::picture::pictures;
use powerband_report::{Model, sentence};

use crate::journals;
use crate::pictures::done::searched;

fn page(events: &[Event]) -> (Model, String) {
    let model = Model::from_events(events).unwrap().with_header(journals::header());
    let pictures = pictures(&model, None);
    let page = experiment(&model, events, &pictures).unwrap();
    (model, page)
}

/// The events with another label and other words wherever words come from outside.
fn named(mut events: Vec<Event>, name: &str) -> Vec<Event> {
    let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
    started.title = Some(name.into());
    started.system = name.into();
    started.load = serde_json::json!({"kind": "command", "argv": [name]});
    started.settings.iter_mut().for_each(|setting| setting.label = name.into());
    if let Some(Event::Closed(finding)) = events.last_mut() {
        finding.notes = vec![name.into()];
    }
    events
}

#[test]
fn the_verdict_comes_first_and_the_sections_in_their_order() {
    let (model, page) = page(&journals::router());
    let finding = page.split("<p class=\"finding\">").nth(1).unwrap().split("</p>").next().unwrap();
    assert_eq!(finding, "500 MHz: same throughput within 5 %, 2.2 % more power.");
    let in_full = format!("<p>{}.</p>", sentence::headline(&model));
    assert!(page.contains(&in_full), "{in_full}");
    let facts = page.split("<dl class=\"facts\">").nth(1).unwrap().split("</dl>").next().unwrap();
    assert_eq!(facts.matches("<dt>").count(), 3, "{facts}");
    // A narrow screen shows the first columns of a table.
    let heads = page.split("<section id=\"settings\"").nth(1).unwrap().split("<thead>").nth(1).unwrap();
    let heads: Vec<&str> = heads.split("<th scope=\"col\">").skip(1).map(|it| it.split('<').next().unwrap()).collect();
    assert_eq!(heads[..2], ["setting", "verdict"], "{heads:?}");
    let order = ["verdict", "notes", "settings", "pictures", "measured", "plan", "machine", "trials", "cost", "origin"];
    let places: Vec<usize> = order
        .iter()
        .map(|id| page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(page.matches("<h1>").count(), 1);
    assert_eq!(page.matches("<figure ").count(), data(&page)["pictures"].as_array().unwrap().len());
}

#[test]
fn a_long_finding_has_a_line_for_each_metric() {
    let mut events = journals::governors();
    // The same found in a second metric.
    let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
    started.metrics.push(journals::metric("count_per_s", Better::Higher, true, None));
    let Some(Event::Closed(finding)) = events.last_mut() else { panic!("no end") };
    let again = finding.verdicts.iter().map(|it| SettingVerdict { metric: "count_per_s".into(), ..it.clone() });
    finding.verdicts.extend(again.collect::<Vec<_>>());
    let (model, page) = page(&events);
    let whole = sentence::headline(&model);
    assert!(whole.len() > 160 && whole.contains("; in "), "{whole}");
    let finding = page.split("<div class=\"finding long\">").nth(1).unwrap().split("</div>").next().unwrap();
    let lines: Vec<&str> = finding.split("<p>").skip(1).collect();
    assert_eq!(lines.len(), whole.matches("; in ").count() + 1);
    assert!(lines.iter().all(|line| line.starts_with("In ")), "{lines:?}");
}

fn data(page: &str) -> serde_json::Value {
    serde_json::from_str(data_in(page).unwrap()).unwrap()
}

#[test]
fn a_page_asks_for_nothing() {
    let (_, page) = page(&journals::router());
    for asking in ["src=", "href=\"http", "url(", "@import", "<link", "<iframe", "fetch(", "eval("] {
        assert!(!page.contains(asking), "{asking}");
    }
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    // Each style and script is named by its digest; the browser's tests hold that these are the right ones.
    let inline = page.matches("<style>").count() + page.matches("<script>").count();
    assert!(inline > 1 && policy.matches("'sha256-").count() == inline, "{policy}");
    assert!(!page.contains(" style=\""), "the policy forbids styles of single elements");
}

#[test]
fn what_to_type_is_told_where_the_finding_speaks_for_a_setting() {
    let typed = |events: &[Event]| advice(&Model::from_events(events).unwrap()).map(|advice| advice.typed.unwrap());
    let knee = typed(&journals::router()).unwrap();
    assert_eq!(knee, "powerband --machine sim:omap3530 --far sim:pc set governor=userspace freq=500MHz");
    let (_, page) = page(&journals::router());
    assert!(page.contains(&format!("<code>{knee}</code>")), "it stands on the page");
    assert_eq!(typed(&journals::governors()), None, "nothing is better");
    assert_eq!(typed(&journals::open()), None, "better in energy, open in time");
    assert_eq!(typed(&journals::stopped()), None);
    let mut events = journals::open();
    let decided = |verdicts: &mut Vec<powerband_record::SettingVerdict>| {
        verdicts.iter_mut().filter(|it| it.metric == "real_s").for_each(|it| it.verdict = Verdict::Same);
    };
    for event in &mut events {
        match event {
            Event::BlockDone(block) => decided(&mut block.verdicts),
            Event::Closed(finding) => decided(&mut finding.verdicts),
            _ => {}
        }
    }
    assert_eq!(typed(&events).as_deref(), Some("powerband set governor=schedutil"));
}

#[test]
fn a_limit_that_ends_with_its_holder_is_typed_with_a_command() {
    let mut events = journals::router();
    let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
    started.settings[2].turns = "cgroup.cpu_quota=50%".into();
    let (model, page) = page(&events);
    let typed = advice(&model).unwrap().typed.unwrap();
    assert!(typed.ends_with(" with cgroup.cpu_quota=50% -- COMMAND"), "{typed}");
    assert!(!page.contains("restores what was there"), "the command's end does");
}

#[test]
fn a_setting_that_no_command_sets_says_why() {
    let both = |started: &mut Started| started.far = Some(started.machine.clone());
    for (turns, pair, why) in [
        (
            "background=spin@cpu1 boost=0",
            false,
            "its background spin@cpu1 is a load of the experiment, no setting: start that yourself",
        ),
        ("background=spin@cpu1", false, "its background spin@cpu1 is a load of the experiment"),
        ("env.N=4 boost=0", false, "its env.N 4 is a variable of the load, no setting"),
        ("daemon=cpuspeed governor=userspace", false, "its daemon cpuspeed is a program of the experiment"),
        (
            "both/freq=500MHz",
            true,
            "it sets knobs of two machines that are both sim:omap3530, and what is set on that is kept once",
        ),
    ] {
        let mut events = journals::router();
        let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
        started.settings[2].turns = turns.into();
        if pair {
            both(started);
        }
        let (model, page) = page(&events);
        let advice = advice(&model).unwrap();
        assert_eq!((advice.setting, advice.typed), (2, None), "{turns}");
        let said = format!("There is no command for it: {why}");
        assert!(page.contains(&said), "{turns}");
        let text = powerband_report::text::brief(&model, 200, false);
        assert!(text.contains(&said) && !text.contains("apply "), "{text}");
        let row = Report::new(&model).recommended.unwrap();
        assert!(row.apply.is_none() && row.no_command.unwrap().starts_with(why), "{turns}");
    }
}

#[test]
fn what_a_search_confirmed_in_a_table_is_spoken_for_with_nothing_to_type() {
    let mut events = searched();
    let typed = |events: &[Event]| advice(&Model::from_events(events).unwrap()).unwrap();
    assert_eq!(typed(&events).typed.as_deref(), Some("powerband --machine sim:pc set max_freq=1GHz"));
    let Some(Event::Started(started)) = events.first_mut() else { panic!("no start") };
    started.machine = "table:keeper.csv".into();
    let told = typed(&events);
    assert_eq!((told.setting, told.typed), (1, None));
    let (_, page) = page(&events);
    assert!(page.contains("Recommended: s1, because"));
}

#[test]
fn the_picture_that_shows_the_finding_stands_with_it() {
    for (events, id) in [
        (journals::router(), "picture-rate-mbit-s-against-knob"),
        (journals::governors(), "picture-levels-"),
        (searched(), "picture-search-path"),
    ] {
        let (_, page) = page(&events);
        let (verdict, rest) = page.split_once("<section id=\"settings\"").unwrap();
        assert_eq!(verdict.matches("<figure id=").count(), 1);
        assert!(verdict.contains(&format!("<figure id=\"{id}")), "{id}");
        assert!(rest.contains("<figure id="), "the others come after the settings");
    }
}

#[test]
fn the_data_comes_back_whole() {
    for events in [journals::router(), journals::governors(), journals::stopped(), journals::open(), journals::pings()]
    {
        let (model, page) = page(&events);
        let host = model.header.as_ref().map(|header| header.host.clone());
        assert_eq!(PageOrigin::read(&page).unwrap(), PageOrigin { plan: Some(model.started.clone()), host });
        assert_eq!(serde_json::from_value::<Report>(data(&page)["report"].take()).unwrap(), Report::new(&model));
    }
}

#[test]
fn damage_and_what_is_no_page_are_told_apart() {
    let (_, page) = page(&journals::router());
    assert!(matches!(PageOrigin::read("<!doctype html><p>hello</p>"), Err(PageError::NotOurs)));
    let end = page.find("\"plan\":{").unwrap();
    assert!(matches!(PageOrigin::read(&page[..end]), Err(PageError::Damaged(_))), "cut off");
    let seed = page.replace("\"seed\":7,", "\"seed\":8,");
    assert_ne!(seed, page);
    assert!(matches!(PageOrigin::read(&seed), Err(PageError::Damaged(_))), "altered");
}

#[test]
fn names_stay_names() {
    for hostile in [
        "</script><script>alert(1)</script>",
        "\"><img src=x onerror='alert(1)'>",
        "<!-- --!> ]]> </style></title> &lt;",
        "a\u{202e}b\u{2066}\u{0}\u{1b}[31m\u{2028}\u{feff}",
    ] {
        let events = named(journals::governors(), hostile);
        let (model, page) = page(&events);
        let (_, honest) = self::page(&named(journals::governors(), "honest"));
        for element in ["<script", "</script", "<img", "<style", "</style", "<!--"] {
            assert_eq!(page.matches(element).count(), honest.matches(element).count(), "{element} of {hostile:?}");
        }
        // Long labels bring titles of their own.
        assert_eq!(page.matches("<title").count(), page.matches("</title").count(), "{hostile:?}");
        let steering = |c: &char| matches!(c, '\0' | '\u{1b}' | '\u{202e}' | '\u{2028}' | '\u{2066}' | '\u{feff}');
        assert_eq!(page.chars().find(steering), None, "{hostile:?}");
        assert_eq!(PageOrigin::read(&page).unwrap().plan, Some(model.started), "and come back as they were");
    }
}
