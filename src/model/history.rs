//! Which restore an `undo` or a `redo` takes back.
//!
//! Nothing is kept but the timeline: every restore left a `before-rewind` checkpoint that says what it did.
//! Undo is a restore itself, so redo is the undo of an undo:
//!
//! ```text
//! rewind  leaves B1          undo: B1   redo: -
//! undo    leaves B2, to B1   undo: -    redo: B2
//! redo    leaves B3, to B2   undo: B3   redo: -
//! ```

use super::checkpoint::{Action, Checkpoint};

/// The `before-rewind` checkpoint that `undo` goes back to; None when there is nothing to undo.
///
/// `timeline` is oldest first.
pub fn undo_target(timeline: &[Checkpoint]) -> Option<&Checkpoint> {
    stacks(timeline).0.pop()
}

/// The `before-rewind` checkpoint that `redo` goes back to; None when there is nothing to redo.
pub fn redo_target(timeline: &[Checkpoint]) -> Option<&Checkpoint> {
    stacks(timeline).1.pop()
}

fn stacks(timeline: &[Checkpoint]) -> (Vec<&Checkpoint>, Vec<&Checkpoint>) {
    let (mut undo, mut redo) = (Vec::new(), Vec::new());
    for checkpoint in timeline {
        match checkpoint.facts.rewind.as_ref().map(|rewind| rewind.action) {
            None => {}
            Some(Action::Rewind) => {
                undo.push(checkpoint);
                redo.clear();
            }
            Some(Action::Undo) => {
                undo.pop();
                redo.push(checkpoint);
            }
            Some(Action::Redo) => {
                redo.pop();
                undo.push(checkpoint);
            }
        }
    }
    (undo, redo)
}
