//! Units of systemd that have no source of their own here: the commands they run.
use crate::keys::keys;
use crate::scene::{Scene, of_service};

/// The units whose commands a source of its own knows.
const KNOWN: [&str; 2] = ["ondemand.service", "powerband-keep.service"];

pub(super) fn look(scene: &mut Scene<'_>) {
    let units = scene.services().units_of_interest();
    for (name, path) in units.into_iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())) {
        let Some(text) = scene.text(&path) else { continue };
        let starts = ["ExecStart", "ExecStartPre", "ExecStartPost"];
        let commands = keys(&text).into_iter().filter(|key| starts.contains(&key.name.as_str()));
        let service = scene.unit(&name);
        for key in commands {
            let finding = of_service(&name, &service).line(key.line, &key.text);
            let command = key.text.split_once('=').map_or("", |(_, command)| command);
            scene.command(&finding, &plain(command));
        }
    }
}

/// A command without what systemd reads before it (`-`, `@`, `+`, `!`, `:`) and with `%i` and similar ones left open.
pub(super) fn plain(command: &str) -> String {
    let command = command.trim().trim_start_matches(['-', '@', '+', '!', ':']);
    let mut filled = String::new();
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('%', Some('%')) | ('$', Some('$')) => {
                chars.next();
                filled.push(c);
            }
            ('%', Some(next)) if next.is_ascii_alphabetic() => {
                chars.next();
                filled.push('*');
            }
            _ => filled.push(c),
        }
    }
    filled
}
