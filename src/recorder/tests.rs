use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::mpsc;

use proptest::prelude::*;

use super::*;

/// A tree on disk, with what records it.
struct Scene {
    scratch: tempfile::TempDir,
    store: Store,
    recorder: Recorder,
    woken: Option<mpsc::Receiver<()>>,
}

fn options() -> Options {
    Options {
        max_file: 1_000_000,
        protect: vec![".env*".into()],
        own_folders: Vec::new(),
        excludes: Vec::new(),
        settle: Duration::from_millis(20),
    }
}

impl Scene {
    fn new() -> Scene {
        Scene::with(options())
    }

    fn with(options: Options) -> Scene {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("root")).unwrap();
        let root = Root::open(&scratch.path().canonicalize().unwrap().join("root")).unwrap();
        let store = Store::open(&scratch.path().join("state")).unwrap();
        Scene { scratch, store, recorder: Recorder::new(root, options, None), woken: None }
    }

    fn watched() -> Scene {
        let mut scene = Scene::new();
        let (sender, receiver) = mpsc::channel();
        scene.recorder.watch(move || _ = sender.send(()));
        scene.woken = Some(receiver);
        scene.scan();
        scene
    }

    fn path(&self, path: &str) -> PathBuf {
        self.scratch.path().join("root").join(path)
    }

    fn write(&self, path: &str, content: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
    }

    fn scan(&mut self) -> Captured {
        let mut batch = self.store.batch().unwrap();
        let captured = self.recorder.scan(&self.store, &mut batch, None, &|_, _| {}).unwrap();
        self.record(batch, &captured);
        captured
    }

    fn capture(&mut self) -> Captured {
        let mut batch = self.store.batch().unwrap();
        let captured = self.recorder.capture(&self.store, &mut batch).unwrap();
        self.record(batch, &captured);
        captured
    }

    /// Waits for the watches to tell of something and for it to settle.
    fn settled(&mut self) -> Captured {
        self.woken.as_ref().unwrap().recv_timeout(Duration::from_secs(10)).expect("nothing woke the recorder");
        while let Some(wait) = self.recorder.deadline().and_then(|at| at.checked_duration_since(Instant::now())) {
            std::thread::sleep(wait);
        }
        self.capture()
    }

    fn record(&mut self, batch: Batch, captured: &Captured) {
        let facts = crate::model::checkpoint::Facts {
            format: 1,
            session: 1,
            time: jiff::Timestamp::now(),
            kind: crate::model::Kind::Edit,
            name: None,
            summary: String::new(),
            files: Vec::new(),
            check: None,
            omitted: Vec::new(),
            protected: Vec::new(),
            rewind: None,
        };
        let permissions = self.recorder.permissions();
        let snapshot =
            crate::store::Snapshot { files: captured.files, permissions, repository: None, conversation: None, facts };
        self.store.record(batch, snapshot).unwrap();
        self.recorder.recorded();
    }

    /// The recorded tree as paths and contents.
    fn held(&self, captured: &Captured) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        self.store.load_tree(captured.files, &self.recorder.permissions()).unwrap().walk(&mut |path, entry| {
            let content = match entry.kind {
                EntryKind::Folder => "(folder)".into(),
                kind => format!("{kind:?} {}", String::from_utf8(self.store.read_blob(entry.oid).unwrap()).unwrap()),
            };
            all.insert(path.to_string(), content);
        });
        all
    }

    fn names(&self, captured: &Captured) -> Vec<String> {
        self.held(captured).into_keys().collect()
    }
}

