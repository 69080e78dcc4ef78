//! Recorded machines, whole and broken: what they answer, and that nothing from outside their folder is answered.
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use powerband_record::Work;
use tempfile::TempDir;

use super::*;

/// A recording by hand: its manifest, and files by their path in its folder.
struct Made {
    folder: TempDir,
}

impl Made {
    fn new(manifest: &str, files: &[(&str, &str)]) -> Made {
        let made = Made { folder: TempDir::new().unwrap() };
        std::fs::write(made.at(manifest::NAME), format!("version = 1\nsystem = '2.6.32'\n{manifest}")).unwrap();
        for (path, text) in files {
            std::fs::create_dir_all(made.at(path).parent().unwrap()).unwrap();
            std::fs::write(made.at(path), text).unwrap();
        }
        made
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn machine(&self) -> RecordedMachine {
        RecordedMachine::open("recorded:x", self.folder.path()).unwrap()
    }
}

const MANIFEST: &str = "
folders = ['/sys/empty/folder']
[links]
'/sys/cpu0/cpufreq' = '/sys/cpufreq/policy0'
'/sys/cpu1/cpufreq' = '../cpufreq/policy0'
'/sys/out' = '/../../../../etc'
'/sys/round' = '/sys/about'
'/sys/about' = 'round/x'
'/sys/self' = '.'
[errnos]
'/sys/cpufreq/policy0/secret' = 'EACCES'
'/sys/locked' = 'EPERM'
'coalesce:lo' = 'EOPNOTSUPP'
[modes]
0444 = ['/sys/cpufreq/policy#/governor']
";

const FILES: [(&str, &str); 4] = [
    ("root/sys/cpufreq/policy0/governor", "ondemand\n"),
    ("root/sys/cpufreq/policy0/speed", "<unsupported>\n"),
    ("root/sys/cpufreq/policy0/empty", ""),
    ("coalesce/eth0", "rx-usecs 3\nadaptive-rx on\nunheard-of 5\n\u{0}"),
];

#[test]
fn it_answers_what_was_recorded() {
    let made = Made::new(MANIFEST, &FILES);
    let mut machine = made.machine();
    assert_eq!((machine.identity().name.as_str(), machine.identity().system.as_str()), ("recorded:x", "2.6.32"));
    for (path, answer) in [
        ("/sys/cpufreq/policy0/governor", Ok("ondemand\n")),
        ("/sys//cpu0/./cpufreq/../policy0/speed", Ok("<unsupported>\n")),
        ("/sys/cpu1/cpufreq/empty", Ok("")),
        ("/sys/cpu1/cpufreq/secret", Err(Errno::EACCES)),
        ("/sys/self/self/cpu1/cpufreq/speed", Ok("<unsupported>\n")),
        ("/sys/empty/folder", Err(Errno::EISDIR)),
        ("/sys/round", Err(Errno::ELOOP)),
        ("/sys/cpufreq", Err(Errno::EISDIR)),
        ("/sys/none", Err(Errno::ENOENT)),
        ("/sys/cpufreq/policy0/governor/x", Err(Errno::ENOTDIR)),
        ("sys/cpufreq/policy0/governor", Err(Errno::ENOENT)),
        ("", Err(Errno::ENOENT)),
        ("/sys/\0", Err(Errno::EINVAL)),
        ("coalesce:eth0", Ok("rx-usecs 3\nadaptive-rx on\n")),
        ("coalesce:eth0/adaptive-rx,rx-usecs", Ok("on 3\n")),
        ("coalesce:lo", Err(Errno::EOPNOTSUPP)),
        ("coalesce:eth1", Err(Errno::ENODEV)),
        ("coalesce:../recorded.toml", Err(Errno::ENODEV)),
        ("coalesce:..", Err(Errno::ENODEV)),
    ] {
        assert_eq!(machine.read(path), answer.map(str::to_owned), "{path}");
    }
}

#[test]
fn folders_list_what_has_a_file_and_what_has_none() {
    let made = Made::new(MANIFEST, &FILES);
    let mut machine = made.machine();
    let mut names = |folder: &str| {
        let of = |it: Entry| (it.name, it.folder, it.mode);
        machine.list(folder).map(|all| all.into_iter().map(of).collect::<Vec<_>>())
    };
    let file = |name: &str, mode| (name.to_owned(), false, mode);
    let folder = |name: &str| (name.to_owned(), true, 0o755);
    let policy =
        ["empty", "governor", "secret", "speed"].map(|name| file(name, 0o644 - 0o200 * u32::from(name == "governor")));
    assert_eq!(names("/sys/cpu0/cpufreq/"), Ok(policy.to_vec()));
    assert_eq!(names("/sys/empty/folder"), Ok(Vec::new()));
    assert_eq!(names("/sys/cpu1"), Ok(vec![folder("cpufreq")]));
    assert_eq!(names("/"), Ok(vec![folder("sys")]));
    let all = names("/sys").unwrap();
    assert!([folder("cpu0"), folder("self"), file("round", 0o644)].iter().all(|it| all.contains(it)));
    assert_eq!(names("/sys/locked"), Err(Errno::EPERM));
    assert_eq!(names("/none"), Err(Errno::ENOENT));
    assert_eq!(names("/sys/cpufreq/policy0/speed"), Err(Errno::ENOTDIR));
}

#[test]
fn nothing_outside_its_folder_is_read() {
    let outside = TempDir::new().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let made = Made::new(MANIFEST, &FILES);
    symlink(outside.path(), made.at("root/sys/away")).unwrap();
    symlink(outside.path().join("secret"), made.at("root/sys/file")).unwrap();
    symlink("loop", made.at("root/sys/loop")).unwrap();
    symlink(outside.path().join("secret"), made.at("coalesce/eth1")).unwrap();
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
    rustix::fs::mknodat(rustix::fs::CWD, made.at("root/sys/pipe"), fifo, mode, 0).unwrap();
    let mut machine = made.machine();
    for (path, errno) in [
        ("/sys/away/secret", Errno::ENOTDIR),
        ("/sys/file", Errno::ELOOP),
        ("/sys/loop", Errno::ELOOP),
        ("/sys/pipe", Errno::EINVAL),
        ("coalesce:eth1", Errno::ELOOP),
        ("/sys/out/passwd", Errno::ENOENT),
        ("/../recorded.toml", Errno::ENOENT),
    ] {
        assert_eq!(machine.read(path), Err(errno), "{path}");
    }
    assert_eq!(machine.list("/sys/away"), Err(Errno::ENOTDIR));
    let away = machine.list("/sys").unwrap().into_iter().find(|entry| entry.name == "away").unwrap();
    assert!(!away.folder);
}

#[test]
fn files_that_are_no_text_are_answered_as_the_kernel_would() {
    let made = Made::new("", &FILES);
    std::fs::write(made.at("root/sys/binary"), [0xff, 0xfe]).unwrap();
    std::fs::write(made.at("root/sys/huge"), vec![b'1'; (1 << 20) + 1]).unwrap();
    let mut machine = made.machine();
    assert_eq!(machine.read("/sys/binary"), Err(Errno::EILSEQ));
    assert_eq!(machine.read("/sys/huge"), Err(Errno::EFBIG));
}

#[test]
fn a_folder_without_a_manifest_is_none() {
    let folder = TempDir::new().unwrap();
    let (path, manifest) = (folder.path(), folder.path().join(manifest::NAME));
    let mut told = Vec::new();
    let mut open = |folder: &Path| {
        let refused = RecordedMachine::open("recorded:x", folder).map(drop).unwrap_err();
        told.push(format!("{refused} {:?}", refused.hint()).replace(path.to_str().unwrap(), "FOLDER"));
    };
    open(path);
    open(&path.join("none"));
    symlink("/etc/hostname", &manifest).unwrap();
    open(path);
    std::fs::remove_file(&manifest).unwrap();
    std::fs::write(&manifest, "version = 1\nlinks = 3\n").unwrap();
    open(path);
    insta::assert_snapshot!("refused", told.join("\n"));
}

#[test]
fn it_runs_and_turns_nothing() {
    let made = Made::new(MANIFEST, &FILES);
    let mut machine = made.machine();
    let path = "/sys/cpufreq/policy0/governor".to_owned();
    let turn = Turn { read_back: Some(path.clone()), ..Turn::write(&path, "powersave") };
    let acted = machine.act(&turn).unwrap();
    assert_eq!((acted.errno, acted.reads_back.as_deref()), (Some(Errno::EROFS), Some("ondemand")));
    assert!(acted.words.unwrap().contains("recorded"));
    assert!(machine.open_entries().is_empty() && machine.keep(&[acted.entry]).is_err());
    let (work, around) = (Work::Idle { for_ns: 1 }, Vec::new());
    let job = Job { work, cpus: None, group: None, user: None, output_limit: None, around };
    assert!(matches!(machine.spawn(&job), Err(SpawnError::Refused { errno: Errno::EROFS, .. })));
    let handle = machine.open(&path).unwrap();
    assert_eq!(machine.open("/none"), Err(Errno::ENOENT));
    let mut texts = Vec::new();
    machine.read_many(&[handle, Handle(7)], &mut texts);
    assert_eq!(texts, [Ok("ondemand\n".to_owned()), Err(Errno::EBADF)]);
    machine.close(handle);
    machine.read_many(&[handle], &mut texts);
    assert_eq!(texts, [Err(Errno::EBADF)]);
}

#[test]
fn a_recording_of_a_recording_is_the_same() {
    let manifest = "
folders = ['/sys/class/powercap']
[links]
'/sys/devices/system/cpu/cpu0/cpufreq' = '/sys/devices/system/cpu/cpufreq/policy0'
[errnos]
'/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_cur_freq' = 'EACCES'
'coalesce:lo' = 'EOPNOTSUPP'
[modes]
0400 = ['/sys/devices/system/cpu/cpufreq/policy#/cpuinfo_cur_freq']
";
    let files = [
        ("root/sys/devices/system/cpu/online", "0\n"),
        ("root/sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0\n"),
        ("root/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "userspace\n"),
        ("root/sys/devices/system/cpu/node0/meminfo", "not ours"),
        ("root/sys/class/hwmon/hwmon0/name", "power_meter\n"),
        ("root/sys/class/hwmon/hwmon0/power1_serial_number", "0815\n"),
        ("root/proc/net/dev", "a\nb\n    lo: 0\n  eth0: 0\nenx0011aabbccdd: 0\n"),
        ("root/proc/sys/kernel/hostname", "box.example\n"),
        ("root/etc/default/cpufrequtils", "# box, 192.168.1.7\nGOVERNOR=userspace\n"),
        ("coalesce/eth0", "rx-usecs 3\n"),
    ];
    let made = Made::new(manifest, &files);
    let recording = CapturedMachine::of(&mut made.machine());
    let written = TempDir::new().unwrap();
    recording.write(written.path()).unwrap();
    assert!(matches!(recording.write(written.path()), Err(CaptureError::NotEmpty(_))));
    let mut again = RecordedMachine::open("recorded:y", written.path()).unwrap();
    for (path, text) in [
        ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", Ok("userspace\n")),
        ("/sys/devices/system/cpu/online", Ok("0\n")),
        ("coalesce:eth0", Ok("rx-usecs 3\n")),
        ("/etc/default/cpufrequtils", Ok("# host, 0.0.0.0\nGOVERNOR=userspace\n")),
        ("/proc/net/dev", Ok("a\nb\n    lo: 0\n  eth0: 0\n")),
        ("/proc/sys/kernel/hostname", Err(Errno::ENOENT)),
        ("/sys/class/hwmon/hwmon0/name", Ok("power_meter\n")),
        ("/sys/class/hwmon/hwmon0/power1_serial_number", Err(Errno::ENOENT)),
        ("/sys/devices/system/cpu/node0/meminfo", Err(Errno::ENOENT)),
    ] {
        assert_eq!(again.read(path), text.map(str::to_owned), "{path}");
    }
    assert_eq!(again.list("/sys/class/powercap"), Ok(Vec::new()));
    let (manifest, secret) = (&again.manifest, "/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_cur_freq");
    assert_eq!((manifest.errno(secret), manifest.mode(secret)), (Some(Errno::EACCES), 0o400));
    assert!(manifest.left_out.iter().any(|words| words.contains("network device")));
    let third = TempDir::new().unwrap();
    CapturedMachine::of(&mut again).write(third.path()).unwrap();
    let whole = |folder: &Path| -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut to_come = vec![folder.to_owned()];
        while let Some(at) = to_come.pop() {
            for entry in std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    to_come.push(entry);
                } else {
                    let name = entry.strip_prefix(folder).unwrap().to_owned();
                    files.insert(name, std::fs::read(&entry).unwrap());
                }
            }
        }
        files.remove(Path::new(manifest::NAME));
        files
    };
    assert_eq!(whole(written.path()), whole(third.path()));
}
