//! One recorded state.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Change, Oid, RelPath, SessionNumber, Status};

/// Numbers the checkpoints of a project 1, 2, 3 …; never used again.
pub type CheckpointId = u64;

/// Why a checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The first of a session, before its agent ran.
    Baseline,
    /// Files changed and settled.
    Edit,
    /// Somebody asked for it by name.
    Named,
    /// The clock asked for it.
    Periodic,
    /// The session's limit was reached.
    Decision,
    /// The state that a restore is about to replace.
    BeforeRewind,
    /// The agent ended.
    End,
}

impl Kind {
    /// The word that stands for it on screen and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Baseline => "baseline",
            Kind::Edit => "edit",
            Kind::Named => "named",
            Kind::Periodic => "periodic",
            Kind::Decision => "decision",
            Kind::BeforeRewind => "before-rewind",
            Kind::End => "end",
        }
    }
}

/// A path that a checkpoint could not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Omission {
    /// Where.
    pub path: RelPath,
    /// Why, as a person would say it: "larger than 100 MB", "permission denied".
    pub reason: String,
}

/// One changed file as a timeline shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Where.
    pub path: RelPath,
    /// What happened to it.
    pub status: Status,
    /// Lines added; None for binary files and where it was not counted.
    pub added: Option<u32>,
    /// Lines removed; None for binary files and where it was not counted.
    pub removed: Option<u32>,
}

impl From<&Change> for FileChange {
    fn from(change: &Change) -> Self {
        FileChange { path: change.path.clone(), status: change.status(), added: None, removed: None }
    }
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// It passed: the state is green.
    Passed,
    /// It failed.
    Failed,
}

/// What a restore set out to do; stands with the `before-rewind` checkpoint that it made first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewind {
    /// Rewind, undo or redo.
    pub action: Action,
    /// The checkpoint whose state was restored.
    pub to: CheckpointId,
    /// Limits the restore to these paths and what lies below them; empty means everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<RelPath>,
}

/// Which command restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Back to a checkpoint.
    Rewind,
    /// Back to before the last rewind.
    Undo,
    /// Back to before the last undo.
    Redo,
}

/// What `checkpoint.json` holds: everything about a checkpoint but its trees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The version of this form; 1.
    pub format: u32,
    /// The session that it belongs to.
    pub session: SessionNumber,
    /// When, by the wall clock.
    pub time: Timestamp,
    /// Why it was made.
    pub kind: Kind,
    /// The name a person gave it.
    pub name: Option<String>,
    /// What changed since the checkpoint before it, in a sentence. One line.
    pub summary: String,
    /// What changed since the checkpoint before it, in the order of the paths.
    pub files: Vec<FileChange>,
    /// The result of its check.
    pub check: Option<Check>,
    /// Paths that could not be held; the checkpoint is complete when there are none.
    pub omitted: Vec<Omission>,
    /// The paths held although ignored, since they match `protect`: they never leave the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<RelPath>,
    /// The restore that this checkpoint was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewind: Option<Rewind>,
}

/// One recorded state of a project, as the store gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its number.
    pub id: CheckpointId,
    /// The commit that holds it.
    pub commit: Oid,
    /// The tree that holds the working tree, byte for byte.
    pub files: Oid,
    /// The blob that lists permission bits other than the usual ones (see `Permissions` of the store).
    pub permissions: Oid,
    /// Everything else.
    pub facts: Facts,
}

impl Checkpoint {
    /// Whether it holds everything it should.
    pub fn complete(&self) -> bool {
        self.facts.omitted.is_empty()
    }
}
