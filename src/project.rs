//! An opened project: the one way to capture and to rewind; commands and supervisor both call it.

use std::path::{Path, PathBuf};

use crate::disk::Root;
use crate::error::Result;
use crate::model::{Change, Checkpoint, Entry, Kind, RelPath, Report, RewindRequest, SessionNumber};
use crate::settings::Settings;
use crate::store::Store;

/// Where things of ours and of the person's lie; gathered once by `main` from the environment.
#[derive(Clone, Debug)]
pub struct Places {
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// `$XDG_STATE_HOME/wrap`: holds one folder a project.
    pub state: PathBuf,
    /// `$XDG_RUNTIME_DIR/wrap` where there is one: holds the sockets.
    pub runtime: Option<PathBuf>,
}

/// A project whose store is open.
pub struct Project {
    /// Its root.
    pub root: Root,
    /// Its state folder.
    pub folder: PathBuf,
    /// Its checkpoints.
    pub store: Store,
}

/// A state to compare with.
pub enum Side<'a> {
    /// A checkpoint's.
    Checkpoint(&'a Checkpoint),
    /// The files on disk as they are now.
    WorkingTree,
}

impl Project {
    /// The root of the project that `start` lies in: `explicit`, else the Git top level, else a known project above,
    /// else `start`. Refuses `/` and the home folder unless `explicit` names them.
    pub fn find_root(start: &Path, explicit: Option<&Path>, places: &Places) -> Result<PathBuf> {
        let _ = (start, explicit, places);
        todo!()
    }

    /// Opens the project at `root`; makes its store when there is none; finishes a restore that was cut short.
    pub fn open(root: &Path, places: &Places, settings: &Settings) -> Result<Project> {
        let _ = (root, places, settings);
        todo!()
    }

    /// Whether `root` has a store already.
    pub fn exists(root: &Path, places: &Places) -> bool {
        let _ = (root, places);
        todo!()
    }

    /// Finds the checkpoint that a person names (`12`, `latest~1`, a NAME …); an error that names it when there is none.
    pub fn resolve(&self, reference: &str, session: Option<SessionNumber>) -> Result<Checkpoint> {
        let _ = (reference, session);
        todo!()
    }

    /// Records the present state after a full scan, though no live session does.
    pub fn checkpoint(&mut self, kind: Kind, name: Option<String>) -> Result<Checkpoint> {
        let _ = (kind, name);
        todo!()
    }

    /// Restores, with no live session: records the state that it replaces first.
    pub fn rewind(&mut self, request: &RewindRequest) -> Result<Report> {
        let _ = request;
        todo!()
    }

    /// How `old` became `new`, in the order of the paths.
    pub fn changes(&mut self, old: &Checkpoint, new: Side<'_>) -> Result<Vec<Change>> {
        let _ = (old, new);
        todo!()
    }

    /// The content of `entry`, which lies at `path` on the `side` it was seen on.
    pub fn content(&self, side: &Side<'_>, path: &RelPath, entry: &Entry) -> Result<Vec<u8>> {
        let _ = (side, path, entry);
        todo!()
    }
}
