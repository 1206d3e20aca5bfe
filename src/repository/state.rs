//! The repository's HEAD, refs, index and small files, as they stand at a checkpoint: what is needed to bring a deleted
//! `.git` back, short of the objects.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Batch, Repository};
use crate::error::Result;
use crate::model::{EntryKind, Oid};
use crate::store::StoredChild;

/// Larger files than this below `.git` are not small: they are left out, but for the index.
const SMALL: u64 = 256 * 1024;
/// An index larger than this is left out.
const LARGEST_INDEX: u64 = 256 * 1024 * 1024;
/// Folders deeper than this below `.git` are left out.
const DEEPEST: usize = 32;
/// What is not state but bulk, or belongs to one run of a program.
const LEFT_OUT: [&[u8]; 9] =
    [b"objects", b"lfs", b"modules", b"worktrees", b"logs", b"annex", b"fsmonitor--daemon", b"index", b"rr-cache"];

/// Records the repository's state again only when its marks changed.
#[derive(Default)]
pub struct State {
    seen: Option<(Vec<Mark>, Oid)>,
}

/// What tells cheaply whether a file of the repository changed.
type Mark = (PathBuf, Option<(u64, i64, i64, u64)>);

impl State {
    /// The tree of the repository's state, with its objects in `batch` or in its store.
    pub fn record(&mut self, repository: &Repository, batch: &mut Batch) -> Result<Oid> {
        let marks = marks(repository);
        if let Some((seen, oid)) = &self.seen
            && *seen == marks
            && batch.has(oid)
        {
            return Ok(*oid);
        }
        let mut children = Vec::new();
        for (name, folder) in [("git", &repository.git_dir), ("common", &repository.common_dir)] {
            if name == "git" || repository.git_dir != repository.common_dir {
                children.push(StoredChild {
                    name: name.into(),
                    kind: EntryKind::Folder,
                    oid: small_files(folder, batch, 0)?,
                });
            }
        }
        let index = repository.git_dir.join("index");
        if fs::metadata(&index).is_ok_and(|meta| meta.len() <= LARGEST_INDEX)
            && let Ok(bytes) = fs::read(&index)
        {
            children.push(StoredChild {
                name: b"index".into(),
                kind: EntryKind::Folder,
                oid: batch.add_chunked(&bytes)?,
            });
        }
        let oid = batch.add_folder(&children)?;
        self.seen = Some((marks, oid));
        Ok(oid)
    }
}

/// The marks of the files that change whenever HEAD, a branch in use or the index does.
fn marks(repository: &Repository) -> Vec<Mark> {
    let own = ["HEAD", "index", "logs/HEAD", "MERGE_HEAD"].map(|name| repository.git_dir.join(name));
    let common =
        ["packed-refs", "config", "refs", "refs/heads", "refs/tags", "refs/stash", "logs/refs/heads", "info/exclude"]
            .map(|name| repository.common_dir.join(name));
    let branch = fs::read(repository.git_dir.join("HEAD")).ok().and_then(|head| {
        let name = head.strip_prefix(b"ref: ")?.trim_ascii();
        Some(repository.common_dir.join(Path::new(std::ffi::OsStr::from_bytes(name))))
    });
    let mark = |path: PathBuf| {
        let of = |meta: Metadata| {
            (meta.ino(), meta.mtime() * 1_000_000_000 + meta.mtime_nsec(), meta.ctime_nsec(), meta.len())
        };
        let stat = fs::symlink_metadata(&path).ok().map(of);
        (path, stat)
    };
    own.into_iter().chain(common).chain(branch).map(mark).collect()
}

/// Adds the small files below `folder`; what can not be read is left out.
fn small_files(folder: &Path, batch: &mut Batch, depth: usize) -> Result<Oid> {
    let mut children = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().as_bytes().to_vec();
        let Ok(meta) = entry.metadata() else { continue };
        let passing = name.ends_with(b".lock") || name.ends_with(b".sample") || name.ends_with(b".pid");
        if passing || crate::store::is_dotgit(&name) || (depth == 0 && LEFT_OUT.contains(&&name[..])) {
            continue;
        }
        if meta.is_dir() && depth < DEEPEST {
            let oid = small_files(&entry.path(), batch, depth + 1)?;
            children.push(StoredChild { name, kind: EntryKind::Folder, oid });
        } else if meta.is_file()
            && meta.len() <= SMALL
            && let Ok(bytes) = fs::read(entry.path())
        {
            let kind = if meta.mode() & 0o100 != 0 { EntryKind::Executable } else { EntryKind::Regular };
            children.push(StoredChild { name, kind, oid: batch.add_blob(&bytes)? });
        }
    }
    batch.add_folder(&children)
}
