//! What lies at a path, and how two states of it differ.

use serde::{Deserialize, Serialize};

use super::{Oid, RelPath};

/// What kind of thing lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// A file that is not executable.
    Regular,
    /// A file whose owner may execute it.
    Executable,
    /// A symbolic link; its content is the target.
    Symlink,
    /// A folder. In a [`Change`] it stands for an empty one only.
    Folder,
}

/// What lies at a path: kind, content and permission bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// Its content; [`Oid::EMPTY_TREE`] for an empty folder.
    pub oid: Oid,
    /// The permission bits (`0o777` at most; set-id and sticky bits are not kept). 0 for links and folders.
    pub permissions: u16,
}

impl Entry {
    /// Whether kind and content are the same. Permissions alone make no change: they are kept so that a file that is
    /// written again gets the ones it had.
    pub fn same_content(&self, other: &Entry) -> bool {
        self.kind == other.kind && self.oid == other.oid
    }
}

/// One path whose state differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Where.
    pub path: RelPath,
    /// What was there; None when nothing was.
    pub old: Option<Entry>,
    /// What is there now; None when nothing is.
    pub new: Option<Entry>,
}

impl Change {
    /// In one word what happened to the path.
    pub fn status(&self) -> Status {
        match (&self.old, &self.new) {
            (None, _) => Status::Added,
            (_, None) => Status::Deleted,
            _ => Status::Modified,
        }
    }
}

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It was not there before.
    Added,
    /// Its content or kind differs.
    Modified,
    /// It is no longer there.
    Deleted,
}
