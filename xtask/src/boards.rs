//! The command for boards of the virtual bench, whose processors are not this machine's.
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::architecture::{self, Architecture};
use crate::cargo::{locked, patient_cargo, succeeds};
use crate::metadata::target_folder;

/// Boards that guests may be, and the architecture of each, as `bench/virtual` has them in `arm_board.rs`.
const BOARDS: [(&str, &str); 3] = [("orangepi-pc", "armhf"), ("virt-armhf", "armhf"), ("virt-arm64", "arm64")];

/// What a guest that is a board takes, whichever it is, besides what building for it does.
pub(crate) const PROGRAMS: [&str; 2] = ["qemu-system-arm", "dtc"];

/// The architecture of the board that a command of the bench names, if it names one.
pub(crate) fn named(words: &[String]) -> Option<&'static str> {
    let ours = words.split(|word| word == "--").next().unwrap_or_default();
    let behind = ours.iter().skip_while(|word| *word != "--machine").nth(1);
    let name = behind.map(String::as_str).or_else(|| ours.iter().find_map(|word| word.strip_prefix("--machine=")))?;
    BOARDS.iter().find(|(board, _)| *board == name).map(|(_, architecture)| *architecture)
}

/// Builds the command for an architecture, as tests are built. Answers what names it to a guest, and where it is.
///
/// # Errors
/// When it cannot be built.
pub(crate) fn built(name: &str) -> Result<(String, PathBuf)> {
    let architecture: &Architecture = architecture::named("a board", name)?;
    let mut build = patient_cargo();
    build.arg("build").args(locked()).args(["--package", "powerband"]);
    architecture.target(&mut build)?;
    ensure!(succeeds(&mut build)?, "powerband cannot be built for {name}");
    let program = target_folder()?.join(architecture.triple).join("debug/powerband");
    let program = program.canonicalize().with_context(|| format!("there is no {}", program.display()))?;
    Ok((format!("POWERBAND_BUILT_{}", name.to_uppercase()), program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::top;

    #[test]
    fn the_boards_are_those_of_the_bench() {
        let source = std::fs::read_to_string(top().join("bench/virtual/src/arm_board.rs")).unwrap();
        let values = |field: &str| -> Vec<String> {
            let value = |line: &str| line.trim().strip_prefix(field)?.strip_suffix(',').map(str::to_owned);
            source.lines().filter_map(value).collect()
        };
        let (names, architectures): (Vec<_>, Vec<_>) =
            BOARDS.iter().map(|(name, it)| (format!("\"{name}\""), format!("&Foreign::{}", it.to_uppercase()))).unzip();
        assert_eq!((values("name: "), values("foreign: ")), (names, architectures));
    }

    #[test]
    fn a_command_names_its_board_in_front_of_what_powerband_is_told() {
        let named = |line: &str| named(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(named("up --machine orangepi-pc -- info"), Some("armhf"));
        assert_eq!(named("rig --two --machine=virt-arm64"), Some("arm64"));
        assert_eq!(named("up --machine quadcore -- info"), None);
        assert_eq!(named("up -- --machine virt-arm64 info"), None);
        assert_eq!(named("up --machine"), None);
    }
}
