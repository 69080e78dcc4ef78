//! What one run of the command is called with: its words, and the streams it reads and prints to.
//!
//! All verbs print, some from callbacks of other crates, so the streams are scoped to the thread of the run.
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal, Write};

/// Where a run prints, and where it reads answers from.
pub struct Streams {
    /// Standard output.
    pub out: Box<dyn Write>,
    /// Standard error.
    pub err: Box<dyn Write>,
    /// Standard input.
    pub input: Box<dyn BufRead>,
    /// Which of them are terminals.
    pub terminals: Terminals,
}

/// Which streams are terminals.
#[derive(Clone, Copy, Debug)]
pub enum Terminals {
    /// Those of the process that are at the moment: a terminal that has hung up is none any more.
    OfProcess,
    /// These.
    These {
        /// Whether standard input is one.
        input: bool,
        /// Whether standard output is one.
        out: bool,
        /// Whether standard error is one. A line of progress is drawn on that of the process.
        err: bool,
        /// Columns of the terminal that standard output is.
        columns: Option<usize>,
    },
}

impl Terminals {
    /// None of the streams is one.
    pub const NONE: Terminals = Terminals::These { input: false, out: false, err: false, columns: None };

    pub(crate) fn input(self) -> bool {
        match self {
            Terminals::OfProcess => io::stdin().is_terminal(),
            Terminals::These { input, .. } => input,
        }
    }

    pub(crate) fn out(self) -> bool {
        match self {
            Terminals::OfProcess => io::stdout().is_terminal(),
            Terminals::These { out, .. } => out,
        }
    }

    pub(crate) fn err(self) -> bool {
        match self {
            Terminals::OfProcess => io::stderr().is_terminal(),
            Terminals::These { err, .. } => err,
        }
    }

    /// The columns of standard output; absent if it is no terminal, or does not know.
    pub(crate) fn columns(self) -> Option<usize> {
        match self {
            Terminals::OfProcess => {
                let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
                Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
            }
            Terminals::These { columns, .. } => columns,
        }
    }
}

impl Streams {
    /// Those of the process.
    #[must_use]
    pub fn of_process() -> Streams {
        Streams {
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            input: Box::new(io::BufReader::new(io::stdin())),
            terminals: Terminals::OfProcess,
        }
    }

    /// Streams that are no terminals: `out` and `err` to print to, and an empty input.
    #[must_use]
    pub fn to(out: impl Write + 'static, err: impl Write + 'static) -> Streams {
        Streams { out: Box::new(out), err: Box::new(err), input: Box::new(io::empty()), terminals: Terminals::NONE }
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streams").field("terminals", &self.terminals).finish_non_exhaustive()
    }
}

/// A run: what it was called with, and whether its result reached anybody.
struct Call {
    words: Vec<OsString>,
    streams: Streams,
    /// Why a result could not be printed.
    unprinted: Option<io::Error>,
}

thread_local! {
    static CALL: RefCell<Option<Call>> = const { RefCell::new(None) };
}

/// Does something with these words and streams as those of this thread; the streams are the caller's again afterwards.
pub(crate) fn during<T>(words: &[OsString], streams: &mut Streams, act: impl FnOnce() -> T) -> T {
    struct Back<'a>(&'a mut Streams, Option<Call>);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            let call = CALL.replace(self.1.take());
            call.into_iter().for_each(|call| *self.0 = call.streams);
        }
    }
    let taken = std::mem::replace(streams, Streams::to(io::sink(), io::sink()));
    let call = Call { words: words.to_vec(), streams: taken, unprinted: None };
    let _back = Back(streams, CALL.replace(Some(call)));
    act()
}

/// A thread without a run prints to the process's streams.
fn with<T>(act: impl FnOnce(&mut Call) -> T) -> T {
    let of_process = || Call { words: std::env::args_os().collect(), streams: Streams::of_process(), unprinted: None };
    CALL.with_borrow_mut(|call| act(call.get_or_insert_with(of_process)))
}

/// The words of this run, the program first.
pub(crate) fn words() -> Vec<OsString> {
    with(|call| call.words.clone())
}

/// The terminals of this run.
pub(crate) fn terminals() -> Terminals {
    with(|call| call.streams.terminals)
}

/// Prints a result by `print`, at once; whether anybody has it. A closed pipe means that nobody wants the rest; any other error is
/// one of the command ([`unprinted`]).
pub(crate) fn print(print: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> bool {
    // What is printed may ask for words and terminals while it is made.
    let mut out = with(|call| std::mem::replace(&mut call.streams.out, Box::new(io::sink())));
    let printed = print(&mut out).and_then(|()| out.flush());
    with(|call| {
        call.streams.out = out;
        let Err(error) = printed else { return true };
        if error.kind() != io::ErrorKind::BrokenPipe {
            call.unprinted.get_or_insert(error);
        }
        false
    })
}

/// Why a result of this run could not be printed, if one could not.
pub(crate) fn unprinted() -> Option<io::Error> {
    with(|call| call.unprinted.take())
}

/// Prints to standard error. Without anybody to read it, it is lost.
pub(crate) fn complain(text: &str) {
    let _ = with(|call| call.streams.err.write_all(text.as_bytes()).and_then(|()| call.streams.err.flush()));
}

/// A line of the input; empty at its end, or if it cannot be read.
pub(crate) fn read_line() -> String {
    let mut line = String::new();
    let _ = with(|call| call.streams.input.read_line(&mut line));
    line
}
