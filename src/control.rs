//! What commands say to a live session through its socket, and what it answers: one line of JSON each way.

use serde::{Deserialize, Serialize};

use crate::model::{Report, RewindRequest, SessionNumber};

/// Asks something of a live session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// How it stands.
    Status,
    /// Record the present state, by full scan.
    Checkpoint {
        /// The name to give it.
        name: Option<String>,
    },
    /// Record the first state of another session that shares this recorder.
    Baseline {
        /// That session.
        session: SessionNumber,
    },
    /// Record the last state of another session that shares this recorder.
    End {
        /// That session.
        session: SessionNumber,
    },
    /// Freeze the agent, restore, thaw.
    Rewind(RewindRequest),
}

/// Answers a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "kebab-case")]
pub enum Response {
    /// Recorded, with its number.
    Checkpoint {
        /// The number.
        id: u64,
    },
    /// What the restore did or would do.
    Rewind(Report),
    /// How the session stands.
    Status(Status),
    /// Not done; nothing was changed.
    Refused {
        /// One line: what.
        message: String,
        /// One line: what to do.
        hint: Option<String>,
    },
}

/// How a live session stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Its number.
    pub session: SessionNumber,
    /// Whether its agent is frozen just now.
    pub frozen: bool,
    /// Whether this process records the project (else another session does).
    pub records: bool,
    /// What is not protected just now, a line each; empty when all is well.
    pub troubles: Vec<String>,
}
