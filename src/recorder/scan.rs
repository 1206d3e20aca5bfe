//! Looking at folders: what there is by stat, compared with what was known.
//!
//! Nothing is changed here. A look gives edits to be made to the tree and paths to be read.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::ignore::{self, Applying, Rules};
use super::read::{kind_of, permissions_of, reason, too_large};
use super::watch::Watches;
use crate::disk::{Dir, Meta, MetaKind, Root, is_absence};
use crate::error::Result;
use crate::model::path::DEEPEST;
use crate::model::tree::{File, Folder, Node, Stat};
use crate::model::{Entry, Oid, Omission, RelPath, Tree};
use crate::store::{Known, is_dotgit};

/// Files of ours beneath a root, while a restore writes.
const OWN_TEMPORARY: &[u8] = b".wrap-tmp-";
/// Protected files larger than this are not small.
const LARGEST_PROTECTED: u64 = 1 << 20;

/// How the tree differs from what was seen.
#[derive(Debug)]
pub(super) enum Edit {
    /// This file is here; its content is as it was known, or as the index says.
    File(RelPath, File),
    /// A folder is here, on this device.
    Folder(RelPath, u64),
    /// Nothing that is captured is here any more.
    Remove(RelPath),
}

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// To be made in this order: a folder comes before what it holds.
    pub(super) edits: Vec<Edit>,
    /// Files and links whose content has to be read.
    pub(super) to_read: Vec<RelPath>,
    /// What can not be held.
    pub(super) omitted: Vec<Omission>,
    /// What is held because it is protected from the ignore rules.
    pub(super) protected: Vec<RelPath>,
    /// What is held because the index tracks it although the rules ignore it.
    pub(super) tracked: Vec<RelPath>,
}

/// One look.
pub(super) struct Look<'a> {
    pub(super) root: &'a Root,
    pub(super) rules: &'a mut Rules,
    pub(super) watches: Option<&'a mut Watches>,
    pub(super) max_file: u64,
    /// Folders of ours that lie beneath the root.
    pub(super) own_folders: &'a [RelPath],
    /// What the index tracks; where `seeded` is given it is also what was known.
    pub(super) tracked: Option<&'a Tree>,
    /// What the index tracked, when it was looked at last, although the rules ignore it.
    pub(super) was_tracked: &'a BTreeSet<RelPath>,
    /// Which objects there are, where the known tree comes from the index: its stats are cut to 32 bits, and its objects
    /// may be missing.
    pub(super) seeded: Option<Known>,
    pub(super) seen: Seen,
}

/// Where a look stands.
struct Place<'t> {
    path: RelPath,
    dir: Dir,
    old: Option<&'t Folder>,
    tracked: Option<&'t Folder>,
    /// Whether the rules ignore this folder; only what was known or is tracked is captured in it.
    ignored: bool,
    depth: usize,
}

/// Whether nothing of this name, or below it, is ever captured.
pub(super) fn is_never_captured(name: &[u8]) -> bool {
    name == b".git" || name.starts_with(OWN_TEMPORARY)
}

impl<'a> Look<'a> {
    /// Looks at everything.
    pub(super) fn everything(&mut self, known: &'a Tree) -> Result<()> {
        let root = RelPath::root();
        self.watch(vec![root.clone()]);
        let dir = self.root.folder(&root)?;
        self.watch(folders_of(known));
        let tracked = self.tracked.map(|tree| &tree.root);
        let place = Place { path: root, dir, old: Some(&known.root), tracked, ignored: false, depth: 0 };
        // The root itself is listed here so that failing to is an error: an unreadable root is not an empty one.
        let names = place.dir.names()?;
        self.listed(&place, names, &mut Applying::default());
        Ok(())
    }

