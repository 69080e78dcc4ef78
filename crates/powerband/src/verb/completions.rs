//! `completions`: what a shell needs to complete our words.
use crate::cli::{self, Completions};
use crate::exit::{Answer, Exit};
use crate::output::print;

pub(crate) fn run(args: &Completions) -> Answer {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "powerband", &mut text);
    print(&String::from_utf8_lossy(&text));
    Ok(Exit::Fine as u8)
}
