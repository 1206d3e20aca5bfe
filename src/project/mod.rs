//! An opened project: the one way to capture and to rewind; commands and supervisor both call it.
//!
//! Composes the store, the recorder, the restore and the user's repository, none of which knows the others.

mod capture;
mod compare;
mod find;
mod rewind;
mod sessions;

use std::path::{Path, PathBuf};

use jiff::Timestamp;

pub use capture::{Found, Look, Occasion};
pub use find::{Places, name_of};
pub use sessions::{
    OwnSession, RecorderLock, Recording, all_live_sessions, live_sessions, private_folder, recorder_lock,
    wait_for_recorder_lock,
};

use crate::disk::Root;
use crate::error::{Error, Result};
use crate::model::{Change, Checkpoint, Entry, EntryKind, Reference, RelPath, SessionNumber};
use crate::recorder::{self, Recorder, cache};
use crate::repository::{self, Repository};
use crate::restore;
use crate::settings::Settings;
use crate::store::Store;

/// A project whose store is open.
pub struct Project {
    /// Its root.
    pub root: Root,
    /// Its state folder.
    pub folder: PathBuf,
    /// Its checkpoints.
    pub store: Store,
    /// What the person should be told; whoever shows it takes it out.
    pub notices: Vec<String>,
    recorder: Recorder,
    repository: Option<Repository>,
    state: repository::State,
    newest: Option<Checkpoint>,
    /// Whether the recorder's own tree is the state that the newest checkpoint led to.
    has_base: bool,
}

/// A state to compare with.
pub enum Side<'a> {
    /// A checkpoint's.
    Checkpoint(&'a Checkpoint),
    /// The files on disk as they are now.
    WorkingTree,
}

impl Project {
    /// Opens the project at `root` (resolved); makes its store when there is none; finishes a restore that was cut
    /// short.
    pub fn open(root: &Path, places: &Places, settings: &Settings) -> Result<Project> {
        let root = Root::open(root)?;
        let folder = places.folder(root.path());
        private_folder(&folder)?;
        let store = Store::open(&folder)?;
        let repository = Repository::at(root.path());
        let newest = newest(&store)?;
        let known = cache::load(&folder.join("stat-cache"));
        let (known, has_base) = match (known, &newest) {
            (Some((tree, files)), Some(newest)) if files == newest.files || newest.facts.rewind.is_some() => {
                (Some(tree), true)
            }
            (Some((tree, _)), Some(_)) => (Some(tree), false),
            _ => (None, false),
        };
        let options = recorder::Options {
            max_file: settings.max_file,
            protect: settings.protect.clone(),
            own_folders: vec![places.state.clone()],
            excludes: repository.as_ref().map(Repository::excludes).unwrap_or_default(),
            settle: settings.settle,
        };
        let recorder = Recorder::new(root.clone(), options, known);
        let state = repository::State::default();
        let mut project =
            Project { root, folder, store, notices: Vec::new(), recorder, repository, state, newest, has_base };
        project.recover()?;
        Ok(project)
    }

    /// Whether anything is recorded for `root`.
    pub fn exists(root: &Path, places: &Places) -> bool {
        places.folder(root).join("store.git").is_dir()
    }

    /// What records it, to be told when to look.
    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    /// Keeps what is known of the tree for the next one who opens the project. A failure only costs time later.
    pub fn save_cache(&self) {
        let tree = self.recorder.tree();
        if self.has_base
            && let Some(files) = tree.root.oid
        {
            let _ = cache::save(&self.folder.join("stat-cache"), tree, files);
        }
    }

    /// Finds the checkpoint that a person names (`12`, `latest~1`, a NAME …); an error that names it when there is none.
    pub fn resolve(&self, reference: &str, session: Option<SessionNumber>) -> Result<Checkpoint> {
        let Ok(parsed) = reference.parse::<Reference>();
        if let Reference::Id(id) = parsed {
            return self.store.checkpoint(id);
        }
        let timeline = self.store.timeline()?;
        parsed.find(&timeline, session, Timestamp::now()).cloned().ok_or_else(|| {
            let shown = crate::model::text::shown(reference.as_bytes());
            Error::refused(format!("no checkpoint is called {shown}"), "`wrap list` shows them")
        })
    }

    /// How `old` became `new`, in the order of the paths.
    pub fn changes(&mut self, old: &Checkpoint, new: &Side<'_>) -> Result<Vec<Change>> {
        let permissions = self.store.permissions(old.permissions)?;
        match new {
            Side::Checkpoint(new) => {
                let new_permissions = self.store.permissions(new.permissions)?;
                self.store.changes(old.files, &permissions, new.files, &new_permissions)
            }
            Side::WorkingTree => {
                self.look(Look::Scan, &|_, _| {})?;
                let tree = &self.recorder.tree().root;
                let changes = compare::changes_to_stored(&self.store, tree, old.files, &permissions);
                self.recorder.failed();
                Ok(compare::reversed(changes?))
            }
        }
    }

    /// The content of `entry`, which lies at `path` on the `side` it was seen on. Empty for a folder.
    pub fn content(&self, side: &Side<'_>, path: &RelPath, entry: &Entry) -> Result<Vec<u8>> {
        match (side, entry.kind) {
            (_, EntryKind::Folder) => Ok(Vec::new()),
            (Side::Checkpoint(_), _) => self.store.read_blob(entry.oid),
            (Side::WorkingTree, EntryKind::Symlink) => self.read_working(path, crate::disk::MetaKind::Symlink),
            (Side::WorkingTree, _) => self.read_working(path, crate::disk::MetaKind::File),
        }
    }

    fn journal(&self) -> PathBuf {
        self.folder.join("restore-journal")
    }

    /// Finishes a restore that was cut short.
    fn recover(&mut self) -> Result<()> {
        let Some(recovered) = restore::recover(&self.root, &self.store, &self.journal())? else { return Ok(()) };
        self.notices.push("a restore that was cut short has been finished".into());
        self.notices.extend(recovered.keeps.iter().map(|keep| format!("{}: left alone, {}", keep.path, keep.reason)));
        self.recorder.failed();
        self.has_base = false;
        Ok(())
    }

    /// Takes over what a user's repository has, also one that came or went since.
    fn meet_repository(&mut self) -> Result<()> {
        self.repository = Repository::at(self.root.path());
        if let Some(repository) = &self.repository {
            self.store.link_objects(&repository.objects())?;
        }
        Ok(())
    }
}

/// The newest checkpoint that can be read.
fn newest(store: &Store) -> Result<Option<Checkpoint>> {
    Ok(store.ids()?.into_iter().rev().find_map(|id| store.checkpoint(id).ok()))
}
