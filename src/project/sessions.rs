//! The sessions of a project: their numbers, their records, and which of them live.
//!
//! A session lives as long as its process holds the lock on `sessions/N.lock`; one session at a time holds
//! `recorder.lock` and records for all. Both locks stand on descriptors and die with their process, so a file that a
//! killed process left behind means nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

use super::find::Places;
use crate::disk::durable::write_durably;
use crate::error::{Error, OnPath, Result};
use crate::model::SessionNumber;
use crate::model::session::Session;

/// How long one command waits for another.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A session of this process; it lives until this is dropped.
#[derive(Debug)]
pub struct OwnSession {
    /// What is known of it.
    pub session: Session,
    file: PathBuf,
    _lock: File,
}

impl OwnSession {
    /// Gives the next free number to a session; `describe` is given the number.
    pub fn start(folder: &Path, describe: impl FnOnce(SessionNumber) -> Session) -> Result<OwnSession> {
        let sessions = folder.join("sessions");
        private_folder(&sessions)?;
        let mut number = numbers(&sessions)?.max().unwrap_or(0) + 1;
        let lock = loop {
            let path = sessions.join(format!("{number}.lock"));
            match private_file().create_new(true).open(&path) {
                Ok(file) => {
                    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).on_path(&path)?;
                    break file;
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error).on_path(&path),
            }
        };
        let own = OwnSession { session: describe(number), file: sessions.join(format!("{number}.json")), _lock: lock };
        own.save()?;
        Ok(own)
    }

    /// Notes how it ended.
    pub fn end(&mut self, exit_status: u8) -> Result<()> {
        self.session.ended = Some(jiff::Timestamp::now());
        self.session.exit_status = Some(exit_status);
        self.save()
    }

    fn save(&self) -> Result<()> {
        let json = serde_json::to_vec_pretty(&self.session).map_err(Error::damaged)?;
        write_durably(&self.file, &json, 0o600)
    }
}

/// The live sessions of the project whose state folder is `folder`, by number.
pub fn live_sessions(folder: &Path) -> Result<Vec<Session>> {
    let sessions = folder.join("sessions");
    let mut numbers: Vec<_> = match numbers(&sessions) {
        Ok(numbers) => numbers.collect(),
        Err(error) if crate::disk::is_absence(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    numbers.sort_unstable();
    numbers.dedup();
    let live = numbers.into_iter().filter(|number| is_held(&sessions.join(format!("{number}.lock"))));
    Ok(live.filter_map(|number| read(&sessions.join(format!("{number}.json")))).collect())
}

/// The live sessions of all projects of this user.
pub fn all_live_sessions(places: &Places) -> Result<Vec<Session>> {
    let mut all = Vec::new();
    let folders = match fs::read_dir(&places.state) {
        Ok(folders) => folders,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(all),
        Err(error) => return Err(error).on_path(&places.state),
    };
    for folder in folders.flatten() {
        all.extend(live_sessions(&folder.path()).unwrap_or_default());
    }
    all.sort_by_key(|session| session.started);
    Ok(all)
}

/// The lock that its holder records under.
#[derive(Debug)]
pub struct RecorderLock {
    _file: File,
}

/// Who records a project.
pub enum Recording {
    /// We do, as long as we keep the lock.
    Ours(RecorderLock),
    /// This live session does.
    Theirs(Session),
}

/// Takes the recorder's lock, or finds the live session that holds it. `as_session` is None for a command, which holds
/// it only for moments: such a holder is waited for.
pub fn recorder_lock(folder: &Path, as_session: Option<SessionNumber>) -> Result<Recording> {
    let path = folder.join("recorder.lock");
    let give_up = Instant::now() + LONGEST_WAIT;
    loop {
        let mut file = private_file().create(true).open(&path).on_path(&path)?;
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return claim(file, &path, as_session).map(Recording::Ours);
        }
        let mut holder = String::new();
        file.read_to_string(&mut holder).on_path(&path)?;
        if let Ok(number) = holder.trim().parse::<SessionNumber>()
            && let Some(session) = live_sessions(folder)?.into_iter().find(|session| session.number == number)
        {
            return Ok(Recording::Theirs(session));
        }
        if Instant::now() > give_up {
            return Err(Error::refused(
                "another wrap command has been busy in this project for a minute",
                "wait for it to end and try again",
            ));
        }
        // The holder is a command, or a session that is just beginning or ending.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the recorder's lock is ours.
pub fn wait_for_recorder_lock(folder: &Path, as_session: SessionNumber) -> Result<RecorderLock> {
    let path = folder.join("recorder.lock");
    let file = private_file().create(true).open(&path).on_path(&path)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive).on_path(&path)?;
    claim(file, &path, Some(as_session))
}

fn claim(mut file: File, path: &Path, as_session: Option<SessionNumber>) -> Result<RecorderLock> {
    file.set_len(0).on_path(path)?;
    file.rewind().on_path(path)?;
    if let Some(number) = as_session {
        write!(file, "{number}").on_path(path)?;
    }
    Ok(RecorderLock { _file: file })
}

/// Makes `folder` and those above it; the last is private.
pub fn private_folder(folder: &Path) -> Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).on_path(folder)
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn numbers(sessions: &Path) -> Result<impl Iterator<Item = SessionNumber> + use<>> {
    let entries = fs::read_dir(sessions).on_path(sessions)?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.split('.').next()?.parse().ok()))
}

fn is_held(lock: &Path) -> bool {
    let Ok(file) = File::open(lock) else { return false };
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}

fn read(path: &Path) -> Option<Session> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(number: SessionNumber) -> Session {
        Session {
            number,
            root: "/r".into(),
            command: vec!["a".into()],
            started: jiff::Timestamp::now(),
            ended: None,
            exit_status: None,
            pid: std::process::id(),
            socket: "/s".into(),
        }
    }

    #[test]
    fn numbers_rise_and_a_dropped_session_is_dead() {
        let scratch = tempfile::tempdir().unwrap();
        let first = OwnSession::start(scratch.path(), session).unwrap();
        let second = OwnSession::start(scratch.path(), session).unwrap();
        assert_eq!((first.session.number, second.session.number), (1, 2));
        let live = |folder| live_sessions(folder).unwrap().iter().map(|s| s.number).collect::<Vec<_>>();
        assert_eq!(live(scratch.path()), [1, 2]);
        drop(first);
        assert_eq!(live(scratch.path()), [2]);
        assert_eq!(OwnSession::start(scratch.path(), session).unwrap().session.number, 3);
    }

    #[test]
    fn one_session_records_and_the_other_finds_it() {
        let scratch = tempfile::tempdir().unwrap();
        let first = OwnSession::start(scratch.path(), session).unwrap();
        let Recording::Ours(lock) = recorder_lock(scratch.path(), Some(first.session.number)).unwrap() else {
            panic!("the lock is free")
        };
        let Recording::Theirs(holder) = recorder_lock(scratch.path(), Some(2)).unwrap() else {
            panic!("the lock is taken")
        };
        assert_eq!(holder.number, 1);
        drop(lock);
        assert!(matches!(recorder_lock(scratch.path(), None).unwrap(), Recording::Ours(_)));
    }
}
