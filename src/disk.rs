//! Files: access beneath a root without following links, and durable writes.
//!
//! # Contract
//!
//! - [`Root`] holds the root's descriptor. Every access goes name by name from there, never through a symbolic link,
//!   never outside, whatever is swapped meanwhile.
//! - [`write_durably`], [`publish_new`] and [`publish`] are the only ways to a durable file: a reader sees the old file or
//!   the whole new one at every instant, and after they return a power cut keeps the new one.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::model::RelPath;

/// A project's root, held by descriptor. Clones share the descriptor.
#[derive(Clone, Debug)]
pub struct Root {
    _path: Arc<PathBuf>,
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
    pub stat: crate::model::tree::Stat,
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
    /// Opens the folder at `path` (absolute, without links in it).
    pub fn open(path: &Path) -> Result<Root> {
        let _ = path;
        todo!()
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        todo!()
    }

    /// Whether the path it was opened by still leads to the same folder.
    pub fn is_in_place(&self) -> bool {
        todo!()
    }

    /// What lies at `path`; None when nothing does, or a name above it is no folder.
    pub fn meta(&self, path: &RelPath) -> Result<Option<Meta>> {
        let _ = path;
        todo!()
    }

    /// Opens the folder at `path`, to list it and to reach its children without going down from the root again.
    pub fn folder(&self, path: &RelPath) -> Result<Dir> {
        let _ = path;
        todo!()
    }
}

/// An open folder beneath a root.
#[derive(Debug)]
pub struct Dir {}

impl Dir {
    /// The names in it with what the listing says of their kind (None where the file system does not say), unordered,
    /// without `.` and `..`.
    pub fn names(&self) -> Result<Vec<(Vec<u8>, Option<MetaKind>)>> {
        todo!()
    }

    /// What `name` is; None when it is gone.
    pub fn meta(&self, name: &[u8]) -> Result<Option<Meta>> {
        let _ = name;
        todo!()
    }

    /// This folder itself.
    pub fn own_meta(&self) -> Result<Meta> {
        todo!()
    }

    /// Opens the folder `name` in it; follows no link.
    pub fn folder(&self, name: &[u8]) -> Result<Dir> {
        let _ = name;
        todo!()
    }

    /// Opens the regular file `name` for reading: follows no link, never waits (a FIFO in its place is an error).
    /// Gives what the file system says of the open file, too.
    pub fn open_file(&self, name: &[u8]) -> Result<(File, Meta)> {
        let _ = name;
        todo!()
    }

    /// The target of the link `name`.
    pub fn link_target(&self, name: &[u8]) -> Result<Vec<u8>> {
        let _ = name;
        todo!()
    }
}

/// Writes `bytes` to a temporary file beside `target`, syncs it, renames it into place, syncs the folder.
/// The file gets `mode`.
pub fn write_durably(target: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let _ = (target, bytes, mode);
    todo!()
}
