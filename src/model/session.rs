//! One run of `wrap` in a project.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Numbers the sessions of a project 1, 2, 3 …
pub type SessionNumber = u64;

/// What is known of a session; stands in `sessions/N.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its number in the project.
    pub number: SessionNumber,
    /// The root of its project, as shown text.
    pub root: String,
    /// The agent's command and arguments, as shown text.
    pub command: Vec<String>,
    /// When it began.
    pub started: Timestamp,
    /// When it ended; None while it lives, and after a crash.
    #[serde(default)]
    pub ended: Option<Timestamp>,
    /// The exit status it ended with.
    #[serde(default)]
    pub exit_status: Option<u8>,
    /// The process that runs it.
    pub pid: u32,
    /// Its control socket, as shown text.
    pub socket: String,
}
