//! A number as programs print it: sign, digits with separators, exponent. What is not surely one number is refused.

/// Separators that stand between groups of three digits and never before a fraction: apostrophe and narrow or no-break spaces.
const GROUPING: [char; 5] = ['\'', '\u{2019}', '\u{a0}', '\u{202f}', '\u{2009}'];

/// A number at the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) value: f64,
    /// Bytes it takes.
    pub(super) len: usize,
    /// Whether it is nothing but digits.
    pub(super) is_plain: bool,
    /// Whether its dot is before a fraction or between thousands.
    pub(super) is_dotted: bool,
    /// What stands before a fraction where this one was printed, as far as it shows that.
    pub(super) mark: Option<char>,
}

/// Reads the number that a text begins with, all of it; `mark` is what stands before fractions, as far as that is known.
///
/// # Errors
/// Why it is not surely a number, in words that follow its text.
pub(super) fn number(text: &str, mark: Option<char>) -> Result<Number, String> {
    let unsigned = text.strip_prefix(['+', '-', '−']).unwrap_or(text);
    let body = &unsigned[..body_len(unsigned)];
    let exponent = exponent_len(&unsigned[body.len()..]);
    let len = text.len() - unsigned.len() + body.len() + exponent;
    if !body.contains(|c: char| c.is_ascii_digit()) {
        return Err("is no number".into());
    }
    if body == "0" && unsigned[1..].starts_with(['x', 'X']) {
        return Err("is hexadecimal".into());
    }
    let (digits, shown) = plain(body, mark)?;
    let sign = if text.starts_with(['-', '−']) { "-" } else { "" };
    let tail = &unsigned[body.len()..body.len() + exponent];
    let value: f64 = format!("{sign}{digits}{}", tail.trim_start_matches('.')).parse().unwrap_or(f64::NAN);
    if !value.is_finite() {
        return Err("is no finite number".into());
    }
    let is_plain = exponent == 0 && body.bytes().all(|b| b.is_ascii_digit());
    let is_dotted = exponent == 0 && mark.is_none() && shown.is_none() && body.contains('.');
    Ok(Number { value, len, is_plain, is_dotted, mark: shown })
}

/// How many bytes digits and what separates them take; a separator before no digit is not part of it.
fn body_len(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut end = 0;
    while let Some((at, c)) = chars.next() {
        let separates = matches!(c, '.' | ',' | '_') || GROUPING.contains(&c);
        if c.is_ascii_digit() {
            end = at + 1;
        } else if !(separates && (at > 0 || c == '.') && chars.peek().is_some_and(|(_, next)| next.is_ascii_digit())) {
            break;
        }
    }
    end
}

/// How many bytes an exponent takes, with the point of `5.e3`.
fn exponent_len(text: &str) -> usize {
    let after = text.strip_prefix('.').unwrap_or(text);
    let Some(power) = after.strip_prefix(['e', 'E']) else { return 0 };
    let power = power.strip_prefix(['+', '-']).unwrap_or(power);
    let digits = power.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { 0 } else { text.len() - power.len() + digits }
}

/// The digits with a point at most, and what stood before the fraction if they show that.
fn plain(body: &str, mark: Option<char>) -> Result<(String, Option<char>), String> {
    let separators: Vec<char> = body.chars().filter(|c| !c.is_ascii_digit()).collect();
    let without = || body.chars().filter(char::is_ascii_digit).collect::<String>();
    let Some(&last) = separators.last() else { return Ok((body.into(), None)) };
    let first = separators[0];
    let is_mark = |c: char| matches!(c, '.' | ',');
    let other = |c: char| if c == ',' { '.' } else { ',' };
    let against =
        || "writes its fraction otherwise than the numbers before it; run the command with LC_ALL=C".to_owned();
    let not = || "is not one number".to_owned();
    if separators.contains(&'_') {
        return Err("has an underscore in it".into());
    }
    if separators.iter().all(|&c| c == first) && (separators.len() > 1 || GROUPING.contains(&first)) {
        let shown = is_mark(first).then(|| other(first));
        return match (in_thousands(body, first), shown, mark) {
            (false, ..) => Err(not()),
            (_, Some(shown), Some(mark)) if shown != mark => Err(against()),
            _ => Ok((without(), shown)),
        };
    }
    if !is_mark(last) || separators.iter().filter(|&&c| c == last).count() > 1 {
        return Err(not());
    }
    let (whole, fraction) = body.rsplit_once(last).unwrap_or_default();
    let decimal = || (format!("{}.{fraction}", whole.replace(|c: char| !c.is_ascii_digit(), "")), Some(last));
    if separators.len() > 1 {
        let alike = separators[..separators.len() - 1].iter().all(|&c| c == first);
        return match mark {
            _ if !alike || !in_thousands(whole, first) => Err(not()),
            Some(mark) if mark != last => Err(against()),
            _ => Ok(decimal()),
        };
    }
    match (in_thousands(body, last), mark) {
        (_, Some(mark)) if mark == last => Ok(decimal()),
        (true, Some(_)) => Ok((without(), Some(other(last)))),
        (false, Some(_)) => Err(against()),
        (true, None) if last == ',' => Err(format!(
            "is {} or {whole}.{fraction}; run the command with LC_ALL=C, or take its commas out (| tr -d ,)",
            without()
        )),
        // Until another number shows what the dot is, this one shows nothing.
        (true, None) => Ok((decimal().0, None)),
        (false, None) => Ok(decimal()),
    }
}

