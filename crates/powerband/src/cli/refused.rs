//! What the parser of the command line refuses, in words of ours where its own are those of a programming language.
use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The largest numbers of the types that options have: no limits of the options themselves.
const MAX_OF_TYPES: [i128; 3] = [u32::MAX as i128, i64::MAX as i128, u64::MAX as i128];

/// The same refusal; of a number it says what to write.
pub(crate) fn in_plain_words(refused: clap::Error) -> clap::Error {
    let text = |kind| match refused.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let instead = refused.source().and_then(|why| number_to_write(&why.to_string()));
    match (instead, text(ContextKind::InvalidValue), text(ContextKind::InvalidArg)) {
        (Some(instead), Some(value), Some(option)) if refused.kind() == ErrorKind::ValueValidation => {
            let sentence = format!("invalid value '{value}' for '{option}': {instead}");
            clap::Error::raw(ErrorKind::ValueValidation, sentence)
        }
        _ => refused,
    }
}

/// What to write instead of a number that was refused with these words; `None` where they are about something else.
fn number_to_write(why: &str) -> Option<String> {
    match why {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            return Some("write a whole number".into());
        }
        "invalid float literal" | "cannot parse float from empty string" => return Some("write a number".into()),
        "number too large to fit in target type" => return Some("write a smaller number".into()),
        "number too small to fit in target type" => return Some("write a larger number".into()),
        _ => {}
    }
    let (value, range) = why.split_once(" is not in ")?;
    let (low, high) = range.split_once("..")?;
    let (value, low): (i128, i128) = (value.parse().ok()?, low.parse().ok()?);
    let high = match high.strip_prefix('=') {
        Some(high) => high.parse().ok()?,
        None => high.parse::<i128>().ok()? - 1,
    };
    Some(match MAX_OF_TYPES.contains(&high) && value < low {
        true => format!("write a whole number, {low} or more"),
        false => format!("write a number from {low} to {high}"),
    })
}

#[cfg(test)]
mod tests {
    use super::number_to_write;

    #[test]
    fn a_number_that_is_refused_is_answered_with_those_that_are_not() {
        for (why, instead) in [
            ("10000 is not in 1..10000", "write a number from 1 to 9999"),
            ("0 is not in 1..=20000", "write a number from 1 to 20000"),
            ("-1 is not in 0..=4294967295", "write a whole number, 0 or more"),
            ("5000000000 is not in 1..=4294967295", "write a number from 1 to 4294967295"),
            ("invalid digit found in string", "write a whole number"),
        ] {
            assert_eq!(number_to_write(why).as_deref(), Some(instead), "{why}");
        }
        assert_eq!(number_to_write("nobody answers in no time"), None);
    }
}
