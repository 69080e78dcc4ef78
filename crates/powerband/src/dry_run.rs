//! What `--dry-run` prints: what an experiment would set and measure, and for how long.
use powerband_knob::StepLine;
use powerband_record::{Better, SearchPlan, format_duration, format_number, placed};
use powerband_report::words::counted;
use powerband_session::OnTable;
use powerband_session::dry_run::{Found, Planned, Steps};

use crate::cli::Shared;
use crate::commands;
use crate::exit::{Answer, Exit};
use crate::output::{self, Document};

impl Document for Planned<'_> {
    const KIND: &'static str = "dry-run";
}

/// Prints what would happen.
pub(crate) fn print(shared: &Shared, mut planned: Planned<'_>) -> Answer {
    let started = planned.started;
    planned.repeat = planned.seed_drawn.then(|| with_seed(started.seed, crate::typed::words()));
    if shared.json {
        return output::print_document(&planned);
    }
    let mut text = line(&format!("on {} ({}): {}", started.machine, started.system, planned.load));
    if !planned.commands.is_empty() {
        text += &format!("commands it would run, and as whom\n{}", commands::table(planned.commands));
    }
    text += &all_steps(planned.settings, started.search.is_some(), shared.verbose);
    let listed = |words: Vec<String>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    let names = |metrics: &[&str]| listed(metrics.iter().map(ToString::to_string).collect());
    let (judged, shown) = (names(&planned.judged), names(&planned.shown));
    text += &line(&format!("decision metrics: {judged}; other metrics: {shown}"));
    let found = |it: &Found| format!("{} {}", it.side, it.meter.boundary);
    text += &line(&format!("meters found: {}", listed(planned.meters.iter().map(found).collect())));
    if !planned.record.is_empty() {
        text += &line(&format!("recorded: {}", listed(planned.record.iter().map(ToString::to_string).collect())));
    }
    match &started.search {
        Some(search) => text += &sought(search, planned.trial_ns, planned.longest_ns),
        None => {
            text += &line(&format!("margin {} % ({})", format_number(100.0 * started.margin), started.margin_source));
            let blocks = counted(started.max_blocks, "block");
            text += &format!("{} trials a block, at most {blocks}", planned.trials_in_first_block);
            text += &planned
                .longest_ns
                .map(at_most)
                .map(|time| format!("{time}; usually decided sooner"))
                .unwrap_or_default();
        }
    }
    text += &seeded(started.seed, planned.seed_drawn);
    output::print(&text);
    Ok(Exit::Fine as u8)
}

/// One line, whatever is in it: names and commands may come from a stranger's page, and what is shown is what will run.
fn line(text: &str) -> String {
    format!("{}\n", output::one_line(text))
}

/// Prints what would be drawn from a table.
pub(crate) fn print_table(shared: &Shared, on_table: &OnTable) -> Answer {
    let started = on_table.started();
    if shared.json {
        return output::print_document(started);
    }
    let mut text = line(&format!("on {} ({})", started.machine, started.system));
    match &started.search {
        Some(search) => text += &sought(search, None, started.budget_ns),
        None => {
            text.extend(started.settings.iter().map(|setting| line(&setting.label)));
            let budget = started.budget_ns.map(format_duration).map(|time| format!(", at most {time}"));
            let blocks = counted(started.max_blocks, "block");
            text += &format!("at most {blocks}{}", budget.unwrap_or_default());
        }
    }
    text += &seeded(started.seed, on_table.seed_drawn());
    output::print(&text);
    Ok(Exit::Fine as u8)
}

/// The seed, and what is typed to have it again where it was drawn.
fn seeded(seed: u64, drawn: bool) -> String {
    let typed = || format!(", drawn for this plan; the same plan again:\n{}", with_seed(seed, crate::typed::words()));
    format!("\nseed {seed}{}", if drawn { typed() } else { String::new() })
}

/// The words that were typed, with the seed right behind the program's name, where every verb takes it.
fn with_seed(seed: u64, words: impl Iterator<Item = String>) -> String {
    format!("powerband --seed {seed} {}", powerband_record::quoted_line(&words.skip(1).collect::<Vec<_>>()))
}

