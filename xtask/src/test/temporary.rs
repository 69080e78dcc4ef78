//! Temporary folders for the tests, one for each tier: what of ours they leave in it is a failed check.
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::tiers::Tier;

/// How its name begins, before our process.
const NAME: &str = "powerband-tests-";
/// What tests may not leave: everything powerband and its benches make has such a name.
const OURS: &str = "powerband";
/// How long the processes of a test that has ended may take to remove what they hold.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The folder, removed when dropped. It is ours alone, so that anyone who else runs tests on this machine changes nothing.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Makes it below the system's, and removes those of earlier runs that were killed.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn make() -> Result<Self> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(above: &Path) -> Result<Self> {
        for name in names(above)? {
            let owner = name.strip_prefix(NAME).filter(|owner| owner.parse::<u32>().is_ok());
            if owner.is_some_and(|owner| {
                owner == std::process::id().to_string() || !Path::new("/proc").join(owner).exists()
            }) {
                let _ = fs::remove_dir_all(above.join(name));
            }
        }
        open_to_all(above.join(format!("{NAME}{}", std::process::id()))).map(Temporary)
    }

    /// The folder of one tier.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn of(&self, tier: Tier) -> Result<Place> {
        open_to_all(self.0.join(tier.to_string())).map(Place)
    }
}

/// Makes a folder with the rights of the system's own: some tests become another user.
fn open_to_all(path: PathBuf) -> Result<PathBuf> {
    fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
    let opened = fs::set_permissions(&path, fs::Permissions::from_mode(0o1777));
    opened.with_context(|| format!("cannot open {} to all users", path.display()))?;
    Ok(path)
}

/// The temporary folder of one tier.
#[derive(Debug)]
pub(crate) struct Place(PathBuf);

impl Place {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// What of ours is still there once the last processes have had time to end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn left_after(&self, patience: Duration) -> Result<Vec<String>> {
        let deadline = Instant::now() + patience;
        loop {
            let mut left: Vec<String> = names(&self.0)?.into_iter().filter(|name| name.starts_with(OURS)).collect();
            if left.is_empty() || Instant::now() > deadline {
                left.sort_unstable();
                return Ok(left);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What stays is removed by the next run.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect();
    let names: io::Result<Vec<String>> = read();
    names.with_context(|| format!("cannot read {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_leave_is_named_and_removed() {
        let above = tempfile::tempdir().unwrap();
        let killed = above.path().join(format!("{NAME}{}", u32::MAX));
        fs::create_dir(&killed).unwrap();
        fs::create_dir(above.path().join("powerband-tests-of-others")).unwrap();
        let temporary = Temporary::make_in(above.path()).unwrap();
        assert!(!killed.exists(), "nobody else would remove it");
        let place = temporary.of(Tier::Host).unwrap();
        for path in [&temporary.0, place.path()] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o7777, 0o1777);
        }
        assert_eq!(place.left_after(Duration::ZERO).unwrap(), [""; 0]);
        fs::create_dir(place.path().join("powerband-sh.abcdef")).unwrap();
        fs::write(place.path().join(".tmpOther"), "").unwrap();
        assert_eq!(place.left_after(Duration::ZERO).unwrap(), ["powerband-sh.abcdef"]);
        drop(temporary);
        assert_eq!(names(above.path()).unwrap(), ["powerband-tests-of-others"]);
    }
}
