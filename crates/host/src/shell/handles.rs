//! Files that are read again and again behind a shell, which keeps none open: their paths by handle.
use powerband_machine::{Errno, Handle};

/// Where the files of a machine's handles are.
#[derive(Debug, Default)]
pub(super) struct Handles(Vec<Option<String>>);

impl Handles {
    /// Another one.
    pub(super) fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        let free = self.0.iter().position(Option::is_none).unwrap_or_else(|| {
            self.0.push(None);
            self.0.len() - 1
        });
        self.0[free] = Some(path.to_owned());
        u32::try_from(free).map(Handle).map_err(|_| Errno::ENOMEM)
    }

    /// Its path.
    pub(super) fn path(&self, handle: Handle) -> Option<&str> {
        self.0.get(handle.0 as usize)?.as_deref()
    }

    /// No longer needed.
    pub(super) fn close(&mut self, handle: Handle) {
        if let Some(path) = self.0.get_mut(handle.0 as usize) {
            *path = None;
        }
    }
}
