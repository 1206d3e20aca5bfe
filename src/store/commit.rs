//! A checkpoint as a commit: its tree holds `files/`, `checkpoint.json`, `permissions`, and where there are any
//! `repository/` and `conversation/`.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use super::batch::Batch;
use super::objects::ObjectKind;
use super::{Permissions, Reader, Snapshot, StoredChild, tree};
use crate::error::{Error, Result};
use crate::model::checkpoint::Facts;
use crate::model::{Checkpoint, CheckpointId, EntryKind, Oid, RelPath, text};

/// The newest form of `checkpoint.json` that this program reads.
const FORMAT: u32 = 1;

/// The trees of a checkpoint.
#[derive(Clone, Copy)]
pub(super) struct Trees {
    pub(super) files: Oid,
    pub(super) permissions: Oid,
    pub(super) repository: Option<Oid>,
    pub(super) conversation: Option<Oid>,
}

/// Adds the commit of `snapshot` and all that it needs to the batch; gives its name.
pub(super) fn add_snapshot(batch: &mut Batch, snapshot: &Snapshot) -> Result<(Oid, Trees)> {
    let trees = Trees {
        files: snapshot.files,
        permissions: batch.add_blob(&encode_permissions(&snapshot.permissions))?,
        repository: snapshot.repository,
        conversation: snapshot.conversation,
    };
    if trees.files == Oid::EMPTY_TREE {
        batch.add_folder(&[])?;
    }
    Ok((add_commit(batch, &trees, &snapshot.facts)?, trees))
}

/// Adds a commit of these trees and facts.
pub(super) fn add_commit(batch: &mut Batch, trees: &Trees, facts: &Facts) -> Result<Oid> {
    let json = serde_json::to_vec(facts).map_err(Error::damaged)?;
    let json = batch.add_blob(&json)?;
    let child = |name: &str, kind, oid| StoredChild { name: name.into(), kind, oid };
    let mut children = vec![
        child("files", EntryKind::Folder, trees.files),
        child("checkpoint.json", EntryKind::Regular, json),
        child("permissions", EntryKind::Regular, trees.permissions),
    ];
    children.extend(trees.repository.map(|oid| child("repository", EntryKind::Folder, oid)));
    children.extend(trees.conversation.map(|oid| child("conversation", EntryKind::Folder, oid)));
    let tree = batch.add_folder(&children)?;
    let who = format!("wrap <wrap@localhost> {} +0000", facts.time.as_second().max(0));
    let title = text::shown(facts.name.as_deref().unwrap_or(&facts.summary).as_bytes());
    let summary = text::shown(facts.summary.as_bytes());
    // Two processes never make the same commit, so a ref can belong to one of them only.
    let nonce = nonce();
    let commit = format!(
        "tree {tree}\nauthor {who}\ncommitter {who}\n\n{title}\n\n{summary}\n\nKind: {}\nSession: {}\nNonce: {nonce:016x}\n",
        facts.kind.word(),
        facts.session
    );
    batch.add_object(ObjectKind::Commit, commit.as_bytes())
}

fn nonce() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

/// Reads a checkpoint's commit back.
pub(super) fn read(reader: &Reader, id: CheckpointId, commit: Oid) -> Result<(Checkpoint, Trees)> {
    let damaged = |what: String| Error::damaged(format!("checkpoint #{id} is damaged: {what}"));
    let inside = |error: Error| damaged(error.to_string());
    let text = reader.read(ObjectKind::Commit, commit).map_err(inside)?;
    let tree = std::str::from_utf8(&text).ok().and_then(|text| text.strip_prefix("tree ")?.get(..40)?.parse().ok());
    let tree = tree.ok_or_else(|| damaged("its commit names no tree".into()))?;
    let children = tree::decode(&reader.read(ObjectKind::Tree, tree).map_err(inside)?).map_err(damaged)?;
    let child = |name: &str| children.iter().find(|child| child.name == name.as_bytes()).map(|child| child.oid);
    let needed = |name: &str| child(name).ok_or_else(|| damaged(format!("it has no {name}")));
    let json = reader.read(ObjectKind::Blob, needed("checkpoint.json")?).map_err(inside)?;
    let format = serde_json::from_slice::<serde_json::Value>(&json).ok().and_then(|facts| facts["format"].as_u64());
    if format.is_some_and(|format| format > u64::from(FORMAT)) {
        let message = format!("checkpoint #{id} was made by a newer version of wrap");
        return Err(Error::refused(message, "update wrap on this machine"));
    }
    let facts: Facts = serde_json::from_slice(&json).map_err(|error| damaged(format!("checkpoint.json: {error}")))?;
    let trees = Trees {
        files: needed("files")?,
        permissions: needed("permissions")?,
        repository: child("repository"),
        conversation: child("conversation"),
    };
    Ok((Checkpoint { id, commit, files: trees.files, permissions: trees.permissions, facts }, trees))
}

/// Bits in octal, a space, the path, a NUL; in the order of the paths.
fn encode_permissions(permissions: &Permissions) -> Vec<u8> {
    let mut out = Vec::new();
    for (path, bits) in permissions.0.iter() {
        out.extend_from_slice(format!("{bits:o} ").as_bytes());
        out.extend_from_slice(path.as_bytes());
        out.push(0);
    }
    out
}

/// Reads them back; None when the bytes are no such list.
pub(super) fn decode_permissions(bytes: &[u8]) -> Option<Permissions> {
    let entry = |entry: &[u8]| {
        let space = entry.iter().position(|b| *b == b' ')?;
        let bits = u16::from_str_radix(std::str::from_utf8(&entry[..space]).ok()?, 8).ok()?;
        Some((RelPath::new(&entry[space + 1..])?, bits & 0o777))
    };
    let entries = bytes.split(|b| *b == 0).filter(|entry| !entry.is_empty());
    entries.map(entry).collect::<Option<BTreeMap<_, _>>>().map(|entries| Permissions(Arc::new(entries)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_come_back() {
        let path = |bytes: &[u8]| RelPath::new(bytes).unwrap();
        let permissions = Permissions(Arc::new([(path(b"a b\nc"), 0o600), (path(b"caf\xe9/x"), 0o711)].into()));
        assert_eq!(decode_permissions(&encode_permissions(&permissions)), Some(permissions));
        assert_eq!(decode_permissions(b""), Some(Permissions::default()));
        assert_eq!(decode_permissions(b"garbage\0"), None);
        assert_eq!(decode_permissions(b"644 ../up\0"), None);
    }
}