/// Whether digits are grouped as thousands are: one to three, the first not 0, then always three.
fn in_thousands(body: &str, separator: char) -> bool {
    let mut groups = body.split(separator);
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len()) && !first.starts_with('0') && groups.all(|group| group.len() == 3)
}

/// Why a number that begins or ends there is only a part of one, with the text around it.
pub(super) fn cut(before: &str, number: &str, after: &str) -> Option<&'static str> {
    let mut back = before.chars().rev();
    let (last, second) = (back.next().unwrap_or(' '), back.next().unwrap_or(' '));
    let is_digit = |c: char| c.is_ascii_digit();
    let separates = |c: char| matches!(c, '.' | ',' | '_') || GROUPING.contains(&c);
    let third = back.next().unwrap_or(' ');
    let is_exponent = |e: char, before: char| matches!(e, 'e' | 'E') && is_digit(before);
    let two = |text: &str| text.len() >= 2 && text.bytes().take(2).all(|b| b.is_ascii_digit());
    let ends = |text: &str| !text.as_bytes().get(2).is_some_and(u8::is_ascii_digit);
    let begins_late = is_digit(last)
        || separates(last) && is_digit(second)
        || last == '.' && !second.is_alphanumeric() && second != '.'
        || matches!(last, '-' | '−')
            && (!second.is_alphabetic() && second != '-' && second != ')' && second != ']'
                || is_exponent(second, third))
        || is_exponent(last, second)
        || matches!(last, 'x' | 'X') && second == '0' && !is_digit(third);
    let clock_before = last == ':' && is_digit(second) && two(number) && ends(number) && {
        let digits = before[..before.len() - 1].chars().rev().take_while(|c| is_digit(*c)).count();
        let ahead = before.chars().rev().nth(digits + 1).unwrap_or(' ');
        digits <= 2 && (ahead == ':' || !ahead.is_alphanumeric() && !matches!(ahead, '.' | '_'))
    };
    let clock_after = after.strip_prefix(':').is_some_and(|rest| two(rest) && ends(rest)) && number.len() <= 2;
    let range = after.strip_prefix(['-', '–']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if is_foreign(after.chars()) || is_foreign(before.chars().rev()) {
        Some("is only a part of a number with signs that are unknown here")
    } else if begins_late {
        Some("is only the end of a number")
    } else if clock_before || clock_after {
        Some("is a part of a time such as 1:02")
    } else {
        range.then_some("is a part of a range or a date")
    }
}

/// Whether signs of other scripts carry a number on: `0·98`, `98٫5`, `98²`.
fn is_foreign(mut signs: impl Iterator<Item = char>) -> bool {
    let between = |c: char| !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace();
    match signs.next() {
        Some(c) if !c.is_ascii() && c.is_numeric() => true,
        Some(c) if between(c) && !GROUPING.contains(&c) && !"±×÷–—…°•│┃║→←≤≥≈−∼€£".contains(c) => {
            signs.next().is_some_and(char::is_numeric)
        }
        _ => false,
    }
}

/// Whether a minus stands apart before a number, where it may be a sign or a dash: `d - 5.5`.
pub(super) fn has_loose_minus(before: &str) -> bool {
    let text = before.trim_end_matches([' ', '\u{a0}']);
    text.len() < before.len()
        && text.strip_suffix(['-', '−']).is_some_and(|text| text.is_empty() || text.ends_with([' ', '=', ':', '\t']))
}

/// Whether a pattern has a dash and a blank right before its group, so that the dash is no sign.
pub(super) fn is_dash_spelled(pattern: &str) -> bool {
    let lead = &pattern[..pattern.find('(').unwrap_or(0)];
    let lead = lead.trim_end_matches([' ', '+', '*']);
    let lead = lead.strip_suffix("\\s").unwrap_or(lead);
    lead.ends_with('-')
}

/// Whether a number may be some of the digits of a larger one that is grouped by blanks: `1` or `234` of `1 234 ms`.
pub(super) fn is_spaced_group(before: &str, number: &str, after: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let is_first = |count: usize, text: &str| (1..=3).contains(&count) && !text.starts_with('0');
    let follows = after.strip_prefix(' ').is_some_and(|rest| digits(rest) == 3);
    let earlier = before.strip_suffix(' ').is_some_and(|text| {
        let head = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let apart = !head.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | ',' | '_'));
        apart && is_first(text.len() - head.len(), &text[head.len()..])
    });
    follows && is_first(number.len(), number) || earlier && digits(number) == 3
}
