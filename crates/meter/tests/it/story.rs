//! Stories: commands to a machine of files in `stories/*.txt`; which meters it has and what they read is in `snapshots/`.
use std::path::Path;

use powerband_machine::{Look, Sample, Sampling};
use powerband_meter::state::{AskedFigure, OpenFigure, PowerNow, Powers};
use powerband_meter::*;

use crate::fake::Fake;

const S: u64 = 1_000_000_000;

macro_rules! stories {
    ($($name:ident)*) => { $(#[test] fn $name() { check(stringify!($name)); })* };
}

stories! { cards meters perf readings zones }

#[expect(clippy::disallowed_methods, reason = "the stories are files next to the tests")]
fn text_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/stories/{name}.txt"));
    std::fs::read_to_string(path).unwrap()
}

fn check(name: &str) {
    let mut story = Story::default();
    let mut told = String::new();
    for line in text_of(name).lines() {
        told += &format!("{line}\n");
        for answer in story.tell(line) {
            told += &format!("    {answer}\n");
        }
    }
    insta::assert_snapshot!(name, told);
}

#[derive(Default)]
struct Story {
    machine: Fake,
    meters: Vec<MeterInstance>,
    session: Option<(Session, Vec<Vec<Sample>>)>,
    powers: Option<(Powers, PowerNow)>,
    figure: Option<(OpenFigure, Sample)>,
}

impl Story {
    /// Carries out a line; a comment or a heading does nothing.
    fn tell(&mut self, line: &str) -> Vec<String> {
        let line = line
            .replace("$Z", "/sys/class/powercap")
            .replace("$P", "/sys/bus/event_source/devices")
            .replace("$C", "/sys/devices/system/cpu");
        let line = line
            .replace("$H", "/sys/class/hwmon")
            .replace("$B", "/sys/class/power_supply")
            .replace("$N", "/sys/class/net");
        let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let (first, text) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "" | "#" => {}
            "machine" => {
                *self = Self::default();
                for like in rest.split_whitespace() {
                    text_of(&format!("machines/{like}"))
                        .lines()
                        .for_each(|line| assert_eq!(self.tell(line), [""; 0], "{line}"));
                }
            }
            "file" => self.machine.put(first, &text.replace("\\n", "\n").replace("\\t", "\t")),
            "gone" => self.machine.files.retain(|path, _| !path.starts_with(rest)),
            "deny" => self.machine.denied.extend(rest.split_whitespace().map(str::to_owned)),
            "allow" => self.machine.denied.clear(),
            // A zone of powercap: its folder, its name, its count.
            "zone" => {
                for (file, text) in ["name", "energy_uj", "max_energy_range_uj"].iter().zip([
                    text.split(' ').next().unwrap(),
                    text.split(' ').nth(1).unwrap(),
                    "262143328850",
                ]) {
                    self.machine.put(&format!("/sys/class/powercap/{first}/{file}"), text);
                }
            }
            "find" => return self.find(rest),
            "relations" => return self.relations(),
            "sum" => return self.sum(rest),
            "session" => return self.open_session(),
            "at" => self.sample(rest.parse().unwrap()),
            "close" => return self.close(),
            "meter" => self.meters = vec![meter(rest)],
            "run" => return self.run(rest),
            "powers" | "watts" => return self.watts(verb, rest),
            "figure" | "told" => return self.figure(verb, first, text),
            _ => panic!("no such verb: {line}"),
        }
        Vec::new()
    }

    /// Every meter found, or those of one kind.
    fn find(&mut self, only: &str) -> Vec<String> {
        let Inventory { meters, absent, unread } = find_all(&mut self.machine);
        let mut told = Vec::new();
        for it in meters.iter().filter(|it| only.is_empty() || it.meter == only) {
            let times = it.times.as_ref().map_or(String::new(), |times| format!(" times {times}"));
            told.push(format!(
                "{} {}: {}{times}; {:?}, {:?}, parts {}, {:?}",
                it.meter,
                it.boundary,
                it.source,
                it.scope,
                it.kind,
                it.parts.len(),
                it.notes
            ));
        }
        for it in absent.into_iter().filter(|it| only.is_empty() || it.meter == only) {
            told.push(format!("absent {}: {}", it.meter, it.why));
            told.extend(it.lines.into_iter().map(|line| format!("    {line}")));
        }
        told.extend(unread.into_iter().map(|file| format!("unread {}: {}", file.path, file.why)));
        self.meters = meters.into_iter().filter(|it| only.is_empty() || it.meter == only).collect();
        told
    }

    fn relations(&self) -> Vec<String> {
        let line = |it: &MeterInstance| {
            self.meters.iter().map(|other| format!(" {:?}", it.relation(other))).collect::<String>()
        };
        self.meters.iter().map(|it| format!("{}:{}", it.boundary, line(it))).collect()
    }

    fn sum(&self, names: &str) -> Vec<String> {
        let named = |name: &str| self.meters.iter().find(|it| it.boundary == name).unwrap();
        let parts: Vec<&MeterInstance> = names.split(", ").map(named).collect();
        vec![
            sum(&parts)
                .map_or_else(|error| error.to_string(), |sum| format!("{}, parts {}", sum.boundary, sum.parts.len())),
        ]
    }

    fn open_session(&mut self) -> Vec<String> {
        let session = Session::open(&mut self.machine, &self.meters);
        let watches = session.watches();
        let told = watches
            .iter()
            .map(|watch| format!("{} files every {:?} ns", watch.handles.len(), watch.period_ns))
            .collect();
        self.session = Some((session, vec![Vec::new(); watches.len()]));
        told
    }

    /// Reads all that is watched at a second.
    fn sample(&mut self, second: u64) {
        let (session, moments) = self.session.as_mut().unwrap();
        for (watch, moments) in session.watches().iter().zip(moments) {
            moments.push(self.machine.sample(watch, second * S));
        }
    }

    fn close(&mut self) -> Vec<String> {
        let (session, moments) = self.session.take().unwrap();
        let readings = session.close(&mut self.machine, &moments, &[]);
        let line = |it: &Reading| {
            let measured = match &it.measured {
                MeterValue::Value { value, samples, left_out } => {
                    format!("{value} ({samples} samples, {left_out} left out)")
                }
                _ => it.refusal().unwrap().to_owned(),
            };
            format!(
                "{} {} of {}: {measured}{}",
                it.metric,
                it.boundary,
                it.source,
                it.notes.iter().map(|note| format!("; {note}")).collect::<String>()
            )
        };
        let told = readings.iter().map(line).collect();
        assert_eq!(self.machine.still_open(), 0);
        told
    }

    /// A session of one meter or several that reads `FILE VALUE,…` once a second from 100 s on, but not while nothing has to be
    /// read: 7x3 is 7 three times, 1..5 each of them, - takes the file away.
    fn run(&mut self, rest: &str) -> Vec<String> {
        let files: Vec<(&str, Vec<Option<u64>>)> =
            rest.split(' ').map(|it| it.split_once(':').unwrap()).map(|(file, all)| (file, numbers(all))).collect();
        let last = files[0].1.len() - 1;
        for (at, second) in (100..).take(last + 1).enumerate() {
            for (file, numbers) in &files {
                match numbers[at] {
                    Some(number) => self.machine.put(file, &number.to_string()),
                    None => drop(self.machine.files.remove(*file)),
                }
            }
            if at == 0 {
                self.open_session();
            }
            let watches = self.session.as_ref().unwrap().0.watches();
            let is_due = |watch: &Sampling| watch.period_ns.is_some_and(|period_ns| period_ns <= 2 * S);
            if at == 0 || at == last || watches.iter().any(is_due) {
                self.sample(second);
            }
        }
        self.close()
    }

    fn watts(&mut self, verb: &str, at_s: &str) -> Vec<String> {
        let (powers, first) = match self.powers.take() {
            Some((powers, first)) if verb == "watts" => (powers, Some(first)),
            _ => (Powers::open(&mut self.machine, &self.meters), None),
        };
        let mut texts = Vec::new();
        self.machine.read_many(&powers.handles(), &mut texts);
        let now = powers.snapshot(at_s.parse::<u64>().unwrap() * S, &texts);
        let told = format!("{:?}, and alone {:?}", powers.watts(first.as_ref(), &now), powers.watts(None, &now));
        self.powers = Some((powers, now));
        vec![told]
    }

    /// Opens a figure at 1 s; what it shows at 3 s.
    fn figure(&mut self, verb: &str, name: &str, cpus: &str) -> Vec<String> {
        let sample = |machine: &mut Fake, figure: &OpenFigure, second: u64| {
            let mut texts = Vec::new();
            machine.read_many(figure.handles(), &mut texts);
            Sample { at_ns: second * S, texts }
        };
        if verb == "figure" {
            let Some(asked) = AskedFigure::named(name) else { return vec!["no such figure".into()] };
            let figure = match asked.open(
                &mut self.machine,
                Some(cpus).filter(|cpus| !cpus.is_empty()).map(|cpus| cpus.parse().unwrap()).as_ref(),
            ) {
                Ok(figure) => figure,
                Err(why) => return vec![why],
            };
            let first = sample(&mut self.machine, &figure, 1);
            let told = format!("from {:?}", figure.told_from());
            self.figure = Some((figure, first));
            return vec![told];
        }
        let (figure, first) = self.figure.take().unwrap();
        let told = figure.tell(&first, &sample(&mut self.machine, &figure, 3));
        figure.close(&mut self.machine);
        assert_eq!(self.machine.still_open(), 0);
        vec![format!("{told:?}")]
    }
}

