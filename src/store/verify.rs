//! Looking a store through for what is missing or damaged.

use std::collections::HashSet;

use super::objects::{ObjectKind, object_oid};
use super::{Store, commit, tree};
use crate::error::Result;
use crate::model::{CheckpointId, EntryKind, Oid};

impl Store {
    /// Reads every object of every checkpoint again and compares it with its name; gives a line for each thing that is
    /// missing or damaged, with the checkpoint in it. Empty when all is sound.
    pub fn verify(&self) -> Result<Vec<String>> {
        let mut verify = Verify { store: self, sound: HashSet::new(), damaged: HashSet::new(), problems: Vec::new() };
        for id in self.ids()? {
            verify.checkpoint(id);
        }
        Ok(verify.problems)
    }
}

struct Verify<'a> {
    store: &'a Store,
    sound: HashSet<Oid>,
    damaged: HashSet<Oid>,
    problems: Vec<String>,
}

impl Verify<'_> {
    fn checkpoint(&mut self, id: CheckpointId) {
        let read = self.store.refs.get(id).and_then(|oid| commit::read(&self.store.reader, id, oid));
        let (checkpoint, trees) = match read {
            Ok(read) => read,
            Err(error) => {
                self.problems.push(error.to_string());
                return;
            }
        };
        let all = [Some(trees.files), trees.repository, trees.conversation];
        for (oid, at) in all.into_iter().zip(["files", "repository", "conversation"]) {
            if let Some(oid) = oid {
                self.folder(id, at, oid, 0);
            }
        }
        if self.store.permissions(checkpoint.permissions).is_err() {
            self.problems.push(format!("checkpoint #{id}: its permissions can not be read"));
        }
    }

    /// Gives whether all below is sound; what was found damaged under another checkpoint is told again for this one.
    fn folder(&mut self, id: CheckpointId, path: &str, oid: Oid, depth: usize) -> bool {
        if self.sound.contains(&oid) {
            return true;
        }
        let children = match self.object(ObjectKind::Tree, oid).and_then(|bytes| tree::decode(&bytes)) {
            Ok(children) if depth <= crate::model::path::DEEPEST => children,
            Ok(_) => return self.problem(id, path, oid, "nested too deep"),
            Err(what) => return self.problem(id, path, oid, &what),
        };
        let mut sound = true;
        for child in children {
            let path = format!("{path}/{}", crate::model::text::shown(&child.name));
            sound &= match child.kind {
                EntryKind::Folder => self.folder(id, &path, child.oid, depth + 1),
                _ => self.blob(id, &path, child.oid),
            };
        }
        if sound {
            self.sound.insert(oid);
        }
        sound
    }

    fn blob(&mut self, id: CheckpointId, path: &str, oid: Oid) -> bool {
        if self.sound.contains(&oid) {
            return true;
        }
        if self.damaged.contains(&oid) {
            return self.problem(id, path, oid, "is damaged");
        }
        match self.object(ObjectKind::Blob, oid) {
            Ok(_) => self.sound.insert(oid),
            Err(what) => self.problem(id, path, oid, &what),
        }
    }

    fn problem(&mut self, id: CheckpointId, path: &str, oid: Oid, what: &str) -> bool {
        self.damaged.insert(oid);
        self.problems.push(format!("checkpoint #{id}: {path} (object {oid}): {what}"));
        false
    }

    fn object(&self, kind: ObjectKind, oid: Oid) -> std::result::Result<Vec<u8>, String> {
        let bytes = self.store.reader.read(kind, oid).map_err(|error| error.to_string())?;
        match object_oid(kind, &bytes) == oid {
            true => Ok(bytes),
            false => Err("its content is not what its name says".into()),
        }
    }
}
