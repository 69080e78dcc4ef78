//! Files that root may act on: only root can have written them, or put them where they are.
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use powerband_machine::Errno;
use thiserror::Error;

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrustError {
    /// It cannot be read.
    #[error("{place}: {errno}")]
    Unreadable {
        /// The file.
        place: String,
        /// Why.
        errno: Errno,
    },
    /// Somebody else could have written it.
    #[error("{place} {why}, and only root may be able to change what the access service acts on")]
    NotRoots {
        /// The file, or a folder above it.
        place: String,
        /// Who may.
        why: String,
    },
    /// A link, which may be made to lead elsewhere.
    #[error("{place} is a link; name the file itself")]
    Link {
        /// The file.
        place: String,
    },
}

/// The text of a file that only root can have written.
///
/// # Errors
/// [`TrustError`].
pub fn trusted_text(path: &Path) -> Result<String, TrustError> {
    let unreadable = |errno| TrustError::Unreadable { place: path.display().to_string(), errno };
    trusted_place(path)?;
    crate::files::read(&path.to_string_lossy(), &mut Vec::new()).map_err(unreadable)
}

/// That nobody but root can write a file, or replace it or a folder above it; it need not be there.
///
/// # Errors
/// [`TrustError`].
pub fn trusted_place(path: &Path) -> Result<(), TrustError> {
    let place = |path: &Path| path.display().to_string();
    for above in path.ancestors() {
        let found = match above.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && above == path => continue,
            Err(error) => {
                return Err(TrustError::Unreadable { place: place(above), errno: crate::io_errno(&error) });
            }
        };
        // Of a link the kernel ignores the mode; what it leads to is looked at where it is.
        if found.file_type().is_symlink() {
            if above == path {
                return Err(TrustError::Link { place: place(path) });
            }
            let real = above.canonicalize();
            let real =
                real.map_err(|error| TrustError::Unreadable { place: place(above), errno: crate::io_errno(&error) })?;
            if found.uid() != 0 {
                return Err(TrustError::NotRoots {
                    place: place(above),
                    why: format!("belongs to the user {}", found.uid()),
                });
            }
            trusted_place(&real)?;
        } else if let Some(why) = crate::caller::distrusted(found.uid(), found.gid(), found.mode()) {
            return Err(TrustError::NotRoots { place: place(above), why });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_others_can_write_or_replace_is_not_acted_on() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("access.toml");
        std::fs::write(&path, "text").unwrap();
        let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(&path, 0o644);
        if !rustix::process::geteuid().is_root() {
            assert!(matches!(trusted_text(&path), Err(TrustError::NotRoots { .. })));
            return;
        }
        assert_eq!(trusted_text(&path).unwrap(), "text");
        mode(&path, 0o666);
        assert!(matches!(trusted_text(&path), Err(TrustError::NotRoots { .. })));
        mode(&path, 0o644);
        mode(place.path(), 0o777);
        assert!(matches!(trusted_text(&path), Err(TrustError::NotRoots { .. })));
        mode(place.path(), 0o700);
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(trusted_text(&link), Err(TrustError::Link { .. })));
        assert_eq!(trusted_place(&place.path().join("absent")), Ok(()));
    }
}
