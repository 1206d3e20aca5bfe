use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::model::Kind;
use crate::model::tree::Node;

fn facts(summary: &str) -> Facts {
    Facts {
        format: 1,
        session: 1,
        time: Timestamp::now(),
        kind: Kind::Edit,
        name: None,
        summary: summary.into(),
        files: Vec::new(),
        check: None,
        omitted: Vec::new(),
        protected: Vec::new(),
        rewind: None,
    }
}

/// Adds a tree of files given by their paths.
fn add_files(batch: &mut Batch, files: &BTreeMap<String, String>) -> Oid {
    fn folder(batch: &mut Batch, files: &[(&str, &str)]) -> Oid {
        let mut groups: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        let mut children = Vec::new();
        for (path, content) in files {
            match path.split_once('/') {
                Some((name, rest)) => groups.entry(name).or_default().push((rest, content)),
                None => {
                    let oid = batch.add_blob(content.as_bytes()).unwrap();
                    children.push(StoredChild { name: (*path).into(), kind: EntryKind::Regular, oid });
                }
            }
        }
        for (name, below) in groups {
            let oid = folder(batch, &below);
            children.push(StoredChild { name: name.into(), kind: EntryKind::Folder, oid });
        }
        batch.add_folder(&children).unwrap()
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, content)| (&path[..], &content[..])).collect();
    folder(batch, &files)
}

fn record(store: &mut Store, files: &[(&str, &str)]) -> Checkpoint {
    let mut batch = store.batch().unwrap();
    let files = files.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    let files = add_files(&mut batch, &files);
    let permissions = Permissions(Arc::new([(RelPath::new("a").unwrap(), 0o600)].into()));
    let snapshot = Snapshot { files, permissions, repository: None, conversation: None, facts: facts("a summary") };
    store.record(batch, snapshot).unwrap()
}

fn git(store: &Store, args: &[&str]) -> String {
    let output = Command::new("git").arg("--git-dir").arg(&store.folder).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("error"), "git {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn flatten(store: &Store, checkpoint: &Checkpoint) -> BTreeMap<String, String> {
    let permissions = store.permissions(checkpoint.permissions).unwrap();
    let mut all = BTreeMap::new();
    store.load_tree(checkpoint.files, &permissions).unwrap().walk(&mut |path, entry| {
        if entry.kind != EntryKind::Folder {
            all.insert(path.to_string(), String::from_utf8(store.read_blob(entry.oid).unwrap()).unwrap());
        }
    });
    all
}

#[test]
fn git_reads_what_was_recorded() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = Store::open(scratch.path()).unwrap();
    let first = record(&mut store, &[("a", "one"), ("src/b", "bee")]);
    let second = record(&mut store, &[("a", "two"), ("src/b", "bee")]);
    assert_eq!((first.id, second.id), (1, 2));
    assert_eq!(git(&store, &["cat-file", "-p", &format!("{}:files/a", second.commit)]), "two");
    git(&store, &["fsck", "--full", "--strict"]);
    assert!(git(&store, &["log", "-1", "--format=%s", "refs/checkpoints/2"]).contains("a summary"));
    let reopened = Store::open(scratch.path()).unwrap();
    assert_eq!(reopened.checkpoint(1).unwrap(), first);
    assert_eq!(reopened.timeline().unwrap(), [first, second]);
    assert_eq!(reopened.permissions(reopened.checkpoint(1).unwrap().permissions).unwrap().0.len(), 1);
    assert!(reopened.checkpoint(9).unwrap_err().to_string().contains('9'));
    assert!(reopened.verify().unwrap().is_empty());
}

#[test]
fn a_name_changes_only_the_facts() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = Store::open(scratch.path()).unwrap();
    let first = record(&mut store, &[("a", "one")]);
    let named = store.amend(1, |facts| facts.name = Some("good".into())).unwrap();
    assert_eq!(store.checkpoint(1).unwrap(), named);
    assert_eq!((named.files, named.facts.name.as_deref()), (first.files, Some("good")));
    assert_ne!(named.commit, first.commit);
}

