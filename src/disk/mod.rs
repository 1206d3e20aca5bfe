//! Files: access beneath a root without following links, and durable writes.
//!
//! # Contract
//!
//! [`Root`] holds the root's descriptor. Every access goes name by name from there, never through a symbolic link, so
//! it never leads outside, whatever is swapped meanwhile. Nothing here waits: a FIFO in the place of a file is an error.

pub mod durable;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{Error, OnPath, Result};
use crate::model::RelPath;
use crate::model::tree::Stat;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A project's root, held by descriptor. Clones share the descriptor.
#[derive(Clone, Debug)]
pub struct Root {
    path: Arc<Path>,
    fd: Arc<OwnedFd>,
    device: u64,
    inode: u64,
}

/// What the file system says of a path, without following a link at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What lies there.
    pub kind: MetaKind,
    /// All permission bits (`0o7777`).
    pub mode: u16,
    /// The device it lies on.
    pub device: u64,
    /// How many names the file has.
    pub links: u64,
    /// Size, times and inode, as the tree keeps them.
    pub stat: Stat,
}

/// What lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A folder.
    Folder,
    /// A socket, FIFO or device.
    Special,
}

impl Root {
    /// Opens the folder at `path` (absolute; a link at its end is refused, so pass it resolved).
    pub fn open(path: &Path) -> Result<Root> {
        let fd = rustix::fs::open(path, FOLDER, Mode::empty()).on_path(path)?;
        let stat = rustix::fs::fstat(&fd).on_path(path)?;
        Ok(Root { path: path.into(), fd: Arc::new(fd), device: stat.st_dev, inode: stat.st_ino })
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The device and inode of the opened folder.
    pub fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Whether the path it was opened by still leads to the same folder.
    pub fn is_in_place(&self) -> bool {
        rustix::fs::lstat(&*self.path).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == self.identity())
    }

    /// Whether it lies on a file system where others can change files without this system being told.
    pub fn is_remote(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            // From linux/magic.h: NFS, SMB, CIFS, SMB2, 9P, Ceph, AFS, FUSE.
            const REMOTE: [u64; 8] =
                [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x00c3_6400, 0x5346_414f, 0x6573_5546];
            rustix::fs::fstatfs(&*self.fd).is_ok_and(|stat| REMOTE.contains(&(stat.f_type as u64)))
        }
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// What lies at `path`; None when nothing does, or a name above it is no folder.
    pub fn meta(&self, path: &RelPath) -> Result<Option<Meta>> {
        let Some((parent, name)) = path.parent().zip(path.name()) else {
            return self.folder(path)?.own_meta().map(Some);
        };
        match self.folder(&parent) {
            Ok(folder) => folder.meta(name),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the folder at `path`, to list it and to reach its children without going down from the root again.
    pub fn folder(&self, path: &RelPath) -> Result<Dir> {
        let mut dir = Dir {
            fd: rustix::fs::openat(&*self.fd, ".", FOLDER, Mode::empty()).on_path(&*self.path)?,
            path: self.path.to_path_buf(),
        };
        for name in path.names() {
            dir = dir.folder(name)?;
        }
        Ok(dir)
    }
}

/// Whether `error` says that a path is not there, or that a name on the way to it is no folder.
pub fn is_absence(error: &Error) -> bool {
    let Error::Io { source, .. } = error else { return false };
    let absent = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].map(Errno::raw_os_error);
    source.raw_os_error().is_some_and(|code| absent.contains(&code))
}

/// An open folder beneath a root.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Dir {
    /// Where it was when it was opened; for messages only.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names in it with what the listing says of their kind (None where the file system does not say), unordered,
    /// without `.` and `..`.
    pub fn names(&self) -> Result<Vec<(Vec<u8>, Option<MetaKind>)>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd).on_path(&self.path)? {
            let entry = entry.on_path(&self.path)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push((name.to_vec(), kind_of(entry.file_type())));
            }
        }
        Ok(names)
    }

    /// What `name` is; None when it is gone.
    pub fn meta(&self, name: &[u8]) -> Result<Option<Meta>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(meta_of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error).on_path(self.child_path(name)),
        }
    }

    /// This folder itself.
    pub fn own_meta(&self) -> Result<Meta> {
        rustix::fs::fstat(&self.fd).map(|stat| meta_of(&stat)).on_path(&self.path)
    }

    /// Opens the folder `name` in it; follows no link. Where it may be passed but not listed, listing it fails later.
    pub fn folder(&self, name: &[u8]) -> Result<Dir> {
        let path = self.child_path(name);
        let fd = match rustix::fs::openat(&self.fd, name, FOLDER, Mode::empty()) {
            Err(Errno::ACCESS) => rustix::fs::openat(&self.fd, name, FOLDER.union(OFlags::PATH), Mode::empty()),
            opened => opened,
        };
        Ok(Dir { fd: fd.on_path(&path)?, path })
    }

    /// Opens the regular file `name` for reading: follows no link, never waits (a FIFO in its place is an error).
    /// Gives what the file system says of the open file, too.
    pub fn open_file(&self, name: &[u8]) -> Result<(File, Meta)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty()).on_path(self.child_path(name))?;
        let meta = rustix::fs::fstat(&fd).map(|stat| meta_of(&stat)).on_path(self.child_path(name))?;
        if meta.kind != MetaKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
                .on_path(self.child_path(name));
        }
        Ok((File::from(fd), meta))
    }

    /// The target of the link `name`.
    pub fn link_target(&self, name: &[u8]) -> Result<Vec<u8>> {
        let target = rustix::fs::readlinkat(&self.fd, name, Vec::new()).on_path(self.child_path(name))?;
        Ok(target.into_bytes())
    }

    /// Where `name` lies; for messages only.
    pub fn child_path(&self, name: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(name))
    }
}

