//! Restores.
