//! A refusal: what the kernel or a program answers to something it does not do.
use powerband_machine::Errno;

/// The kernel's refusal, or a program's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) errno: Errno,
    pub(crate) words: Option<String>,
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Refusal { errno, words: None }
    }
}
