//! What went wrong, said in one line, and what to do about it, said in another.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Every failure that reaches a person.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed on a file.
    #[error("{}: {source}", crate::model::text::shown(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())))]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The request itself can not be met; nothing was changed.
    #[error("{message}")]
    Refused {
        /// One line: what.
        message: String,
        /// One line: what to do.
        hint: Option<String>,
    },
    /// Something in the store is missing or damaged.
    #[error("{message}")]
    Damaged {
        /// One line: what, with the checkpoint, object or file in it.
        message: String,
    },
    /// The command line is wrong (exit status 2).
    #[error("{message}")]
    Usage {
        /// One line: what.
        message: String,
    },
    /// The agent's command was not found (exit status 127).
    #[error("{command}: command not found")]
    AgentNotFound {
        /// The command's first word, safe to print.
        command: String,
    },
    /// The agent's command can not be run (exit status 126).
    #[error("{command}: {reason}")]
    AgentNotExecutable {
        /// The command's first word, safe to print.
        command: String,
        /// Why.
        reason: String,
    },
}

/// What every fallible function of this crate gives.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A request that can not be met, with what to do instead.
    pub fn refused(message: impl Display, hint: impl Display) -> Self {
        let hint = hint.to_string();
        Error::Refused { message: message.to_string(), hint: (!hint.is_empty()).then_some(hint) }
    }

    /// Something missing or damaged in the store.
    pub fn damaged(message: impl Display) -> Self {
        Error::Damaged { message: message.to_string() }
    }

    /// What to do about it, in one line, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Refused { hint, .. } => hint.clone(),
            Error::Damaged { .. } => Some("run `wrap verify` to see which checkpoints are concerned".into()),
            Error::Usage { .. } => Some("see `wrap --help`".into()),
            Error::AgentNotFound { .. } => {
                Some("check the spelling, or see `wrap --help` for wrap's own commands".into())
            }
            Error::AgentNotExecutable { .. } => Some("check its permissions, or name its interpreter".into()),
            Error::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull => Some("free some space on that disk and try again".into()),
                io::ErrorKind::PermissionDenied => Some("check who owns it and its permissions".into()),
                _ => None,
            },
        }
    }

    /// The exit status of `wrap` when this ends it.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Usage { .. } => 2,
            Error::AgentNotFound { .. } => 127,
            Error::AgentNotExecutable { .. } => 126,
            _ => 1,
        }
    }
}

/// Puts the file's path on a system error.
pub trait OnPath<T> {
    /// Turns the error into [`Error::Io`] with `path` in it.
    fn on_path(self, path: impl AsRef<Path>) -> Result<T>;
}

impl<T, E: Into<io::Error>> OnPath<T> for std::result::Result<T, E> {
    fn on_path(self, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|source| Error::Io { path: path.as_ref().to_path_buf(), source: source.into() })
    }
}
