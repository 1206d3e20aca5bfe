//! What a person can set, and which of several places wins.

use std::path::PathBuf;
use std::time::Duration;

/// Everything that can be set, with the winner of flag, environment, project and user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long the tree must be quiet before a burst of changes is recorded.
    pub settle: Duration,
    /// The root, where the person named one.
    pub root: Option<PathBuf>,
    /// Files larger than this many bytes are named and left out.
    pub max_file: u64,
    /// Small files matching these (gitignore patterns) are recorded although ignored.
    pub protect: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            settle: Duration::from_millis(75),
            root: None,
            max_file: 100_000_000,
            protect: [".env*", ".envrc", ".dev.vars", "*.pem", "*.key", "local.settings.json"].map(String::from).into(),
        }
    }
}
