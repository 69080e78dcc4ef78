//! `man`: manual pages from the definition of the command line, one for each verb.
use std::path::Path;

use clap::Command;
use powerband_host::with_rights_for;
use powerband_record::system_words;

use crate::cli::{self, Man, VERB_GROUPS};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output::{note, print};

pub(crate) fn run(args: &Man) -> Answer {
    let mut root = cli::command().disable_help_subcommand(true);
    root.build();
    match (&args.dir, &args.verb) {
        (Some(folder), _) => write_all(&root, folder)?,
        (None, None) => print(&overview(&root)?),
        (None, Some(name)) => {
            let verb = root.find_subcommand(name).ok_or_else(|| unknown(&root, name))?;
            print(&page(verb)?);
        }
    }
    Ok(Exit::Fine as u8)
}

fn unknown(root: &Command, name: &str) -> Failure {
    let verbs: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
    usage(format!("there is no verb '{name}'; the verbs are {}", verbs.join(", ")))
}

/// Writes `powerband.1` and a page for each verb, and for those below it.
fn write_all(root: &Command, folder: &Path) -> Result<(), Failure> {
    let mut pages = vec![("powerband".to_owned(), overview(root)?)];
    let mut verbs: Vec<&Command> = root.get_subcommands().collect();
    while let Some(verb) = verbs.pop() {
        verbs.extend(verb.get_subcommands().filter(|inner| !inner.is_hide_set()));
        pages.push((verb.get_display_name().unwrap_or(verb.get_name()).to_owned(), page(verb)?));
    }
    let written = |path: &Path, text: Option<&str>| {
        let done = with_rights_for(path, || {
            text.map_or_else(|| std::fs::create_dir_all(path), |text| std::fs::write(path, text))
        });
        done.map_err(|error| {
            Failure::new(Exit::CannotGoOn, format!("cannot write {}: {}", path.display(), system_words(&error)))
        })
    };
    written(folder, None)?;
    for (name, text) in &pages {
        written(&folder.join(format!("{name}.1")), Some(text))?;
    }
    note(format!("wrote {} pages to {}", pages.len(), folder.display()));
    Ok(())
}

/// The generator of a page, with its headline.
fn manual(command: &Command) -> clap_mangen::Man {
    clap_mangen::Man::new(command.clone())
        .source(concat!("powerband ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands")
}

/// The page of one verb.
fn page(verb: &Command) -> Result<String, Failure> {
    let man = manual(verb);
    let mut text = Vec::new();
    man.render_title(&mut text)
        .and_then(|()| man.render_name_section(&mut text))
        .and_then(|()| man.render_synopsis_section(&mut text))
        .and_then(|()| man.render_description_section(&mut text))
        .and_then(|()| if verb.has_subcommands() { man.render_subcommands_section(&mut text) } else { Ok(()) })
        .map_err(|error| Failure::new(Exit::Failed, error))?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    text += &examples(verb.get_name());
    let mut options = Vec::new();
    man.render_options_section(&mut options).map_err(|error| Failure::new(Exit::Failed, error))?;
    text += &String::from_utf8_lossy(&options);
    Ok(ascii(&(text + ".SH SEE ALSO\n.BR powerband (1)\n")))
}

/// The page of the command: what it is for, its verbs in groups, the options all of them take, exit codes.
fn overview(root: &Command) -> Result<String, Failure> {
    let man = manual(root);
    let mut head = Vec::new();
    man.render_title(&mut head)
        .and_then(|()| man.render_name_section(&mut head))
        .and_then(|()| man.render_synopsis_section(&mut head))
        .and_then(|()| man.render_description_section(&mut head))
        .map_err(|error| Failure::new(Exit::Failed, error))?;
    let mut text = String::from_utf8_lossy(&head).into_owned();
    for (title, verbs) in VERB_GROUPS {
        text += &format!(".SH {}\n", title.to_uppercase());
        for verb in verbs.iter().filter_map(|name| root.find_subcommand(name)) {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            text += &format!(".TP\n\\fBpowerband\\-{}\\fR(1)\n{}\n", verb.get_name(), escaped(&about));
        }
    }
    text += &examples("");
    let mut options = Vec::new();
    man.render_options_section(&mut options).map_err(|error| Failure::new(Exit::Failed, error))?;
    text += &String::from_utf8_lossy(&options);
    let codes = root.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let codes = codes.trim_start_matches("Exit codes: ");
    Ok(ascii(&format!("{text}.SH EXIT STATUS\n{}\n", escaped(codes))))
}

/// Examples, as they are typed.
fn examples(verb: &str) -> String {
    let line = |(what, words): &(&str, &str)| {
        format!(".PP\n{}:\n.PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n", escaped(what), escaped(words))
    };
    format!(".SH EXAMPLES\n{}", cli::examples_of(verb).iter().map(line).collect::<String>())
}

/// Roff with every other letter by its code point, as it is read in any locale.
fn ascii(text: &str) -> String {
    let plain = |c: char| if c.is_ascii() { c.to_string() } else { format!("\\[u{:04X}]", c as u32) };
    text.chars().map(plain).collect()
}

/// Text for roff: backslashes, hyphens as typed, and no line that begins a request.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
