//! Other values for a file of the kernel than the one it shows, the likeliest first.

/// Words that files take in place of one another.
const WORDS: [&[&str]; 13] = [
    &["powersave", "ondemand", "performance", "schedutil"],
    &["menu", "teo", "ladder"],
    &["true", "false"],
    &["on", "auto"],
    &["ratelimit", "off"],
    &["enabled", "disabled"],
    &["Y", "N"],
    &["write back", "write through"],
    &["cubic", "reno"],
    &["pfifo_fast", "pfifo", "fq_codel"],
    &["0x0000", "0x0003"],
    &["forceoff", "off", "on"],
    &["0", "1"],
];

/// Other values than the one shown.
pub(super) fn others(path: &str, shown: Option<&str>) -> Vec<String> {
    let Some(shown) = shown.map(str::trim) else { return vec!["1".into()] };
    let words: Vec<&str> = shown.split_whitespace().collect();
    let mut found: Vec<String> = Vec::new();
    if words.iter().any(|word| word.starts_with('[') && word.ends_with(']')) {
        found.extend(words.iter().filter(|word| !word.starts_with('[')).map(|word| (*word).to_owned()));
    } else if ["_cpus", "_rxqs", "_cpumask"].iter().any(|end| path.ends_with(end)) {
        found.extend(["1", "2"].map(str::to_owned));
    } else if let Ok(number) = shown.parse::<i128>() {
        found.extend(numbers(number).into_iter().map(|number| number.to_string()));
    } else if let Some(number) = shown.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
        found.extend([number ^ 0x100, number ^ 1, 0].map(|number| format!("{number:#x}")));
    } else if words.len() > 1 && words.iter().all(|word| word.parse::<i64>().is_ok()) {
        found.extend(lists(&words));
    } else {
        let others = WORDS.iter().filter(|words| words.contains(&shown) || shown.is_empty() && words.contains(&"0"));
        found.extend(others.flat_map(|words| words.iter().map(|word| (*word).to_owned())));
        // Without the last word, with another last digit, with another letter.
        found.extend(shown.rsplit_once(' ').map(|(others, _)| others.to_owned()));
        found.extend(shown.strip_suffix('0').map(|start| format!("{start}1")));
        found.extend([format!("{shown}x"), "x".to_owned()]);
    }
    found.retain(|value| value != shown);
    found.dedup();
    found
}

fn numbers(number: i128) -> Vec<i128> {
    match number {
        0 => vec![1, 2, 1 << 20, -1],
        1 => vec![0, 2, 3],
        _ => vec![number + 1, number - 1, number * 2, number / 2],
    }
}

/// Lists of numbers with the last, all, or the first of them changed.
fn lists(words: &[&str]) -> Vec<String> {
    let numbers: Vec<i64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let with = |change: &dyn Fn(usize, i64) -> i64| {
        let changed: Vec<String> = numbers.iter().enumerate().map(|(at, &it)| change(at, it).to_string()).collect();
        changed.join(" ")
    };
    let last = numbers.len() - 1;
    vec![
        with(&|at, it| if at == last { it.saturating_add(1) } else { it }),
        with(&|_, it| it.saturating_mul(2)),
        with(&|at, it| if at == 0 { it.saturating_sub(1) } else { it }),
        with(&|_, it| it / 2),
    ]
}
