//! What the user's index tracks, as a tree whose stats may stand for content.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use gix::index::entry::{Flags, Mode, Stage};

use super::{Repository, small_file};
use crate::model::tree::{File, Folder, Node, Stat};
use crate::model::{Entry, EntryKind, Oid, Tree};

impl Repository {
    /// What the index tracks; None without one, or when it can not be read.
    ///
    /// A file's stat is given only where an equal stat on disk proves that the working bytes are the blob's: not for
    /// racy entries, nor where a filter or a line-ending conversion may apply, nor for entries that Git does not
    /// compare itself. Sizes and inodes are cut to 32 bits, as Git keeps them.
    pub fn tracked(&self, root: &Path) -> Option<Tree> {
        let path = self.git_dir.join("index");
        let index = gix::index::File::at(path, gix::hash::Kind::Sha1, true, Default::default()).ok()?;
        if index.is_sparse() {
            return None;
        }
        let trusted = !self.converts(root, &index);
        let entries: Vec<_> = index.entries().iter().filter(|e| e.stage() == Stage::Unconflicted).collect();
        let folder = folder(&index, &entries, 0, trusted);
        Some(Tree { root: folder })
    }

    /// Whether the working bytes of a clean file may differ from its blob's.
    fn converts(&self, root: &Path, index: &gix::index::State) -> bool {
        let settings = self.settings();
        let beside_index = [Some(self.common_dir.join("info/attributes")), settings.attributes];
        let in_tree =
            index.entries().iter().map(|entry| entry.path(index)).filter(|path| path.ends_with(b".gitattributes"));
        settings.converts_line_ends
            || beside_index.into_iter().flatten().any(|file| converts_by(&file))
            || converts_by(&root.join(".gitattributes"))
            || in_tree.map(|path| root.join(OsStr::from_bytes(path))).any(|file| converts_by(&file))
    }
}

/// Whether a file of attributes may change bytes between index and working tree; taken for yes when it can not be read.
fn converts_by(file: &Path) -> bool {
    if !file.exists() {
        return false;
    }
    let Some(text) = small_file(file) else { return true };
    let harmless = |word: &[u8]| {
        let name = word.split(|b| *b == b'=').next().unwrap_or_default();
        matches!(name, b"-text" | b"binary" | b"-filter" | b"-ident" | b"-eol")
            || !matches!(
                name.strip_prefix(b"!").or(name.strip_prefix(b"-")).unwrap_or(name),
                b"text" | b"eol" | b"crlf" | b"filter" | b"ident" | b"working-tree-encoding"
            ) && !word.starts_with(b"[attr]")
    };
    text.split(|b| *b == b'\n')
        .filter(|line| !line.starts_with(b"#"))
        .any(|line| !line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).all(harmless))
}

/// The folder of `entries`, whose paths all begin with the same `skip` bytes.
fn folder(index: &gix::index::File, entries: &[&gix::index::Entry], skip: usize, trusted: bool) -> Folder {
    let mut children = Vec::new();
    let mut rest = entries;
    while let [first, ..] = rest {
        let path: &[u8] = &first.path(index)[skip..];
        match path.iter().position(|b| *b == b'/') {
            Some(end) => {
                let prefix: &[u8] = &first.path(index)[..skip + end + 1];
                let below = rest.iter().take_while(|entry| entry.path(index).starts_with(prefix)).count();
                let child = folder(index, &rest[..below], prefix.len(), trusted);
                children.push((path[..end].into(), Node::Folder(Box::new(child))));
                rest = &rest[below..];
            }
            None => {
                if let Some(file) = file(index, first, trusted) {
                    children.push((path[..].into(), Node::File(file)));
                }
                rest = &rest[1..];
            }
        }
    }
    Folder::of(children)
}

/// The entry as a file; None for a submodule.
fn file(index: &gix::index::File, entry: &gix::index::Entry, trusted: bool) -> Option<File> {
    let (kind, permissions) = match entry.mode {
        Mode::FILE => (EntryKind::Regular, 0o644),
        Mode::FILE_EXECUTABLE => (EntryKind::Executable, 0o755),
        Mode::SYMLINK => (EntryKind::Symlink, 0),
        _ => return None,
    };
    let Ok(oid) = entry.id.as_slice().try_into().map(Oid) else { return None };
    let not_compared = Flags::ASSUME_VALID | Flags::SKIP_WORKTREE | Flags::INTENT_TO_ADD;
    let racy = entry.stat.is_racy(
        index.timestamp(),
        gix::index::entry::stat::Options { use_nsec: true, check_stat: true, ..Default::default() },
    );
    let stat = if trusted && !racy && !entry.flags.intersects(not_compared) {
        let nanoseconds =
            |time: gix::index::entry::stat::Time| i64::from(time.secs) * 1_000_000_000 + i64::from(time.nsecs);
        Stat {
            size: u64::from(entry.stat.size),
            modified: nanoseconds(entry.stat.mtime),
            changed: nanoseconds(entry.stat.ctime),
            inode: u64::from(entry.stat.ino),
        }
    } else {
        Stat::UNKNOWN
    };
    Some(File { entry: Entry { kind, oid, permissions }, stat })
}
