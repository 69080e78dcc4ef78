//! Which exit statuses of a command other than 0 leave a trial valid, and which of them count as success.
use powerband_record::{CommandEnd, ExitStatus};
use serde::{Deserialize, Serialize};

/// Which failures of a command are ignored: none, all, or those with certain statuses, which then count as success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "true, or the exit statuses that count as success, e.g. ignore_failure = [3, 4]")]
pub enum IgnoredStatuses {
    /// All, or none. A command that failed is then shown, and not judged.
    Any(bool),
    /// These count as success, a signal as 128 and its number; all others make a trial void.
    Only(Vec<u8>),
}

impl Default for IgnoredStatuses {
    fn default() -> Self {
        IgnoredStatuses::Any(false)
    }
}

impl std::str::FromStr for IgnoredStatuses {
    type Err = String;

    /// Reads `3,4`; nothing is all.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(IgnoredStatuses::Any(true));
        }
        let status = |word: &str| {
            let status = word.trim().parse::<u8>().ok().filter(|status| *status > 0);
            status
                .ok_or_else(|| format!("'{word}' is not an exit status from 1 to 255; use e.g. -i 3,4, or -i for any"))
        };
        text.split(',').map(status).collect::<Result<_, _>>().map(IgnoredStatuses::Only)
    }
}

impl IgnoredStatuses {
    /// Whether a command runs on after any failure.
    pub(crate) fn is_given(&self) -> bool {
        *self != IgnoredStatuses::Any(false)
    }

    /// What a status other than 0 means for a trial; `None` where it makes it void.
    pub(crate) fn end(&self, status: ExitStatus) -> Option<CommandEnd> {
        match self {
            IgnoredStatuses::Any(any) => any.then_some(CommandEnd { status, accepted: false }),
            IgnoredStatuses::Only(only) => {
                let accepted = only.iter().any(|accepted| i32::from(*accepted) == status.code());
                accepted.then_some(CommandEnd { status, accepted })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_that_are_named_count_as_success_and_only_they() {
        let some: IgnoredStatuses = "3,137".parse().unwrap();
        let accepted = |status| Some(CommandEnd { status, accepted: true });
        assert_eq!(some.end(ExitStatus::Code(3)), accepted(ExitStatus::Code(3)));
        assert_eq!(some.end(ExitStatus::Signal(9)), accepted(ExitStatus::Signal(9)), "128 and 9");
        assert_eq!(some.end(ExitStatus::Code(4)), None);
        let any: IgnoredStatuses = "".parse().unwrap();
        assert!(any.end(ExitStatus::Code(4)).is_some_and(|end| !end.accepted));
        assert_eq!(IgnoredStatuses::default().end(ExitStatus::Code(4)), None);
        for wrong in ["0", "256", "a", "3,,4", "-1"] {
            assert!(wrong.parse::<IgnoredStatuses>().is_err(), "{wrong}");
        }
        let spelled = |text| serde_json::from_str::<IgnoredStatuses>(text).unwrap();
        assert_eq!((spelled("true"), spelled("[3,137]")), (any, some));
    }
}
