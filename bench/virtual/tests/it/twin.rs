//! The machine file of the guest that is booted as `quadcore`.
use powerband_sim::Profile;

/// Two CPUs of the same table, by the rules and the governors of the guest's kernel.
pub(crate) fn twin() -> String {
    let mut text = Profile::builtin_text("quadcore").unwrap().to_owned();
    let governors = "\"conservative\", \"ondemand\", \"userspace\", \"powersave\", \"performance\"";
    let ours = "\"userspace\", \"powersave\", \"conservative\", \"ondemand\", \"performance\", \"schedutil\"";
    for (from, to) in [
        ("rules = \"2.6.32\"", "rules = \"6.1\""),
        ("possible = \"0-7\"", "possible = \"0-1\""),
        ("present = \"0-3\"", "present = \"0-1\""),
        ("policies = [\"0\", \"1\", \"2\", \"3\"]", "policies = [\"0\", \"1\"]"),
        (governors, ours),
        ("default_governor = \"ondemand\"", "default_governor = \"schedutil\""),
    ] {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, to);
    }
    text
}
