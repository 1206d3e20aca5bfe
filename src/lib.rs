//! `wrap` runs any coding agent in a pseudo-terminal and makes every state of the work recoverable.
//!
//! The modules stand here from the top floor down; each imports only from floors below its own.

#![warn(missing_docs)]

pub mod control;
pub mod disk;
pub mod error;
pub mod model;
pub mod platform;
pub mod project;
pub mod recorder;
pub mod repository;
pub mod restore;
pub mod settings;
pub mod store;
