//! How a command is invoked behind a shell: a small script around it for its environment, files and repetitions.
use powerband_record::{Invocation, quoted};

/// The words that run a command as its invocation says.
pub(super) fn invoked(argv: &[String], invocation: &Invocation) -> Vec<String> {
    if invocation.is_plain() {
        return argv.to_vec();
    }
    let env: String = invocation.env.iter().map(|(name, value)| format!(" {name}={}", quoted(value))).collect();
    let input = invocation.input.as_deref().map(|path| format!(" <{}", quoted(path))).unwrap_or_default();
    let output = invocation.output.as_deref().map(|path| format!(" >{} 2>&1", quoted(path))).unwrap_or_default();
    let script = if invocation.repeats() {
        let end = if invocation.any_status { "" } else { " || exit $?" };
        let runs = invocation.runs;
        format!("n=0; while [ $n -lt {runs} ]; do n=$((n+1)); env{env} \"$@\"{input}{output}{end}; done")
    } else {
        format!("exec env{env} \"$@\"{input}{output}")
    };
    let words = ["sh", "-c", &script, "sh"].map(str::to_owned);
    words.into_iter().chain(argv.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_runs_it_as_often_and_with_what_it_says() {
        let folder = std::env::temp_dir().join(format!("powerband-invoked-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (from, to) = (folder.join("it's in"), folder.join("log"));
        std::fs::write(&from, "text").unwrap();
        let run = |invocation: &Invocation, line: &str| {
            let argv = ["sh", "-c", line].map(str::to_owned);
            let words = invoked(&argv, invocation);
            Command::new(&words[0]).args(&words[1..]).current_dir(&folder).status().unwrap().code()
        };
        let invocation = Invocation {
            env: [("A".to_owned(), "it's $HOME".to_owned())].into(),
            input: Some(from.display().to_string()),
            runs: 3,
            ..Invocation::default()
        };
        assert_eq!(run(&invocation, "printf '%s %s\\n' \"$A\" \"$(cat)\" >> log"), Some(0));
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "it's $HOME text\n".repeat(3));
        // The first that fails is the last, unless any status will do.
        std::fs::remove_file(&to).unwrap();
        assert_eq!(run(&invocation, "echo >> log; exit 4"), Some(4));
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "\n");
        assert_eq!(run(&Invocation { any_status: true, ..invocation.clone() }, "echo >> log; exit 4"), Some(4));
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "\n".repeat(4));
        let once = Invocation { runs: 0, output: Some(to.display().to_string()), ..invocation };
        assert_eq!(run(&once, "cat; echo err >&2"), Some(0));
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "texterr\n");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
