//! Text from outside in HTML and XML: what ends no element and no attribute.
pub use powerband_record::seen;

/// [`seen`], and such that neither an element nor an attribute of HTML or XML can end in it.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for c in seen(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_is_text() {
        assert_eq!(escaped("<script>\"'&</script>"), "&lt;script&gt;&quot;&#39;&amp;&lt;/script&gt;");
        assert_eq!(escaped("a\u{202e}b\u{0}c\u{1b}[1m\u{2066}\u{feff}"), "aU+202EbU+0000cU+001B[1mU+2066U+FEFF");
        assert_eq!(escaped("שלום, ж, 測"), "שלום, ж, 測");
    }
}
