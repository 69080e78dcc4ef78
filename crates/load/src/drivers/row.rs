//! What a row of the table of tools means: what a call promises, and what is read of its output.
use powerband_record::{Better, Metric, direction_of};
use serde_json::Value;

use super::json::{document, short};
use super::options::{Options, count, kbit_rate, seconds};
use super::table::{Agree, Asked, Figure, Form, Lost, Sign, Tool, all_hold};
use super::{Call, Printed, Reading, brief, falls_short};
use crate::pick::Wanted;

/// A row, and a call of its tool.
struct Run<'a> {
    tool: &'a Tool,
    words: &'a [String],
    /// Whether the words are those of the call; of a script's, any output may come.
    shown: bool,
    options: Options,
}

/// What a row reads: numbers by their names, those for checks among them.
type Figures = std::collections::BTreeMap<&'static str, f64>;

/// What a tool printed, as text and as JSON.
struct Seen<'a> {
    texts: [&'a str; 2],
    document: Option<Value>,
}

/// What a call promises; `None` if it is another use of the program.
pub(super) fn call(tool: &'static Tool, words: &[String], shown: bool) -> Option<Call> {
    let run = Run::of(tool, words, shown);
    let readable = !shown || all_hold(&tool.needs, words, &run.options);
    if !readable && tool.hint.is_none() {
        return None;
    }
    let mut metrics: Vec<Metric> = Vec::new();
    for figure in tool.metrics.iter().filter(|figure| run.has(figure)) {
        if metrics.iter().all(|metric| metric.name != figure.name) {
            let better = figure.better.or_else(|| direction_of(&figure.name)).unwrap_or(Better::Lower);
            metrics.push(Metric { name: figure.name.clone(), better, judged: run.decides(figure), boundary: None });
        }
    }
    let (decide, shown): (Vec<Metric>, Vec<Metric>) = metrics.into_iter().partition(|metric| metric.judged);
    let unreadable = tool.hint.clone().filter(|_| !readable);
    Some(Call { metrics: decide.into_iter().chain(shown).collect(), unreadable })
}

/// Reads one run.
///
/// # Errors
/// One sentence: why it was no measurement.
pub(super) fn read(tool: &'static Tool, words: &[String], shown: bool, printed: &Printed) -> Result<Reading, String> {
    let run = Run::of(tool, words, shown);
    let has_json = tool.figures.iter().chain(&tool.metrics).any(|figure| figure.json.is_some() && run.has(figure));
    let document = if has_json { Some(document(printed.stdout, tool.title())?) } else { None };
    let seen = Seen { texts: [printed.stdout, printed.stderr], document };
    if let Some(why) = tool.voids.iter().find_map(|sign| seen.sentence(sign)) {
        return Err(why);
    }
    let mut reading = Reading::default();
    let mut figures = Figures::new();
    for figure in &tool.figures {
        if let Some(value) = run.figure(figure, &seen)? {
            figures.entry(&figure.name).or_insert(value);
        }
    }
    if let Some(lost) = &tool.lost
        && run.losses(lost, &figures, &mut reading, printed)?
    {
        return Ok(reading);
    }
    for figure in &tool.metrics {
        run.metric(figure, &seen, &mut figures, &mut reading, printed)?;
    }
    figures.extend(reading.values.iter().filter_map(|(name, value)| {
        let figure = tool.metrics.iter().find(|figure| figure.name == *name)?;
        Some((figure.name.as_str(), *value))
    }));
    run.check(&figures, &reading, printed)?;
    tool.notes.iter().filter_map(|sign| seen.sentence(sign)).for_each(|note| reading.note(note));
    Ok(reading)
}

/// What a run that failed gives as the reason.
pub(super) fn complaint(tool: &Tool, stdout: &str, stderr: &str) -> Option<String> {
    let seen = Seen { texts: [stderr, stdout], document: document(stdout, tool.title()).ok() };
    tool.voids.iter().find_map(|sign| seen.sentence(sign))
}

impl Seen<'_> {
    /// The sentence of a sign, if the output has it.
    fn sentence(&self, sign: &Sign) -> Option<String> {
        let by_pattern = sign.regex.as_ref().and_then(|pattern| {
            let captures = self.texts.iter().find_map(|text| pattern.0.captures(text))?;
            Some(captures.get(1).map_or("", |group| group.as_str()).to_owned())
        });
        let by_path = || {
            let node = sign.json.as_ref()?.query(self.document.as_ref()?).all().into_iter().next()?;
            Some(node.as_str().map_or_else(|| node.to_string(), str::to_owned))
        };
        let found = by_pattern.or_else(by_path)?;
        Some(sign.why.replace("{1}", &short(found.trim())))
    }
}