#[test]
fn numbers_are_exclusive_between_stores_and_threads() {
    let scratch = tempfile::tempdir().unwrap();
    Store::open(scratch.path()).unwrap();
    let ids = std::thread::scope(|scope| {
        let work = || (0..20).map(|_| record(&mut Store::open(scratch.path()).unwrap(), &[("a", "same")]).id);
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(move || work().collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let distinct: std::collections::BTreeSet<_> = ids.iter().copied().collect();
    assert_eq!((ids.len(), distinct.len(), distinct.last()), (80, 80, Some(&80)));
}

#[test]
fn packed_refs_and_missing_folders_are_understood() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = Store::open(scratch.path()).unwrap();
    let first = record(&mut store, &[("a", "one")]);
    git(&store, &["pack-refs", "--all", "--prune"]);
    fs::remove_dir_all(store.folder.join("refs")).unwrap();
    fs::remove_file(store.folder.join("HEAD")).unwrap();
    let mut store = Store::open(scratch.path()).unwrap();
    assert_eq!(store.checkpoint(1).unwrap(), first);
    assert_eq!(record(&mut store, &[("a", "two")]).id, 2);
}

#[test]
fn a_damaged_ref_is_named_and_its_number_not_used_again() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = Store::open(scratch.path()).unwrap();
    record(&mut store, &[("a", "one")]);
    fs::write(store.folder.join("refs/checkpoints/2"), "").unwrap();
    assert_eq!(record(&mut store, &[("a", "two")]).id, 3);
    assert_eq!(store.timeline().unwrap().len(), 2);
    assert!(store.verify().unwrap().iter().any(|problem| problem.contains("#2")));
}

#[test]
fn damage_in_an_object_is_found_and_named() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = Store::open(scratch.path()).unwrap();
    record(&mut store, &[("a", &"text ".repeat(500)), ("b", "other")]);
    record(&mut store, &[("b", "other")]);
    for entry in fs::read_dir(store.folder.join("objects/pack")).unwrap().flatten() {
        let path = entry.path();
        let size = fs::metadata(&path).unwrap().len();
        if path.extension().unwrap() == "pack" && size > 300 {
            let mut bytes = fs::read(&path).unwrap();
            let at = bytes.windows(2).position(|w| w == [0x78, 0x01]).unwrap() + 4;
            bytes[at] ^= 0xff;
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
            break;
        }
    }
    let problems = Store::open(scratch.path()).unwrap().verify().unwrap();
    assert!(problems.iter().any(|problem| problem.contains('#')), "{problems:?}");
}

#[test]
fn large_files_stream_and_changed_ones_are_noticed() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = Store::open(scratch.path()).unwrap();
    let path = scratch.path().join("large");
    let bytes: Vec<u8> = (0..3_000_000u32).flat_map(|n| n.wrapping_mul(2654435761).to_le_bytes()).collect();
    File::create(&path).unwrap().write_all(&bytes).unwrap();
    let mut batch = store.batch().unwrap();
    let file = File::open(&path).unwrap();
    let oid = batch.add_large(&file, bytes.len() as u64).unwrap().unwrap();
    assert_eq!(oid, blob_oid(&bytes));
    assert_eq!(batch.add_large(&file, bytes.len() as u64 + 1).unwrap(), None);
    let files = batch.add_folder(&[StoredChild { name: b"large".into(), kind: EntryKind::Regular, oid }]).unwrap();
    let permissions = Permissions::default();
    let snapshot = Snapshot { files, permissions, repository: None, conversation: None, facts: facts("large") };
    store.record(batch, snapshot).unwrap();
    assert_eq!(store.blob_size(oid).unwrap(), bytes.len() as u64);
    assert!(store.read_blob(oid).unwrap() == bytes);
    git(&store, &["fsck", "--full"]);
}

#[test]
fn chunked_bytes_come_back() {
    let scratch = tempfile::tempdir().unwrap();
    let store = Store::open(scratch.path()).unwrap();
    let bytes: Vec<u8> = (0..100_000u32).flat_map(|n| n.wrapping_mul(2654435761).to_le_bytes()).collect();
    let mut batch = store.batch().unwrap();
    let oid = batch.add_chunked(&bytes).unwrap();
    batch.finish().unwrap();
    assert!(store.read_chunked(oid).unwrap() == bytes);
}

