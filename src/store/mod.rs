//! Checkpoints in a private bare Git repository.
//!
//! # Contract
//!
//! A checkpoint is there exactly when its ref is: [`Store::record`] syncs every object it needs before it makes the ref,
//! and gives the checkpoint only when the ref is synced too. Each checkpoint's new objects are one pack; the objects of
//! the user's own repository are reused through hard links. Plain `git --git-dir` reads it all.

mod batch;
mod chunks;
mod commit;
mod fold;
mod link;
mod objects;
mod pack;
mod recover;
mod refs;
#[cfg(test)]
mod tests;
mod tree;
mod verify;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FlockOperation;

pub use batch::Batch;
pub use fold::Pruned;
pub use objects::{Encoded, Encoder, Known, blob_oid};
pub use tree::is_dotgit;

use crate::error::{Error, OnPath, Result};
use crate::model::checkpoint::Facts;
use crate::model::{Checkpoint, CheckpointId, EntryKind, Oid, RelPath};
use link::{Linked, Outcome};
use objects::{ObjectKind, Reader};
use refs::Refs;

/// A project's checkpoints.
pub struct Store {
    folder: PathBuf,
    reader: Reader,
    refs: Refs,
    linked: Linked,
}

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
/// Clones share the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions(pub Arc<BTreeMap<RelPath, u16>>);

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

impl Store {
    /// Opens the store in the project's state folder, making it when there is none. Repairs what a crash or a foreign
    /// `git gc` can leave (missing `HEAD`, `refs`, stale temporary files); never touches what a ref holds.
    pub fn open(folder: &Path) -> Result<Store> {
        let folder = folder.join("store.git");
        recover::make_sound(&folder)?;
        let reader = Reader::open(&folder.join("objects"))?;
        Ok(Store { reader, refs: Refs::new(&folder), linked: Linked::new(&folder), folder })
    }

    /// Takes over the objects of the user's repository by hard link; copies none. `objects` is its `objects` folder.
    /// Where links can not be made (another file system), gives false; what is needed from there is then copied as it
    /// is captured.
    pub fn link_objects(&mut self, objects: &Path) -> Result<bool> {
        let outcome = self.linked.link(objects)?;
        if outcome == Outcome::Linked {
            self.reader.reopen()?;
        }
        Ok(outcome != Outcome::Impossible)
    }

    /// Starts a batch.
    pub fn batch(&self) -> Result<Batch> {
        Ok(Batch::new(self.folder.join("objects/pack"), self.known()))
    }

    /// For another thread: which objects there are.
    pub fn known(&self) -> Known {
        self.reader.known()
    }

    /// Records a checkpoint: writes the batch's objects, syncs them, then makes the ref, and only then gives it.
    /// On any error there is no checkpoint.
    pub fn record(&mut self, mut batch: Batch, snapshot: Snapshot) -> Result<Checkpoint> {
        let (commit, trees) = commit::add_snapshot(&mut batch, &snapshot)?;
        batch.finish()?;
        let id = self.refs.create(commit)?;
        let facts = snapshot.facts;
        Ok(Checkpoint { id, commit, files: trees.files, permissions: trees.permissions, facts })
    }

    /// Replaces the facts of a checkpoint by what `change` makes of them (a name, a check's result), atomically.
    pub fn amend(&mut self, id: CheckpointId, change: impl FnOnce(&mut Facts)) -> Result<Checkpoint> {
        let path = self.folder.join("amend.lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&path).on_path(&path)?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive).on_path(&path)?;
        let (mut checkpoint, trees) = commit::read(&self.reader, id, self.refs.get(id)?)?;
        change(&mut checkpoint.facts);
        let mut batch = self.batch()?;
        checkpoint.commit = commit::add_commit(&mut batch, &trees, &checkpoint.facts)?;
        batch.finish()?;
        self.refs.replace(id, checkpoint.commit)?;
        Ok(checkpoint)
    }

    /// The numbers of all checkpoints, rising.
    pub fn ids(&self) -> Result<Vec<CheckpointId>> {
        self.refs.ids()
    }

    /// One checkpoint; an error that names it when it is not there or damaged.
    pub fn checkpoint(&self, id: CheckpointId) -> Result<Checkpoint> {
        commit::read(&self.reader, id, self.refs.get(id)?).map(|read| read.0)
    }

    /// All checkpoints that can be read, oldest first; damaged ones are left out (`verify` names them).
    pub fn timeline(&self) -> Result<Vec<Checkpoint>> {
        Ok(self.ids()?.into_iter().filter_map(|id| self.checkpoint(id).ok()).collect())
    }

    /// The content of a blob.
    pub fn read_blob(&self, oid: Oid) -> Result<Vec<u8>> {
        self.reader.read(ObjectKind::Blob, oid)
    }

    /// The size of a blob in bytes, without reading it.
    pub fn blob_size(&self, oid: Oid) -> Result<u64> {
        self.reader.size(oid)
    }

    /// What [`Batch::add_chunked`] took apart.
    pub fn read_chunked(&self, oid: Oid) -> Result<Vec<u8>> {
        let mut children = self.read_folder(oid)?;
        children.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut bytes = Vec::new();
        for child in children {
            bytes.append(&mut self.read_blob(child.oid)?);
        }
        Ok(bytes)
    }

    /// The permission bits that a checkpoint keeps.
    pub fn permissions(&self, oid: Oid) -> Result<Permissions> {
        let bytes = self.read_blob(oid)?;
        commit::decode_permissions(&bytes)
            .ok_or_else(|| Error::damaged(format!("object {oid} is no list of permissions")))
    }
}
