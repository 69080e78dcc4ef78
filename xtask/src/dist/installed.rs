//! Each package installed in a small Debian of its own architecture, run there, and removed: nothing is left, and a plan on a simulated
//! machine gives the same journal everywhere.
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::Architecture;
use crate::cargo::output;
use crate::metadata::target_folder;

/// Where the trees come from.
const MIRROR: &str = "deb http://deb.debian.org/debian bookworm main";

/// What runs in the tree. Debian's own lists and caches change with every installation.
const TRIED: &str = r"set -e
files() { find / -xdev \( -path /proc -o -path /tmp -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path /etc/ld.so.cache \) -prune -o -print | LC_ALL=C sort; }
cd /tmp
# What a run that failed has left installed.
dpkg --purge powerband powerband-agent >/dev/null 2>&1 || true
files >before
dpkg -i *.deb >/dev/null
powerband --version; powerband-agent --version
export POWERBAND_STATE_DIR=/tmp/state
powerband run /usr/share/powerband/plans/router.toml --seed 7 --store /tmp/store >report 2>&1 || { cat report; exit 1; }
powerband export last --journal --store /tmp/store >journal
dpkg --purge powerband powerband-agent >/dev/null
files >after
diff before after
";

/// Where the kernel is told who runs programs of other architectures.
const FORMATS: &str = "/proc/sys/fs/binfmt_misc";

/// An emulator that is registered with the kernel for as long as this lives, in a file system that is mounted for as long.
struct Emulated {
    format: Option<PathBuf>,
    mounted: bool,
}

impl Emulated {
    /// # Errors
    /// When this kernel or container does not allow it.
    fn begin(architecture: &Architecture) -> Result<Emulated> {
        let name = architecture.emulator.trim_end_matches("-static");
        let format = Path::new(FORMATS).join(name);
        if architecture.is_here() || format.exists() {
            return Ok(Emulated { format: None, mounted: false });
        }
        let register = Path::new(FORMATS).join("register");
        let mut emulated = Emulated { format: None, mounted: false };
        if !register.exists() {
            output(Command::new("mount").args(["-t", "binfmt_misc", "none", FORMATS]))?;
            emulated.mounted = true;
        }
        let line = std::fs::read_to_string(format!("/usr/lib/binfmt.d/{name}.conf")).context(name)?;
        std::fs::write(&register, line.trim_end()).with_context(|| format!("{} refuses {name}", register.display()))?;
        emulated.format = Some(format);
        Ok(emulated)
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        if let Some(format) = &self.format {
            let _ = std::fs::write(format, "-1");
        }
        if self.mounted {
            let _ = Command::new("umount").arg(FORMATS).status();
        }
    }
}

/// Installs, runs and removes the packages of each architecture. The answer is whether all was well.
///
/// # Errors
/// When a tree cannot be made.
pub(super) fn check(architectures: &[&'static Architecture], version: &str, into: &Path) -> Result<bool> {
    let (mut well, mut first): (bool, Option<(&str, String)>) = (true, None);
    for architecture in architectures {
        let _emulated = Emulated::begin(architecture)?;
        let tree = tree(architecture)?;
        let tmp = tree.join("tmp");
        let _ = std::fs::remove_dir_all(&tmp);
        std::fs::create_dir(&tmp)?;
        for name in ["powerband", "powerband-agent"] {
            let name = format!("{name}_{version}-1_{}.deb", architecture.debian);
            std::fs::copy(into.join(&name), tmp.join(&name))?;
        }
        let mut tried = Command::new("unshare");
        tried.args(["--mount", "--pid", "--fork"]).arg(format!("--mount-proc={}", tree.join("proc").display()));
        let mut child = tried.arg("chroot").arg(&tree).args(["/bin/sh", "-s"]).stdin(Stdio::piped()).spawn()?;
        child.stdin.take().context("it has an input")?.write_all(TRIED.as_bytes())?;
        if !child.wait()?.success() {
            println!("{}: the packages do not install, run and go without a trace", architecture.debian);
            well = false;
            continue;
        }
        let journal = std::fs::read_to_string(tmp.join("journal"))?;
        // The header names the host.
        let events = journal.split_once('\n').map_or("", |(_, events)| events).to_owned();
        if events.is_empty() {
            bail!("{}: the plan has left no journal", architecture.debian);
        }
        match &first {
            None => first = Some((architecture.debian, events)),
            Some((_, same)) if *same == events => {}
            Some((other, _)) => {
                println!("{}: the plan gives another journal than on {other}", architecture.debian);
                well = false;
            }
        }
        println!("{}: installed, run, removed; nothing is left", architecture.debian);
    }
    Ok(well)
}

/// A small Debian of the architecture, fetched once.
fn tree(architecture: &Architecture) -> Result<PathBuf> {
    let folder = target_folder()?.join("dist-trees");
    let (tree, draft) = (folder.join(architecture.debian), folder.join(format!("{}.new", architecture.debian)));
    if !tree.exists() {
        std::fs::create_dir_all(&folder)?;
        let _ = std::fs::remove_dir_all(&draft);
        let mut command = Command::new("mmdebstrap");
        command.args(["--quiet", "--mode=root", "--variant=essential", "--include=diffutils,findutils"]);
        command.arg(format!("--architectures={}", architecture.debian)).arg("bookworm").arg(&draft);
        // Without the security archive, which lacks nothing here and whose indices of some architectures are late.
        output(command.arg(MIRROR))?;
        std::fs::rename(&draft, &tree)?;
    }
    Ok(tree)
}
