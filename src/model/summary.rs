//! What changed, in a sentence as a person would say it.

use super::checkpoint::FileChange;

/// Old and new content of a change; None for a side where nothing was.
pub type Sides = (Option<Vec<u8>>, Option<Vec<u8>>);

/// One line such as "auth.ts +12 −3: validatePermissions; user.ts new". `sides` gives the contents of the file at an
/// index of `files` where they could be had.
pub fn sentence(files: &[FileChange], sides: &dyn Fn(usize) -> Option<Sides>) -> String {
    let _ = (files, sides);
    todo!()
}
