//! The refs that make checkpoints: `refs/checkpoints/<id>`, one file each.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::disk::durable::{create_durably, write_durably};
use crate::error::{Error, OnPath, Result};
use crate::model::{CheckpointId, Oid};

const FOLDER: &str = "refs/checkpoints";

/// The refs of the bare repository at `git`.
pub(super) struct Refs {
    git: PathBuf,
}

impl Refs {
    pub(super) fn new(git: &Path) -> Refs {
        Refs { git: git.to_path_buf() }
    }

    /// The numbers of all checkpoints, rising; damaged refs count too, so that no number is used again.
    pub(super) fn ids(&self) -> Result<Vec<CheckpointId>> {
        let folder = self.git.join(FOLDER);
        let mut ids: Vec<CheckpointId> = self.packed()?.into_keys().collect();
        for entry in fs::read_dir(&folder).on_path(&folder)? {
            ids.extend(entry.on_path(&folder)?.file_name().to_str().and_then(number));
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// The commit of a checkpoint.
    pub(super) fn get(&self, id: CheckpointId) -> Result<Oid> {
        let path = self.path(id);
        match fs::read_to_string(&path) {
            Ok(text) => text.trim_end().parse().map_err(|_| {
                Error::damaged(format!(
                    "checkpoint #{id}: its ref {} is damaged",
                    crate::model::text::shown(text.as_bytes())
                ))
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => self.packed()?.remove(&id).ok_or_else(|| {
                Error::refused(format!("there is no checkpoint {id}"), "`wrap list` shows those that there are")
            }),
            Err(error) => Err(error).on_path(&path),
        }
    }

    /// Gives `commit` the next free number; no two callers get the same one.
    pub(super) fn create(&self, commit: Oid) -> Result<CheckpointId> {
        let mut id = self.ids()?.last().copied().unwrap_or(0) + 1;
        while !create_durably(&self.path(id), format!("{commit}\n").as_bytes(), 0o600)? {
            id += 1;
        }
        Ok(id)
    }

    /// Lets the checkpoint's ref name `commit` instead.
    pub(super) fn replace(&self, id: CheckpointId, commit: Oid) -> Result<()> {
        write_durably(&self.path(id), format!("{commit}\n").as_bytes(), 0o600)
    }

    fn path(&self, id: CheckpointId) -> PathBuf {
        self.git.join(FOLDER).join(id.to_string())
    }

    /// The refs that a `git pack-refs` of somebody's put in one file.
    fn packed(&self) -> Result<BTreeMap<CheckpointId, Oid>> {
        let path = self.git.join("packed-refs");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            text => text.on_path(&path)?,
        };
        let parse = |line: &str| {
            let (oid, name) = line.split_once(' ')?;
            Some((number(name.strip_prefix(FOLDER)?.strip_prefix('/')?)?, oid.parse().ok()?))
        };
        Ok(text.lines().filter_map(parse).collect())
    }
}

/// The number that a ref's last name stands for; only the one spelling of it.
fn number(name: &str) -> Option<CheckpointId> {
    let id: CheckpointId = name.parse().ok()?;
    (id > 0 && id.to_string() == name).then_some(id)
}
