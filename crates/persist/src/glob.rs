//! Patterns as shells, udev and tmpfiles write them: `*`, `?`, `[0-7]`, `{a,b}`, `{0..7}`.

/// No path is longer than this, and no pattern for one (PATH_MAX), bytes.
const MAX: usize = 4096;

/// More alternatives of one pattern than this are not looked at.
const ALTERNATIVES: usize = 1024;

/// Whether `text` is meant by `pattern`. A star also stands for slashes: a script may hide some in a variable.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    if pattern.len() > MAX {
        return false;
    }
    let mut open = vec![pattern.to_owned()];
    let mut looked_at = 0;
    while let Some(pattern) = open.pop() {
        looked_at += 1;
        if looked_at > ALTERNATIVES {
            return false;
        }
        match alternatives(&pattern) {
            Some(more) => open.extend(more),
            None if plain(&pattern, text) => return true,
            None => {}
        }
    }
    false
}

/// The pattern once for each alternative of its first braces; `None` without braces.
fn alternatives(pattern: &str) -> Option<Vec<String>> {
    let start = pattern.find('{')?;
    let end = start + pattern[start..].find('}')?;
    let (before, inside, after) = (&pattern[..start], &pattern[start + 1..end], &pattern[end + 1..]);
    let range = inside.split_once("..").and_then(|(from, to)| Some(from.parse::<u32>().ok()?..=to.parse().ok()?));
    let inside: Vec<String> = match range {
        Some(range) => range.take(ALTERNATIVES).map(|number| number.to_string()).collect(),
        None if inside.contains(',') => inside.split(',').map(str::to_owned).collect(),
        None => return None,
    };
    Some(inside.into_iter().map(|one| format!("{before}{one}{after}")).collect())
}

/// Without braces; in time proportional to both lengths, whatever the pattern.
fn plain(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where to go on when what follows the last star does not fit.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
        } else if let Some(length) = one(&pattern[p..], text[t]) {
            p += length;
            t += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            (p, t) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// How much of the pattern's beginning stands for this character.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => {
            let Some(end) = pattern.iter().skip(2).position(|&c| c == ']').map(|end| end + 2) else {
                return (c == '[').then_some(1);
            };
            let (inside, wanted) = match pattern[1] {
                '!' | '^' => (&pattern[2..end], false),
                _ => (&pattern[1..end], true),
            };
            (within(inside, c) == wanted).then_some(end + 1)
        }
        &literal => (literal == c).then_some(1),
    }
}

/// `0-9a`.
fn within(class: &[char], c: char) -> bool {
    let mut i = 0;
    while i < class.len() {
        if class.get(i + 1) == Some(&'-') && i + 2 < class.len() {
            if (class[i]..=class[i + 2]).contains(&c) {
                return true;
            }
            i += 3;
        } else if class[i] == c {
            return true;
        } else {
            i += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_mean_what_a_shell_means() {
        let cpu = "/sys/devices/system/cpu/cpu12/cpufreq/scaling_governor";
        for pattern in [
            "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor",
            "/sys/devices/system/cpu/cpu{0..15}/cpufreq/scaling_governor",
            "/sys/devices/system/cpu/cpu{3,12}/cpufreq/scaling_governor",
            "*/scaling_governor",
            "/sys/devices/system/cpu/cpu1?/cpufreq/scaling_governor",
        ] {
            assert!(matches(pattern, cpu), "{pattern}");
        }
        for pattern in ["/sys/devices/system/cpu/cpu[!1]*/cpufreq/scaling_governor", "cpu{0..3}", "", "*x", "["] {
            assert!(!matches(pattern, cpu), "{pattern}");
        }
        assert!(matches("[", "[") && matches("a{b}", "a{b}") && matches("**", "") && !matches("?", ""));
    }

    #[test]
    fn a_long_pattern_takes_no_longer_than_its_length() {
        let text = "a".repeat(3000);
        assert!(!matches(&format!("{}b", "*a".repeat(2000)), &text));
        assert!(!matches(&"{a,b}".repeat(60), &text));
    }
}
