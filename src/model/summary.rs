//! A sentence that says what changed.
