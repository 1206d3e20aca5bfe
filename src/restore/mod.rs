//! Writes a plan's files beneath the root, journaled.

use std::path::Path;

use crate::disk::Root;
use crate::error::Result;
use crate::model::tree::File;
use crate::model::{Change, Omission, RelPath, Tree};
use crate::store::Store;

/// What a restore will do.
pub struct Plan {}

/// What a restore did.
pub struct Applied {
    /// The files and links written, with their stat; None for those removed.
    pub files: Vec<(RelPath, Option<File>)>,
    /// The folders made, upper ones first.
    pub folders_made: Vec<RelPath>,
    /// The folders removed, lower ones first.
    pub folders_removed: Vec<RelPath>,
    /// What was left alone, and why.
    pub keeps: Vec<Omission>,
}

/// What finishing an interrupted restore found.
pub struct Recovered {
    /// What was left alone, and why.
    pub keeps: Vec<Omission>,
}

/// Orders `changes` into a plan; `now` is the present tree.
pub fn plan(changes: &[Change], now: &Tree) -> Plan {
    let _ = (changes, now);
    todo!()
}
/// What stands in the way of the plan; nothing is changed.
pub fn preflight(root: &Root, store: &Store, plan: &Plan, now: &Tree) -> Result<Vec<Omission>> {
    let _ = (root, store, plan, now);
    todo!()
}
/// Carries the plan out.
pub fn apply(root: &Root, store: &Store, plan: &Plan, now: &Tree, journal: &Path) -> Result<Applied> {
    let _ = (root, store, plan, now, journal);
    todo!()
}
/// Finishes a restore that was cut short; None when there is none.
pub fn recover(root: &Root, store: &Store, journal: &Path) -> Result<Option<Recovered>> {
    let _ = (root, store, journal);
    todo!()
}
