//! What the system says of a failure, in words for people.
use std::fmt::Display;

/// An error of the operating system without what is meant for programs: `no such file or directory` for
/// `No such file or directory (os error 2)`.
#[must_use]
pub fn system_words(error: &dyn Display) -> String {
    let said = error.to_string();
    let mut parts = said.split(" (os error ");
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // What follows the number belongs to the sentence.
        words += part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-').trim_start_matches(')');
    }
    let words = words.replace("stream did not contain valid UTF-8", "it is not text (UTF-8)");
    let mut letters = words.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use super::system_words;

    #[test]
    fn a_person_reads_no_error_numbers() {
        let missing = std::io::Error::from_raw_os_error(2);
        assert_eq!(system_words(&missing), "no such file or directory");
        let inside = "error connecting to server: Connection refused (os error 111); is it started?";
        assert_eq!(system_words(&inside), "error connecting to server: Connection refused; is it started?");
        let bytes = std::io::read_to_string(&[0xff_u8][..]).unwrap_err();
        assert_eq!(system_words(&bytes), "it is not text (UTF-8)");
        assert_eq!(system_words(&"SSL error"), "SSL error");
    }
}
