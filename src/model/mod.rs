//! The words of the field as values: checkpoints, trees, changes, selections, times.
//!
//! Everything here is pure: no clock, file system, process, environment or terminal.

pub mod change;
pub mod checkpoint;
pub mod history;
pub mod oid;
pub mod patch;
pub mod path;
pub mod report;
pub mod selection;
pub mod session;
pub mod summary;
pub mod text;
pub mod time;
pub mod tree;

pub use change::{Change, Entry, EntryKind, Status};
pub use checkpoint::{Checkpoint, CheckpointId, Kind, Omission};
pub use oid::Oid;
pub use path::RelPath;
pub use report::{Report, RewindRequest};
pub use selection::{Reference, Selection};
pub use session::SessionNumber;
pub use tree::Tree;
