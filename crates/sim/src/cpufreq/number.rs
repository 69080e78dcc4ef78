//! How the kernel reads numbers that are written to its files.
use powerband_machine::Errno;

/// Leading digits after optional white space; what follows them is ignored. Wraps at 64 bits as the kernel's sscanf does.
pub(crate) fn leading(text: &str) -> Result<u64, Errno> {
    let digits = text.trim_ascii_start();
    let end = digits.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return Err(Errno::EINVAL);
    }
    Ok(digits.bytes().take(end).fold(0u64, |n, b| n.wrapping_mul(10).wrapping_add(u64::from(b - b'0'))))
}

/// As [`leading`], cut to 32 bits (`%u`).
pub(crate) fn unsigned(text: &str) -> Result<u32, Errno> {
    #[expect(clippy::cast_possible_truncation, reason = "the kernel stores the low 32 bits")]
    leading(text).map(|n| n as u32)
}

/// As [`unsigned`], with a sign (`%d`).
pub(crate) fn signed(text: &str) -> Result<i32, Errno> {
    match text.trim_ascii_start().strip_prefix('-') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            Ok(unsigned(rest)?.cast_signed().wrapping_neg())
        }
        Some(_) => Err(Errno::EINVAL),
        None => Ok(unsigned(text)?.cast_signed()),
    }
}

/// A whole decimal number, one newline after it allowed, one plus before it (`kstrtouint`).
pub(crate) fn whole(text: &str) -> Result<u32, Errno> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_prefix('+').unwrap_or(text);
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Errno::EINVAL);
    }
    text.parse().map_err(|_| Errno::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::{Errno, leading, signed, unsigned, whole};

    #[test]
    fn leading_digits_decide() {
        assert_eq!(leading("1600000abc"), Ok(1_600_000));
        assert_eq!(leading(" 12\n"), Ok(12));
        for bad in ["abc", "-5", "", "+5"] {
            assert_eq!(leading(bad), Err(Errno::EINVAL), "{bad}");
        }
        assert_eq!(unsigned("4294967296"), Ok(0));
        assert_eq!(signed("-7 x"), Ok(-7));
        assert_eq!(signed("--7"), Err(Errno::EINVAL));
    }

    #[test]
    fn whole_numbers_have_nothing_after_them() {
        assert_eq!(whole("500\n"), Ok(500));
        for bad in ["500 ", "500x", "-1", "", "4294967296"] {
            assert_eq!(whole(bad), Err(Errno::EINVAL), "{bad}");
        }
    }
}
