//! `powerband-agent` as a process: its options, its exit codes, built-in work.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use std::process::{Command, Output, Stdio};

fn run(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_powerband-agent"));
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn it_says_what_it_is_and_what_it_is_for() {
    let said = run(&["--version"]);
    assert!(said.status.success() && String::from_utf8_lossy(&said.stdout).starts_with("powerband-agent "));
    let wrong = run(&["run", "plan.toml"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("--far 'cmd:"), "{wrong:?}");
}

#[test]
fn an_installed_agent_that_is_called_kept_refuses_and_stays() {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_powerband-agent"));
    assert_eq!(run(&["agent", "--kept"]).status.code(), Some(8));
    assert!(program.exists());
}

#[test]
fn without_an_owner_it_ends_in_words() {
    let alone = run(&["agent"]);
    assert_eq!(alone.status.code(), Some(8));
    assert!(String::from_utf8_lossy(&alone.stderr).contains("an agent speaks to another powerband"), "{alone:?}");
}

#[test]
fn it_does_built_in_work() {
    let work = r#"{"kind":"primes_share","rank":0,"ranks":1,"limit":100000}"#;
    let worked = run(&["__inside", work]);
    assert!(worked.status.success() && String::from_utf8_lossy(&worked.stdout).contains("9592"), "{worked:?}");
}