fn kind_of(file_type: FileType) -> Option<MetaKind> {
    match file_type {
        FileType::RegularFile => Some(MetaKind::File),
        FileType::Symlink => Some(MetaKind::Symlink),
        FileType::Directory => Some(MetaKind::Folder),
        FileType::Unknown => None,
        _ => Some(MetaKind::Special),
    }
}

// The fields' types differ between systems.
#[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
fn meta_of(stat: &rustix::fs::Stat) -> Meta {
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    Meta {
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)).unwrap_or(MetaKind::Special),
        mode: (stat.st_mode & 0o7777) as u16,
        device: stat.st_dev as u64,
        links: stat.st_nlink as u64,
        stat: Stat {
            size: stat.st_size as u64,
            modified: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: stat.st_ino as u64,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn path(text: &str) -> RelPath {
        RelPath::new(text).unwrap()
    }

    #[test]
    fn links_are_seen_and_never_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "s").unwrap();
        symlink(outside.path(), scratch.path().join("out")).unwrap();
        symlink("secret", scratch.path().join("link")).unwrap();
        let root = Root::open(&scratch.path().canonicalize().unwrap()).unwrap();
        assert_eq!(root.meta(&path("out")).unwrap().unwrap().kind, MetaKind::Symlink);
        assert_eq!(root.meta(&path("out/secret")).unwrap(), None);
        assert!(root.folder(&path("out")).is_err());
        let top = root.folder(&RelPath::root()).unwrap();
        assert!(top.open_file(b"link").is_err());
        assert_eq!(top.link_target(b"link").unwrap(), b"secret");
    }

    #[test]
    fn a_fifo_neither_waits_nor_opens() {
        let scratch = tempfile::tempdir().unwrap();
        nix::unistd::mkfifo(&scratch.path().join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let root = Root::open(&scratch.path().canonicalize().unwrap()).unwrap();
        assert!(root.folder(&RelPath::root()).unwrap().open_file(b"fifo").is_err());
    }

    #[test]
    fn a_replaced_root_is_noticed() {
        let scratch = tempfile::tempdir().unwrap();
        let at = scratch.path().canonicalize().unwrap().join("root");
        fs::create_dir(&at).unwrap();
        let root = Root::open(&at).unwrap();
        assert!(root.is_in_place());
        fs::rename(&at, scratch.path().join("moved")).unwrap();
        assert!(!root.is_in_place());
        fs::create_dir(&at).unwrap();
        assert!(!root.is_in_place());
    }
}
