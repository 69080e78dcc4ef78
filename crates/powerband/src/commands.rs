//! The commands an experiment executes, shown before they run; those of a page run only where they are trusted.
use std::path::Path;

use powerband_experiment::Resolved;
use powerband_session::Listed;

use crate::exit::{Exit, Failure, usage};
use crate::{output, streams};

/// One line a command: user, what it is for, the command.
pub(crate) fn table(listed: &[Listed]) -> String {
    let width = |of: &dyn Fn(&Listed) -> usize| listed.iter().map(of).max().unwrap_or(0);
    let (who, what) = (width(&|row| row.who().chars().count()), width(&|row| row.what().chars().count()));
    let line =
        |row: &Listed| format!("    {:who$}  {:what$}  {}\n", row.who(), row.what(), output::one_line(row.command()));
    listed.iter().map(line).collect()
}

/// Prints one note a command.
pub(crate) fn note(listed: &[Listed]) {
    for row in listed {
        output::note(format!("runs as {}: {}: {}", row.who(), row.what(), row.command()));
    }
}

/// Lets a page run on a machine that is not simulated: where the user has said so, or says so now.
pub(crate) fn trust(page: &Path, resolved: &Resolved, listed: &[Listed], trusted: bool) -> Result<(), Failure> {
    let knobs = resolved.settings.iter().flat_map(|setting| &setting.assignments).map(|it| it.knob.name.as_str());
    let knobs: std::collections::BTreeSet<&str> = knobs.collect();
    let sets = if knobs.is_empty() { "nothing".to_owned() } else { knobs.into_iter().collect::<Vec<_>>().join(", ") };
    if trusted {
        note(listed);
        return Ok(());
    }
    let page = page.display();
    let terminals = streams::terminals();
    if !(terminals.input() && terminals.err()) {
        let count = match listed.len() {
            1 => "1 command".to_owned(),
            count => format!("{count} commands"),
        };
        return Err(usage(format!(
            "{page} runs {count} and sets {sets}; look at it with --dry-run, then add --trust to run it"
        )));
    }
    output::ask(&format!("{page} sets: {sets}\nIt runs these commands:\n{}Run it? [y/N] ", table(listed)));
    // A terminal that is gone answers nothing, which is no.
    match streams::read_line().trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::new(Exit::Usage, "nothing was run, because the answer was not yes")),
    }
}
