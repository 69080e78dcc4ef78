//! Reading and writing ordinary files; the kernel's own are in the integration tests.
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

#[test]
fn what_is_read_is_whole_and_text_and_not_too_long() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).display().to_string();
    for (name, bytes, expected) in [
        ("text", b"42\n".to_vec(), Ok(3)),
        ("empty", Vec::new(), Ok(0)),
        ("binary", vec![0xff, 0xfe], Err(Errno::EILSEQ)),
        ("large", vec![b'a'; 1 << 20], Ok(1 << 20)),
        ("too large", vec![b'a'; (1 << 20) + 1], Err(Errno::EFBIG)),
    ] {
        std::fs::write(at(name), bytes).unwrap();
        assert_eq!(read(&at(name), &mut Vec::new()).map(|text| text.len()), expected, "{name}");
    }
    assert_eq!(read(&at("absent"), &mut Vec::new()), Err(Errno::ENOENT));
    assert_eq!(read(&at(""), &mut Vec::new()), Err(Errno::EISDIR));
    assert_eq!(read("/dev/zero", &mut Vec::new()), Err(Errno::EFBIG));
    let (fifo, mode) = (rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600));
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), fifo, mode, 0).unwrap();
    // Nobody writes, nobody waits.
    assert_eq!(read(&at("pipe"), &mut Vec::new()), Ok(String::new()));
}

#[test]
fn a_file_of_many_pages_of_the_kernel_is_whole() {
    let maps = read("/proc/self/smaps", &mut Vec::new()).unwrap();
    assert!(maps.len() > 8192 && maps.ends_with('\n'));
    assert!(maps.contains("[vdso]") && maps.contains("[stack]"));
}

#[test]
fn writing_keeps_mode_owner_and_links() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    std::fs::write(&path, "a long text that was there before").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::hard_link(&path, place.path().join("link")).unwrap();
    let before = std::fs::metadata(&path).unwrap();
    write(path.to_str().unwrap(), "short").unwrap();
    assert_eq!(std::fs::read_to_string(place.path().join("link")).unwrap(), "short");
    let after = std::fs::metadata(&path).unwrap();
    let of = |it: &std::fs::Metadata| (it.ino(), it.mode(), it.uid());
    assert_eq!(of(&after), of(&before));
    let fresh = &place.path().join("fresh").display().to_string();
    write(fresh, "new").unwrap();
    assert_eq!(std::fs::read_to_string(fresh).unwrap(), "new");
    remove(fresh).unwrap();
    assert_eq!(remove(fresh), Err(Errno::ENOENT));
    assert_eq!(write("/nowhere/at/all", "x"), Err(Errno::ENOENT));
    // Devices are written, not truncated.
    assert_eq!(write("/dev/full", "x"), Err(Errno::ENOSPC));
}

#[test]
fn listing_follows_links_and_is_sorted() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("b")).unwrap();
    std::os::unix::fs::symlink("b", place.path().join("a")).unwrap();
    std::os::unix::fs::symlink("nowhere", place.path().join("c")).unwrap();
    std::fs::write(place.path().join("d"), "").unwrap();
    let entries = list(place.path().to_str().unwrap()).unwrap();
    let seen: Vec<_> = entries.iter().map(|it| (it.name.as_str(), it.folder)).collect();
    assert_eq!(seen, [("a", true), ("b", true), ("c", false), ("d", false)]);
    assert_eq!(list("/nowhere"), Err(Errno::ENOENT));
    assert_eq!(list(&format!("{}/d", place.path().display())), Err(Errno::ENOTDIR));
}

#[test]
fn a_file_of_after_2038_is_dated_so_on_every_machine() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    // The first second of 2040.
    let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(2_208_988_800);
    std::fs::File::create(&path).unwrap().set_modified(later).unwrap();
    let changed = last_change(path.to_str().unwrap()).unwrap();
    assert_eq!(changed.unix_s, 2_208_988_800);
}

/// The old text comes from the file that is open: a path may lead to another one by then.
#[test]
fn what_cannot_be_written_whole_gets_its_own_old_text_back() {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let file = memfd_create("sealed", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    let old = "a".repeat(5000);
    write_at_start(&file, old.as_bytes()).unwrap();
    // The first page is written, and the second would be too long, as on a full disk.
    fcntl_add_seals(&file, SealFlags::GROW).unwrap();
    let seen = file.try_clone().unwrap();
    assert_eq!(replace_content(file, &"b".repeat(10_000)), Err(Errno::EPERM));
    assert_eq!(read_open(&seen, &mut Vec::new()).unwrap(), old);
}

/// What root reads for somebody who called sudo could be written to a file of theirs later.
#[test]
fn under_sudo_no_link_of_the_callers_is_read_with_roots_rights() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(at("home")).unwrap();
    std::fs::write(at("roots"), "secret").unwrap();
    std::fs::set_permissions(at("roots"), std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(at("home/own"), "own").unwrap();
    std::os::unix::fs::symlink(at("roots"), at("home/link")).unwrap();
    std::fs::hard_link(at("roots"), at("home/name")).unwrap();
    for name in ["home", "home/own"] {
        std::os::unix::fs::chown(at(name), Some(65_534), Some(65_534)).unwrap();
    }
    let of_sudo = [("SUDO_UID", "65534"), ("SUDO_GID", "65534")];
    let environment = of_sudo.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    crate::surroundings::Surroundings::of(environment, std::path::PathBuf::new()).during(|| {
        let read = |name: &str| read(at(name).to_str().unwrap(), &mut Vec::new());
        assert_eq!(read("home/own").unwrap(), "own");
        assert_eq!((read("home/link"), read("home/name")), (Err(Errno::EACCES), Err(Errno::EACCES)));
        assert_eq!(read("roots").unwrap(), "secret");
    });
}