#[test]
fn objects_of_a_repository_are_linked_not_copied_and_outlive_it() {
    let scratch = tempfile::tempdir().unwrap();
    let repository = scratch.path().join("repository");
    fs::create_dir(&repository).unwrap();
    let run = |args: &[&str]| {
        let person = ["-c", "user.name=A", "-c", "user.email=a@b"];
        let output = Command::new("git").current_dir(&repository).args(person).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    run(&["init", "-q"]);
    fs::write(repository.join("packed"), "in a pack").unwrap();
    run(&["add", "."]);
    run(&["commit", "-qm", "one"]);
    run(&["gc", "-q"]);
    fs::write(repository.join("loose"), "a loose object").unwrap();
    run(&["add", "."]);
    let mut store = Store::open(&scratch.path().join("state")).unwrap();
    let objects = repository.join(".git/objects");
    assert!(store.link_objects(&objects).unwrap() && store.link_objects(&objects).unwrap());
    let (packed, loose) = (blob_oid(b"in a pack"), blob_oid(b"a loose object"));
    assert!(store.known().has(&packed) && store.known().has(&loose));
    let linked = store.folder.join(format!("linked/objects/{}/{}", &loose.to_string()[..2], &loose.to_string()[2..]));
    assert_eq!(fs::metadata(linked).unwrap().nlink(), 2);
    fs::remove_dir_all(&repository).unwrap();
    let store = Store::open(&scratch.path().join("state")).unwrap();
    assert_eq!(store.read_blob(packed).unwrap(), b"in a pack");
    assert_eq!(store.read_blob(loose).unwrap(), b"a loose object");
    git(&store, &["fsck"]);
}

#[test]
fn folding_and_pruning_lose_nothing_that_is_reached() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = Store::open(scratch.path()).unwrap();
    for n in 0..60 {
        record(&mut store, &[("a", &format!("content {n}")), ("same", "same")]);
    }
    let mut batch = store.batch().unwrap();
    let lost = batch.add_blob("reached by nothing ".repeat(100).as_bytes()).unwrap();
    batch.finish().unwrap();
    let packs = |store: &Store| fs::read_dir(store.folder.join("objects/pack")).unwrap().count() / 2;
    assert_eq!(packs(&store), 61);
    store.fold().unwrap();
    assert_eq!(packs(&store), 1);
    assert!(store.read_blob(lost).is_ok(), "a young object may belong to a checkpoint that is being made");
    for entry in fs::read_dir(store.folder.join("objects/pack")).unwrap().flatten() {
        let file = File::open(entry.path()).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3600)).unwrap();
    }
    let would = store.prune(true).unwrap();
    assert!(would.bytes > 0 && store.read_blob(lost).is_ok());
    assert_eq!(store.prune(false).unwrap(), would);
    assert!(store.read_blob(lost).is_err());
    let store = Store::open(scratch.path()).unwrap();
    assert_eq!(store.timeline().unwrap().len(), 60);
    assert!(store.verify().unwrap().is_empty());
    git(&store, &["fsck", "--full", "--strict"]);
}

fn random_files() -> impl Strategy<Value = BTreeMap<String, String>> {
    let path = proptest::collection::vec("[a-c]{1,2}", 1..4).prop_map(|names| names.join("/"));
    proptest::collection::btree_map(path, "[xy]{0,3}", 0..8).prop_map(|files| {
        let folders: Vec<String> = files.keys().cloned().collect();
        let inner = |path: &str| folders.iter().any(|other| other.starts_with(&format!("{path}/")));
        files.into_iter().filter(|(path, _)| !inner(path)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn stored_trees_come_back_and_differ_as_trees_in_memory_do(old in random_files(), new in random_files()) {
        let scratch = tempfile::tempdir().unwrap();
        let mut store = Store::open(scratch.path()).unwrap();
        let as_slices = |files: &BTreeMap<String, String>| files.clone().into_iter().collect::<Vec<_>>();
        let checkpoint = |store: &mut Store, files: &BTreeMap<String, String>| {
            let files = as_slices(files);
            let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (&a[..], &b[..])).collect();
            record(store, &files)
        };
        let (first, second) = (checkpoint(&mut store, &old), checkpoint(&mut store, &new));
        prop_assert_eq!(flatten(&store, &first), old);
        prop_assert_eq!(flatten(&store, &second), new.clone());
        let permissions = store.permissions(first.permissions).unwrap();
        let changes = store.changes(first.files, &permissions, second.files, &permissions).unwrap();
        let tree = |checkpoint: &Checkpoint| store.load_tree(checkpoint.files, &permissions).unwrap();
        let sorted = |mut changes: Vec<crate::model::Change>| {
            changes.sort_by(|a, b| (&a.path, a.new.is_some()).cmp(&(&b.path, b.new.is_some())));
            changes
        };
        prop_assert_eq!(sorted(changes), sorted(tree(&first).changes_to(&tree(&second))));
        for path in new.keys() {
            let path = RelPath::new(path.as_bytes()).unwrap();
            let found = store.entry(second.files, &path).unwrap();
            let Some(Node::File(file)) = tree(&second).get(&path).cloned() else { panic!("{path}") };
            prop_assert_eq!(found, Some((file.entry.kind, file.entry.oid)));
        }
    }
}
