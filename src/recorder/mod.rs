//! Finds what changed in the working tree, reads it once, and keeps the tree in memory.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::disk::Root;
use crate::error::Result;
use crate::model::tree::File;
use crate::model::{Change, Oid, Omission, RelPath, Tree};
use crate::store::{Batch, Permissions, Store};

pub mod cache;

/// What a recorder is told about its project.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files larger than this many bytes are named and left out.
    pub max_file: u64,
    /// Small files matching these gitignore patterns are captured although ignored.
    pub protect: Vec<String>,
    /// Folders of ours, never captured wherever they lie.
    pub own_folders: Vec<PathBuf>,
    /// Further files with ignore rules: the repository's own and the person's, lowest first.
    pub excludes: Vec<PathBuf>,
    /// Whether the root is a Git repository's top level.
    pub is_git: bool,
    /// How long the tree must be quiet before a burst of changes has settled.
    pub settle: Duration,
}

/// The present state of the tree, as a capture found it.
#[derive(Debug)]
pub struct Captured {
    /// The tree of the files, its objects in the batch or the store.
    pub files: Oid,
    /// How the tree differs from the last one recorded, in the order of the paths.
    pub changes: Vec<Change>,
    /// The paths that could not be held.
    pub omitted: Vec<Omission>,
    /// The paths held although ignored.
    pub protected: Vec<RelPath>,
    /// What the person should be told, each once.
    pub notices: Vec<String>,
}

/// Finds what changed in a working tree.
pub struct Recorder {}

impl Recorder {
    /// Starts with what was `known` of the tree the last time.
    pub fn new(root: Root, options: Options, known: Option<Tree>) -> Recorder {
        let _ = (root, options, known);
        todo!()
    }
    /// Looks at everything by stat.
    pub fn scan(
        &mut self,
        store: &Store,
        batch: &mut Batch,
        tracked: Option<&Tree>,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Captured> {
        let _ = (store, batch, tracked, progress);
        todo!()
    }
    /// Looks at what is known to have changed.
    pub fn capture(&mut self, store: &Store, batch: &mut Batch) -> Result<Captured> {
        let _ = (store, batch);
        todo!()
    }
    /// What was captured stands in a checkpoint now.
    pub fn recorded(&mut self) {
        todo!()
    }
    /// What was captured came into no checkpoint: the next capture looks at everything again.
    pub fn failed(&mut self) {
        todo!()
    }
    /// The tree as last captured.
    pub fn tree(&self) -> &Tree {
        todo!()
    }
    /// The permission bits of the tree that are not the usual ones.
    pub fn permissions(&self) -> Permissions {
        todo!()
    }
    /// The paths that the last capture could not hold.
    pub fn omitted(&self) -> &[Omission] {
        todo!()
    }
    /// We ourselves put `file` at `path`, or removed what lay there.
    pub fn replaced(&mut self, path: &RelPath, file: Option<File>) {
        let _ = (path, file);
        todo!()
    }
    /// We ourselves made the folder at `path`.
    pub fn folder_made(&mut self, path: &RelPath) {
        let _ = path;
        todo!()
    }
    /// We ourselves removed the folder at `path`.
    pub fn folder_removed(&mut self, path: &RelPath) {
        let _ = path;
        todo!()
    }
    /// Starts watching; `wake` is called when there is something to capture, from another thread.
    pub fn watch(&mut self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = wake;
        todo!()
    }
    /// When the next capture is due; None while nothing is known to have changed.
    pub fn deadline(&self) -> Option<Instant> {
        todo!()
    }
}