/// A meter of `/sys/x`: `counter`, `counter AT_UJ AT_MOST_W [PACKAGE]`, `gauge instant`, `gauge before`.
fn meter(words: &str) -> MeterInstance {
    let words: Vec<&str> = words.split(' ').collect();
    let window = if words.get(1) == Some(&"instant") { Window::Instant } else { Window::Before };
    let kind = match words[..] {
        ["counter", at_uj, at_most_w, ..] => {
            Kind::Counter { wrap: Some(Wrap { at_uj: at_uj.parse().unwrap(), at_most_w: at_most_w.parse().unwrap() }) }
        }
        ["counter"] => Kind::Counter { wrap: None },
        _ => Kind::Gauge { interval_ns: S, window },
    };
    let meter = MeterInstance::new("hwmon", "chip socket".into(), "/sys/x".into(), kind);
    let scope = words.get(3).map_or(meter.scope.clone(), |package| PowerScope::Package((*package).into()));
    MeterInstance { scope, ..meter }
}

fn numbers(text: &str) -> Vec<Option<u64>> {
    let part = |part: &str| -> Vec<Option<u64>> {
        if let Some((number, times)) = part.split_once('x') {
            return vec![number.parse().ok(); times.parse().unwrap()];
        }
        match part.split_once("..") {
            Some((first, last)) => (first.parse().unwrap()..=last.parse().unwrap()).map(Some).collect(),
            None => vec![part.parse().ok()],
        }
    };
    text.split(',').flat_map(part).collect()
}
