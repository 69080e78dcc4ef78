//! udev rules: attributes of devices (`ATTR{…}="…"`), settings (`SYSCTL{…}="…"`) and commands (`RUN+="…"`).
use crate::finding::BootFinding;
use crate::keys::joined;
use crate::scene::Scene;
use crate::shell::sysctl_path;

pub(super) fn look(scene: &mut Scene<'_>) {
    for path in scene.shelved("udev/rules.d", ".rules") {
        let Some(text) = scene.text(&path) else { continue };
        for (number, line) in joined(&text) {
            if !line.trim_start().starts_with('#') {
                rule(scene, &path, number, &line);
            }
        }
    }
}

/// One rule.
fn rule(scene: &mut Scene<'_>, path: &str, number: usize, line: &str) {
    let pairs = pairs(line);
    let matched = |name: &str| {
        let pair = pairs.iter().find(|pair| pair.key == name && pair.operator == "==");
        pair.map(|pair| pair.value.as_str())
    };
    let how = match (matched("ACTION"), matched("SUBSYSTEM")) {
        (Some(action), Some(subsystem)) => format!("when a device of {subsystem} says {action}"),
        (None, Some(subsystem)) => format!("when a device of {subsystem} appears"),
        _ => "when a device appears".to_owned(),
    };
    let finding = BootFinding::new("udev", path).line(number, line).how(how);
    for pair in pairs.iter().filter(|pair| pair.operator != "==" && pair.operator != "!=") {
        let inside = |name: &str| pair.key.strip_prefix(name)?.strip_prefix('{')?.strip_suffix('}');
        let sites = match (inside("ATTR"), inside("SYSCTL")) {
            (Some(attribute), _) => scene.target.at_attribute(attribute, matched("KERNEL")),
            (_, Some(key)) => scene.target.at_path(&sysctl_path(key)),
            _ if pair.key == "RUN" || pair.key == "RUN{program}" => {
                let before = scene.findings().len();
                scene.command(&finding, &filled_in(&pair.value));
                if let Some(address) = matched("ATTR{address}") {
                    scene.narrow(before, address);
                }
                continue;
            }
            _ => continue,
        };
        if !sites.is_empty() {
            scene.push(finding.clone().sets(vec![pair.value.clone()], sites));
        }
    }
}

/// A command with what udev puts in (`%k`, `$name`) left open.
fn filled_in(command: &str) -> String {
    let mut filled = String::new();
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '%' && chars.peek().is_some_and(char::is_ascii_alphabetic) {
            chars.next();
            filled.push('*');
        } else {
            filled.push(c);
        }
    }
    // What is left of these is a variable nobody has set, which stands for anything, too.
    filled
}

/// One pair of a rule.
struct Pair {
    key: String,
    operator: &'static str,
    value: String,
}

/// `KEY=="value"`, `KEY+="value"`, one behind the other. Ends where a rule is broken.
fn pairs(line: &str) -> Vec<Pair> {
    let mut found = Vec::new();
    let mut rest = line.trim();
    while let Some(at) = rest.find(['=', '!', '+', '-', ':']) {
        let key = rest[..at].trim_matches([',', ' ', '\t']).to_owned();
        let operators = ["==", "!=", "+=", "-=", ":=", "="];
        let Some(operator) = operators.into_iter().find(|operator| rest[at..].starts_with(operator)) else {
            // A dash or a colon inside a name.
            return found;
        };
        let quoted = rest[at + operator.len()..].trim_start();
        let Some(inside) = quoted.strip_prefix(['e', 'i']).unwrap_or(quoted).strip_prefix('"') else { return found };
        let (value, length) = unescaped(inside);
        found.push(Pair { key, operator, value });
        rest = &inside[length..];
    }
    found
}

/// The text up to the closing quote, and how long that was.
fn unescaped(text: &str) -> (String, usize) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, at + 1),
            '\\' if text[at + 1..].starts_with('"') => {
                value.push('"');
                chars.next();
            }
            c => value.push(c),
        }
    }
    (value, text.len())
}

#[cfg(test)]
mod tests {
    use super::pairs;

    #[test]
    fn a_rule_is_read_pair_by_pair() {
        let told = |line: &str| -> Vec<String> {
            pairs(line).iter().map(|pair| format!("{} {} {}", pair.key, pair.operator, pair.value)).collect()
        };
        assert_eq!(
            told(
                r#"SUBSYSTEM=="cpu", ACTION!="remove",ATTR{cpufreq/scaling_governor}="performance", RUN+="/bin/sh -c 'echo \"a, b\"'""#
            ),
            [
                "SUBSYSTEM == cpu",
                "ACTION != remove",
                "ATTR{cpufreq/scaling_governor} = performance",
                "RUN += /bin/sh -c 'echo \"a, b\"'",
            ]
        );
        assert_eq!(told("A==\"unclosed, B=c"), ["A == unclosed, B=c"]);
        assert!(told("").is_empty() && told("LABEL").is_empty() && told("a-b").is_empty() && told("A=b").is_empty());
    }
}
