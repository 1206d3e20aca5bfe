//! Stored folders: their form, the whole tree below one, and how two of them differ.

use std::cmp::Ordering;

use super::objects::ObjectKind;
use super::{Permissions, Store, StoredChild};
use crate::error::{Error, Result};
use crate::model::path::{DEEPEST, is_name};
use crate::model::tree::{EMPTY_FOLDER, File, Folder, Node, Stat};
use crate::model::{Change, Entry, EntryKind, Oid, RelPath, Tree};

/// The form of a folder that Git reads: children in Git's order, where a folder's name counts as ending in a slash.
pub(super) fn encode(children: &[StoredChild]) -> Vec<u8> {
    let mut sorted: Vec<&StoredChild> = children.iter().collect();
    sorted.sort_unstable_by(|a, b| sort_key(a).cmp(sort_key(b)));
    let mut out = Vec::with_capacity(children.iter().map(|child| child.name.len() + 28).sum());
    for child in sorted {
        let mode: &[u8] = match child.kind {
            EntryKind::Regular => b"100644 ",
            EntryKind::Executable => b"100755 ",
            EntryKind::Symlink => b"120000 ",
            EntryKind::Folder => b"40000 ",
        };
        out.extend_from_slice(mode);
        out.extend_from_slice(&child.name);
        out.push(0);
        out.extend_from_slice(&child.oid.0);
    }
    out
}

fn sort_key(child: &StoredChild) -> impl Iterator<Item = &u8> {
    child.name.iter().chain((child.kind == EntryKind::Folder).then_some(&b'/'))
}

/// Reads the form back, children in its order. An error says what is wrong with it.
pub(super) fn decode(mut bytes: &[u8]) -> std::result::Result<Vec<StoredChild>, String> {
    let mut children = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|b| *b == b' ').ok_or("cut short")?;
        let kind = match &bytes[..space] {
            b"100755" => EntryKind::Executable,
            b"120000" => EntryKind::Symlink,
            b"40000" => EntryKind::Folder,
            mode if mode.starts_with(b"100") => EntryKind::Regular,
            mode => return Err(format!("holds an entry of mode {}", crate::model::text::shown(mode))),
        };
        bytes = &bytes[space + 1..];
        let end = bytes.iter().position(|b| *b == 0).ok_or("cut short")?;
        let name = &bytes[..end];
        if !is_name(name) || is_dotgit(name) {
            return Err(format!("holds the name {}", crate::model::text::shown(name)));
        }
        let oid = bytes.get(end + 1..end + 21).and_then(|oid| oid.try_into().ok()).map(Oid).ok_or("cut short")?;
        children.push(StoredChild { name: name.to_vec(), kind, oid });
        bytes = &bytes[end + 21..];
    }
    Ok(children)
}

/// Whether a file system could take `name` for `.git`: whatever its case, its short form, with trailing dots or spaces,
/// with a stream's name, or with characters that Apple's file systems ignore.
pub fn is_dotgit(name: &[u8]) -> bool {
    if name.len() < 4 || !name.iter().any(|b| b.eq_ignore_ascii_case(&b'g')) {
        return false;
    }
    let text = String::from_utf8_lossy(name);
    let ignored =
        |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let plain: String = text.chars().filter(|c| !ignored(*c)).take_while(|c| *c != ':').collect();
    let plain = plain.trim_end_matches([' ', '.']);
    plain.eq_ignore_ascii_case(".git") || plain.eq_ignore_ascii_case("git~1")
}

impl Store {
    /// The children of a stored folder. Names that could lead outside it, or into a `.git`, are an error.
    pub fn read_folder(&self, oid: Oid) -> Result<Vec<StoredChild>> {
        let bytes = self.reader.read(ObjectKind::Tree, oid)?;
        decode(&bytes).map_err(|what| Error::damaged(format!("folder object {oid}: {what}")))
    }

    fn sorted_folder(&self, oid: Oid, depth: usize) -> Result<Vec<StoredChild>> {
        if depth > DEEPEST {
            return Err(Error::damaged(format!("folder object {oid}: nested too deep")));
        }
        let mut children = self.read_folder(oid)?;
        children.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        if children.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err(Error::damaged(format!("folder object {oid}: holds one name twice")));
        }
        Ok(children)
    }

    /// The whole tree of a checkpoint, without stats.
    pub fn load_tree(&self, files: Oid, permissions: &Permissions) -> Result<Tree> {
        Ok(Tree { root: self.load_folder(&RelPath::root(), files, permissions, 0)? })
    }

    fn load_folder(&self, path: &RelPath, oid: Oid, permissions: &Permissions, depth: usize) -> Result<Folder> {
        let mut children = Vec::new();
        for child in self.sorted_folder(oid, depth)? {
            let path = path.join(&child.name);
            let node = match child.kind {
                EntryKind::Folder => {
                    Node::Folder(Box::new(self.load_folder(&path, child.oid, permissions, depth + 1)?))
                }
                _ => Node::File(File { entry: permissions.entry(&path, &child), stat: Stat::UNKNOWN }),
            };
            children.push((child.name.into_boxed_slice(), node));
        }
        let mut folder = Folder::of(children);
        folder.oid = Some(oid);
        Ok(folder)
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
        let mut compare = Compare { store: self, old_permissions, new_permissions, changes: Vec::new() };
        compare.folders(&RelPath::root(), Some(old), Some(new), 0)?;
        Ok(compare.changes)
    }

    /// What lies at `path` in the stored tree; None when nothing does. For a folder with children the entry holds
    /// the folder's own object name.
    pub fn entry(&self, files: Oid, path: &RelPath) -> Result<Option<(EntryKind, Oid)>> {
        let mut at = (EntryKind::Folder, files);
        for name in path.names() {
            if at.0 != EntryKind::Folder {
                return Ok(None);
            }
            match self.read_folder(at.1)?.into_iter().find(|child| child.name == name) {
                Some(child) => at = (child.kind, child.oid),
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }
}

impl Permissions {
    fn entry(&self, path: &RelPath, child: &StoredChild) -> Entry {
        let usual = match child.kind {
            EntryKind::Regular => 0o644,
            EntryKind::Executable => 0o755,
            _ => return Entry { kind: child.kind, oid: child.oid, permissions: 0 },
        };
        Entry { kind: child.kind, oid: child.oid, permissions: self.0.get(path).copied().unwrap_or(usual) }
    }
}

struct Compare<'a> {
    store: &'a Store,
    old_permissions: &'a Permissions,
    new_permissions: &'a Permissions,
    changes: Vec<Change>,
}

