//! What was known of the tree when the last session ended, so that the next scan reads only what changed.

use std::path::Path;

use crate::error::Result;
use crate::model::{Oid, Tree};

/// Reads it; None when there is none or it is damaged.
pub fn load(path: &Path) -> Option<(Tree, Oid)> {
    let _ = path;
    todo!()
}

/// Keeps it.
pub fn save(path: &Path, tree: &Tree, files: Oid) -> Result<()> {
    let _ = (path, tree, files);
    todo!()
}
