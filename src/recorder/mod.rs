//! Finds what changed in the working tree, reads it once, and keeps the tree in memory.
//!
//! # Contract
//!
//! A capture costs what changed: watches mark paths, marked paths are compared by stat, changed files are read, and the
//! folders above them written. A scan looks at everything by stat. Whatever goes wrong, what was not captured is named
//! or looked at again; an old content never stands for a new one.
//!
//! Once captured, a path stays captured as long as it exists, also when an ignore rule comes to match it.

pub mod cache;
mod ignore;
mod read;
mod scan;
mod settle;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::disk::Root;
use crate::error::{Error, Result};
use crate::model::tree::{EMPTY_FOLDER, File, Folder, Node, Stat};
use crate::model::{Change, Entry, EntryKind, Oid, Omission, RelPath, Tree};
use crate::store::{Batch, Known, Permissions, Store, StoredChild};
use ignore::Rules;
use read::Outcome;
use scan::{Edit, Look, Seen};
use watch::Watches;

/// How long to wait after a capture that failed, and between scans where watches do not serve.
const PAUSE: Duration = Duration::from_secs(2);

/// What a recorder is told about its project.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files larger than this many bytes are named and left out.
    pub max_file: u64,
    /// Small files matching these gitignore patterns are captured although ignored.
    pub protect: Vec<String>,
    /// Folders of ours, never captured wherever they lie.
    pub own_folders: Vec<PathBuf>,
    /// Further files with ignore rules: the repository's own and the person's, the strongest first.
    pub excludes: Vec<PathBuf>,
    /// How long the tree must be quiet before a burst of changes has settled.
    pub settle: Duration,
}

/// The present state of the tree, as a capture found it.
#[derive(Debug)]
pub struct Captured {
    /// The tree of the files, its objects in the batch or the store.
    pub files: Oid,
    /// How the tree differs from the last one recorded, in the order of the paths. Empty as long as none was.
    pub changes: Vec<Change>,
    /// The paths that could not be held.
    pub omitted: Vec<Omission>,
    /// The paths held although ignored.
    pub protected: Vec<RelPath>,
    /// What the person should be told, each once.
    pub notices: Vec<String>,
}

/// Finds what changed in a working tree.
pub struct Recorder {
    root: Root,
    options: Options,
    own_folders: Vec<RelPath>,
    rules: Rules,
    tree: Tree,
    /// Whether `tree` began as, or was at some time, a recorded one.
    has_base: bool,
    /// What lay, in the last recorded tree, at each path touched since.
    before: BTreeMap<RelPath, Option<Entry>>,
    permissions: Permissions,
    omitted: BTreeMap<RelPath, String>,
    omissions: Vec<Omission>,
    protected: BTreeSet<RelPath>,
    /// Paths that the index tracks although the rules ignore them.
    tracked: BTreeSet<RelPath>,
    wake: Option<Arc<dyn Fn() + Send + Sync>>,
    watches: Option<Watches>,
    /// Whether changes can come that no watch tells of.
    blind: bool,
    told_blind: bool,
    /// Whether the next capture looks at everything.
    scan_next: bool,
    /// Paths to look at again though nothing marks them.
    again: BTreeSet<RelPath>,
    /// When to look without being marked.
    next_look: Option<Instant>,
}

impl Recorder {
    /// Starts with what was `known` of the tree the last time.
    pub fn new(root: Root, options: Options, known: Option<Tree>) -> Recorder {
        let own_folders = options.own_folders.iter().filter_map(|folder| {
            RelPath::from_path(folder.strip_prefix(root.path()).ok()?).filter(|path| !path.is_root())
        });
        let mut recorder = Recorder {
            own_folders: own_folders.collect(),
            rules: Rules::new(&options.excludes, &options.protect),
            has_base: known.is_some(),
            tree: known.unwrap_or_default(),
            before: BTreeMap::new(),
            permissions: Permissions::default(),
            omitted: BTreeMap::new(),
            omissions: Vec::new(),
            protected: BTreeSet::new(),
            tracked: BTreeSet::new(),
            wake: None,
            watches: None,
            blind: root.is_remote(),
            told_blind: false,
            scan_next: true,
            again: BTreeSet::new(),
            next_look: None,
            root,
            options,
        };
        let Recorder { tree, permissions, .. } = &mut recorder;
        let mut unusual = BTreeMap::new();
        tree.walk(&mut |path, entry| {
            if is_unusual(&entry) {
                unusual.insert(path.clone(), entry.permissions);
            }
        });
        permissions.0 = unusual.into();
        recorder
    }

