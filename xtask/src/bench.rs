//! `cargo xtask bench`: the benchmarks under `bench/`, in release. They print their own tables.
use std::os::unix::process::CommandExt as _;

use anyhow::{Context as _, Result, bail};

use crate::boards;
use crate::cargo::{cargo, succeeds};
use crate::metadata::{Package, packages};
use crate::performance;

/// The package that boots a kernel. It measures nothing by itself, so that it is no benchmark.
const VIRTUAL: &str = "powerband-bench-virtual";

/// The package of error rates, which `cargo xtask sweep` runs.
const CHANCE: &str = "bench-chance";

const USAGE: &str = "\
usage: cargo xtask bench [NAME] [-- ARGUMENTS]         the benchmark named, or all under bench/, in release
       cargo xtask bench NAME --check                 what it measures against its limits in docs/performance.md
       cargo xtask bench --all --check                the same of each benchmark that has limits there
       cargo xtask bench up [OPTIONS] [-- COMMAND]    a command of powerband in a kernel of its own, with P-states and a
                                                      power meter
       cargo xtask bench rig [OPTIONS] [-- COMMAND]   the same by this machine's powerband, that kernel being its machine

Options of `up` and `rig`: --machine NAME for the clocks and the power of a machine in machines/sim, or for an ARM board
(orangepi-pc, virt-armhf, virt-arm64); --two for a second kernel at the other end of a cable, which powerband then gets as --far;
--help says the rest.
";

/// Runs the benchmark named, or all of them, and answers whether each ended well. Words behind `--` go to it.
/// `up` and `rig` boot a kernel instead: that is another program's, which gets all words.
///
/// # Errors
/// When there is no such benchmark, or cargo cannot be started.
pub(crate) fn run(words: &[String]) -> Result<bool> {
    match words.first().map(String::as_str) {
        Some("up" | "rig") => {
            // In our place, so that its code and a Ctrl-C need no one to pass them on.
            let board = boards::named(words).map(boards::built).transpose()?;
            let error = cargo().envs(board).args(["run", "--quiet", "-p", VIRTUAL, "--"]).args(words).exec();
            return Err(error).context("cannot start cargo");
        }
        Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            return Ok(true);
        }
        _ => {}
    }
    match words {
        [all, check] if all == "--all" && check == "--check" => return performance::check(None),
        [name, check] if check == "--check" => return performance::check(Some(name)),
        _ => {}
    }
    let packages = packages()?;
    let asked = pick(&packages, words)?;
    let mut well = true;
    for name in &asked.names {
        well &= succeeds(cargo().args(["run", "--release", "-p", name, "--"]).args(&asked.arguments))?;
    }
    Ok(well)
}

/// Which benchmarks, and what they are told.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    names: Vec<String>,
    arguments: Vec<String>,
}

fn pick(packages: &[Package], words: &[String]) -> Result<Asked> {
    let (before, arguments) = match words.iter().position(|word| word == "--") {
        Some(at) => (&words[..at], words[at + 1..].to_vec()),
        None => (words, Vec::new()),
    };
    let all: Vec<&str> = packages
        .iter()
        .filter(|package| {
            package.folder.starts_with("bench/")
                && package.program
                && ![VIRTUAL, CHANCE].contains(&package.name.as_str())
        })
        .map(|package| package.name.as_str())
        .collect();
    let names = match before {
        [] => all,
        [name] => match all.iter().find(|known| **known == name || known.strip_prefix("bench-") == Some(name)) {
            Some(known) => vec![*known],
            None => bail!("there is no benchmark '{name}'; there are {}", all.join(", ")),
        },
        [_, more, ..] => bail!("'{more}' is one name too many; words for the benchmark stand behind --"),
    };
    Ok(Asked { names: names.into_iter().map(str::to_owned).collect(), arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(words: &[&str]) -> Result<Asked> {
        let package = |name: &str, folder: &str| Package {
            name: name.into(),
            folder: folder.into(),
            program: true,
            ..Package::default()
        };
        let packages = [
            package("bench-simulator", "bench/simulator"),
            package("bench-verdict", "bench/verdict"),
            package(VIRTUAL, "bench/virtual"),
            package("xtask", "xtask"),
        ];
        pick(&packages, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn benchmarks_are_picked_by_either_name() {
        assert_eq!(
            picked(&[]).unwrap().names,
            ["bench-simulator", "bench-verdict"],
            "a kernel is booted by name alone"
        );
        assert_eq!(picked(&["verdict"]).unwrap().names, ["bench-verdict"]);
        let asked = picked(&["bench-verdict", "--", "--quick", "3"]).unwrap();
        assert_eq!((asked.names.len(), asked.arguments.join(" ").as_str()), (1, "--quick 3"));
        assert!(picked(&["xtask"]).is_err());
        assert!(picked(&["verdict", "simulator"]).is_err());
    }
}
