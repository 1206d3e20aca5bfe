//! How a stored tree differs from the one in memory: only folders that differ are read from the store.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Result;
use crate::model::tree::{self, Child, File, Folder, Node};
use crate::model::{Change, Entry, EntryKind, Oid, RelPath};
use crate::store::{Permissions, Store, StoredChild};

/// How the tree `now` in memory would become the stored tree `wanted`, in the order of the paths.
pub fn changes_to_stored(store: &Store, now: &Folder, wanted: Oid, permissions: &Permissions) -> Result<Vec<Change>> {
    let mut compare = Compare { store, permissions, changes: Vec::new() };
    compare.folders(&RelPath::root(), now, wanted)?;
    Ok(compare.changes)
}

/// The same seen from the other side.
pub fn reversed(changes: Vec<Change>) -> Vec<Change> {
    changes.into_iter().map(|change| Change { path: change.path, old: change.new, new: change.old }).collect()
}

struct Compare<'a> {
    store: &'a Store,
    permissions: &'a Permissions,
    changes: Vec<Change>,
}

impl Compare<'_> {
    fn folders(&mut self, path: &RelPath, now: &Folder, wanted: Oid) -> Result<()> {
        if now.oid == Some(wanted) {
            return Ok(());
        }
        let mut wanted = self.store.read_folder(wanted)?;
        wanted.sort_by(|a, b| a.name.cmp(&b.name));
        let (mut nows, mut wanteds) = (now.children().iter().peekable(), wanted.iter().peekable());
        loop {
            let order = match (nows.peek(), wanteds.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(now), Some(wanted)) => now.name().cmp(&wanted.name),
            };
            let now = if order.is_le() { nows.next() } else { None };
            let wanted = if order.is_ge() { wanteds.next() } else { None };
            let Some(name) = now.map(Child::name).or(wanted.map(|child| &child.name[..])) else { return Ok(()) };
            self.children(&path.join(name), now.map(|child| &child.node), wanted)?;
        }
    }

    fn children(&mut self, path: &RelPath, now: Option<&Node>, wanted: Option<&StoredChild>) -> Result<()> {
        if let (Some(Node::Folder(now)), Some(StoredChild { kind: EntryKind::Folder, oid, .. })) = (now, wanted) {
            let (was_empty, is_empty) = (now.children().is_empty(), *oid == Oid::EMPTY_TREE);
            if was_empty && !is_empty {
                self.changes.push(Change { path: path.clone(), old: Some(tree::EMPTY_FOLDER), new: None });
            }
            if !was_empty && is_empty {
                self.changes.push(Change { path: path.clone(), old: None, new: Some(tree::EMPTY_FOLDER) });
            }
            return self.folders(path, now, *oid);
        }
        let wanted = wanted.map(|child| self.node(path, child)).transpose()?;
        tree::compare_nodes(path, now, wanted.as_ref(), &mut self.changes);
        Ok(())
    }

    /// The stored child at `path` with all below it.
    fn node(&self, path: &RelPath, child: &StoredChild) -> Result<Node> {
        if child.kind == EntryKind::Folder {
            let below: BTreeMap<RelPath, u16> = self
                .permissions
                .0
                .range(path.clone()..)
                .map_while(|(inner, bits)| {
                    let rest = inner.is_within(path).then(|| inner.as_bytes().get(path.as_bytes().len() + 1..))?;
                    Some((RelPath::new(rest?)?, *bits))
                })
                .collect();
            return Ok(Node::Folder(Box::new(self.store.load_tree(child.oid, &Permissions(Arc::new(below)))?.root)));
        }
        let permissions = match child.kind {
            EntryKind::Symlink => 0,
            EntryKind::Executable => 0o755,
            _ => 0o644,
        };
        let permissions = self.permissions.0.get(path).copied().unwrap_or(permissions);
        Ok(Node::File(File {
            entry: Entry { kind: child.kind, oid: child.oid, permissions },
            stat: tree::Stat::UNKNOWN,
        }))
    }
}
