//! The help says what is true: examples are words of ours, every verb is listed, every option has its place.
use powerband_record::split_words;

use super::*;

/// Every verb, and those below it.
fn verbs(command: &Command) -> Vec<&Command> {
    command.get_subcommands().flat_map(|verb| std::iter::once(verb).chain(verbs(verb))).collect()
}

#[test]
fn every_example_is_understood() {
    let examples = EXAMPLES.iter().flat_map(|(_, examples)| *examples).chain(&FIRST);
    for line in examples.flat_map(|(_, line)| line.split(" && ")) {
        let words = split_words(line).unwrap();
        let understood = command().try_get_matches_from(&words);
        assert!(understood.is_ok(), "{line}\n{}", understood.unwrap_err());
    }
}

#[test]
fn examples_show_their_verb() {
    for (verb, examples) in EXAMPLES {
        let first = split_words(examples[0].1).unwrap();
        let shows = verb == "agent" || first[1] == verb;
        assert!(shows, "the first example of {verb} is of another verb");
    }
}

#[test]
fn every_verb_is_in_one_group_and_has_examples() {
    let command = command();
    for verb in command.get_subcommands().map(Command::get_name) {
        let listed = GROUPS.iter().flat_map(|(_, verbs)| *verbs).filter(|name| **name == verb).count();
        assert_eq!(listed, 1, "{verb} is in {listed} groups");
        assert!(!examples_of(verb).is_empty(), "{verb} has no example");
    }
    let known = GROUPS.iter().flat_map(|(_, verbs)| *verbs);
    for name in known.filter(|name| **name != HELP.0) {
        assert!(command.find_subcommand(name).is_some(), "there is no {name}");
    }
}

#[test]
fn every_option_has_a_heading_and_one_short_sentence() {
    let mut command = command();
    command.build();
    for verb in verbs(&command) {
        for arg in verb.get_arguments().filter(|arg| !arg.is_hide_set() && verb.get_name() != "help") {
            let (name, help) = (arg.get_id(), arg.get_help().map(ToString::to_string).unwrap_or_default());
            let at = format!("{} {name}: {help}", verb.get_name());
            assert!(arg.is_positional() || arg.get_help_heading().is_some(), "{at} is under no heading");
            assert!(help.starts_with(char::is_uppercase) || help.starts_with("With "), "{at}");
            assert!((8..=130).contains(&help.chars().count()), "{at} is {} long", help.chars().count());
        }
    }
}

#[test]
fn common_options_come_first() {
    let mut command = command();
    command.build();
    for verb in ["try", "tune", "run", "calibrate"] {
        let help = command.find_subcommand_mut(verb).unwrap().render_help().to_string();
        let at =
            |heading: &str| help.find(&format!("\n{heading}:")).unwrap_or_else(|| panic!("{verb}: {heading}\n{help}"));
        let headings: &[&str] = match verb {
            "try" | "run" => &["Common options", "Load", "Metrics", "Statistics", "Machine", "Output"],
            _ => &["Common options", "Load", "Metrics", "Machine", "Output"],
        };
        assert!(headings.windows(2).all(|two| at(two[0]) < at(two[1])), "{help}");
        assert!(at("Examples") < at("Common options"), "{help}");
    }
}
