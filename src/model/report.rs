//! What a restore was asked to do, and what it did or would do.

use serde::{Deserialize, Serialize};

use super::RelPath;
use super::checkpoint::{Action, CheckpointId, Omission};

/// Asks for a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindRequest {
    /// Rewind, undo or redo.
    pub action: Action,
    /// The checkpoint to restore; None for undo and redo, which find theirs in the timeline.
    pub to: Option<CheckpointId>,
    /// Limits a rewind to these paths and what lies below them; empty means everything.
    #[serde(default)]
    pub paths: Vec<RelPath>,
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a restore did, or with `dry_run` would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Rewind, undo or redo.
    pub action: Action,
    /// The checkpoint whose state was restored.
    pub to: CheckpointId,
    /// The checkpoint that holds the state that was replaced; None when nothing had to be replaced, and for a dry run.
    pub before: Option<CheckpointId>,
    /// Files, links and empty folders that are written: changed ones and those that were missing.
    pub writes: Vec<RelPath>,
    /// What was added since and is removed.
    pub removes: Vec<RelPath>,
    /// What stays though it differs, with the reason.
    pub keeps: Vec<Omission>,
    /// What else the person should know, a line each.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether the tree was already as asked.
    pub fn is_nothing(&self) -> bool {
        self.writes.is_empty() && self.removes.is_empty()
    }
}