    /// Looks at everything by stat. `tracked` is what the index tracks: captured whatever the ignore rules say, and
    /// where nothing else is known, taken for known where its stats and objects say so. `progress` is told how many
    /// files and bytes were read.
    pub fn scan(
        &mut self,
        store: &Store,
        batch: &mut Batch,
        tracked: Option<Tree>,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Captured> {
        self.scan_next = true;
        self.run(store, batch, tracked, progress)
    }

    /// Looks at what is known to have changed.
    pub fn capture(&mut self, store: &Store, batch: &mut Batch) -> Result<Captured> {
        self.run(store, batch, None, &|_, _| {})
    }

    fn run(
        &mut self,
        store: &Store,
        batch: &mut Batch,
        tracked: Option<Tree>,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Captured> {
        let mut notices = self.meet_root()?;
        let marks = self.watches.as_ref().map(Watches::take).unwrap_or_default();
        let everything = self.scan_next || marks.everything || self.blind;
        // Until this capture is through, nothing that was marked may be forgotten.
        self.scan_next = true;
        if marks.everything {
            notices.push("changes came faster than they could be followed: everything was looked at again".into());
        }
        let marked = marks.paths.into_iter().chain(std::mem::take(&mut self.again)).collect();
        let seeded = self.seed(tracked.as_ref(), everything, store);
        let (seen, looked_at) = self.look(everything, marked, tracked.as_ref(), seeded)?;
        let steady = self.take_in(seen, &looked_at, store, batch, progress)?;
        let files = write_folders(&mut self.tree.root, batch)?;
        notices.extend(self.blindness());
        self.scan_next = false;
        let soon = Instant::now() + PAUSE;
        self.next_look = ((self.blind && self.wake.is_some()) || !steady).then_some(soon);
        self.omissions = self.omitted.iter().map(|(path, reason)| omission(path, reason)).collect();
        Ok(Captured {
            files,
            changes: self.changes(),
            omitted: self.omissions.clone(),
            protected: self.protected.iter().cloned().collect(),
            notices,
        })
    }

    /// Looks at the root itself: it may have been replaced.
    fn meet_root(&mut self) -> Result<Vec<String>> {
        if self.root.is_in_place() {
            return Ok(Vec::new());
        }
        let name = crate::model::text::shown(self.root.path().as_os_str().as_encoded_bytes());
        let hint = "nothing is recorded until it is back";
        let new = Root::open(self.root.path()).map_err(|_| Error::refused(format!("{name} is gone"), hint))?;
        if new.identity().0 != self.root.identity().0 {
            return Err(Error::refused(format!("{name} lies on another file system now"), hint));
        }
        self.root = new;
        self.scan_next = true;
        if let Some(wake) = self.wake.clone() {
            self.watch_with(wake);
        }
        Ok(vec![format!("{name} was replaced by another folder, which is recorded from now on")])
    }

    /// Takes what the index tracks for known where nothing else is.
    fn seed(&mut self, tracked: Option<&Tree>, everything: bool, store: &Store) -> Option<Known> {
        let tracked = tracked.filter(|_| everything && !self.has_base && self.tree.root.children().is_empty())?;
        self.tree = tracked.clone();
        Some(store.known())
    }

    /// Looks at everything, or at what is marked; gives what was seen, and where it looked.
    fn look(
        &mut self,
        everything: bool,
        mut marked: Vec<RelPath>,
        tracked: Option<&Tree>,
        seeded: Option<Known>,
    ) -> Result<(Seen, Vec<RelPath>)> {
        let Recorder { root, rules, watches, tree, own_folders, options, tracked: was_tracked, .. } = self;
        let max_file = options.max_file;
        let (watches, seen) = (watches.as_mut(), Seen::default());
        let mut look = Look { root, rules, watches, max_file, own_folders, tracked, was_tracked, seeded, seen };
        let mut looked_at = Vec::new();
        if everything {
            look.everything(tree)?;
            looked_at.push(RelPath::root());
            return Ok((look.seen, looked_at));
        }
        for path in marked.iter_mut().filter(|path| path.name().is_some_and(ignore::is_rules)) {
            *path = path.parent().unwrap_or_default();
        }
        marked.sort_unstable();
        for path in &marked {
            if !looked_at.last().is_some_and(|last| path.is_within(last)) {
                looked_at.push(look.path(tree, path)?);
            }
        }
        Ok((look.seen, looked_at))
    }

    /// Makes what was seen the tree; gives false where something changed while it was read.
    fn take_in(
        &mut self,
        seen: Seen,
        looked_at: &[RelPath],
        store: &Store,
        batch: &mut Batch,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<bool> {
        for at in looked_at {
            self.omitted.retain(|path, _| !path.is_within(at));
            self.protected.retain(|path| !path.is_within(at));
        }
        self.tracked.extend(seen.tracked);
        self.protected.extend(seen.protected);
        for edit in seen.edits {
            match edit {
                Edit::File(path, file) => self.set(&path, file),
                Edit::Folder(path, device) => self.set_folder(&path, device),
                Edit::Remove(path) => self.remove(&path),
            }
        }
        for omission in seen.omitted {
            self.omitted.insert(omission.path, omission.reason);
        }
        let outcomes = read::read_all(&self.root, store, batch, &seen.to_read, self.options.max_file, progress)?;
        let mut steady = true;
        for (path, outcome) in seen.to_read.into_iter().zip(outcomes) {
            if let Outcome::Held(file) = outcome {
                self.set(&path, file);
                continue;
            }
            self.remove(&path);
            self.protected.remove(&path);
            match outcome {
                Outcome::NotHeld(reason) => _ = self.omitted.insert(path, reason),
                Outcome::Unsteady => {
                    self.omitted.insert(path.clone(), "it changed while it was read".into());
                    self.again.insert(path);
                    steady = false;
                }
                Outcome::Held(_) | Outcome::Gone => {}
            }
        }
        Ok(steady)
    }

    /// What was captured stands in a checkpoint now, or is the same as in the last one.
    pub fn recorded(&mut self) {
        self.before.clear();
        self.has_base = true;
    }

    /// What was captured came into no checkpoint: the next capture looks at everything again, and takes nothing that
    /// changed since the last checkpoint for held.
    pub fn failed(&mut self) {
        self.scan_next = true;
        self.next_look = Some(Instant::now() + PAUSE);
        if !self.has_base {
            self.tree = Tree::default();
            self.permissions = Permissions::default();
            return;
        }
        let touched: Vec<RelPath> = self.before.keys().cloned().collect();
        for path in touched {
            if let Some(file) = self.tree.file(&path).copied() {
                self.tree.refresh(&path, Stat::UNKNOWN, file.entry.permissions);
            }
            let mut folder = Some(path);
            while let Some(path) = folder {
                self.tree.folder_mut(&path);
                folder = path.parent();
            }
        }
    }

    /// The tree as last captured.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The root, which may be another folder than it was before the last capture.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The permission bits of the tree that are not the usual ones.
    pub fn permissions(&self) -> Permissions {
        self.permissions.clone()
    }

    /// The paths that the last capture could not hold.
    pub fn omitted(&self) -> &[Omission] {
        &self.omissions
    }

    /// We ourselves put `file` at `path`, or removed what lay there.
    pub fn replaced(&mut self, path: &RelPath, file: Option<File>) {
        match file {
            Some(file) => self.set(path, file),
            None => self.remove(path),
        }
    }

    /// We ourselves made the folder at `path`.
    pub fn folder_made(&mut self, path: &RelPath) {
        self.set_folder(path, 0);
        self.again.insert(path.clone());
    }

    /// We ourselves removed the folder at `path`.
    pub fn folder_removed(&mut self, path: &RelPath) {
        self.remove(path);
    }

    /// Watches from the next scan on; `wake` is called, from another thread, when there is something to capture.
    pub fn watch(&mut self, wake: impl Fn() + Send + Sync + 'static) {
        self.watch_with(Arc::new(wake));
    }

    fn watch_with(&mut self, wake: Arc<dyn Fn() + Send + Sync>) {
        self.watches = Watches::start(self.root.path(), Arc::clone(&wake));
        self.wake = Some(wake);
        self.scan_next = true;
    }

    /// When the next capture is due; None while nothing is known to have changed.
    pub fn deadline(&self) -> Option<Instant> {
        let settled = self.watches.as_ref().and_then(|watches| watches.deadline(self.options.settle));
        [settled, self.next_look].into_iter().flatten().min()
    }

    /// Notices that watches do not, or no longer, tell of every change; what the person should be told of it.
    fn blindness(&mut self) -> Option<String> {
        self.wake.as_ref()?;
        let why = match &self.watches {
            None => "the system gave no watches".to_owned(),
            Some(watches) => match watches.exhausted() {
                Some(limit) => format!("{limit} is reached"),
                None if self.root.is_remote() => "this file system does not tell of every change".to_owned(),
                None => return None,
            },
        };
        self.blind = true;
        let told = std::mem::replace(&mut self.told_blind, true);
        (!told).then(|| format!("{why}, so all files are looked at every {} seconds", PAUSE.as_secs()))
    }

    /// How the tree differs from the last one recorded.
    fn changes(&self) -> Vec<Change> {
        let change = |(path, old): (&RelPath, &Option<Entry>)| {
            let new = leaf(&self.tree, path);
            let same = match (old, &new) {
                (Some(old), Some(new)) => old.same_content(new),
                (None, None) => true,
                _ => false,
            };
            (!same).then(|| Change { path: path.clone(), old: *old, new })
        };
        self.before.iter().filter_map(change).collect()
    }

    /// Keeps what the last recorded tree had at `path` and all below it.
    fn touch(&mut self, path: &RelPath) {
        if !self.has_base {
            return;
        }
        let Recorder { tree, before, .. } = self;
        let mut keep = |path: &RelPath| {
            if !before.contains_key(path) {
                before.insert(path.clone(), leaf(tree, path));
            }
        };
        keep(path);
        // A folder that becomes empty, or is no longer, changes too.
        path.parent().iter().filter(|parent| !parent.is_root()).for_each(&mut keep);
        if let Some(Node::Folder(folder)) = tree.get(path) {
            let mut below = Vec::new();
            leaves_below(path, folder, &mut below);
            below.iter().for_each(keep);
        }
    }

    fn set(&mut self, path: &RelPath, file: File) {
        let bits = file.entry.permissions;
        match self.tree.file(path) {
            Some(old) if old.entry.same_content(&file.entry) => {
                if old.entry.permissions != bits {
                    self.keep_permissions(path, &file.entry);
                }
                return self.tree.refresh(path, file.stat, bits);
            }
            _ => {}
        }
        self.touch(path);
        self.forget_permissions(path);
        self.keep_permissions(path, &file.entry);
        self.tree.put(path, Node::File(file));
    }

    fn set_folder(&mut self, path: &RelPath, device: u64) {
        if self.tree.folder(path).is_none() {
            self.touch(path);
            self.forget_permissions(path);
            self.tree.put(path, Node::Folder(Box::default()));
        }
        if let Some(folder) = self.tree.folder_with_names_kept(path) {
            folder.device = device;
        }
    }

    fn remove(&mut self, path: &RelPath) {
        if self.tree.get(path).is_none() {
            return;
        }
        self.touch(path);
        self.forget_permissions(path);
        if let Some(Node::Folder(_)) = self.tree.take(path)
            && let Some(watches) = &mut self.watches
        {
            watches.forget(path);
        }
    }

    fn keep_permissions(&mut self, path: &RelPath, entry: &Entry) {
        let unusual = Arc::make_mut(&mut self.permissions.0);
        match is_unusual(entry) {
            true => unusual.insert(path.clone(), entry.permissions),
            false => unusual.remove(path),
        };
    }

    fn forget_permissions(&mut self, path: &RelPath) {
        let is_below = |(at, _): (&RelPath, &u16)| at.is_within(path);
        if self.permissions.0.range(path.clone()..).next().is_some_and(is_below) {
            Arc::make_mut(&mut self.permissions.0).retain(|at, _| !at.is_within(path));
        }
    }
}

/// What counts as lying at `path`: a file, a link, an empty folder.
fn leaf(tree: &Tree, path: &RelPath) -> Option<Entry> {
    match tree.get(path)? {
        Node::File(file) => Some(file.entry),
        Node::Folder(folder) => folder.children().is_empty().then_some(EMPTY_FOLDER),
    }
}

fn leaves_below(path: &RelPath, folder: &Folder, all: &mut Vec<RelPath>) {
    for child in folder.children() {
        let path = path.join(child.name());
        match &child.node {
            Node::Folder(folder) if !folder.children().is_empty() => leaves_below(&path, folder, all),
            _ => all.push(path),
        }
    }
}

fn omission(path: &RelPath, reason: &str) -> Omission {
    Omission { path: path.clone(), reason: reason.to_owned() }
}

fn is_unusual(entry: &Entry) -> bool {
    match entry.kind {
        EntryKind::Regular => entry.permissions != 0o644,
        EntryKind::Executable => entry.permissions != 0o755,
        EntryKind::Symlink | EntryKind::Folder => false,
    }
}

/// Adds the folders whose object is not known; gives the object of `folder`.
fn write_folders(folder: &mut Folder, batch: &mut Batch) -> Result<Oid> {
    if let Some(oid) = folder.oid {
        return Ok(oid);
    }
    let mut children = Vec::with_capacity(folder.children().len());
    for child in folder.children_mut() {
        let name = child.name().to_vec();
        let (kind, oid) = match &mut child.node {
            Node::File(file) => (file.entry.kind, file.entry.oid),
            Node::Folder(below) => (EntryKind::Folder, write_folders(below, batch)?),
        };
        children.push(StoredChild { name, kind, oid });
    }
    let oid = batch.add_folder(&children)?;
    folder.oid = Some(oid);
    Ok(oid)
}