impl<'a> Run<'a> {
    fn of(tool: &'a Tool, words: &'a [String], shown: bool) -> Run<'a> {
        Run { tool, words, shown, options: Options::of(words, &tool.valued, None) }
    }

    /// Whether the output may have a figure.
    fn has(&self, figure: &Figure) -> bool {
        !self.shown || all_hold(&figure.when, self.words, &self.options)
    }

    /// Whether the output of an unknown call may lack a figure.
    fn may_lack(&self, figure: &Figure) -> bool {
        figure.missing.is_some() || !self.shown && !figure.when.is_empty()
    }

    fn decides(&self, figure: &Figure) -> bool {
        let is_such = |calls: &Vec<_>| all_hold(calls, self.words, &self.options);
        figure.judged.as_ref().is_some_and(is_such) && (self.shown || figure.when.is_empty())
    }

    /// A figure's number; `None` if it may be missing and is.
    fn number(&self, figure: &Figure, seen: &Seen) -> Result<Option<f64>, String> {
        let wanted = Wanted { name: &figure.name, unit: figure.unit.as_deref(), take: figure.take };
        let found = match (&figure.regex, &figure.json, &seen.document) {
            (Some(pattern), ..) => wanted.in_text(&pattern.0, &seen.texts),
            (None, Some(path), Some(document)) => wanted.in_json(path, document),
            _ => Ok(None),
        };
        found.map_err(|why| format!("{} {why}", self.tool.title()))
    }

    /// A figure for checks, which must be there unless a reason is known why it may not.
    fn figure(&self, figure: &Figure, seen: &Seen) -> Result<Option<f64>, String> {
        if !self.has(figure) {
            return Ok(None);
        }
        let value = self.number(figure, seen)?;
        if value.is_none() && !self.may_lack(figure) {
            return Err(self.without(figure, seen));
        }
        Ok(value)
    }

    fn metric(
        &self,
        figure: &'static Figure,
        seen: &Seen,
        figures: &mut Figures,
        reading: &mut Reading,
        printed: &Printed,
    ) -> Result<(), String> {
        if !self.has(figure) || reading.values.contains_key(&figure.name) {
            return Ok(());
        }
        let few = self.tool.observations.as_deref().and_then(|name| figures.get(name)).copied();
        let number = match self.number(figure, seen) {
            // What decides nothing makes nothing void.
            Err(why) if !self.decides(figure) => {
                reading.missing.insert(figure.name.clone(), why);
                return Ok(());
            }
            number => number?,
        };
        let Some(value) = number else {
            let others = self.tool.metrics.iter().filter(|other| other.name == figure.name && self.has(other));
            let is_last = others.last().is_some_and(|last| std::ptr::eq(last, figure));
            if is_last && !self.may_lack(figure) && self.decides(figure) {
                return Err(self.without(figure, seen));
            }
            if let Some(why) = &figure.missing {
                reading.missing.insert(figure.name.clone(), why.clone());
            }
            return Ok(());
        };
        if let Some(few) = few.filter(|few| *few < figure.least) {
            reading.missing.insert(figure.name.clone(), format!("{few} observations are too few for it"));
            return Ok(());
        }
        reading.missing.remove(&figure.name);
        reading.put(&figure.name, value, printed)
    }

    /// That a number is not there, by the words that are next to it in the output, and why that may be.
    fn without(&self, figure: &Figure, seen: &Seen) -> String {
        let words = match (&figure.regex, &figure.json) {
            (Some(pattern), _) => pattern.words(),
            (None, Some(path)) => path.to_string(),
            (None, None) => figure.name.clone(),
        };
        let translated = seen.texts.iter().any(|text| text.chars().any(|c| c.is_alphabetic() && !c.is_ascii()));
        let why = if translated { "; its output seems to be translated: run it with LC_ALL=C" } else { "" };
        format!("{} printed no result that can be read: it has no '{words}'{why}", self.tool.title())
    }

    /// Takes what was lost; answers whether nothing came at all, so that there is nothing else to read.
    fn losses(&self, lost: &Lost, figures: &Figures, reading: &mut Reading, printed: &Printed) -> Result<bool, String> {
        let (title, of) = (self.tool.title(), &lost.of);
        let get = |name: &String| figures.get(name.as_str()).copied();
        let sent = get(&lost.sent).unwrap_or_default();
        let gone = match (lost.received.as_ref().and_then(get), lost.lost.as_ref().and_then(get)) {
            (Some(received), _) if received > sent => {
                return Err(format!("{title} reports that {received} of {sent} {of} came back"));
            }
            (Some(received), _) => sent - received,
            (None, lost) => lost.unwrap_or_default(),
        };
        let share = if sent > 0.0 { 100.0 * gone / sent } else { 100.0 };
        if gone >= sent {
            reading.put_lost(share, || format!("no answer came to {title}'s {sent} {of}"), printed)?;
            return Ok(true);
        }
        let why = || format!("{title} lost {gone} of {sent} {of}, and the others are no fair sample{}", lost.hint);
        reading.put_lost(share, why, printed)?;
        Ok(false)
    }

    /// Holds what was read against what was asked for and against itself.
    fn check(&self, figures: &Figures, reading: &Reading, printed: &Printed) -> Result<(), String> {
        let (tool, title) = (self.tool, self.tool.title());
        if let Some(name) = tool.positive.iter().find(|name| figures.get(name.as_str()) == Some(&0.0)) {
            return Err(format!("{title} printed 0 for {name}: nothing was measured"));
        }
        let ran_s = tool.ran_s.as_deref().and_then(|name| figures.get(name)).copied();
        for asked in tool.asked.iter().filter(|_| self.shown) {
            self.reaches(asked, figures, ran_s)?;
        }
        if let Some(ran_s) = ran_s {
            printed.lasted(ran_s, title)?;
        }
        if let (Some(agree), Some(ran_s)) = (&tool.agree, ran_s) {
            self.agrees(agree, figures, ran_s)?;
        }
        let order = tool.ordered.iter().filter_map(|name| reading.values.get(name));
        if order.is_sorted() { Ok(()) } else { Err(format!("{title}'s {} are out of order", tool.ordered.join(", "))) }
    }

    fn reaches(&self, asked: &Asked, figures: &Figures, ran_s: Option<f64>) -> Result<(), String> {
        let holds = |condition: &super::table::Condition| condition.holds(self.words, &self.options);
        if asked.unless.as_ref().is_some_and(holds) {
            return Ok(());
        }
        let names: Vec<&str> = asked.option.iter().map(String::as_str).collect();
        let read = match asked.form {
            Form::Seconds => seconds,
            Form::Count => super::figure,
            Form::Rate => count,
            Form::KbitRate => kbit_rate,
        };
        let wanted = self.options.value(&names).and_then(read).or(asked.default);
        let (Some(wanted), Some(&done)) = (wanted, figures.get(asked.figure.as_str())) else { return Ok(()) };
        let lost = figures.get("lost_percent").copied().filter(|_| asked.of_received).unwrap_or_default();
        // One message more or less is a matter of when it stopped.
        let done = match ran_s.filter(|_| asked.per_s) {
            Some(ran_s) => (done + 1.0) / ran_s,
            None => done / (1.0 - lost.min(99.0) / 100.0),
        };
        let short = if asked.form == Form::Count { done < wanted } else { falls_short(done, wanted) };
        if !short {
            return Ok(());
        }
        let (title, done, wanted) = (self.tool.title(), brief(done), brief(wanted));
        Err(format!("{title} {} {done} of the {wanted} {} asked for{}", asked.did, asked.of, asked.hint))
    }

    fn agrees(&self, agree: &Agree, figures: &Figures, ran_s: f64) -> Result<(), String> {
        let get = |name: &String| figures.get(name.as_str()).copied();
        let (Some(rate), Some(count)) = (get(&agree.rate), get(&agree.count)) else { return Ok(()) };
        let fitting = count * agree.times / ran_s;
        // Seconds are printed to a hundredth.
        if ran_s > 0.0 && (fitting - rate).abs() <= (0.01 + 0.006 / ran_s) * fitting {
            return Ok(());
        }
        let (title, seconds) = (self.tool.title(), brief(ran_s));
        let Agree { rate: rate_name, count: count_name, .. } = agree;
        Err(format!("{title} contradicts itself: {count_name} {count} in {seconds} s, but {rate_name} {rate}"))
    }
}