/// Lines that the settings may take, so that all of it fits a terminal.
const LINES: usize = 16;

/// The steps of each setting; of a search those that are set once before it begins. Where they are many, a line for each setting
/// unless all are asked for.
fn all_steps(steps: &[Steps], searched: bool, verbose: bool) -> String {
    let lines: usize = steps.iter().map(|of| 1 + of.lines().count() + of.around_load.len() + of.notes.len()).sum();
    if lines > LINES && !verbose {
        return counted_steps(steps, searched);
    }
    let mut text = String::new();
    for (index, steps) in steps.iter().enumerate() {
        let role = if index == 0 && !searched { " (reference)" } else { "" };
        text += &line(&format!("{}{role}", steps.label));
        let side = |side: &str| if side.is_empty() { String::new() } else { side.replace('/', ": ") };
        text.extend(steps.lines().map(|(of, step)| line(&format!("    {}{}", side(&of), words(step)))));
        text.extend(steps.around_load.iter().map(|it| line(&format!("    {it}"))));
        text.extend(steps.notes.iter().map(|note| line(&format!("    note: {note}"))));
    }
    text
}

/// How many targets each setting writes to, and each note once.
fn counted_steps(steps: &[Steps], searched: bool) -> String {
    let mut notes: Vec<&str> = Vec::new();
    for note in steps.iter().flat_map(|of| &of.notes) {
        if !notes.contains(&note.as_str()) {
            notes.push(note);
        }
    }
    let notes_shown = notes.len().min(LINES / 4);
    // A line is kept for what is left out.
    let shown = steps.len().min(LINES - notes_shown - 1);
    let mut text = String::new();
    for (index, of) in steps.iter().take(shown).enumerate() {
        let role = if index == 0 && !searched { " (reference)" } else { "" };
        let all = || of.lines();
        let (writes, same) = (all().count(), all().filter(|(_, line)| line.already).count());
        let same = if same > 0 { format!(", {same} already so") } else { String::new() };
        let noun = if writes == 1 { "write" } else { "writes" };
        text += &line(&format!("{}{role}: {writes} {noun}{same}", of.label));
    }
    text.extend(notes.iter().take(notes_shown).map(|note| line(&format!("note: {note}"))));
    let left: Vec<String> = [(steps.len() - shown, "more settings"), (notes.len() - notes_shown, "more notes")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}, "))
        .collect();
    text + &format!("{}each write with its value: -v\n", left.concat())
}

/// A limit of time, behind what it limits.
fn at_most(ns: u64) -> String {
    format!(", at most about {}", format_duration(ns))
}

/// What is searched, how many runs there is time for where that is not one of each setting, and how long that takes.
fn sought(search: &SearchPlan, run_ns: Option<u64>, longest_ns: Option<u64>) -> String {
    let way = if search.goal.better == Better::Lower { "least" } else { "most" };
    let limits: String = search.requirements.iter().map(|limit| format!(", {limit}")).collect();
    let count = search.points.len() as u64;
    let fitting = longest_ns.zip(run_ns).map(|(all, each)| all / each.max(1)).filter(|fitting| *fitting < count);
    let fitting = fitting.map(|runs| format!(", with time for about {runs} runs")).unwrap_or_default();
    let time = match (longest_ns, run_ns) {
        (Some(longest_ns), _) => at_most(longest_ns),
        (None, Some(run_ns)) => {
            format!("; a run takes up to about {}, and it ends when the answer is confirmed", format_duration(run_ns))
        }
        (None, None) => String::new(),
    };
    output::one_line(&format!("sought: the {way} {}{limits}, among {count} settings{fitting}{time}", search.goal.name))
}

fn words(line: &StepLine) -> String {
    // What a kernel says in angle brackets is that there is no value: `<unsupported>`.
    let from = line.from.as_ref().filter(|from| !from.starts_with('<'));
    let from = from.map(|from| format!(" from {from}")).unwrap_or_default();
    let already = if line.already { " (already so)" } else { "" };
    format!("{}:{from} to {}{already}", placed(&line.knob, &line.site), line.to)
}
