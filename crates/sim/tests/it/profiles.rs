//! Machine files: those that come with the program name every source; wrong ones are refused in a sentence.
use powerband_sim::{Driver, Profile, ProfileError, describe_source};

/// Keys that are words about the file itself, not parameters.
const WORDS: [&str; 7] = ["name", "title", "kernel", "rules", "rules_why", "cannot", "sources"];

fn leaves(prefix: &str, table: &toml::Table, into: &mut Vec<String>) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(inner) if !WORDS.contains(&key.as_str()) => leaves(&path, inner, into),
            _ if prefix.is_empty() => assert!(WORDS.contains(&key.as_str()), "{key}"),
            _ => into.push(path),
        }
    }
}

#[test]
fn every_parameter_names_its_source() {
    for name in Profile::names() {
        let text = Profile::builtin_text(name).unwrap();
        let table = Profile::table(text).unwrap();
        let mut keys = Vec::new();
        leaves("", &table, &mut keys);
        let profile = Profile::parse(text).unwrap();
        assert_eq!(profile.name, name);
        let sources: Vec<&String> = profile.sources.keys().collect();
        let mut sorted: Vec<&String> = keys.iter().collect();
        sorted.sort();
        assert_eq!(sources, sorted, "{name}");
        for (key, source) in &profile.sources {
            assert!(describe_source(source).is_some(), "{name}: {key}: {source}");
        }
    }
}

#[test]
fn a_machine_like_another_has_its_own_keys_and_the_others() {
    let own = "like = \"cyclone5\"\nname = \"mine\"\n[network]\nleast_units = 64\n[power]\nplatform_w = 3.5\n";
    let (mine, base) = (Profile::parse(own).unwrap(), Profile::builtin("cyclone5").unwrap());
    let least = |profile: &Profile| match profile.network.driver {
        Some(Driver::Stmmac(stmmac)) => stmmac.least_units,
        _ => 0,
    };
    assert_eq!((mine.name.as_str(), least(&mine), least(&base)), ("mine", 64, 1));
    assert_eq!((mine.title.as_str(), mine.possible.as_slice()), (base.title.as_str(), base.possible.as_slice()));
    assert_ne!(mine.power, base.power);
}

#[test]
fn what_is_no_machine_is_refused() {
    assert!(matches!(Profile::parse("="), Err(ProfileError::Shape(_))));
    let unknown = Profile::builtin("cray").unwrap_err().to_string();
    assert!(unknown.contains("omap3530, pc, quadcore"), "{unknown}");
}

#[test]
fn a_description_says_what_matters() {
    let router = Profile::builtin("omap3530").unwrap().describe();
    assert_eq!((router.rules, router.kernel.as_str(), router.hz), ("2.6.32", "3.3.7", 128));
    assert_eq!(router.clocks.len(), 5);
    assert!((router.clocks[4].running_w - 0.7655).abs() < 1e-3);
    assert!(router.cannot.iter().any(|line| line.contains("/proc/sys")));
    assert!(router.sources.len() > 30);
    let json = serde_json::to_value(&router).unwrap();
    assert_eq!(json["governors"][0], "conservative");
}