    /// Looks at `path` and all below it. Gives the path that was looked at: a folder above where that is new too.
    pub(super) fn path(&mut self, known: &'a Tree, path: &RelPath) -> Result<RelPath> {
        let mut ignored = false;
        let mut at = RelPath::root();
        let mut tracked = self.tracked.map(|tree| &tree.root);
        let names: Vec<&[u8]> = path.names().collect();
        let Some((last, above)) = names.split_last() else {
            self.everything(known)?;
            return Ok(at);
        };
        let mut name = *last;
        for folder in above {
            let next = at.join(folder);
            if known.folder(&next).is_none() {
                name = folder;
                break;
            }
            ignored = ignored || self.rules.ignores(&self.rules.applying(&at), &next, true);
            tracked = tracked.and_then(|tracked| child_folder(tracked, folder));
            at = next;
        }
        let dir = match self.root.folder(&at) {
            Ok(dir) => dir,
            Err(error) if is_absence(&error) && !at.is_root() => return self.path(known, &at),
            Err(error) => return Err(error),
        };
        let target = at.join(name);
        let mut applying = self.rules.applying(&at);
        let depth = target.names().count() - 1;
        let place = Place { old: known.folder(&at), path: at, dir, tracked, ignored, depth };
        match place.dir.meta(name) {
            Ok(Some(meta)) => {
                let old = place.old.and_then(|folder| folder.child(name));
                if !self.child(&place, name, Some(meta.kind), old, &mut applying) && old.is_some() {
                    self.seen.edits.push(Edit::Remove(target.clone()));
                }
            }
            Ok(None) => self.seen.edits.push(Edit::Remove(target.clone())),
            Err(error) => {
                self.omit(&target, reason(&error));
                self.seen.edits.push(Edit::Remove(target.clone()));
            }
        }
        Ok(target)
    }

    fn watch(&mut self, folders: Vec<RelPath>) {
        if let Some(watches) = &mut self.watches {
            watches.add(folders);
        }
    }

    fn omit(&mut self, path: &RelPath, reason: String) {
        self.seen.omitted.push(Omission { path: path.clone(), reason });
    }

