//! Watches on folders: they only mark what has to be looked at.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::{Config, ErrorKind, EventKindMask, PathOp, RecommendedWatcher, RecursiveMode, WatchPathConfig, Watcher};

use super::settle::Settle;
use crate::model::RelPath;

/// More marked paths than this are not kept one by one: everything is looked at.
const MOST_MARKS: usize = 50_000;

/// What has to be looked at.
#[derive(Default)]
pub(super) struct Marks {
    /// Something may have changed at these.
    pub(super) paths: HashSet<RelPath>,
    /// Something may have changed anywhere: events were lost, or there were too many.
    pub(super) everything: bool,
    settle: Settle,
}

/// The watches on the folders of a tree.
pub(super) struct Watches {
    root: PathBuf,
    watcher: RecommendedWatcher,
    marks: Arc<Mutex<Marks>>,
    watched: HashSet<RelPath>,
    /// Why not everything is watched.
    exhausted: Option<String>,
}

impl Watches {
    /// Begins to watch below `root`; `wake` is called, from another thread, when the first mark is made. None when the
    /// system gives us no watches at all.
    pub(super) fn start(root: &Path, wake: Arc<dyn Fn() + Send + Sync>) -> Option<Watches> {
        let marks = Arc::new(Mutex::new(Marks::default()));
        let handler = handler(root.to_path_buf(), Arc::clone(&marks), wake);
        let kinds = EventKindMask::CREATE
            | EventKindMask::REMOVE
            | EventKindMask::MODIFY_DATA
            | EventKindMask::MODIFY_META
            | EventKindMask::MODIFY_NAME;
        let config = Config::default().with_event_kinds(kinds).with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(handler, config).ok()?;
        let root = root.to_path_buf();
        Some(Watches { root, watcher, marks, watched: HashSet::new(), exhausted: None })
    }

    /// Watches these folders; returns when the watches are set. A folder that is gone is passed over.
    pub(super) fn add(&mut self, folders: Vec<RelPath>) {
        let config = || WatchPathConfig::new(RecursiveMode::NonRecursive).with_dereference_symlinks(false);
        let new: Vec<RelPath> = folders.into_iter().filter(|folder| self.watched.insert(folder.clone())).collect();
        let mut left: Vec<PathOp> =
            new.iter().map(|folder| PathOp::Watch(self.root.join(folder.as_path()), config())).collect();
        while !left.is_empty() && self.exhausted.is_none() {
            let Err(failed) = self.watcher.update_paths(left) else { return };
            match failed.source.kind {
                ErrorKind::PathNotFound => {}
                ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                ErrorKind::MaxFilesWatch => {
                    self.exhausted = Some("the system's limit for watches (fs.inotify.max_user_watches)".into());
                }
                // Not permitted on this one folder: reading it says so too.
                _ => {}
            }
            left = failed.remaining;
        }
    }

    /// Forgets that these folders are watched: they are gone, or were replaced.
    pub(super) fn forget(&mut self, within: &RelPath) {
        self.watched.retain(|folder| !folder.is_within(within));
    }

    /// Ends the watch on a folder that turned out not to be captured.
    pub(super) fn remove(&mut self, folder: &RelPath) {
        if self.watched.remove(folder) {
            let _ = self.watcher.unwatch(&self.root.join(folder.as_path()));
        }
    }

    /// Why not everything is watched; None when all is.
    pub(super) fn exhausted(&self) -> Option<&str> {
        self.exhausted.as_deref()
    }

    /// Takes out what is marked.
    pub(super) fn take(&self) -> Marks {
        std::mem::take(&mut *lock(&self.marks))
    }

    /// When what is marked has settled; None when nothing is marked.
    pub(super) fn deadline(&self, quiet: Duration) -> Option<Instant> {
        lock(&self.marks).settle.deadline(quiet)
    }
}

fn handler(
    root: PathBuf,
    marks: Arc<Mutex<Marks>>,
    wake: Arc<dyn Fn() + Send + Sync>,
) -> impl FnMut(notify::Result<notify::Event>) + Send + 'static {
    move |event| {
        let mut marks = lock(&marks);
        let first = marks.settle.deadline(Duration::ZERO).is_none();
        let marked = match event {
            Ok(event) if event.need_rescan() => {
                marks.everything = true;
                true
            }
            Ok(event) => event.paths.iter().filter(|path| mark(&mut marks, &root, path)).count() > 0,
            Err(_) => {
                marks.everything = true;
                true
            }
        };
        if marked {
            marks.settle.change(Instant::now());
            if first {
                drop(marks);
                wake();
            }
        }
    }
}

/// Marks a path; gives false where nothing of it is captured anyway.
fn mark(marks: &mut Marks, root: &Path, path: &Path) -> bool {
    let Some(path) = path.strip_prefix(root).ok().and_then(RelPath::from_path) else { return false };
    if path.names().any(super::scan::is_never_captured) {
        return false;
    }
    if marks.paths.len() >= MOST_MARKS {
        marks.everything = true;
        marks.paths.clear();
    }
    if !marks.everything {
        marks.paths.insert(path);
    }
    true
}

fn lock(marks: &Mutex<Marks>) -> MutexGuard<'_, Marks> {
    // A panic elsewhere leaves the marks as they were, which is sound.
    marks.lock().unwrap_or_else(PoisonError::into_inner)
}
