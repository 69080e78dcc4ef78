//! Profiles of TuneD: sections of plugins, variables, and other profiles they include.
use crate::keys::keys;
use crate::scene::Scene;

/// Where profiles lie, what wins first.
const FOLDERS: [&str; 4] = ["/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"];

/// A value that becomes longer than this by its variables stays as it is written, bytes.
const MAX_BYTES: usize = 4096;

/// More profiles than this are not read for one.
const MAX_PROFILES: usize = 64;

/// One setting of a plugin.
#[derive(Clone, Debug)]
pub(super) struct Line {
    section: String,
    pub(super) plugin: String,
    pub(super) name: String,
    pub(super) value: String,
    /// Devices the section is for; all of the plugin's when absent.
    pub(super) devices: Option<String>,
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) text: String,
}

/// A profile with what it includes.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    lines: Vec<Line>,
    /// Profiles that are named and are not there.
    pub(super) missing: Vec<String>,
    /// Those that are being read: one that includes itself is not read again.
    open: Vec<String>,
    count: usize,
}

impl Profile {
    /// Reads a profile over what was read before: what it includes first, then its own.
    pub(super) fn read(&mut self, scene: &mut Scene<'_>, name: &str) {
        self.count += 1;
        if self.count > MAX_PROFILES || self.open.iter().any(|open| open == name) {
            return;
        }
        let path = FOLDERS.iter().map(|folder| format!("{folder}/{name}/tuned.conf"));
        let found = path.into_iter().find_map(|path| scene.text(&path).map(|text| (path, text)));
        let Some((path, text)) = found.filter(|_| !name.contains('/')) else {
            return self.missing.push(name.to_owned());
        };
        let keys = keys(&text);
        let included = keys.iter().rfind(|key| key.section == "main" && key.name == "include");
        if let Some(included) = included {
            self.open.push(name.to_owned());
            for name in included.value.split([',', ' ', ';']).filter(|name| !name.is_empty()) {
                self.read(scene, name);
            }
            self.open.pop();
        }
        for key in &keys {
            if key.name == "replace" && matches!(key.value.as_str(), "1" | "true") {
                self.lines.retain(|line| line.section != key.section);
            }
            // The same setting of an included profile gives way.
            self.lines.retain(|line| (&line.section, &line.name) != (&key.section, &key.name));
            self.lines.push(Line {
                section: key.section.clone(),
                plugin: key.section.clone(),
                name: key.name.clone(),
                value: key.value.clone(),
                devices: None,
                path: path.clone(),
                line: key.line,
                text: key.text.clone(),
            });
        }
    }

    /// The settings of its plugins that are on, variables filled in.
    pub(super) fn lines(&self) -> Vec<&Line> {
        self.lines.iter().filter(|line| !matches!(line.section.as_str(), "" | "main" | "variables")).collect()
    }

    /// Gives every line what other lines of its section say: the plugin, the devices, whether it is on.
    pub(super) fn settled(mut self) -> Profile {
        let all = self.lines.clone();
        let of = |section: &str, name: &str| {
            all.iter().find(|line| line.section == section && line.name == name).map(|line| line.value.clone())
        };
        self.lines
            .retain(|line| of(&line.section, "enabled").is_none_or(|on| !matches!(on.as_str(), "0" | "false" | "no")));
        let variables: Vec<&Line> = all.iter().filter(|line| line.section == "variables").collect();
        for line in &mut self.lines {
            if let Some(plugin) = of(&line.section, "type") {
                line.plugin = plugin;
            }
            line.devices = of(&line.section, "devices").filter(|devices| devices != "*");
            // A variable may hold another, or itself.
            for variable in variables.iter().chain(&variables) {
                let filled = line.value.replace(&format!("${{{}}}", variable.name), &variable.value);
                if filled.len() <= MAX_BYTES {
                    line.value = filled;
                }
            }
        }
        self
    }
}
