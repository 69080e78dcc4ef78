//! What a run of the command finds around itself, in place of what its process has: environment, program, signals.
//!
//! Environment variables are read deep below the command: where the state folder is, who called sudo. They are scoped to a thread
//! rather than passed through every layer, because one thread runs an experiment, and threads that it starts either read files alone
//! or enter its surroundings ([`Surroundings::during`]). Without a scope everything is the process's own.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The program of this process, for one that starts itself in another role.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// What a run finds around itself.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The environment and the program; `None` for the process's own.
    own: Option<(BTreeMap<OsString, OsString>, PathBuf)>,
}

thread_local! {
    static SCOPE: RefCell<Surroundings> = const { RefCell::new(Surroundings::of_process()) };
}

impl Surroundings {
    /// Those of the process: its environment, and signals that ask it to stop.
    #[must_use]
    pub const fn of_process() -> Surroundings {
        Surroundings { own: None }
    }

    /// Those of one run among several in a process: its environment, and the program that is started again in other roles. No
    /// signal stops the run, because signals are the process's.
    #[must_use]
    pub fn of(environment: BTreeMap<OsString, OsString>, program: PathBuf) -> Surroundings {
        Surroundings { own: Some((environment, program)) }
    }

    /// Those of this thread.
    #[must_use]
    pub fn current() -> Surroundings {
        SCOPE.with_borrow(Surroundings::clone)
    }

    /// Does something on this thread in these surroundings.
    pub fn during<T>(self, act: impl FnOnce() -> T) -> T {
        struct Back(Option<Surroundings>);
        impl Drop for Back {
            fn drop(&mut self) {
                self.0.take().into_iter().for_each(|before| SCOPE.set(before));
            }
        }
        let _back = Back(Some(SCOPE.replace(self)));
        act()
    }
}

/// A variable of the environment.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    SCOPE.with_borrow(|scope| match &scope.own {
        Some((environment, _)) => environment.get(OsStr::new(name)).cloned(),
        None => std::env::var_os(name),
    })
}

/// A variable of the environment that is text.
#[must_use]
pub fn text_variable(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

/// All variables of the environment that are text by their names.
pub(crate) fn variables() -> Vec<(String, OsString)> {
    let all: Vec<(OsString, OsString)> = SCOPE.with_borrow(|scope| match &scope.own {
        Some((environment, _)) => environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        None => std::env::vars_os().collect(),
    });
    all.into_iter().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect()
}

/// Whether signals to the process are for this run.
pub(crate) fn heeds_signals() -> bool {
    SCOPE.with_borrow(|scope| scope.own.is_none())
}

/// The program that is started again in other roles.
pub(crate) fn program() -> PathBuf {
    SCOPE.with_borrow(|scope| scope.own.as_ref().map_or_else(|| OWN_PROGRAM.into(), |(_, program)| program.clone()))
}

/// The path of this program, to be named to others.
///
/// # Errors
/// When the kernel does not show it.
pub fn program_path() -> std::io::Result<PathBuf> {
    SCOPE.with_borrow(|scope| match &scope.own {
        Some((_, program)) => Ok(program.clone()),
        None => std::env::current_exe(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(value: &str) -> Surroundings {
        Surroundings::of([("POWERBAND_TEST".into(), value.into())].into(), "/bin/true".into())
    }

    #[test]
    fn threads_do_not_see_each_others_environment() {
        let reads =
            |value: &'static str| std::thread::spawn(move || with(value).during(|| text_variable("POWERBAND_TEST")));
        let (one, two) = (reads("1"), reads("2"));
        assert_eq!([one, two].map(|thread| thread.join().unwrap().unwrap()), ["1", "2"]);
        assert_eq!(variable("POWERBAND_TEST"), None);
    }

    #[test]
    fn what_was_before_comes_back_even_after_a_panic() {
        with("outer").during(|| {
            let ended = std::panic::catch_unwind(|| with("inner").during(|| panic!("{:?}", variables())));
            assert!(ended.is_err() && !heeds_signals());
            assert_eq!((program(), program_path().unwrap()), ("/bin/true".into(), "/bin/true".into()));
            assert_eq!(text_variable("POWERBAND_TEST").as_deref(), Some("outer"));
            let current = Surroundings::current();
            let in_thread = std::thread::spawn(|| current.during(|| text_variable("POWERBAND_TEST")));
            assert_eq!(in_thread.join().unwrap().as_deref(), Some("outer"));
        });
        assert!(heeds_signals() && variable("POWERBAND_TEST").is_none());
    }
}
