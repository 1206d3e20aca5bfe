//! What was known of the tree when it was last recorded, so that the next scan reads only what changed.
//!
//! A cache and nothing more: it is never synced, and a damaged one is as good as none.

use std::fs;
use std::path::Path;

use crate::disk::durable::temporary_beside;
use crate::error::{OnPath, Result};
use crate::model::path::{DEEPEST, is_name};
use crate::model::tree::{File, Folder, Node, Stat};
use crate::model::{Entry, EntryKind, Oid, Tree};

const MAGIC: &[u8; 8] = b"wrapst\0\x01";

/// Reads the tree and the name of the stored folder that it was recorded as; None when there is none or it is damaged.
pub fn load(path: &Path) -> Option<(Tree, Oid)> {
    let bytes = fs::read(path).ok()?;
    let (body, check) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
    if crc32fast::hash(body).to_be_bytes() != check {
        return None;
    }
    let mut rest = Rest(body.strip_prefix(MAGIC)?);
    let files = rest.oid()?;
    let mut root = folder(&mut rest, 0)?;
    root.oid = Some(files);
    rest.0.is_empty().then_some((Tree { root }, files))
}

/// Keeps the tree, which was recorded as the stored folder `files`.
pub fn save(path: &Path, tree: &Tree, files: Oid) -> Result<()> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&files.0);
    put_folder(&tree.root, &mut out);
    let check = crc32fast::hash(&out);
    out.extend_from_slice(&check.to_be_bytes());
    let temporary = temporary_beside(path);
    fs::write(&temporary, out).on_path(&temporary)?;
    fs::rename(&temporary, path).on_path(path)
}

fn put_folder(folder: &Folder, out: &mut Vec<u8>) {
    put_number(folder.children().len() as u64, out);
    for child in folder.children() {
        put_number(child.name().len() as u64, out);
        out.extend_from_slice(child.name());
        match &child.node {
            Node::File(file) => {
                out.push(file.entry.kind as u8);
                out.extend_from_slice(&file.entry.oid.0);
                put_number(u64::from(file.entry.permissions), out);
                put_number(file.stat.size, out);
                out.extend_from_slice(&file.stat.modified.to_be_bytes());
                out.extend_from_slice(&file.stat.changed.to_be_bytes());
                put_number(file.stat.inode, out);
            }
            Node::Folder(below) => {
                out.push(EntryKind::Folder as u8);
                // A folder whose object is not known is written as the one that no object has.
                out.extend_from_slice(&below.oid.unwrap_or(Oid([0; 20])).0);
                put_folder(below, out);
            }
        }
    }
}

/// Seven bits a byte, lowest first, the top bit set on all but the last.
fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn oid(&mut self) -> Option<Oid> {
        Some(Oid(self.take(20)?.try_into().ok()?))
    }

    fn time(&mut self) -> Option<i64> {
        Some(i64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }
}

fn folder(rest: &mut Rest<'_>, depth: usize) -> Option<Folder> {
    if depth > DEEPEST {
        return None;
    }
    let count = rest.number()?;
    // Each child takes more than 20 bytes, so a count that is no count ends here.
    let mut children = Vec::with_capacity(usize::try_from(count).ok().filter(|count| *count <= rest.0.len() / 20)?);
    for _ in 0..count {
        let length = usize::try_from(rest.number()?).ok()?;
        let name = rest.take(length).filter(|name| is_name(name))?;
        let kind = rest.take(1)?[0];
        let oid = rest.oid()?;
        let node = if kind == EntryKind::Folder as u8 {
            let mut below = folder(rest, depth + 1)?;
            below.oid = (oid != Oid([0; 20])).then_some(oid);
            Node::Folder(Box::new(below))
        } else {
            let kinds = [EntryKind::Regular, EntryKind::Executable, EntryKind::Symlink];
            let kind = kinds.into_iter().find(|candidate| *candidate as u8 == kind)?;
            let permissions = u16::try_from(rest.number()?).ok()?;
            let (size, modified, changed) = (rest.number()?, rest.time()?, rest.time()?);
            let stat = Stat { size, modified, changed, inode: rest.number()? };
            Node::File(File { entry: Entry { kind, oid, permissions }, stat })
        };
        children.push((name.into(), node));
    }
    Some(Folder::of(children))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RelPath;
    use proptest::prelude::*;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        for n in 0..300u64 {
            let entry = Entry { kind: EntryKind::Executable, oid: Oid([n as u8; 20]), permissions: 0o700 };
            let stat = Stat { size: n << 20, modified: -5, changed: i64::MAX - n as i64, inode: u64::MAX - n };
            tree.put(&RelPath::new(format!("a{}/b{n}", n % 7)).unwrap(), Node::File(File { entry, stat }));
        }
        tree.put(&RelPath::new("empty").unwrap(), Node::Folder(Box::default()));
        tree
    }

    #[test]
    fn a_tree_comes_back() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("cache");
        save(&path, &tree(), Oid([9; 20])).unwrap();
        let (loaded, files) = load(&path).unwrap();
        assert_eq!(files, Oid([9; 20]));
        let flat = |tree: &Tree| {
            let mut all = Vec::new();
            tree.walk(&mut |path, entry| all.push((path.clone(), entry, tree.file(path).map(|file| file.stat))));
            all
        };
        assert_eq!(flat(&loaded), flat(&tree()));
        assert!(load(&scratch.path().join("none")).is_none());
    }

    proptest! {
        #[test]
        fn damage_is_noticed_and_never_a_panic(at in 0usize..9000, byte in any::<u8>(), cut in 0usize..9000) {
            let scratch = tempfile::tempdir().unwrap();
            let path = scratch.path().join("cache");
            save(&path, &tree(), Oid([9; 20])).unwrap();
            let mut bytes = fs::read(&path).unwrap();
            let at = at % bytes.len();
            let changed = bytes[at] != byte;
            bytes[at] = byte;
            fs::write(&path, &bytes).unwrap();
            prop_assert_eq!(load(&path).is_none(), changed);
            // The same without the checksum: still nothing may panic.
            let body = &bytes[..cut % bytes.len()];
            let _ = folder(&mut Rest(body.get(28..).unwrap_or_default()), 0);
        }
    }
}
