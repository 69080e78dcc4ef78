//! What is drawn, logged and told of a simulated machine: the same for everybody, as its time is its own.
use powerband_machine::{Action, Before, Change, Hold, Job, Turn, World};
use powerband_meter::state::{ClockNow, ClockPolicy, Clocks};
use powerband_record::{CpuList, Side, Work};
use powerband_sim::{Profile, SimWorld};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;

const MS: u64 = 1_000_000;
const INTERVAL_NS: u64 = 200 * MS;

/// A machine that counts for a while, rests, and counts again, looked at five times a second.
fn worked(name: &str, samples: u64) -> (Scene, Vec<MachineSample>) {
    let mut world = SimWorld::new(Profile::builtin(name).unwrap(), None, 1).unwrap();
    let mut sampler = Sampler::open(world.machine(Side::Near).unwrap(), None, false);
    let mut taken = Vec::new();
    for place in 0..samples {
        if place % 40 == 10 {
            let work = Work::Counter { for_ns: 4_000 * MS, align_to_second: false };
            let job = Job { work, cpus: None, group: None, user: None, output_limit: None, around: Vec::new() };
            world.machine(Side::Near).unwrap().spawn(&job).unwrap();
        }
        while world.now_ns() < place * INTERVAL_NS {
            world.wait(Some(place * INTERVAL_NS));
        }
        let at_ns = world.now_ns();
        taken.push(sampler.sample(world.machine(Side::Near).unwrap(), at_ns));
    }
    (sampler.scene().clone(), taken)
}

fn view(scene: Scene, samples: Vec<MachineSample>) -> View {
    let mut view = View::new(scene, INTERVAL_NS, None, false);
    samples.into_iter().for_each(|sample| view.push(sample));
    view
}

/// The screen's lines without blanks at their ends.
fn screen(view: &mut View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n";
    (0..height).map(line).collect()
}

fn press(view: &mut View, code: KeyCode) -> KeyRequest {
    view.key(KeyEvent::new(code, KeyModifiers::NONE))
}

#[track_caller]
fn same(drawn: &str, kept: &str) {
    assert!(drawn == kept, "the screen is not the one that is kept:\n<<<\n{drawn}>>>");
}

#[test]
fn a_small_screen_shows_everything() {
    let (scene, samples) = worked("quadcore", 100);
    let mut view = view(scene, samples);
    view.set_cost(Cost { cpu_s: 0.02, wakeups: 105 }, 20_000 * MS);
    same(&screen(&mut view, 80, 24), include_str!("tests/quadcore-80x24.txt"));
}

#[test]
fn a_large_screen_shows_more_of_it() {
    let (scene, samples) = worked("quadcore", 200);
    let mut view = view(scene, samples);
    for code in [KeyCode::Enter, KeyCode::Down, KeyCode::Enter] {
        press(&mut view, code);
    }
    same(&screen(&mut view, 160, 50), include_str!("tests/quadcore-160x50.txt"));
}

#[test]
fn no_size_is_a_panic() {
    let (scene, samples) = worked("quadcore", 20);
    for (scene, samples) in
        [(scene.clone(), samples), (scene, Vec::new()), (Scene::default(), vec![MachineSample::default()])]
    {
        let mut view = view(scene, samples);
        assert!(screen(&mut view, 20, 5).starts_with("too small: needs"));
        for (width, height) in (1..=205).step_by(3).flat_map(|width| (1..=62).step_by(5).map(move |high| (width, high)))
        {
            screen(&mut view, width, height);
        }
    }
}

/// A machine of many CPUs, each with its own clock.
fn many(cpus: u32) -> View {
    let (scene, _) = worked("quadcore", 1);
    let policy = |cpu: u32| -> ClockPolicy {
        let mut policy = scene.policies[0].clone();
        (policy.name, policy.cpus) = (format!("policy{cpu}"), CpuList::new(vec![cpu]));
        policy
    };
    let now = |cpu: u32| CpuNow { clock_khz: Some(1_600_000 + cpu), ..CpuNow::default() };
    let governor = |cpu| if cpu == 7 { "powersave" } else { "ondemand" };
    let stands = |cpu| ClockNow { governor: Some(governor(cpu).into()), min_khz: Some(1), ..ClockNow::default() };
    let sample = MachineSample {
        cpus: (0..cpus).map(now).collect(),
        policies: (0..cpus).map(stands).collect(),
        ..MachineSample::default()
    };
    let scene = Scene {
        cpus: (0..cpus).map(|cpu| (cpu, Vec::new())).collect(),
        policies: (0..cpus).map(policy).collect(),
        ..Scene::default()
    };
    view(scene, vec![sample])
}

#[test]
fn many_cpus_scroll_and_what_stands_alike_is_one_line() {
    let mut view = many(96);
    let first = screen(&mut view, 80, 24);
    assert!(first.contains(" cpus 0-6,8-95: ondemand,") && first.contains(" cpu 7: powersave,"), "{first}");
    assert!(
        first.lines().any(|line| line.starts_with("     0  1.60 GHz")) && first.contains(" 0 more above, "),
        "{first}"
    );
    press(&mut view, KeyCode::End);
    let last = screen(&mut view, 80, 24);
    assert!(last.lines().any(|line| line.starts_with("    95  1.60 GHz")) && last.contains(", 0 below"), "{last}");
    press(&mut view, KeyCode::Up);
    press(&mut view, KeyCode::Enter);
    assert!(screen(&mut view, 80, 24).lines().any(|line| line.starts_with("*   94")));
}