/// What lies on disk, told the same way.
fn on_disk(root: &Path) -> BTreeMap<String, String> {
    fn below(root: &Path, at: &Path, all: &mut BTreeMap<String, String>) {
        let entries: Vec<_> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap()).collect();
        if entries.is_empty() && at != root {
            all.insert(at.strip_prefix(root).unwrap().to_str().unwrap().into(), "(folder)".into());
        }
        for entry in entries {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let meta = fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                below(root, &path, all);
            } else if meta.is_symlink() {
                all.insert(name, format!("Symlink {}", fs::read_link(&path).unwrap().display()));
            } else {
                let kind = if meta.permissions().mode() & 0o100 != 0 { "Executable" } else { "Regular" };
                all.insert(name, format!("{kind} {}", fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut all = BTreeMap::new();
    below(root, root, &mut all);
    all
}

fn changes(captured: &Captured) -> Vec<String> {
    let sign = |change: &Change| match (&change.old, &change.new) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    };
    captured.changes.iter().map(|change| format!("{}{}", sign(change), change.path)).collect()
}

#[test]
fn ignored_is_left_out_protected_and_tracked_are_not() {
    let mut scene = Scene::new();
    scene.write(".gitignore", "*.log\nbuild/\n.env\n!keep.log\n");
    scene.write("sub/.gitignore", "/only-here\n!deep.log\n");
    scene.write("sub/.wrapignore", "secret\n");
    for path in
        ["a.log", "keep.log", "build/x", ".env", "sub/only-here", "sub/deep.log", "sub/secret", "sub/x/only-here"]
    {
        scene.write(path, "content");
    }
    scene.write("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# a cache\n");
    scene.write("cache/entry", "x");
    scene.write(".git/config", "x");
    scene.write("nested/.git/config", "x");
    scene.write("nested/file", "x");
    let tracked = |path: &str| {
        let mut tree = Tree::default();
        let entry = Entry { kind: EntryKind::Regular, oid: Oid([1; 20]), permissions: 0o644 };
        tree.put(&RelPath::new(path).unwrap(), Node::File(File { entry, stat: Stat::UNKNOWN }));
        tree
    };
    let mut batch = scene.store.batch().unwrap();
    let scanned = scene.recorder.scan(&scene.store, &mut batch, Some(tracked("build/x")), &|_, _| {}).unwrap();
    scene.record(batch, &scanned);
    let expected = [".env", ".gitignore", "build/x", "keep.log", "nested/file", "sub/.gitignore", "sub/.wrapignore"];
    let expected: Vec<&str> = expected.into_iter().chain(["sub/deep.log", "sub/x/only-here"]).collect();
    assert_eq!(scene.names(&scanned), expected);
    assert_eq!(scanned.protected, [RelPath::new(".env").unwrap()]);
    // A rule that comes later does not take out what is captured.
    scene.write(".gitignore", "*\n");
    scene.write("new", "x");
    fs::remove_file(scene.path("keep.log")).unwrap();
    let scanned = scene.scan();
    assert!(scene.names(&scanned).iter().any(|name| name == "sub/deep.log"));
    assert_eq!(changes(&scanned), ["~.gitignore", "-keep.log"]);
}

#[test]
fn heavy_folders_are_left_out_where_the_root_has_no_rules() {
    let mut scene = Scene::new();
    scene.write("node_modules/x/index.js", "x");
    scene.write("packages/node_modules/y", "x");
    scene.write("a", "x");
    let scanned = scene.scan();
    assert_eq!(
        scene.names(&scanned),
        ["a"].map(String::from).iter().chain(&["packages".into()]).cloned().collect::<Vec<_>>()
    );
}

#[test]
fn what_can_not_be_held_is_named() {
    let mut scene = Scene::new();
    scene.write("large", &"x".repeat(1_000_001));
    scene.write(".GIT/config", "x");
    scene.write("a", "x");
    nix::unistd::mkfifo(&scene.path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let scanned = scene.scan();
    let named: Vec<String> = scanned.omitted.iter().map(|o| format!("{}: {}", o.path, o.reason)).collect();
    assert_eq!(named, [".GIT: some file systems would take its name for .git", "large: larger than 1 MB"]);
    assert_eq!(scene.names(&scanned), ["a"]);
    scene.write("large", "small now");
    let scanned = scene.scan();
    assert_eq!(changes(&scanned), ["+large"]);
    assert_eq!(scanned.omitted.len(), 1);
}

#[test]
fn a_failed_capture_is_made_up_for() {
    let mut scene = Scene::new();
    scene.write("a", "one");
    scene.scan();
    scene.write("a", "two");
    scene.write("deep/b", "bee");
    let mut lost = scene.store.batch().unwrap();
    scene.recorder.scan(&scene.store, &mut lost, None, &|_, _| {}).unwrap();
    drop(lost);
    scene.recorder.failed();
    let captured = scene.capture();
    assert_eq!(changes(&captured), ["~a", "+deep/b"]);
    assert_eq!(scene.held(&captured), on_disk(&scene.path("")));
    assert!(scene.store.verify().unwrap().is_empty());
}

#[test]
fn nothing_changed_means_no_change_and_nothing_is_read() {
    let mut scene = Scene::new();
    scene.write("a", "one");
    fs::create_dir(scene.path("empty")).unwrap();
    let first = scene.scan();
    let again = scene.scan();
    assert_eq!((first.files, changes(&again)), (again.files, vec![]));
    scene.write("empty/x", "x");
    assert_eq!(changes(&scene.scan()), ["-empty", "+empty/x"]);
    fs::remove_file(scene.path("empty/x")).unwrap();
    assert_eq!(changes(&scene.scan()), ["+empty", "-empty/x"]);
    fs::set_permissions(scene.path("a"), fs::Permissions::from_mode(0o600)).unwrap();
    let scanned = scene.scan();
    assert_eq!(changes(&scanned), Vec::<String>::new());
    assert_eq!(scene.recorder.permissions().0.len(), 1);
    fs::set_permissions(scene.path("a"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(changes(&scene.scan()), ["~a"]);
    assert_eq!(scene.recorder.permissions().0.len(), 0);
}

#[test]
fn a_root_that_is_gone_or_replaced_is_noticed() {
    let mut scene = Scene::watched();
    scene.write("a", "one");
    scene.settled();
    fs::rename(scene.path(""), scene.scratch.path().join("moved")).unwrap();
    let mut batch = scene.store.batch().unwrap();
    let error = scene.recorder.capture(&scene.store, &mut batch).unwrap_err();
    assert!(error.to_string().contains("is gone"), "{error}");
    scene.recorder.failed();
    fs::create_dir(scene.path("")).unwrap();
    scene.write("b", "bee");
    let captured = scene.capture();
    assert_eq!((changes(&captured), captured.notices.len()), (vec!["-a".into(), "+b".into()], 1));
    scene.write("c", "sea");
    scene.settled();
}

#[test]
fn watched_changes_are_found_wherever_they_happen() {
    let mut scene = Scene::watched();
    scene.write("new/deep/er/file", "x");
    let captured = scene.settled();
    assert_eq!(changes(&captured), ["+new/deep/er/file"]);
    scene.write("new/deep/er/file", "y");
    assert_eq!(changes(&scene.settled()), ["~new/deep/er/file"]);
    fs::rename(scene.path("new"), scene.path("moved")).unwrap();
    assert_eq!(changes(&scene.settled()), ["+moved/deep/er/file", "-new/deep/er/file"]);
    scene.write("moved/deep/er/file", "z");
    assert_eq!(changes(&scene.settled()), ["~moved/deep/er/file"]);
    fs::rename(scene.path("moved"), scene.scratch.path().join("outside")).unwrap();
    assert_eq!(changes(&scene.settled()), ["-moved/deep/er/file"]);
    scene.write(".gitignore", "ignored\n");
    scene.write("ignored/x", "x");
    assert_eq!(changes(&scene.settled()), ["+.gitignore"]);
    scene.write(".gitignore", "other\n");
    assert_eq!(changes(&scene.settled()), ["~.gitignore", "+ignored/x"]);
}

/// One step of a person or an agent.
#[derive(Clone, Debug)]
enum Step {
    Write(String, String),
    Mode(String, u32),
    Remove(String),
    Link(String, String),
    Folder(String),
    Rename(String, String),
}

fn step() -> impl Strategy<Value = Step> {
    let path = || proptest::collection::vec("[a-c]", 1..4).prop_map(|names| names.join("/"));
    prop_oneof![
        4 => (path(), "[xy]{0,9}").prop_map(|(path, content)| Step::Write(path, content)),
        1 => (path(), prop_oneof![Just(0o644), Just(0o755), Just(0o600)]).prop_map(|(path, mode)| Step::Mode(path, mode)),
        2 => path().prop_map(Step::Remove),
        1 => (path(), "[a-c]").prop_map(|(path, target)| Step::Link(path, target)),
        1 => path().prop_map(Step::Folder),
        2 => (path(), path()).prop_map(|(from, to)| Step::Rename(from, to)),
    ]
}

/// Does the step where it can be done.
fn take_step(root: &Path, step: &Step) {
    let clear = |path: &Path| match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    };
    // No step goes through a link.
    let plain = |path: &str| {
        let above = Path::new(path).ancestors().skip(1);
        above
            .filter(|a| *a != Path::new(""))
            .all(|a| fs::symlink_metadata(root.join(a)).map_or(true, |meta| meta.is_dir()))
    };
    let prepare = |path: &str| plain(path) && fs::create_dir_all(root.join(path).parent().unwrap()).is_ok();
    match step {
        Step::Write(path, content) if prepare(path) => {
            let path = root.join(path);
            if !fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) {
                clear(&path);
            }
            fs::write(path, content).unwrap();
        }
        Step::Mode(path, mode) if plain(path) && fs::symlink_metadata(root.join(path)).is_ok_and(|m| m.is_file()) => {
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(*mode)).unwrap();
        }
        Step::Remove(path) if plain(path) => clear(&root.join(path)),
        Step::Link(path, target) if prepare(path) => {
            clear(&root.join(path));
            symlink(target, root.join(path)).unwrap();
        }
        Step::Folder(path) if prepare(path) => {
            clear(&root.join(path));
            fs::create_dir(root.join(path)).unwrap();
        }
        Step::Rename(from, to) if plain(from) && prepare(to) => _ = fs::rename(root.join(from), root.join(to)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn after_any_steps_what_is_held_is_what_lies_on_disk(
        rounds in proptest::collection::vec((proptest::collection::vec(step(), 1..6), any::<bool>()), 1..6)
    ) {
        let mut scene = Scene::watched();
        let mut before = BTreeMap::new();
        for (steps, by_scan) in rounds {
            steps.iter().for_each(|step| take_step(&scene.path(""), step));
            let now = on_disk(&scene.path(""));
            // The queue of events is read by another thread: wait until it has told of a last change, then undo that.
            scene.write("zz-last", "x");
            scene.settled();
            fs::remove_file(scene.path("zz-last")).unwrap();
            let captured = if by_scan { scene.scan() } else { scene.settled() };
            prop_assert_eq!(scene.held(&captured), now.clone());
            let mut batch = scene.store.batch().unwrap();
            let scanned = scene.recorder.scan(&scene.store, &mut batch, None, &|_, _| {}).unwrap();
            prop_assert_eq!(changes(&scanned), Vec::<String>::new(), "{:?}", before);
            prop_assert_eq!(scanned.files, captured.files);
            scene.recorder.recorded();
            while scene.woken.as_ref().unwrap().try_recv().is_ok() {}
            before = now;
        }
    }
}
