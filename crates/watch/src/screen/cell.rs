//! What fills a cell of the screen: bars, frequencies and times in words, and texts cut to the room there is.
use unicode_width::UnicodeWidthStr;

/// Shares from 0 to 1 as bars of eight heights, the latest at the right; unknown ones leave a gap.
pub(super) fn bars(shares: &[Option<f64>], width: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |share: &Option<f64>| match share {
        None => ' ',
        Some(share) => BARS[((share.clamp(0.0, 1.0) * 7.0).round() as usize).min(7)],
    };
    let shown = &shares[shares.len().saturating_sub(width)..];
    " ".repeat(width - shown.len()) + &shown.iter().map(bar).collect::<String>()
}

/// A clock in at most eight columns.
pub(super) fn clock(khz: Option<u32>) -> String {
    match khz {
        None => "–".into(),
        Some(khz) if khz >= 1_000_000 => format!("{:.2} GHz", f64::from(khz) * 1e-6),
        Some(khz) => format!("{:.0} MHz", f64::from(khz) * 1e-3),
    }
}

/// A time in words: `0.5 s`, `40 s`, `5 min`.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s > 0.0 && s < 0.1 => format!("{} ms", (s * 1e4).round() / 10.0),
        s if s < 10.0 => format!("{} s", (s * 10.0).round() / 10.0),
        s if s < 120.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

/// As much of a text as there is room for.
pub(super) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        let longer = format!("{cut}{c}…");
        if longer.width() > width {
            break;
        }
        cut.push(c);
    }
    if width > 0 { cut + "…" } else { cut }
}
