//! What is printed, without what differs from one folder, machine or hour to another, and without what no reader reads.
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::desk::workspace;

/// Widest JSON that is kept on one line.
const LINE: usize = 150;
/// Rows of a chart's data that are shown: the figures are in the CSV.
const ROWS: usize = 2;

/// Names for the folders of a test and for the version.
pub(crate) fn places(text: &str, folder: &Path) -> String {
    let named = text.replace(&folder.display().to_string(), "DIR");
    let named = named.replace(&workspace().display().to_string(), "ROOT");
    named.replace(concat!("powerband ", env!("CARGO_PKG_VERSION")), "powerband VERSION")
}

/// A report without the line on what powerband itself needed.
pub(crate) fn report(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("overhead ")).map(|line| format!("{line}\n")).collect()
}

/// A number of more than six digits after the point, with six significant ones.
fn rounded(word: &str) -> Option<String> {
    let (_, fraction) = word.split_once('.')?;
    let number = word.parse::<f64>().ok().filter(|number| fraction.len() > 6 && number.is_finite())?;
    let digits = if number == 0.0 { 0 } else { (5 - number.abs().log10().floor() as i32).max(0) };
    let text = format!("{number:.*}", digits as usize);
    Some(if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text })
}

/// A table with its numbers rounded, without the trials beyond the first: their values are held by the bytes of journals.
pub(crate) fn csv(text: &str) -> String {
    let row = |line: &str| {
        let cells: Vec<String> = line.split(',').map(|cell| rounded(cell).unwrap_or_else(|| cell.to_owned())).collect();
        cells.join(",") + "\n"
    };
    let is_shown = |line: &&str| !line.contains(",trial ") || line.contains(",trial 0 ");
    text.lines().filter(is_shown).map(row).collect()
}

/// JSON with its numbers rounded, short values on one line each; what differs from one run to the next is `…`.
pub(crate) fn json(text: &str) -> String {
    let mut shown = String::new();
    print(&serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")), "", 0, &mut shown);
    shown
}

/// Keys of what depends on the machine and hour of a run.
const DIFFERS: [&str; 10] = [
    "id",
    "started_unix_s",
    "host",
    "powerband",
    "command_line",
    "observer_cpu_s",
    "observer_wakeups",
    "uid",
    "facts",
    "folder",
];

/// Of a list of numbers or trials that are all of one form, the first few and how many more there are.
fn first(items: &[Value]) -> Vec<Value> {
    let is_long = match items {
        [Value::Number(_), ..] => items.len() > 8,
        [Value::Object(one), ..] => items.len() > ROWS && one.contains_key("trial"),
        _ => false,
    };
    if !is_long {
        return items.to_vec();
    }
    let more = Value::String(format!("… {} more", items.len() - ROWS));
    items.iter().take(ROWS).cloned().chain([more]).collect()
}

fn compact(key: &str, value: &Value) -> String {
    match value {
        _ if DIFFERS.contains(&key) => "…".to_owned(),
        Value::Number(number) => rounded(&number.to_string()).unwrap_or_else(|| number.to_string()),
        Value::Array(items) => {
            let items: Vec<String> = first(items).iter().map(|item| compact("", item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let each = map.iter().map(|(key, value)| format!("{key}: {}", compact(key, value)));
            format!("{{{}}}", each.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn print(value: &Value, key: &str, depth: usize, shown: &mut String) {
    let start = format!("{:1$}{2}", "", 2 * depth, if key.is_empty() { String::new() } else { format!("{key}: ") });
    let short = compact(key, value);
    match value {
        Value::Object(map) if start.len() + short.len() > LINE => {
            writeln!(shown, "{start}{{").unwrap();
            map.iter().for_each(|(key, value)| print(value, key, depth + 1, shown));
            writeln!(shown, "{:1$}}}", "", 2 * depth).unwrap();
        }
        Value::Array(items) if start.len() + short.len() > LINE && items.iter().any(Value::is_object) => {
            writeln!(shown, "{start}[").unwrap();
            first(items).iter().for_each(|item| print(item, "", depth + 1, shown));
            writeln!(shown, "{:1$}]", "", 2 * depth).unwrap();
        }
        _ => writeln!(shown, "{start}{short}").unwrap(),
    }
}

/// A page: a line per tag with its text, a line per row of a table, of a chart its words; no style, scripts and coordinates.
pub(crate) fn page(html: &str) -> String {
    let (mut shown, mut hidden, mut in_chart, mut rows) = (String::new(), "", false, 0);
    for part in html.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let (name, attributes) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !hidden.is_empty() {
            hidden = if name.strip_prefix('/') == Some(hidden) { "" } else { hidden };
            continue;
        }
        match name {
            "style" | "script" => hidden = name,
            "figure" | "/figure" => in_chart = name == "figure",
            "table" | "svg" => rows = 0,
            "tr" | "title" => rows += 1,
            _ => {}
        }
        // The header of a table, and the title of a chart, count as rows.
        let left_out = in_chart && rows > ROWS + 1;
        match name {
            "/table" | "/svg" if left_out => {
                write!(shown, "\n… {} more", rows - ROWS - 1).unwrap();
                rows = 0;
            }
            "text" => write!(shown, " · {text}").unwrap(),
            _ if left_out || BARE.contains(&name) => {}
            "td" | "th" => write!(shown, " | {text}").unwrap(),
            _ if name.starts_with('/') || INLINE.contains(&name) => {
                write!(shown, "{}{text}", if text.is_empty() { "" } else { " " }).unwrap();
            }
            _ => write!(shown, "\n<{name}{}> {text}", kept(attributes)).unwrap(),
        }
    }
    let lines = shown.lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines.map(|line| format!("{}\n", without_host(line))).collect()
}

/// A line of a page without the machine and the hour of the run.
fn without_host(line: &str) -> String {
    if line.starts_with("<p> powerband itself used ") {
        return "<p> powerband itself used …".to_owned();
    }
    let hour = line.strip_suffix(" UTC").and_then(|line| line.rsplit_once("<dd> ")).is_some();
    if hour { "<dd> …".to_owned() } else { line.replace(&format!("<dd> {}", host()), "<dd> HOST") }
}

/// The name of this machine.
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Parts of a chart that are drawn, not read, and tags that mark up words of a line.
const INLINE: [&str; 18] = [
    "g", "path", "line", "rect", "circle", "polygon", "polyline", "use", "defs", "clipPath", "bdi", "span", "tspan",
    "br", "b", "code", "small", "a",
];

/// Tags that hold others, or nothing that is read.
const BARE: [&str; 19] = [
    "!doctype",
    "head",
    "body",
    "meta",
    "style",
    "script",
    "header",
    "main",
    "footer",
    "ul",
    "dl",
    "div",
    "table",
    "tbody",
    "thead",
    "figcaption",
    "details",
    "nav",
    "desc",
];

/// The attributes that name something or lead somewhere.
fn kept(attributes: &str) -> String {
    let named = ["id=", "href=", "lang="];
    let each = attributes.split("\" ").filter(|one| named.iter().any(|name| one.trim_start().starts_with(name)));
    each.map(|one| format!(" {}\"", one.trim().trim_end_matches(['"', '/']))).collect()
}