    /// Looks at the children of a folder.
    fn listed(&mut self, place: &Place<'a>, mut names: Vec<(Vec<u8>, Option<MetaKind>)>, applying: &mut Applying) {
        self.rules.read(&place.path, &place.dir, &names);
        self.rules.enter(&place.path, applying);
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let olds = place.old.map_or(&[][..], |folder| folder.children());
        let (mut olds, mut names) = (olds.iter().peekable(), names.iter().peekable());
        loop {
            let order = match (olds.peek(), names.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some((name, _))) => old.name().cmp(name),
            };
            let old = if order.is_le() { olds.next() } else { None };
            let held = match if order.is_ge() { names.next() } else { None } {
                Some((name, kind)) => self.child(place, name, *kind, old.map(|old| &old.node), applying),
                None => false,
            };
            if let Some(old) = old.filter(|_| !held) {
                self.seen.edits.push(Edit::Remove(place.path.join(old.name())));
            }
        }
        self.rules.leave(&place.path, applying);
    }

    /// Looks at one child; gives whether it is captured.
    fn child(
        &mut self,
        place: &Place<'a>,
        name: &[u8],
        kind: Option<MetaKind>,
        old: Option<&'a Node>,
        applying: &mut Applying,
    ) -> bool {
        if is_never_captured(name) {
            return false;
        }
        let path = place.path.join(name);
        if is_dotgit(name) {
            self.omit(&path, "some file systems would take its name for .git".into());
            return false;
        }
        if self.own_folders.contains(&path) {
            return false;
        }
        let meta = match kind {
            Some(MetaKind::Folder) => None,
            Some(MetaKind::Special) => return false,
            _ => match place.dir.meta(name) {
                Ok(Some(meta)) => Some(meta),
                Ok(None) => return false,
                Err(error) => {
                    self.omit(&path, reason(&error));
                    return false;
                }
            },
        };
        let meta = meta.filter(|meta| meta.kind != MetaKind::Folder);
        let tracked = place.tracked.and_then(|folder| folder.child(name));
        let ignored = place.ignored || self.rules.ignores(applying, &path, meta.is_none());
        let is_tracked = ignored && (tracked.is_some() || self.was_tracked.contains(&path));
        if is_tracked {
            self.seen.tracked.push(path.clone());
        }
        if ignored && old.is_none() && !is_tracked {
            let protected = |meta: &Meta| meta.kind == MetaKind::File && meta.stat.size <= LARGEST_PROTECTED;
            if !(meta.as_ref().is_some_and(protected) && !place.ignored && self.rules.protects(&path)) {
                return false;
            }
        }
        match meta {
            None => self.folder(place, path, name, old, tracked, ignored, applying),
            Some(meta) => {
                if ignored && !is_tracked && self.rules.protects(&path) {
                    self.seen.protected.push(path.clone());
                }
                self.file(path, &meta, old)
            }
        }
    }

    fn file(&mut self, path: RelPath, meta: &Meta, old: Option<&Node>) -> bool {
        if meta.kind == MetaKind::Special {
            return false;
        }
        let old = match old {
            Some(Node::File(file)) => Some(file),
            _ => None,
        };
        if meta.kind == MetaKind::File && meta.stat.size > self.max_file {
            self.omit(&path, too_large(self.max_file));
            return false;
        }
        let entry = Entry { kind: kind_of(meta), oid: Oid::EMPTY_TREE, permissions: permissions_of(meta) };
        match old.filter(|old| old.entry.kind == entry.kind && self.is_same(old, &meta.stat)) {
            Some(old) => {
                let now = File { entry: Entry { oid: old.entry.oid, ..entry }, stat: meta.stat };
                if now != *old {
                    self.seen.edits.push(Edit::File(path, now));
                }
            }
            None => self.seen.to_read.push(path),
        }
        true
    }

    /// Whether a file's stat says that its content is as it was known.
    fn is_same(&self, old: &File, stat: &Stat) -> bool {
        let Some(known) = &self.seeded else { return old.stat.is_known() && old.stat == *stat };
        let cut = Stat { size: stat.size & 0xffff_ffff, inode: stat.inode & 0xffff_ffff, ..*stat };
        old.stat.is_known() && (old.stat == cut || old.stat == *stat) && known.has(&old.entry.oid)
    }

    #[allow(clippy::too_many_arguments)]
    fn folder(
        &mut self,
        place: &Place<'a>,
        path: RelPath,
        name: &[u8],
        old: Option<&'a Node>,
        tracked: Option<&'a Node>,
        ignored: bool,
        applying: &mut Applying,
    ) -> bool {
        let as_folder = |node: Option<&'a Node>| match node {
            Some(Node::Folder(folder)) => Some(&**folder),
            _ => None,
        };
        let (old, tracked) = (as_folder(old), as_folder(tracked));
        if place.depth + 1 >= DEEPEST {
            self.omit(&path, "nested too deep".into());
            return false;
        }
        self.watch(vec![path.clone()]);
        let opened = place.dir.folder(name).and_then(|dir| Ok((dir.own_meta()?.device, dir.names()?, dir)));
        let (device, names, dir) = match opened {
            Ok(opened) => opened,
            Err(error) if is_absence(&error) => return false,
            Err(error) => {
                self.omit(&path, reason(&error));
                return false;
            }
        };
        if old.is_some_and(|old| old.device != 0 && old.device != device) {
            // What lies beneath a mount is neither gone nor changed.
            self.omit(&path, "another file system was mounted or unmounted there".into());
            return true;
        }
        if old.is_none() && tracked.is_none() && ignore::is_cache(&dir, &names) {
            if let Some(watches) = &mut self.watches {
                watches.remove(&path);
            }
            return false;
        }
        if old.is_none_or(|old| old.device != device) {
            self.seen.edits.push(Edit::Folder(path.clone(), device));
        }
        let place = Place { path, dir, old, tracked, ignored, depth: place.depth + 1 };
        self.listed(&place, names, applying);
        true
    }
}

fn child_folder<'t>(folder: &'t Folder, name: &[u8]) -> Option<&'t Folder> {
    match folder.child(name) {
        Some(Node::Folder(folder)) => Some(folder),
        _ => None,
    }
}

/// The folders of a tree, upper ones first.
fn folders_of(tree: &Tree) -> Vec<RelPath> {
    fn below(path: &RelPath, folder: &Folder, all: &mut Vec<RelPath>) {
        for child in folder.children() {
            if let Node::Folder(folder) = &child.node {
                let path = path.join(child.name());
                all.push(path.clone());
                below(&path, folder, all);
            }
        }
    }
    let mut all = Vec::new();
    below(&RelPath::root(), &tree.root, &mut all);
    all
}
