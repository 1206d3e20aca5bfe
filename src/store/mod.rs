//! Checkpoints in a private bare Git repository.

use std::path::Path;

use crate::error::Result;
use crate::model::checkpoint::Facts;
use crate::model::{Change, Checkpoint, CheckpointId, EntryKind, Oid, RelPath, Tree};

/// Whether a file system could take `name` for `.git`.
pub fn is_dotgit(name: &[u8]) -> bool {
    let _ = name;
    todo!()
}

/// A project's checkpoints.
pub struct Store {}

/// One child of a stored folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChild {
    /// Its name.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: EntryKind,
    /// Its content.
    pub oid: Oid,
}

/// Permission bits that differ from the usual ones (0o644; 0o755 for executables), in the order of the paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions(pub std::collections::BTreeMap<RelPath, u16>);

/// The trees and facts of a checkpoint to be recorded.
pub struct Snapshot {
    /// The tree of the files.
    pub files: Oid,
    /// Permission bits other than the usual ones.
    pub permissions: Permissions,
    /// The tree that holds the user's repository's own state; None without one.
    pub repository: Option<Oid>,
    /// The tree that holds the conversation; None without one.
    pub conversation: Option<Oid>,
    /// Everything else.
    pub facts: Facts,
}

/// An object made ready to be written: compressed and named. Made by any thread.
pub struct Encoded {}

/// Names and compresses objects; keeps its compression state between them. One a thread.
pub struct Encoder {}

impl Encoder {
    /// A new one.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Encoder {
        todo!()
    }

    /// Compresses the blob of `bytes`, whose name is already known.
    pub fn blob(&mut self, oid: Oid, bytes: &[u8]) -> Encoded {
        let _ = (oid, bytes);
        todo!()
    }
}

/// The name that the blob of `bytes` has.
pub fn blob_oid(bytes: &[u8]) -> Oid {
    let _ = bytes;
    todo!()
}

/// Knows which objects the store holds. One a thread.
pub struct Known {}

impl Known {
    /// Whether the store, or the batch it was made for, is known to hold `oid` soundly.
    pub fn has(&self, oid: &Oid) -> bool {
        let _ = oid;
        todo!()
    }
}

/// New objects on their way into the store. Memory is bounded: full packs go to disk as it grows; nothing is reachable
/// until [`Store::record`].
pub struct Batch {}

impl Batch {
    /// Whether the store or this batch holds `oid`.
    pub fn has(&self, oid: &Oid) -> bool {
        let _ = oid;
        todo!()
    }

    /// Adds an object that another thread made ready; does nothing when it is held already.
    pub fn add(&mut self, encoded: Encoded) -> Result<()> {
        let _ = encoded;
        todo!()
    }

    /// Adds the blob of `bytes` unless it is held.
    pub fn add_blob(&mut self, bytes: &[u8]) -> Result<Oid> {
        let _ = bytes;
        todo!()
    }

    /// Adds the blob of the file's first `size` bytes unless it is held, without holding it in memory.
    /// `Ok(None)` when the file proved shorter, or changed while it was read twice.
    pub fn add_large(&mut self, file: &std::fs::File, size: u64) -> Result<Option<Oid>> {
        let _ = (file, size);
        todo!()
    }

    /// Adds `bytes` cut into chunks where their content says so, as a folder of them: of two similar ones only the
    /// chunks that differ are added. [`Store::read_chunked`] puts them together again.
    pub fn add_chunked(&mut self, bytes: &[u8]) -> Result<Oid> {
        let _ = bytes;
        todo!()
    }

    /// Adds the tree of `children` (any order) unless it is held.
    pub fn add_folder(&mut self, children: &[StoredChild]) -> Result<Oid> {
        let _ = children;
        todo!()
    }
}

impl Store {
    /// Opens the store in the project's state folder, making it when there is none. Repairs what a crash or a foreign
    /// `git gc` can leave (missing `HEAD`, `refs`, stale lock and temporary files); never touches what a ref holds.
    pub fn open(folder: &Path) -> Result<Store> {
        let _ = folder;
        todo!()
    }

    /// Takes over the objects of the user's repository by hard link; copies none. `objects` is its `objects` folder.
    /// Where links can not be made (another file system), gives false and takes over nothing.
    pub fn link_objects(&mut self, objects: &Path) -> Result<bool> {
        let _ = objects;
        todo!()
    }

    /// Starts a batch.
    pub fn batch(&self) -> Result<Batch> {
        todo!()
    }

    /// For another thread: which objects there are.
    pub fn known(&self) -> Known {
        todo!()
    }

    /// Records a checkpoint: writes the batch's objects, syncs them, then makes the ref, and only then gives it.
    /// On any error there is no checkpoint.
    pub fn record(&mut self, batch: Batch, snapshot: Snapshot) -> Result<Checkpoint> {
        let _ = (batch, snapshot);
        todo!()
    }

    /// Replaces the facts of a checkpoint by what `change` makes of them (a name, a check's result), atomically.
    pub fn amend(&mut self, id: CheckpointId, change: impl FnOnce(&mut Facts)) -> Result<Checkpoint> {
        let _ = (id, change);
        todo!()
    }

    /// The numbers of all checkpoints, rising.
    pub fn ids(&self) -> Result<Vec<CheckpointId>> {
        todo!()
    }

    /// One checkpoint; an error that names it when it is not there or damaged.
    pub fn checkpoint(&self, id: CheckpointId) -> Result<Checkpoint> {
        let _ = id;
        todo!()
    }

    /// All checkpoints that can be read, oldest first; damaged ones are left out (`verify` names them).
    pub fn timeline(&self) -> Result<Vec<Checkpoint>> {
        todo!()
    }

    /// The content of a blob.
    pub fn read_blob(&self, oid: Oid) -> Result<Vec<u8>> {
        let _ = oid;
        todo!()
    }

    /// The size of a blob in bytes, without reading it.
    pub fn blob_size(&self, oid: Oid) -> Result<u64> {
        let _ = oid;
        todo!()
    }

    /// The children of a stored folder. Names that could lead outside it, or into a `.git`, are an error.
    pub fn read_folder(&self, oid: Oid) -> Result<Vec<StoredChild>> {
        let _ = oid;
        todo!()
    }

    /// The permission bits that a checkpoint keeps.
    pub fn permissions(&self, oid: Oid) -> Result<Permissions> {
        let _ = oid;
        todo!()
    }

    /// The whole tree of a checkpoint, without stats.
    pub fn load_tree(&self, files: Oid, permissions: &Permissions) -> Result<Tree> {
        let _ = (files, permissions);
        todo!()
    }

    /// How the stored tree `old` became `new`, in the order of the paths; reads only folders that differ.
    /// An empty folder counts as something (see `model::tree::compare_nodes`).
    pub fn changes(
        &self,
        old: Oid,
        old_permissions: &Permissions,
        new: Oid,
        new_permissions: &Permissions,
    ) -> Result<Vec<Change>> {
        let _ = (old, old_permissions, new, new_permissions);
        todo!()
    }

    /// What lies at `path` in the stored tree; None when nothing does. For a folder with children the entry holds
    /// the folder's own object name.
    pub fn entry(&self, files: Oid, path: &RelPath) -> Result<Option<(EntryKind, Oid)>> {
        let _ = (files, path);
        todo!()
    }
}
