//! `cargo xtask bench`: the benchmarks under `bench/`, in release. They print their own tables.
use anyhow::{Result, bail};

use crate::cargo::{cargo, succeeds};
use crate::metadata::{Package, packages};

/// Runs the benchmark named, or all of them, and answers whether each ended well. Words behind `--` go to it.
///
/// # Errors
/// When there is no such benchmark, or cargo cannot be started.
pub(crate) fn run(words: &[String]) -> Result<bool> {
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
        .filter(|package| package.folder.starts_with("bench/") && package.program)
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
            package("xtask", "xtask"),
        ];
        pick(&packages, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn benchmarks_are_picked_by_either_name() {
        assert_eq!(picked(&[]).unwrap().names, ["bench-simulator", "bench-verdict"]);
        assert_eq!(picked(&["verdict"]).unwrap().names, ["bench-verdict"]);
        let asked = picked(&["bench-verdict", "--", "--quick", "3"]).unwrap();
        assert_eq!((asked.names.len(), asked.arguments.join(" ").as_str()), (1, "--quick 3"));
        assert!(picked(&["xtask"]).is_err());
        assert!(picked(&["verdict", "simulator"]).is_err());
    }
}
