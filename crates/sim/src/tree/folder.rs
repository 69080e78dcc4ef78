//! Folders that somebody makes on the machine's disk, and removes.
use powerband_machine::Errno;

use super::{Node, Place, is_kernels, parent};
use crate::board::Board;

impl Board {
    pub(crate) fn make_folder(&mut self, path: &str) -> Result<(), Errno> {
        let Place::Own(path) = self.locate(path)? else { return Err(Errno::EEXIST) };
        if self.tree.nodes.contains_key(&path) {
            return Err(Errno::EEXIST);
        }
        let above = parent(&path).map(|above| self.tree.find(above)).transpose()?;
        match above {
            Some(Node::Folder) if is_kernels(&path) => Err(Errno::EPERM),
            Some(Node::Folder) => {
                self.tree.nodes.insert(path, Node::Folder);
                Ok(())
            }
            _ => Err(Errno::ENOTDIR),
        }
    }

    pub(crate) fn remove_folder(&mut self, path: &str) -> Result<(), Errno> {
        let Place::Own(path) = self.locate(path)? else { return Err(Errno::EPERM) };
        match self.tree.find(&path)? {
            Node::Folder if is_kernels(&path) => Err(Errno::EPERM),
            Node::Folder if !self.tree.list(&path)?.is_empty() => Err(Errno::ENOTEMPTY),
            Node::Folder => {
                self.tree.nodes.remove(&path);
                Ok(())
            }
            _ => Err(Errno::ENOTDIR),
        }
    }
}