#[test]
fn without_clocks_utilisation_takes_their_place() {
    let (mut scene, samples) = worked("quadcore", 40);
    scene.policies.clear();
    scene.machine = "recorded:".to_owned() + &"long/".repeat(30);
    let blind = |mut sample: MachineSample| {
        sample.policies.clear();
        sample.cpus.iter_mut().for_each(|cpu| cpu.clock_khz = None);
        sample
    };
    let mut view = view(scene, samples.into_iter().map(blind).collect());
    let shown = screen(&mut view, 80, 24);
    assert!(shown.lines().next().unwrap().ends_with("… · every 0.2 s"), "{shown}");
    assert!(shown.contains("\n100 %") && shown.contains("\n  0 %"), "{shown}");
    assert!(shown.lines().nth(2).unwrap().contains("█▁"), "{shown}");
}

#[test]
fn keys_do_what_the_last_line_says() {
    let mut view = many(4);
    assert_eq!(press(&mut view, KeyCode::Char('q')), KeyRequest::Quit);
    assert_eq!(view.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), KeyRequest::Stop);
    press(&mut view, KeyCode::Char(' '));
    assert!(view.paused() && screen(&mut view, 80, 24).contains("paused, space goes on"));
    press(&mut view, KeyCode::Char(' '));
    assert!(!view.paused());
    let mut seen = Vec::new();
    for key in ['+', '+', '+', '-', '-', '-', '-', '-', '-', '-', '-'] {
        press(&mut view, KeyCode::Char(key));
        seen.push(view.interval_ns() / MS);
    }
    assert_eq!(seen, [100, 100, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 10_000, 10_000]);
    press(&mut view, KeyCode::Char('?'));
    assert!(screen(&mut view, 80, 24).contains("pause, go on"));
    assert_eq!(press(&mut view, KeyCode::Esc), KeyRequest::Nothing, "the first one closes the page");
    assert_eq!(press(&mut view, KeyCode::Esc), KeyRequest::Quit);
}

#[test]
fn every_column_says_its_unit_and_csv_and_json_say_the_same() {
    let (scene, samples) = worked("quadcore", 20);
    let rows = Rows::new(&scene, 0, None, true);
    let header = rows.csv_header();
    for name in
        ["time_s", "cpu0_clock_khz", "cpu3_busy_percent", "cpu0_idle_c6_percent", "policy0_max_khz", "modelled_w"]
    {
        assert!(header.split(',').any(|column| column == name), "{name} is not in {header}");
    }
    let units = ["_s", "_khz", "_percent", "_per_s", "_w", "_governor", "_wakeups"];
    assert!(header.split(',').all(|column| units.iter().any(|unit| column.ends_with(unit))), "{header}");
    let cost = Some(Cost { cpu_s: 0.1234567, wakeups: 7 });
    for sample in &samples {
        let line = rows.csv(sample, cost);
        let json: serde_json::Value = serde_json::from_str(&rows.jsonl(sample, cost)).unwrap();
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), rows.names().len(), "{line}");
        for (name, cell) in rows.names().iter().zip(cells) {
            let told = match &json[name] {
                serde_json::Value::Null => String::new(),
                serde_json::Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            assert_eq!(told, cell, "{name}");
        }
    }
    let last = serde_json::from_str::<serde_json::Value>(&rows.jsonl(&samples[15], cost)).unwrap();
    assert_eq!((&last["time_s"], &last["own_cpu_s"]), (&3.0.into(), &0.123_457.into()));
    assert!(last["cpu0_busy_percent"].as_f64().unwrap() > 90.0, "it counts: {last}");
    assert!(last["modelled_w"].as_f64().unwrap() > 10.0);
}

#[test]
fn alike_names_are_told_apart() {
    let (mut scene, _) = worked("quadcore", 1);
    scene.meters.push(scene.meters[0].clone());
    let rows = Rows::new(&scene, 0, None, false);
    assert_eq!(rows.names()[rows.names().len() - 2..], ["modelled_w", "modelled_2_w"]);
}

/// A family of the text: its name, its unit, and its samples as labels and number.
type Read = (String, String, Vec<(String, f64)>);

