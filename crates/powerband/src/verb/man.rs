//! `man`: the manual page, one roff document with every verb.
use clap::CommandFactory;

use crate::cli::Cli;
use crate::exit::{Answer, Exit, Failure};
use crate::output::say;

pub(crate) fn run() -> Answer {
    let command = Cli::command();
    let mut text = Vec::new();
    let failed = |error: std::io::Error| Failure::new(Exit::Failed, error);
    clap_mangen::Man::new(command.clone()).render(&mut text).map_err(failed)?;
    for verb in command.get_subcommands() {
        let page =
            clap_mangen::Man::new(verb.clone().disable_help_flag(true)).title(format!("powerband {}", verb.get_name()));
        text.extend_from_slice(format!(".SH POWERBAND {}\n", verb.get_name().to_uppercase()).as_bytes());
        page.render_description_section(&mut text).map_err(failed)?;
        page.render_options_section(&mut text).map_err(failed)?;
    }
    say(&String::from_utf8_lossy(&text));
    Ok(Exit::Fine as u8)
}
