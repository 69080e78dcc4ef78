//! The guest's first file system, as the `newc` archive the kernel unpacks (Documentation/driver-api/early-userspace).

/// An archive in the making.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const DEVICE: u32 = 0o020_600;

impl Archive {
    /// A folder; its parent must be there already.
    pub(crate) fn folder(&mut self, path: &str) {
        self.entry(path, FOLDER, (0, 0), &[]);
    }

    /// A file that can be read.
    pub(crate) fn file(&mut self, path: &str, bytes: &[u8]) {
        self.entry(path, FILE, (0, 0), bytes);
    }

    /// A file that can be run.
    pub(crate) fn program(&mut self, path: &str, bytes: &[u8]) {
        self.entry(path, PROGRAM, (0, 0), bytes);
    }

    /// A character device.
    pub(crate) fn device(&mut self, path: &str, numbers: (u32, u32)) {
        self.entry(path, DEVICE, numbers, &[]);
    }

    /// The whole archive.
    pub(crate) fn finished(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), bytes: &[u8]) {
        self.entries += 1;
        let (name, length) = (path.trim_start_matches('/'), u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        let name_length = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        // Inode, mode, owner, group, links, time, length, the file's device, the device it is, name's length, sum.
        let fields = [self.entries, mode, 0, 0, 1, 0, length, 0, 0, device.0, device.1, name_length, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(bytes);
        self.pad();
    }

    /// Everything begins at a multiple of four.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
