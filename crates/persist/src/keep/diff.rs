//! A file before and after, as the lines that differ with some around them.
use diffy::DiffOptions;

/// Lines shown around those that differ.
const AROUND: usize = 2;

/// The difference of two texts of a file in the form that `diff -u` has; `None` is no file.
#[must_use]
pub fn diff(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = |text: Option<&str>| if text.is_some() { path.to_owned() } else { "/dev/null".to_owned() };
    let mut options = DiffOptions::new();
    options.set_context_len(AROUND).set_original_filename(name(before)).set_modified_filename(name(after));
    options.create_patch(before.unwrap_or_default(), after.unwrap_or_default()).to_string().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn lines_that_differ_are_told_with_some_around_them() {
        assert_eq!(diff("/etc/x", None, Some("a\nb\n")), "--- /dev/null\n+++ /etc/x\n@@ -0,0 +1,2 @@\n+a\n+b");
        assert_eq!(diff("/etc/x", Some("a\n"), None), "--- /etc/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a");
        let told = diff("/etc/x", Some("1\n2\n3\n4\n5\n6\n7\n"), Some("1\n2\n3\nx\n5\n6\n7\n"));
        assert_eq!(told, "--- /etc/x\n+++ /etc/x\n@@ -2,5 +2,5 @@\n 2\n 3\n-4\n+x\n 5\n 6");
    }
}