impl Compare<'_> {
    /// Compares two folders; None stands for one that is not there.
    fn folders(&mut self, path: &RelPath, old: Option<Oid>, new: Option<Oid>, depth: usize) -> Result<()> {
        if old == new {
            return Ok(());
        }
        let read = |oid: Option<Oid>| oid.map_or(Ok(Vec::new()), |oid| self.store.sorted_folder(oid, depth));
        let (olds, news) = (read(old)?, read(new)?);
        let (mut olds, mut news) = (olds.iter().peekable(), news.iter().peekable());
        loop {
            let order = match (olds.peek(), news.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.name.cmp(&new.name),
            };
            let old = if order.is_le() { olds.next() } else { None };
            let new = if order.is_ge() { news.next() } else { None };
            let Some(name) = old.or(new).map(|child| &child.name) else { return Ok(()) };
            self.children(&path.join(name), old, new, depth)?;
        }
    }

    fn children(
        &mut self,
        path: &RelPath,
        old: Option<&StoredChild>,
        new: Option<&StoredChild>,
        depth: usize,
    ) -> Result<()> {
        if old == new {
            return Ok(());
        }
        let folder = |child: Option<&StoredChild>| child.filter(|c| c.kind == EntryKind::Folder).map(|c| c.oid);
        let (old_folder, new_folder) = (folder(old), folder(new));
        let entry = |child: Option<&StoredChild>, permissions: &Permissions| match child {
            Some(child) if child.kind != EntryKind::Folder => Some(permissions.entry(path, child)),
            Some(child) if child.oid == Oid::EMPTY_TREE => Some(EMPTY_FOLDER),
            _ => None,
        };
        let old_entry = entry(old, self.old_permissions);
        let new_entry = entry(new, self.new_permissions);
        let one_kind = |a: &Entry, b: &Entry| (a.kind == EntryKind::Folder) == (b.kind == EntryKind::Folder);
        let add = |compare: &mut Self, old: Option<Entry>, new: Option<Entry>| {
            if old.is_some() || new.is_some() {
                compare.changes.push(Change { path: path.clone(), old, new });
            }
        };
        match (old_entry, new_entry) {
            (Some(a), Some(b)) if one_kind(&a, &b) => {
                if !a.same_content(&b) {
                    add(self, Some(a), Some(b));
                }
                Ok(())
            }
            (old_entry, new_entry) if old_folder.is_some() && new_folder.is_some() => {
                add(self, old_entry, new_entry);
                self.folders(path, old_folder, new_folder, depth + 1)
            }
            (old_entry, new_entry) => {
                add(self, old_entry, None);
                self.folders(path, old_folder, None, depth + 1)?;
                add(self, None, new_entry);
                self.folders(path, None, new_folder, depth + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(name: &str, kind: EntryKind) -> StoredChild {
        StoredChild { name: name.into(), kind, oid: Oid([7; 20]) }
    }

    #[test]
    fn folders_sort_as_git_sorts_them() {
        let children =
            [child("a", EntryKind::Folder), child("a.b", EntryKind::Regular), child("a0", EntryKind::Symlink)];
        let names: Vec<Vec<u8>> = decode(&encode(&children)).unwrap().into_iter().map(|child| child.name).collect();
        assert_eq!(names, [b"a.b".to_vec(), b"a".to_vec(), b"a0".to_vec()]);
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [&b".."[..], b".", b"", b"a/b", b".git", b".GIT", b"git~1", b".git ", b".gi\xe2\x80\x8ct"] {
            let mut bytes = b"100644 ".to_vec();
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend_from_slice(&[1; 20]);
            assert!(decode(&bytes).is_err(), "{name:?}");
        }
        assert!(decode(b"100644 cut").is_err() && decode(b"160000 a\0aaaaaaaaaaaaaaaaaaaa").is_err());
        assert!(!is_dotgit(b".gitignore") && !is_dotgit(b"git") && !is_dotgit(b".gitmodules"));
    }
}