/// OpenMetrics as its grammar has it, for gauges.
fn read(text: &str) -> Vec<Read> {
    let body = text.strip_suffix("# EOF\n").unwrap();
    let mut families: Vec<Read> = Vec::new();
    for line in body.lines() {
        if let Some(name) = line.strip_prefix("# TYPE ") {
            let name = name.strip_suffix(" gauge").unwrap().to_owned();
            assert!(families.iter().all(|family| family.0 != name), "{name} is there twice");
            families.push((name, String::new(), Vec::new()));
            continue;
        }
        let family = families.last_mut().unwrap();
        if let Some(words) = line.strip_prefix("# UNIT ") {
            let (name, unit) = words.split_once(' ').unwrap();
            assert!(name == family.0 && name.ends_with(&format!("_{unit}")), "{line}");
            family.1 = unit.to_owned();
        } else if let Some(words) = line.strip_prefix("# HELP ") {
            assert_eq!(words.split_once(' ').unwrap().0, family.0);
        } else {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let labels = name.strip_prefix(&family.0).unwrap();
            assert!(labels.is_empty() || (labels.starts_with('{') && labels.ends_with('}')), "{line}");
            family.2.push((labels.to_owned(), value.parse().unwrap()));
        }
    }
    families
}

#[test]
fn the_text_for_node_exporter_reads_back() {
    let (mut scene, samples) = worked("quadcore", 20);
    scene.meters[0].boundary = "a \"quoted\" \\ name".into();
    let families = read(&openmetrics(&scene, &samples[15], Cost { cpu_s: 0.5, wakeups: 9 }));
    let of = |name: &str| &families.iter().find(|family| family.0 == name).unwrap().2;
    let clocks = of("powerband_cpu_clock_hertz");
    assert_eq!((clocks.len(), clocks[0].0.as_str(), clocks[0].1), (4, "{cpu=\"0\"}", 2.4e9));
    assert_eq!(of("powerband_observer_wakeups")[0].1, 9.0);
    let watts = of("powerband_power_watts");
    assert!(watts[0].0.contains(r#"boundary="a \"quoted\" \\ name""#), "{}", watts[0].0);
    let busy = of("powerband_cpu_busy_ratio");
    assert!((0.9..=1.0).contains(&busy[0].1) && busy[3].1 < 0.1);
    let first = read(&openmetrics(&scene, &samples[0], Cost { cpu_s: 0.0, wakeups: 0 }));
    assert!(first.iter().all(|family| family.0 != "powerband_cpu_busy_ratio"), "nothing came before: {first:?}");
}

#[test]
fn one_sample_is_one_reading_of_all_files() {
    let mut world = SimWorld::new(Profile::builtin("quadcore").unwrap(), None, 1).unwrap();
    let near = world.machine(Side::Near).unwrap();
    let some = CpuList::new(vec![2]);
    let mut sampler = Sampler::open(near, Some(&some), false);
    let sample = sampler.sample(near, 0);
    assert_eq!((sample.cpus.len(), sample.policies.len(), sample.watts.clone()), (1, 1, vec![None]));
    assert_eq!(sample.policies[0].khz, sample.cpus[0].clock_khz);
    assert_eq!(Clocks::open(near, &some, false).policies()[0].name, "policy2");
    sampler.close(near);
    let closed = sampler.sample(near, 1);
    assert_eq!(closed.cpus[0].clock_khz, None);
}

/// Takes a CPU out of service or back.
fn switch(machine: &mut dyn Change, cpu: usize, online: &str) {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    let turn = Turn {
        action: Action::WriteFile { path, text: online.to_owned() },
        undo: None,
        hold: Hold::Held,
        knob: "cpu.online".into(),
        site: format!("cpu{cpu}"),
        asked: online.to_owned(),
        before: Before::Unknown,
        read_back: None,
        step: None,
        moves: std::collections::BTreeMap::new(),
    };
    assert_eq!(machine.act(&turn).unwrap().errno, None);
}

#[test]
fn a_cpu_that_went_and_came_back_is_told_of_again() {
    // A kernel with folders for policies, and one where clocks go with their CPU as idle states do.
    for (name, cpu) in [("laptop", 3), ("quadcore", 2)] {
        let mut world = SimWorld::new(Profile::builtin(name).unwrap(), None, 1).unwrap();
        let mut sampler = Sampler::open(world.machine(Side::Near).unwrap(), None, false);
        let states = sampler.scene().cpus[cpu].1.len();
        let mut taken = Vec::new();
        for place in 0..16_u64 {
            world.wait(Some(place * INTERVAL_NS));
            let near = world.machine(Side::Near).unwrap();
            // Gone for some samples, then for a moment between two.
            match place {
                4 => switch(near, cpu, "0"),
                8 => switch(near, cpu, "1"),
                11 => ["0", "1"].iter().for_each(|online| switch(near, cpu, online)),
                _ => {}
            }
            taken.push(sampler.sample(near, place * INTERVAL_NS));
        }
        let told = |cpu: &CpuNow| {
            let idle = cpu.idle.iter().flatten().count();
            (cpu.clock_khz.is_some(), cpu.busy.is_some(), cpu.wakeups_per_s.is_some(), idle)
        };
        let all = (true, true, true, states);
        for place in [3, 10, 15] {
            assert_eq!(told(&taken[place].cpus[cpu]), all, "{name} at {place}");
        }
        assert_eq!(told(&taken[6].cpus[cpu]), (false, false, false, 0), "{name}");
        for sample in &taken[1..] {
            assert_eq!(told(&sample.cpus[0]), all, "{name}: {sample:?}");
        }
    }
}
